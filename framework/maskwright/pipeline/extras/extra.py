"""What a pipeline may add to a run: a name, parameters, and the function that does it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from maskwright.foundation.no_params import NoParams

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import BaseModel


@dataclass(frozen=True, kw_only=True)
class Extra:
    """A check of a plan, a section of the report, or work with the files of a release; `title`: of a section.

    `work`: of a check ``(plan, params) -> sequence of PlanFinding``, with what ``maskwright plan --json`` prints and
    under ``pipeline`` its ``measure``, ``thresholds``, ``waived`` and ``output``; of a section ``(record, params) ->
    SectionContent``, with the run record; after a release ``(outputs, record, params) -> str``, with the absolute path
    of each public output and the public record.
    """

    name: str
    work: Callable[..., Any]
    params: type[BaseModel] = NoParams
    title: str = ""
    summary: str = ""


def extras_of(section: str) -> Mapping[str, Extra]:
    """What ``checks``, ``sections`` or ``after`` of a pipeline may name; imported where one has the section."""
    from maskwright.pipeline.extras.actions import ACTIONS
    from maskwright.pipeline.extras.plan_checks import CHECKS
    from maskwright.pipeline.extras.report_sections import SECTIONS

    return {"checks": CHECKS, "sections": SECTIONS, "after": ACTIONS}[section]
