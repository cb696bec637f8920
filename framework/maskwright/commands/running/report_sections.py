"""Sections that a pipeline adds to its reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.release.record.for_reports import record_for_reports
from maskwright.release.record.run_record import FigureRecord, SectionRecord

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maskwright.pipeline.resolved import Pipeline
    from maskwright.release.record.run_record import RunRecord


def with_sections(pipeline: Pipeline, record: RunRecord) -> RunRecord:
    """Record with the sections that the pipeline lists, composed of what reports get of it."""
    if not pipeline.sections:
        return record
    return record.model_copy(update={"sections": tuple(_composed(pipeline, record))})


def _composed(pipeline: Pipeline, record: RunRecord) -> Iterator[SectionRecord]:
    shown = record_for_reports(record)
    for each in pipeline.sections:
        content = each.plugin.compose(shown, each.params)
        figures = tuple(
            FigureRecord(caption=figure.caption, values=dict(figure.values), unit=figure.unit)
            for figure in content.figures
        )
        yield SectionRecord(
            name=each.plugin.name, title=each.plugin.title, paragraphs=content.paragraphs, head=content.head,
            rows=content.rows, figures=figures,
        )  # fmt: skip
