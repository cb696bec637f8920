"""What a section is: something that a plugin adds to every report of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from maskwright.plugins.partition import NoParams

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pydantic import BaseModel


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
