"""What reports and their sections are: the record of a run in, a file or a section out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from maskwright.plugins.partition import NoParams

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pydantic import BaseModel


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


@dataclass(frozen=True, kw_only=True)
class Bars:
    """A figure: numbers >= 0 as horizontal bars, in the order given.

    Attributes
    ----------
    caption : str
    values : mapping of str to float
    unit : str

    Examples
    --------
    >>> from maskwright import Bars
    >>> Bars(caption="loss by variable", values={"wages": 2.5}, unit="percent").values["wages"]
    2.5
    """

    caption: str
    values: Mapping[str, float]
    unit: str = ""


@dataclass(frozen=True, kw_only=True)
class SectionContent:
    """Content of a section; reports show it in their own form, and escape every text.

    Attributes
    ----------
    paragraphs : tuple of str
    head : tuple of str
        Heads of the columns of a table.
    rows : tuple of tuple of str
        Its rows, each as long as `head`.
    figures : tuple of Bars

    Examples
    --------
    >>> from maskwright import SectionContent
    >>> SectionContent(head=("what", "how many"), rows=(("records", "20"),)).rows[0]
    ('records', '20')
    """

    paragraphs: tuple[str, ...] = ()
    head: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    figures: tuple[Bars, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ReportSection:
    """A section of the report: text, a table, figures, made of the run record.

    Attributes
    ----------
    name : str
        The key in the pipeline's ``sections:`` list.
    title : str
    compose : callable
        ``(record, params) -> SectionContent``; `record` is what reports get: the run record as plain data that cannot
        be changed, without the seed and hashes of the input. What is composed stands in the record under ``sections``,
        and so in every report.
    params : type of pydantic.BaseModel
        Parameters; every field with a description.
    summary : str

    Examples
    --------
    >>> from maskwright import ReportSection, SectionContent
    >>> def compose(record, params):
    ...     return SectionContent(paragraphs=(f"{record['records']} records were released.",))
    >>> section = ReportSection(name="size", title="Size", compose=compose, summary="How many records.")
    >>> section.compose({"records": 20}, section.params()).paragraphs
    ('20 records were released.',)
    """

    name: str
    title: str
    compose: Callable[[Mapping[str, Any], Any], SectionContent]
    params: type[BaseModel] = NoParams
    summary: str = ""
