"""Settings given on the command line or by a program, put over those of the file: ``protect.0.params.k=5``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from maskwright.foundation.errors import PipelineError, Place, Problem
from maskwright.foundation.nearest_names import unknown_name
from maskwright.foundation.yaml_document import Node, from_python, load_yaml, scalar

Overrides = Mapping[str, object] | Sequence[str]

_STEP = re.compile(r'"([^"]*)"|([^."]+)')
_STRUCTURE = ("[", "{", "'", '"')


def apply_overrides(root: Node, overrides: Overrides) -> Node:
    """Copy of the file's tree with the overrides applied, in order."""
    problems: list[Problem] = []
    for path_text, value, place in _pairs(overrides, problems):
        try:
            root = set_at(root, path_steps(path_text, place), value, place)
        except PipelineError as error:
            problems.extend(error.problems)
    if problems:
        raise PipelineError(problems)
    return root


def _pairs(overrides: Overrides, problems: list[Problem]) -> list[tuple[str, Node, Place]]:
    pairs = []
    if isinstance(overrides, Mapping):
        for path, given in overrides.items():
            place = Place(f"override {path}")
            try:
                pairs.append((path, from_python(given, place), place))
            except PipelineError as error:
                problems.extend(error.problems)
        return pairs
    for text in overrides:
        path, equals, written = text.partition("=")
        place = Place(f"--set {text}")
        if not equals or not path.strip():
            problems.append(Problem("expected path=value, such as protect.0.params.k=5", place))
            continue
        try:
            pairs.append((path.strip(), value_of(written.strip(), place), place))
        except PipelineError as error:
            problems.extend(replace(problem, place=place) for problem in error.problems)
    return pairs


def value_of(written: str, place: Place) -> Node:
    """Value of ``--set name=value``: a list or mapping in brackets, or a plain scalar."""
    if written.startswith(_STRUCTURE):
        return from_python(load_yaml(written, str(place)).to_python(), place)
    return scalar(written, place)


def path_steps(path: str, place: Place) -> list[str]:
    """Keys and positions of a path written with dots; a key in double quotes may hold dots."""
    found = list(_STEP.finditer(path))
    rebuilt = ".".join(match.group(0) for match in found)
    if rebuilt != path:
        raise PipelineError(Problem(f"the path {path!r} is not keys and positions joined by single dots", place))
    return [match.group(1) if match.group(1) is not None else match.group(2).strip() for match in found]


def set_at(node: Node, steps: Sequence[str], value: Node, place: Place, before: str = "") -> Node:
    """Copy of a tree with `value` put at the end of a path."""
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    where = f"{before}.{step}" if before else step
    if node.is_sequence:
        last = len(node.elements)
        position = int(step) if step.isdecimal() and len(step) < 10 else -1
        if not 0 <= position <= last:
            valid = f"0 to {last}" if last else "0"
            raise PipelineError(Problem(f"{before!r} is a list: expected a position {valid}, not {step!r}", place))
        inner = node.get(position) or Node("scalar", place)
        return node.with_element(position, set_at(inner, rest, value, place, where))
    if node.is_scalar and isinstance(node.value, str) and before.startswith("measure."):
        # ``measure: [score]`` is short for ``{score: {}}``.
        if step != node.value:
            raise PipelineError(Problem(f"{before!r}: {unknown_name('measure', step, [node.value])}", place))
        node = Node("mapping", node.place)
    elif node.is_scalar and node.value is not None:
        raise PipelineError(Problem(f"{before!r} is {node.description}: nothing can be set inside it", place))
    inner = node.get(step) or Node("scalar", place)
    return node.with_entry(step, set_at(inner, rest, value, place, where))
