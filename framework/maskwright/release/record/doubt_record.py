"""Doubts in the run record and in the plan, each open or waived with a reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from maskwright.foundation.doubts import DOUBT_KINDS, About, Doubt
from maskwright.release.record.record_part import Public, RecordPart

if TYPE_CHECKING:
    from maskwright.release.gate import Judgement


class DoubtRecord(RecordPart):
    """What was not surely understood or protected."""

    id: Public[str]
    doubt: Public[str] = Field(description="Its name, as waivers give it.")
    about: Public[About]
    subject: Public[str] = Field(description="Name of the variable, edit or measure, or number of the step.")
    message: str
    remedy: str
    because: str | None = Field(description="Why the pipeline waives it; null: it is open and stops the release.")


def doubt_records(judgement: Judgement) -> tuple[DoubtRecord, ...]:
    """Open doubts, and then those that are waived."""
    return (
        *(_record(doubt, None) for doubt in judgement.open),
        *(_record(each.doubt, each.waiver.because) for each in judgement.waived),
    )


def _record(doubt: Doubt, because: str | None) -> DoubtRecord:
    kind = DOUBT_KINDS[doubt.kind]
    return DoubtRecord(
        id=kind.id, doubt=kind.name, about=kind.about, subject=doubt.subject, message=doubt.message,
        remedy=doubt.remedy, because=because,
    )  # fmt: skip
