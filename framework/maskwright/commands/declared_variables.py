"""Declarations of variables checked against a file: codebooks, and categories that steps of a pipeline make."""

from __future__ import annotations

import contextlib
import shlex
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from maskwright.foundation.errors import DataError, InputError, Problem
from maskwright.foundation.yaml_document import load_yaml
from maskwright.pipeline.declared_lists import with_lists
from maskwright.pipeline.reading import HELP, text_of
from maskwright.pipeline.steps import resolve_steps
from maskwright.plugins.registry import plugins

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path

    from maskwright.data.codebooks.codebook import Codebook
    from maskwright.data.dataset import Column, Dataset
    from maskwright.foundation.yaml_document import Node
    from maskwright.pipeline.resolved import DataSource
    from maskwright.planning.model import Step


FEW = 3
"""Records that have to share an extreme: of fewer, it is a person's value, and a bound would publish it."""


def codebook_notices(data: DataSource, names: Collection[str]) -> tuple[str, ...]:
    """Say which variables the codebook describes and the file has not."""
    if data.codebook is None:
        return ()
    notices = tuple(data.codebook.notices(names))
    if data.codebook.variables.keys().isdisjoint(names):
        hint = "Names are compared as they are written, upper and lower case too."
        raise DataError(Problem(f"{notices[0]}: is it the codebook of {data.name}?", data.place, hint))
    return (*data.codebook.guess(), *notices)


@contextmanager
def codebook_named(codebook: Codebook | None) -> Iterator[None]:
    """Say with each mistake of a variable where the codebook describes it."""
    try:
        yield
    except DataError as error:
        if codebook is None:
            raise
        raise DataError([_with_codebook(problem, codebook) for problem in error.problems]) from None


def without_extremes(read: Dataset, data: DataSource) -> Dataset:
    """Dataset without bounds of the codebook that are the extreme of one or two records, and with a note on them.

    Many codebooks are made from the data, and give the smallest and the largest value as the range of a variable.
    Bounds are edits, and edits are published.
    """
    if data.codebook is None:
        return read
    changed = {}
    found = []
    for column in read:
        lower, upper = column.variable.lower, column.variable.upper
        below, above = _is_extreme(column, "min", lower, data), _is_extreme(column, "max", upper, data)
        if below or above:
            kept = replace(column.variable, lower=None if below else lower, upper=None if above else upper)
            changed[column.name] = replace(column, variable=kept)
            found += [f"{column.name} ({end})" for end, is_extreme in (("min", below), ("max", above)) if is_extreme]
    if not changed:
        return read
    message = (
        f"bounds that {data.codebook.path.name} gives are the smallest or largest value of fewer than {FEW} records, "
        f"and are not taken, since bounds are published; declare those that are rules: {', '.join(found)}"
    )
    read = read.with_columns(changed)
    return replace(read, notes=(*read.notes, message))


def _is_extreme(column: Column, end: Literal["min", "max"], bound: float | None, data: DataSource) -> bool:
    """Whether a bound is of the codebook, and the extreme of so few records; 0 is no one's secret."""
    assert data.codebook is not None
    own, described = data.stated.get(column.name), data.codebook.variables.get(column.name)
    if not bound or described is None or getattr(described, end) is None:
        return False
    if own is not None and end in own.model_fields_set:
        return False
    present = column.values[~column.missing]
    beyond = bool(np.any(present < bound if end == "min" else present > bound))
    return not beyond and bool(0 < np.count_nonzero(present == bound) < FEW)


def _with_codebook(problem: Problem, codebook: Codebook) -> Problem:
    place = codebook.places.get(problem.variable or "")
    if place is None:
        return problem
    line = place.line
    message = (
        f"The codebook describes it in {codebook.path.name}, line {line}; what the pipeline declares is put over that."
    )
    return replace(problem, hint=f"{problem.hint} {message}" if problem.hint else message)


@contextlib.contextmanager
def naming_recoded(pipeline: Path | None) -> Iterator[None]:
    """Say first how a variable that steps publish as categories is declared, where its cells are not understood."""
    try:
        yield
    except InputError as error:
        steps = (
            {} if pipeline is None else _recoded(pipeline, [each.variable for each in error.problems if each.variable])
        )
        notes = [_with_type_hint(problem, steps) for problem in error.problems]
        if notes == list(error.problems):
            raise
        kind = DataError if isinstance(error, DataError) else InputError
        raise kind(notes) from error


def _with_type_hint(problem: Problem, steps: dict[str, int]) -> Problem:
    name = problem.variable
    if name is None or name not in steps:
        return problem
    stated = shlex.quote(f"{name}={{type: nominal}}")
    way = f"In a release it is text, for step {steps[name]} of the pipeline publishes it as categories: "
    way += f"--variable {stated}. "
    return replace(problem, hint=way + (f"If these are not its cells: {problem.hint}" if problem.hint else ""))


def _recoded(pipeline: Path, names: Collection[str]) -> dict[str, int]:
    """Variables that steps of a pipeline publish as categories, with the number of the step."""
    try:
        root = load_yaml(text_of(pipeline, "pipeline", HELP), str(pipeline))
    except InputError:
        return {}
    section = root.get("protect")
    if section is None:
        return {}
    # Mistakes in the steps are no matter of who validates data.
    steps = resolve_steps(section, plugins(), [], pipeline.absolute().parent)
    keys = _declared_keys(root, names)
    found: dict[str, int] = {}
    for step in steps:
        if "detail" in step.method.claims.removes:
            found |= dict.fromkeys(_variables(step) or keys, step.number)
    return found


def _variables(step: Step) -> list[str]:
    listed = [name for group in step.groups for name in group]
    return [*(step.variables or ()), *step.dependents, *step.keys, *listed]


def _declared_keys(root: Node, names: Collection[str]) -> list[str]:
    """Declared quasi-identifiers among these variables, which a step that names no variables makes coarser."""
    data = root.get("data")
    declared = None if data is None else with_lists(data, names, [], may_match_nothing=True).get("variables")
    if declared is None or not declared.is_mapping:
        return []
    roles = {key.raw: node.get("role") for key, node in declared.entries if node.is_mapping}
    return [name for name, role in roles.items() if role is not None and role.value == "quasi_identifier"]
