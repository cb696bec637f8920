"""A first experiment from the pipeline that is open: a parameter of a step varied, other methods in its place."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import maskwright as mw
from maskwright_studio.pipeline_text.writing import pair

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright_studio.varying import Varied

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
    """Text of an experiment.

    `name`: of the file; its results go to a folder of that name. `varied`: the parameter, and its step. `methods`: that
    take the place of its own, one family each, beside it; one without the parameter is one point. `measures`: added to
    those of the pipeline where these do not have them.
    """
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
    """Points of an experiment that was made here, each with the steps of its pipeline; the data as they are have none.

    `text`: as `experiment_text` writes it: a family varies one parameter, or none.
    """
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
