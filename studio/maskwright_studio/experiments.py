"""Experiments from the open pipeline: what can be varied, and the text of a first experiment."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import maskwright as mw
from maskwright_studio.parameter_form import fields, method_models
from maskwright_studio.pipeline_text.written_values import pair
from maskwright_studio.proposals import value_at
from maskwright_studio.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright_studio.parameter_form import FormField


FIRST_VALUES = {"k": (3, 5, 10, 20)}
"""Shown at first, beside the value that holds; of other parameters it is this value alone."""

EXAMPLES = {"integer": "whole numbers, such as 3, 5, 10", "number": "numbers, such as 0.1, 0.2"}


@dataclass(frozen=True)
class Varied:
    """One parameter of one step.

    `step`: 0 for the first. `field`: as a form shows it. `over`: other methods that have it: compared over the same
    values. `single`: methods that do not: one point each, as they are by default. `apart`: methods that need settings
    of their own, so that no experiment is made of their name alone.
    """

    step: int
    method: str
    field: FormField
    over: tuple[str, ...]
    single: tuple[str, ...]
    apart: tuple[str, ...]

    @property
    def name(self) -> str:
        """In the form: ``0/k``."""
        return f"{self.step}/{self.field.label}"

    @property
    def first(self) -> str:
        """Values that are shown at first: that of the pipeline is among them."""
        held = self.field.written or self.field.default
        usual = FIRST_VALUES.get(self.field.label, ())
        if not usual or not (held.isdecimal() or not held):
            return held
        return ", ".join(map(str, sorted({*usual, *map(int, held.split())})))

    def values(self, typed: str) -> list[object]:
        """Plain values of what was typed, each once."""
        expected = EXAMPLES.get(self.field.kind) or ", ".join(self.field.choices) or "values, with commas between them"
        wrong = Refusal(f"{self.field.label} takes a list of {expected}", self.field.bounds)
        try:
            found = mw.read_settings(f"[{typed}]")
        except mw.InputError:
            raise wrong from None
        if not isinstance(found, list) or not found:
            raise wrong
        kinds: dict[str, tuple[type, ...]] = {"integer": (int,), "number": (int, float)}
        types = kinds.get(self.field.kind)
        if types and any(isinstance(each, bool) or not isinstance(each, types) for each in found):
            raise wrong
        if self.field.kind == "choice" and any(_as_choice(each) not in self.field.choices for each in found):
            raise wrong
        once = [each for at, each in enumerate(found) if each not in found[:at]]
        return sorted(once) if types else once


def _as_choice(value: object) -> str:
    """A choice as the schema names it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def varied_of(described: Mapping[str, Any], settings: Any) -> list[Varied]:
    """Every parameter of every step, those of its own method before those of the planner."""
    models = method_models(described)
    common = set.intersection(*(set(each["properties"]) for each in models.values())) if models else set()
    found = []
    for at, entry in enumerate(value_at(settings, ("protect",)) or []):
        method = str(entry.get("method", "")) if isinstance(entry, dict) else ""
        if method not in models:
            continue
        shown = fields(described, models[method], ("protect", at, "params"), entry.get("params"))
        found += [_varied(models, at, method, each) for each in sorted(shown, key=lambda each: each.label in common)]
    return found


def _varied(models: Mapping[str, Mapping[str, Any]], at: int, method: str, field: FormField) -> Varied:
    others = sorted(set(models) - {method})
    apart = tuple(name for name in others if set(models[name].get("required", ())) - {field.label})
    over = tuple(name for name in others if name not in apart and field.label in models[name]["properties"])
    return Varied(at, method, field, over, tuple(each for each in others if each not in {*apart, *over}), apart)


def chosen(offered: list[Varied], name: str) -> Varied:
    """The one that a form names."""
    found = next((each for each in offered if each.name == name), None)
    if found is None:
        raise Refusal("the pipeline has no step with such a parameter", "Choose another one, or add a step.")
    return found


SAME = ("data", "edits", "on_input_violation")
"""Sections that an experiment has as a pipeline has them."""

AS_THEY_ARE = "k", 1
"""Parameter and value that stand for the data without a step."""

HEAD = """\
# Pipelines that differ in one setting, and how much they lose and disclose.
# Compare them with:  maskwright compare {name}
"""


def experiment_text(
    settings: Mapping[str, Any],
    name: str,
    *,
    varied: Varied,
    values: Sequence[object],
    methods: Sequence[str],
    measures: Sequence[str],
) -> str:
    """Text of an experiment."""
    steps, step, parameter = settings["protect"], varied.step, varied.field.label
    own = steps[step]
    vary = {parameter if len(steps) == 1 else f"{step}.params.{parameter}": list(values)}
    families = [("as it is", own)]
    families += [(each, {key: value for key, value in own.items() if key != "params"} | {"method": each})
                 for each in methods if each != own.get("method")]  # fmt: skip
    grid = [
        {
            "family": str(own.get("method")) if family == "as it is" else family,
            "protect": [entry if at == step else other for at, other in enumerate(steps)],
            **({} if family in varied.single else {"vary": vary}),
        }
        for family, entry in families
    ]
    stated = settings.get("measure")
    measure = list(stated) if isinstance(stated, list) else []
    known = {each if isinstance(each, str) else next(iter(each), "") for each in measure}
    whole = {
        "maskwright": 1,
        **{key: settings[key] for key in SAME if key in settings},
        "grid": grid,
        "measure": measure + [each for each in measures if each and each not in known],
        "seed": settings.get("seed", 1),
        "output": f"{name.rpartition('/')[2].rpartition('.')[0]}-results",
    }
    lines = [line for key, value in whole.items() for line in pair(key, value)]
    return HEAD.format(name=shlex.quote(name.rpartition("/")[2])) + "\n".join(lines) + "\n"


def points_of(text: str) -> list[tuple[str, list[Any]]]:
    """Points of an experiment that was made here, each with the steps of its pipeline; unmasked data have none."""
    found = []
    for entry in mw.read_settings(text)["grid"]:
        vary = entry.get("vary", {})
        if not vary:
            found.append((str(entry["family"]), entry["protect"]))
        for path, values in vary.items():
            step, _, parameter = path.rpartition(".params.")
            at = int(step or 0)
            for value in (each for each in values if (parameter, each) != AS_THEY_ARE):
                steps = [dict(each) for each in entry["protect"]]
                steps[at]["params"] = {**(steps[at].get("params") or {}), parameter: value}
                found.append((f"{entry['family']} {parameter}={value}", steps))
    return found
