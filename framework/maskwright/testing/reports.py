"""Checks of reports and report sections, on records of runs with nothing and with everything in them."""

from __future__ import annotations

import copy
import tempfile
import types
from contextlib import contextmanager
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from maskwright.release.record.measure_record import TableRecord
from maskwright.release.record.record_parts import RecordPart
from maskwright.release.record.run_record import InputFile, RunRecord, record_for_reports
from maskwright.testing.checks import (
    NO_EXCUSES,
    Check,
    Excuses,
    check_described,
    checks_of_all,
    collected,
    require,
)
from maskwright.testing.conduct import check_calls, fingerprint, prints_nothing, without_network

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from _pytest.mark.structures import ParameterSet

    from maskwright.plugins.report import Report


SEED = 8_271_828_182_845_904
HASH = "5ec2e7" * 10 + "5ec2"
NAMES = {"method": "microaggregation", "measure": "pil"}
"""Names of plugins are those of some that are there: what is said of them can be looked up."""
MARKUP = '<script>alert("x")</script>'


def minimal_record() -> dict[str, Any]:
    """Plain data of a record in which everything is empty that may be."""
    return RunRecord.model_validate(_least(RunRecord)).to_json()


def maximal_record() -> dict[str, Any]:
    """Plain data of a record in which every field has something: texts hold markup, the seed is `SEED`.

    Hashes of input files are `HASH`.
    """
    return RunRecord.model_validate(_most(RunRecord, "run")).to_json()


def _is_part(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, RecordPart)


def _least(kind: Any) -> Any:
    """Least content of a type: the empty text, no entries, null where it may be."""
    if _is_part(kind):
        return {name: _least(field.annotation) for name, field in kind.model_fields.items() if field.is_required()}
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _least(arguments[0])
    if origin is Literal:
        return arguments[0]
    if origin is tuple and Ellipsis not in arguments:
        return tuple(map(_least, arguments))
    least: dict[Any, Any] = {tuple: (), list: [], dict: {}, int: 0, float: 0.0, bool: False, str: ""}
    return least.get(origin or kind)


def _most(kind: Any, name: str, number: int = 1) -> Any:
    """Content of a type, with texts that say where they are."""
    if _is_part(kind):
        return _most_of_part(kind, number)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Annotated, Union, types.UnionType):
        return _most(next(each for each in arguments if each is not type(None)), name, number)
    if origin is Literal:
        return arguments[number % len(arguments)]
    if origin is dict:
        return {f"{name} {each}": _most(arguments[1], name, each) for each in (1, 2, 3)}
    if origin in (tuple, list):
        is_one_kind = origin is list or Ellipsis in arguments
        kinds = (arguments[0],) * 3 if is_one_kind else arguments
        return origin(_most(each, name, place) for place, each in enumerate(kinds, 1))
    text = f"{name} {number}"
    most: dict[Any, Any] = {str: NAMES.get(name, f"{text} {MARKUP} ü"), float: 12.5 * number, bool: True}
    most[int] = SEED if name == "seed" else number
    return most.get(kind, text)


def _most_of_part(kind: type[RecordPart], number: int) -> dict[str, Any]:
    if kind is TableRecord:
        return _table(number)
    content = {each: _most(field.annotation, each, number) for each, field in kind.model_fields.items()}
    return {**content, "sha256": HASH} if kind is InputFile else content


def _table(number: int) -> dict[str, Any]:
    """Table whose rows have as many figures as there are columns for them."""
    return {
        "name": f"table {number}",
        "title": f"title {MARKUP}",
        "columns": ("size", "records", "others"),
        "rows": tuple((f"{each}", (2.0 * each, 3.0 * each)) for each in (1, 2, 3)),
        "unit": "records",
    }


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
        require(found == [path.name], "write must leave one file, under the name that it was given")
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
    check_calls(report.write, lambda record: _written(report, record), records)


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
