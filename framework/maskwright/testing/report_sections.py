"""Checks of report sections: any record gives content that every report can show, and always the same."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from maskwright.plugins.guarding.further_kinds import checked_section
from maskwright.release.record.for_reports import record_for_reports
from maskwright.release.record.run_record import RunRecord
from maskwright.testing.checks import (
    Check,
    ChecksOf,
    Params,
    as_the_engine_takes_it,
    check_described,
    params_of,
    require,
)
from maskwright.testing.concurrent_calls import check_calls, fingerprint
from maskwright.testing.conduct import prints_nothing, without_network
from maskwright.testing.run_records import maximal_record, minimal_record

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maskwright.plugins.report_section import ReportSection, SectionContent


def _checks(section: ReportSection, given: Params) -> Iterator[tuple[str, Check]]:
    minimal, maximal = minimal_record(), maximal_record()
    yield "parameters", partial(params_of, section, given)
    yield "documented", partial(check_described, section.name, section.summary, section.params)
    yield "title", partial(_titled, section)
    yield "minimal_record", partial(_composed, section, given, minimal)
    yield "maximal_record", partial(_says_something, section, given, maximal)
    yield "composed_alike", partial(_alike, section, given, maximal)
    yield "concurrent_calls", partial(_concurrent, section, given)
    yield "prints_nothing", partial(_silent, section, given, maximal)


report_section_checks = ChecksOf("report_section", _checks)


def _titled(section: ReportSection) -> None:
    require(bool(section.title.strip()), f"{section.name}: title is empty; it is the heading in every report")


def _composed(section: ReportSection, given: Params, record: dict[str, Any]) -> SectionContent:
    """Content, of the record as the engine hands it: read-only, without the seed and hashes of the input."""
    with without_network():
        found = section.compose(record_for_reports(RunRecord.model_validate(record)), params_of(section, given))
    return as_the_engine_takes_it("report_section", section, checked_section, found)


def _says_something(section: ReportSection, given: Params, record: dict[str, Any]) -> None:
    found = _composed(section, given, record)
    require(bool(found.paragraphs or found.rows or found.figures), "the section of a record with everything is empty")


def _alike(section: ReportSection, given: Params, record: dict[str, Any]) -> None:
    one, other = (fingerprint(_composed(section, given, record)) for _ in range(2))
    require(one == other, "the same record, composed twice, gives different content: no time, no random names")


def _concurrent(section: ReportSection, given: Params) -> None:
    records = [{**maximal_record(), "records": number} for number in (10, 20, 30, 40)]
    check_calls(section.compose, lambda record: _composed(section, given, record), records)


def _silent(section: ReportSection, given: Params, record: dict[str, Any]) -> None:
    prints_nothing(lambda: _composed(section, given, record))
