"""What a report is: the record of a run in, a file out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class Report:
    """A way to show a finished run.

    Attributes
    ----------
    name : str
        The key in the pipeline's ``output:`` section, for instance ``report``.
    write : callable
        ``(path, record) -> None`` where `record` is the run record (`run.json`) as plain data, without any value of
        a data record: ``maskwright schema run_record`` describes it, and ``RunRecord.model_validate(record)`` gives it
        typed. It is read-only, lists are tuples, and the seed, hashes of the input and the text of the pipeline are
        left out; ``RunRecord.public_json()`` is what may be passed on. `path` is a temporary name; the caller moves it
        into place.
    suffixes : tuple of str
    summary : str

    Examples
    --------
    >>> from pathlib import Path
    >>> from maskwright import Report
    >>> def write_count(path: Path, record: dict[str, object]) -> None:
    ...     _ = path.write_text(f"{record['records']} records", encoding="utf-8")
    >>> report = Report(name="count", write=write_count, suffixes=(".txt",), summary="The number of records.")
    >>> report.write(Path("count.txt"), {"records": 20})
    >>> Path("count.txt").read_text(encoding="utf-8")
    '20 records'
    """

    name: str
    write: Callable[[Path, Mapping[str, Any]], None]
    suffixes: tuple[str, ...] = (".html",)
    summary: str = ""
