"""What functions of rule writers, checks, sections, actions and commands have to give back."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from maskwright.edits.languages.conversion.converted import Converted
from maskwright.plugins.guarding.call import broke_contract, guarded_iterator
from maskwright.plugins.plan_check import PlanFinding
from maskwright.plugins.report_section import Bars, SectionContent

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from maskwright.plugins.guarding.origin import Origin


def checked_rules(origin: Origin, found: Any) -> Converted:
    """Return what a rule writer gave: a text, and notes."""
    if not isinstance(found, Converted) or not _are_texts((found.text, *found.notes)):
        raise broke_contract(origin, "returned something else than maskwright.Converted with texts")
    return found


def checked_findings(origin: Origin, found: Any) -> tuple[PlanFinding, ...]:
    """Return what a check said of a plan."""
    is_listed = isinstance(found, Iterable) and not isinstance(found, str)
    items = tuple(guarded_iterator(origin, found)) if is_listed else ()
    if not is_listed or not all(isinstance(each, PlanFinding) for each in items):
        raise broke_contract(origin, "returned something else than a sequence of maskwright.PlanFinding")
    if not all(_is_sentence(each.message) and isinstance(each.refuses, bool) for each in items):
        raise broke_contract(origin, "returned findings that are not a sentence, and whether it refuses")
    if not all(each.hint is None or isinstance(each.hint, str) for each in items):
        raise broke_contract(origin, "returned findings with hints that are no texts")
    return items


def checked_section(origin: Origin, found: Any) -> SectionContent:
    """Return the content of a section: texts, a table whose rows are as long as its head, numbers for bars."""
    if not isinstance(found, SectionContent):
        raise broke_contract(origin, f"returned a {type(found).__name__}; it has to return maskwright.SectionContent")
    wrong = next(_wrong_in_section(found), None)
    if wrong is not None:
        raise broke_contract(origin, wrong)
    return found


def checked_text(origin: Origin, found: Any) -> str:
    """Return what an action or a command has to say; nothing is an empty text."""
    if found is not None and not isinstance(found, str):
        raise broke_contract(origin, f"returned a {type(found).__name__}; it has to return a text or nothing")
    return found or ""


def _wrong_in_section(found: SectionContent) -> Iterator[str]:
    if not _are_texts(found.paragraphs) or not _are_texts(found.head):
        yield "returned paragraphs or heads that are not texts"
    if not all(_are_texts(row) and len(row) == len(found.head) for row in found.rows):
        yield "returned rows that are not texts, one for each column"
    for figure in found.figures:
        if (
            not isinstance(figure, Bars)
            or not _are_texts((figure.caption, figure.unit))
            or not _are_lengths(figure.values)
        ):
            yield "returned figures that are not maskwright.Bars with finite numbers, 0 or more"


def _is_sentence(item: Any) -> bool:
    return isinstance(item, str) and bool(item.strip())


def _are_texts(items: Any) -> bool:
    return isinstance(items, (tuple, list)) and all(isinstance(each, str) for each in items)


def _are_lengths(values: Mapping[str, Any]) -> bool:
    return all(
        isinstance(name, str) and isinstance(each, (int, float)) and math.isfinite(each) and each >= 0
        for name, each in values.items()
    )
