"""A release that is read as its pipeline declares the original: steps may have made categories of numbers and dates."""

from __future__ import annotations

import contextlib
import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from maskwright.foundation.errors import DataError, InputError, Problem
from maskwright.foundation.yaml_document import load_yaml
from maskwright.pipeline.resolve import HELP, text_of
from maskwright.pipeline.steps import resolve_steps
from maskwright.plugins.registry import plugins

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from maskwright.foundation.yaml_document import Node
    from maskwright.planning.model import Step


@contextlib.contextmanager
def naming_recoded(pipeline: Path | None) -> Iterator[None]:
    """Say first how a variable that steps publish as categories is declared, where its cells are not understood.

    `pipeline`: by which the data are read.
    """
    try:
        yield
    except InputError as error:
        steps = {} if pipeline is None else _recoded(pipeline)
        told = [_told(problem, steps) for problem in error.problems]
        if told == list(error.problems):
            raise
        kind = DataError if isinstance(error, DataError) else InputError
        raise kind(told) from error


def _told(problem: Problem, steps: dict[str, int]) -> Problem:
    name = next((name for name in steps if f"variable {name!r}: " in problem.message), None)
    if name is None:
        return problem
    stated = shlex.quote(f"{name}={{type: nominal}}")
    way = f"In a release it is text, for step {steps[name]} of the pipeline publishes it as categories: "
    way += f"--variable {stated}. "
    return replace(problem, hint=way + (f"If these are not its cells: {problem.hint}" if problem.hint else ""))


def _recoded(pipeline: Path) -> dict[str, int]:
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
    keys = _declared_keys(root)
    found: dict[str, int] = {}
    for number, step in enumerate(steps, 1):
        if "detail" in step.method.removes:
            found |= dict.fromkeys(_variables(step) or keys, number)
    return found


def _variables(step: Step) -> list[str]:
    listed = [name for group in step.groups for name in group]
    return [*(step.variables or ()), *step.dependents, *step.keys, *listed]


def _declared_keys(root: Node) -> list[str]:
    """Declared quasi-identifiers, which a step that names no variables makes coarser."""
    declared = root.at(("data", "variables"))
    if declared is None or not declared.is_mapping:
        return []
    roles = {key.raw: node.get("role") for key, node in declared.entries if node.is_mapping}
    return [name for name, role in roles.items() if role is not None and role.value == "quasi_identifier"]
