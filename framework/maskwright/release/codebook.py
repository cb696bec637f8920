"""The codebook of a release: what is published, and how each variable was treated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.data.codebooks.codebook import PublishedCodebook
from maskwright.data.date_texts import ISO
from maskwright.data.declaration import VariableDeclaration

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from maskwright.data.dataset import Column, Dataset
    from maskwright.data.variable import Variable
    from maskwright.planning.model import Step
    from maskwright.planning.plan import Plan
    from maskwright.release.record.run_record import RunRecord


MOST_UNDECLARED = 1000
"""Different texts of a variable without declared codes: if there are more, they are not listed."""

FEW = 20
CELLS_OF_A_CODE = 5
"""Cells of each text, on average, below which more than a few different texts are keys and no codes."""


@dataclass(frozen=True)
class HeldTexts:
    """Texts of a variable of the masked file, as it was read back.

    `known`: its categories; none of a number. `held`: those that a cell has.
    """

    known: tuple[str, ...]
    held: frozenset[str]
    cells: int

    @classmethod
    def of(cls, released: Dataset) -> dict[str, HeldTexts]:
        """Texts of each variable, in the order of the file."""
        return {column.name: cls._of(column) for column in released}

    @classmethod
    def _of(cls, column: Column) -> HeldTexts:
        there = ~column.missing
        categories = () if column.variable.is_numeric else column.variable.categories
        held: list[int] = np.unique(column.values[there]).tolist() if categories else []
        return cls(categories, frozenset(categories[place] for place in held), int(np.count_nonzero(there)))

    @classmethod
    def merged(cls, shares: Sequence[Mapping[str, HeldTexts]]) -> dict[str, HeldTexts]:
        """Texts of each variable of a file, from those of its parts."""
        return {
            name: cls(
                tuple(dict.fromkeys(text for each in shares for text in each[name].known)),
                frozenset[str]().union(*(each[name].held for each in shares)),
                sum(each[name].cells for each in shares),
            )
            for name in shares[0]
        }


def release_codebook(
    file: str,
    record: RunRecord,
    released: Mapping[str, HeldTexts],
    variables: tuple[Variable, ...],
    declared: Mapping[str, VariableDeclaration],
    recoded: Collection[str],
    cluster: str | None = None,
) -> PublishedCodebook:
    """Codebook of a masked file."""
    public = record.public_json()
    known = {variable.name: variable for variable in variables}
    bounded = {edit["name"].removeprefix("bounds of ") for edit in public["edits"]}
    facts = {
        name: _published(
            texts,
            known[name],
            VariableDeclaration() if name in recoded else declared.get(name, VariableDeclaration()),
            with_bounds=name in bounded,
            is_key=name == cluster,
        )
        for name, texts in released.items()
    }
    remarks = {name: " ".join(_remarks(name, public)) for name in facts}
    return PublishedCodebook(
        f"Masked microdata: {file}", facts, file, public["records"], tuple(_notes(public)), remarks
    )  # fmt: skip


def _published(
    texts: HeldTexts, variable: Variable, declared: VariableDeclaration, *, with_bounds: bool, is_key: bool
) -> VariableDeclaration:
    """What may be said of a variable of the masked file."""
    stated: dict[str, Any] = {"type": variable.type, "missing": _missing(variable)}
    meanings = dict(variable.labels)
    if variable.is_date:
        stated["format"] = None if variable.date_text == ISO else variable.date_format
        if with_bounds:
            stated |= {"min": declared.min, "max": declared.max}
        codes = tuple(code for code, _ in declared.labels)
    elif variable.is_numeric:
        stated["decimals"] = None if variable.type == "integer" else variable.decimals
        if with_bounds:
            stated |= {"min": variable.lower, "max": variable.upper}
        codes = tuple(code for code, _ in declared.labels)
    else:
        codes = () if is_key or variable.role == "identifier" else _categories(texts, variable, declared)
        stated["categories"] = codes
    stated["labels"] = tuple((code, meanings[code]) for code in codes if code in meanings)
    stated |= {"unit": variable.unit, "label": variable.label, "suppressed_as": variable.suppressed_as}
    if variable.role == "weight":
        stated["role"] = "weight"
    return VariableDeclaration.model_construct(**stated)


def _missing(variable: Variable) -> tuple[tuple[str, str], ...]:
    meanings = variable.missing_meanings or ("",) * len(variable.missing_codes)
    return tuple(zip(variable.missing_codes, meanings, strict=True))


def _categories(texts: HeldTexts, variable: Variable, declared: VariableDeclaration) -> tuple[str, ...]:
    """Codes that are declared, and those that the masked file holds: one that was recoded away is neither.

    New keys, and the many texts of a variable of which no code is declared, are no codes; nor are texts of which each
    stands in few records, as the numbers of households do.
    """
    is_declared = bool(declared.categories or declared.labels) or variable.type == "ordinal"
    different = len(texts.known)
    is_key = different > FEW and texts.cells < CELLS_OF_A_CODE * different
    if variable.renewed or (not is_declared and (is_key or different > MOST_UNDECLARED)):
        return ()
    named = {*declared.categories, *(code for code, _ in declared.labels), *texts.held}
    order = dict.fromkeys([*variable.categories, *declared.categories, *texts.known])
    return tuple(code for code in [*order, *sorted(named - order.keys())] if code in named)


def _notes(public: Mapping[str, Any]) -> Iterator[str]:
    """What was done with the file, in sentences."""
    order = "random order" if public["release"]["order"] == "random" else "the order of the original"
    yield f"Masked with Maskwright {public['maskwright']}. {public['records']} records, in {order}."
    for number, step in enumerate(public["steps"], 1):
        names = dict.fromkeys(name for group in step["groups"] for name in group["variables"])
        params = ", ".join(f"{name}: {_shown(value)}" for name, value in step["params"].items() if _is_stated(value))
        if step["takes"]:
            of = f" of {step['takes']}"
        else:
            of = f" {'of' if step['changes_cells'] else 'by'} {', '.join(names)}" if names else ""
        yield f"Step {number}: {step['method']}{of}" + (f" ({params})." if params else ".")
    edits = [edit for edit in public["edits"] if not edit["violations"]]
    if edits:
        yield f"In every record: {'; '.join(edit['text'] for edit in edits)}."


def _is_stated(value: object) -> bool:
    """Whether a parameter has a value, and not an empty list or section."""
    if isinstance(value, dict | list):
        return any(_is_stated(each) for each in (value.values() if isinstance(value, dict) else value))
    return value is not None


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {_shown(each)}" for name, each in value.items() if _is_stated(each)) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_shown(each) for each in value) + "]"
    return str(value)


def _remarks(name: str, public: Mapping[str, Any]) -> Iterator[str]:
    """What was done with a variable, in sentences."""
    steps = [
        f"step {number} ({step['method']})"
        for number, step in enumerate(public["steps"], 1)
        if step["changes_cells"] and any(name in group["variables"] for group in step["groups"])
    ]
    suppressed = next((each["cells"] for each in public["suppressed"] if each["variable"] == name), 0)
    if name in public["release"]["new_keys"]:
        yield "New random values in place of the original keys."
    elif steps:
        yield f"Masked in {' and '.join(steps)}."
    elif not suppressed:
        done = next((each["done"] for each in public["variables"] if each["name"] == name and each["masked"]), "")
        yield f"{done[:1].upper()}{done[1:]}." if done else "Published as it was."
    if suppressed:
        yield f"{suppressed} cell{'s' * (suppressed != 1)} suppressed."


@dataclass(frozen=True)
class Treatment:
    """What was done to the values of a variable.

    `text`: in words that may be published. `altered`: whether any value that is published, or was, is another than in
    the original.
    """

    text: str
    altered: bool


UNCHANGED = Treatment("unchanged", altered=False)
NEW_KEYS = Treatment("new random values", altered=True)


def treatment(
    plan: Plan, name: str, emptied: int = 0, primary: Sequence[str] = (), *, reweighted: bool = False
) -> Treatment:
    """What a run did to a variable."""
    if plan.variables[name].renewed:
        return NEW_KEYS
    positions = dict.fromkeys(group.step for group in plan.groups if name in group.variables)
    computed = {group.step for group in plan.groups if name in group.computed}
    steps = [(position, plan.steps[position - 1]) for position in positions]
    shaping = [(position, step) for position, step in steps if not step.only_removes]
    messages = [
        f"computed from masked values (step {step.number})" if position in computed else _named(step)
        for position, step in shaping
    ]
    suppressing = [_named(step) for _, step in steps if "cells" in step.method.claims.removes]
    if suppressing:
        messages.append(f"{_cells(emptied)} emptied by {' and '.join(suppressing)}")
    elif emptied:
        messages.append(complementary_note(emptied, primary))
    if reweighted:
        messages.append("divided by the share of the records that was drawn")
    altered = bool(shaping or emptied or reweighted)
    leaving = [_named(step) for _, step in steps if "records" in step.method.claims.removes]
    if not messages and leaving:
        messages.append(f"unchanged in the records that {' and '.join(leaving)} leaves")
    return Treatment("; ".join(messages), altered) if messages else UNCHANGED


def complementary_note(cells: int, primary: Sequence[str]) -> str:
    """``12 cells emptied as complementary suppression of cc``."""
    return f"{_cells(cells)} emptied as complementary suppression" + (f" of {', '.join(primary)}" if primary else "")


def _cells(count: int) -> str:
    return f"{count:,} cell" + "s" * (count != 1)


def _named(step: Step) -> str:
    return f"{step.method.name} (step {step.number})"
