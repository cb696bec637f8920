"""Checks of reports: any record becomes a file, always the same one, and whole."""

from __future__ import annotations

import copy
import tempfile
from contextlib import contextmanager
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskwright.release.record.for_reports import record_for_reports
from maskwright.release.record.run_record import RunRecord
from maskwright.testing.checks import NO_EXCUSES, Check, Excuses, check_described, checks_of_all, collected, require
from maskwright.testing.concurrent_calls import check_calls, fingerprint
from maskwright.testing.conduct import prints_nothing, without_network
from maskwright.testing.run_records import MARKUP, maximal_record, minimal_record

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from _pytest.mark.structures import ParameterSet

    from maskwright.plugins.report import Report

HTML_ENDINGS = (".html", ".htm", ".xhtml", ".svg")


def report_checks(reports: Sequence[Report], *, excuses: Excuses = NO_EXCUSES) -> list[ParameterSet]:
    """Collect checks that reports keep their contract, for ``@pytest.mark.parametrize("check", ...)``.

    Parameters
    ----------
    reports : sequence of Report
    excuses : mapping of check name, or "report-check", to reason
        Checks that are known to fail; strict: an excuse that is no longer needed fails.

    Returns
    -------
    list of pytest.param
        Each holds a function without arguments.
    """
    return collected(checks_of_all("report", reports, _checks), excuses)


def _checks(report: Report) -> Iterator[tuple[str, Check]]:
    minimal, maximal = minimal_record(), maximal_record()
    yield "documented", partial(check_described, report.name, report.summary)
    yield "minimal_record", partial(_writes, report, minimal)
    yield "maximal_record", partial(_writes, report, maximal)
    yield "refused_run", partial(_writes, report, {**maximal, "ok": False})
    yield "record_unchanged", partial(_unchanged, report, maximal)
    yield "written_alike", partial(_alike, report, maximal)
    yield "concurrent_calls", partial(_concurrent, report)
    yield "prints_nothing", partial(_silent, report, maximal)
    if any(suffix in HTML_ENDINGS for suffix in report.suffixes):
        yield "texts_are_escaped", partial(_escaped, report, maximal)
        yield "offline", partial(_offline, report, maximal)


@contextmanager
def _name(report: Report) -> Iterator[Path]:
    """Name of a file in an empty folder."""
    suffix = report.suffixes[0] if report.suffixes else ".txt"
    with tempfile.TemporaryDirectory(prefix="maskwright-") as folder:
        yield Path(folder) / f"report{suffix}"


def _written(report: Report, record: dict[str, Any]) -> bytes:
    """What a report makes of a record, which it is handed as the engine hands it."""
    with _name(report) as path:
        with without_network():
            report.write(path, _handed(record))
        found = sorted(each.name for each in path.parent.iterdir())
        require(found == [path.name], "write must leave one file, under the name that it was told")
        return path.read_bytes()


def _handed(record: dict[str, Any]) -> Mapping[str, Any]:
    """Record as the engine hands it: read-only, without the seed and hashes of the input."""
    return record_for_reports(RunRecord.model_validate(record))


def _writes(report: Report, record: dict[str, Any]) -> None:
    require(bool(_written(report, record).strip()), "the report is empty")


def _unchanged(report: Report, record: dict[str, Any]) -> None:
    handed = copy.deepcopy(record)
    with _name(report) as path:
        report.write(path, handed)
    require(fingerprint(handed) == fingerprint(record), "write changed the record, which others get after it")


def _alike(report: Report, record: dict[str, Any]) -> None:
    one, other = (_written(report, record) for _ in range(2))
    require(one == other, "the same record, written twice, gives different files: no time, no random names")


def _concurrent(report: Report) -> None:
    records = [{**maximal_record(), "records": number} for number in (10, 20, 30, 40)]
    check_calls(report.write, lambda record: _bytes(report, record), records)


def _bytes(report: Report, record: dict[str, Any]) -> bytes:
    with _name(report) as path:
        report.write(path, _handed(record))
        return path.read_bytes()


def _silent(report: Report, record: dict[str, Any]) -> None:
    prints_nothing(lambda: _written(report, record))


def _escaped(report: Report, record: dict[str, Any]) -> None:
    text = _written(report, record).decode("utf-8", errors="replace")
    require(MARKUP not in text, "texts of the record are markup in the report: escape them")


def _offline(report: Report, record: dict[str, Any]) -> None:
    found = _References()
    found.feed(_written(report, record).decode("utf-8", errors="replace"))
    require(
        not found.elsewhere,
        f"the report is not whole in itself: {', '.join(sorted(set(found.elsewhere)))} leads elsewhere",
    )


class _References(HTMLParser):
    """What a page loads or links: only itself, and data in it."""

    LOADING = ("src", "href", "srcset", "action", "data", "poster", "xlink:href", "formaction", "background")

    def __init__(self) -> None:
        super().__init__()
        self.elsewhere: list[str] = []
        self._in_style = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Look at the attributes of an element."""
        self._in_style = tag == "style"
        for name, value in attrs:
            stated = (value or "").strip()
            if name in self.LOADING and stated and not stated.startswith(("#", "data:")):
                self.elsewhere.append(f"{tag} {name}")
            if name == "style":
                self._look(stated, f"{tag} style")

    def handle_endtag(self, tag: str) -> None:
        """Leave a style sheet."""
        self._in_style = self._in_style and tag != "style"

    def handle_data(self, data: str) -> None:
        """Look at a style sheet."""
        if self._in_style:
            self._look(data, "style")

    def _look(self, text: str, where: str) -> None:
        found = text.lower().replace(" ", "").replace("'", "").replace('"', "")
        if "@import" in found or any(not part.startswith(("data:", "#")) for part in found.split("url(")[1:]):
            self.elsewhere.append(where)
