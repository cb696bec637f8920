"""Rules on the data at hand: elements are compared by the URI of their namespace, and called as the file calls them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from maskwright.edits import expression as x
from maskwright.edits.algebra.classify import classify
from maskwright.edits.edit_set import EditSet
from maskwright.edits.element_names import NAMESPACE, StatedNames, in_words
from maskwright.edits.languages.xpath.conversions import as_condition
from maskwright.foundation.errors import EditError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from maskwright.data.dataset import Layout
    from maskwright.edits.edit import Edit


def bound_to(edits: EditSet, layout: Layout) -> EditSet:
    """Edits whose variables and contexts are called as a file calls them; files without elements have local names."""
    known: Mapping[str, str] | None = layout.details.get("expanded")
    if known is None or all(edit.stated is None for edit in edits):
        return edits
    variables = {expanded: name for name, expanded in known.items()}
    elsewhere = {NAMESPACE.sub("", expanded): expanded for expanded in variables}
    around = layout.details["expanded_path"][:-1]
    problems: list[Problem] = []
    found: list[Edit] = []
    for edit in edits:
        stated = edit.stated
        if stated is None:
            found.append(edit)
            continue
        context = _context(edit, stated, layout)
        if context is None and (stated.steps[-1] in variables or stated.steps[-1] in around):
            if edit.for_validation.engine is None:
                problems.append(_about_something_else(edit, stated))
            else:
                found.append(_left_to_engine(edit))
            continue
        if context is None:
            # It fires on nothing in the file: no engine needs to say so.
            about = " / ".join(map(in_words, stated.steps))
            found.append(replace(edit, context=about, engine=None, validated_by=None))
            continue
        wrong = list(_in_another_namespace(edit, stated, variables, elsewhere))
        problems += wrong
        if not wrong:
            named = {rule: variables.get(expanded, rule) for rule, expanded in stated.variables}
            names = tuple((named[rule], expanded) for rule, expanded in stated.variables)
            found.append(replace(_renamed(edit, named), context=context, stated=replace(stated, variables=names)))
    if problems:
        raise EditError(problems)
    return EditSet(tuple(found), edits.notes)


def _left_to_engine(edit: Edit) -> Edit:
    """A test on other elements than records: masking cannot keep it, and the result is checked."""
    if edit.engine is not None:
        return edit
    text = edit.text if edit.assertion is None else edit.assertion.test
    checked = replace(edit.for_validation, validated_by=None, binding="xpath1")
    return replace(checked, expression=x.EngineCondition(text), parts=(), variables=())


def _context(edit: Edit, stated: StatedNames, layout: Layout) -> str | None:
    """Context in the tags of the file; None: it is about other elements than the records."""
    path: tuple[str, ...] = layout.details["expanded_path"]
    tags: tuple[str, ...] = layout.details["record_path"]
    count = len(stated.steps)
    written = edit.context or ""
    absolute = written.startswith("/") and not written.startswith("//")
    if stated.steps != (path if absolute else path[len(path) - count :]):
        return None
    return ("/" if absolute else "") + "/".join(tags[len(tags) - count :])


def _about_something_else(edit: Edit, stated: StatedNames) -> Problem:
    message = (
        f"the rule is about <{NAMESPACE.sub('', stated.steps[-1])}>, an element in or around records, and no record"
    )
    return Problem(message, edit.place, "`maskwright validate --document` checks rules about anything.", edit=edit.name)


def _in_another_namespace(
    edit: Edit, stated: StatedNames, variables: Mapping[str, str], elsewhere: Mapping[str, str]
) -> Iterator[Problem]:
    for _, expanded in stated.variables:
        other = elsewhere.get(NAMESPACE.sub("", expanded))
        if expanded not in variables and other is not None and "@" not in expanded:
            message = f"the records have no {in_words(expanded)}, but {in_words(other)}"
            hint = "Declare its namespace with <ns prefix=... uri=...>, and write the prefix in the test."
            yield Problem(message, edit.place, hint if "{" in other else "Write it without a prefix.", edit=edit.name)


def _renamed(edit: Edit, names: Mapping[str, str]) -> Edit:
    if all(rule == name for rule, name in names.items()):
        return edit

    def change(node: x.Expression) -> x.Expression:
        return (
            x.VariableReference(names[node.name])
            if isinstance(node, x.VariableReference) and node.name in names
            else node
        )

    message = re.sub(r"\{([^{}]+)\}", lambda found: f"{{{names.get(found[1], found[1])}}}", edit.message)
    edit = replace(edit, message=message)
    expression = x.rewritten(edit.expression, change)
    if not edit.parts:
        return replace(edit, expression=expression)
    parts = classify(as_condition(expression), edit.place)
    return replace(edit, expression=expression, parts=parts, variables=x.variable_names(expression))
