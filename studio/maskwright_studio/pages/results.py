"""Pages of results: before and after, and the report."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from maskwright_studio.drawing import OVERLAY_HEIGHT, OVERLAY_WIDTH, overlay, shade_of
from maskwright_studio.output_files import needed_output, older, output_of, section_of
from maskwright_studio.page import Answer, Page, html
from maskwright_studio.refusal import Refusal
from maskwright_studio.session import inside

if TYPE_CHECKING:
    from maskwright_studio.page import Form, Query
    from maskwright_studio.session import Session


OF_NUMBERS = ("pil", "kolmogorov_smirnov")
OF_CATEGORIES = ("contingency_tables",)
"""Measures that need no pairs of records: released records may stand in another order."""


async def show_before_and_after(session: Session, query: Query) -> str:
    """Variables of both files, the chosen one, correlations, and measures of both files where they are requested."""
    needed_output(session, "data", "masked data")
    name, values, measured = (query.get(key, "") for key in ("name", "values", "measured"))
    return html(
        "before_and_after.html", name=name, chosen=urlencode({"name": name, "values": values}), measured=measured,
        older=older(session, "data"), measuring=f"/before-and-after?{urlencode({'name': name, 'measured': 'yes'})}",
    )  # fmt: skip


async def _queried(session: Session, what: str, **details: Any) -> Any:
    masked, stamp = needed_output(session, "data", "masked data")
    return await session.data.query(session.needed_pipeline(), what, masked=masked, stamp=stamp, **details)


async def every(session: Session, query: Query) -> str:
    """Table of the variables."""
    found = await _queried(session, "both")
    return html("compared_variables.html", chosen=query.get("name", ""), memory=session.data.memory, **found)


async def one(session: Session, query: Query) -> str:
    """Distribution of one variable in both files."""
    name, values = query.get("name", ""), query.get("values") == "shown"
    found = await _queried(session, "overlaid", name=name, values=values)
    addresses = {"with_values": _address(name, "shown"), "without_values": _address(name, "")}
    if found["form"] == "recoded":
        return html("recoded.html", name=name, found=found, after=found["after"], values=values, **addresses)
    return html(
        "overlaid.html", name=name, found=found, values=values, picture=overlay(found["original"], found["masked"]),
        width=OVERLAY_WIDTH, height=OVERLAY_HEIGHT, **addresses,
    )  # fmt: skip


def _address(name: str, values: str) -> str:
    return f"/before-and-after?{urlencode({'name': name, 'values': values})}"


async def correlations(session: Session, _: Query) -> str:
    """Differences of the correlations as a coloured table."""
    found = await _queried(session, "correlations")
    rows = [
        (name, [_cell(*pair) for pair in zip(found["original"][at][:at], found["masked"][at][:at], strict=True)])
        for at, name in enumerate(found["names"])
    ]
    return html("correlations.html", names=found["names"], rows=rows, left_out=found["left_out"])


def _cell(before: float | None, after: float | None) -> dict[str, Any]:
    difference = None if before is None or after is None else after - before
    return {"before": before, "after": after, "difference": difference, "shade": shade_of(difference)}


async def figures(session: Session, _: Query) -> str:
    """What ``maskwright measure`` says of both files."""
    both = await _queried(session, "both")
    kinds = {each["is_numeric"] for each in both["variables"] if not each["recoded"]}
    measures = (*(OF_NUMBERS if True in kinds else ()), *(OF_CATEGORIES if False in kinds else ()))
    pipeline = session.needed_pipeline().path
    source = section_of(session, "data").get("source")
    if not isinstance(source, str):
        raise Refusal("the data are not one file", "The measures of the run stand on the page Run.")
    original, masked = inside(session.folder, str(pipeline.parent / source)), needed_output(session, "data", "")[0]
    if not measures or not original.is_file():
        raise Refusal("the data are not one file with variables to measure", "See the measures on the page Run.")
    files = [Path(os.path.relpath(each, session.folder)).as_posix() for each in (original, masked, pipeline)]
    words = [
        "measure",
        *files[:2],
        *(word for each in measures for word in ("--measure", each)),
        "--pipeline",
        files[2],
    ]
    found = await session.commands.look(Path(masked), *words)
    return html("measured_files.html", found=found["measures"], command=f"maskwright {shlex.join(words)} --json")


BEFORE_AND_AFTER = Page(
    path="/before-and-after", title="Before and after", show=show_before_and_after,
    parts={"every": every, "one": one, "correlations": correlations, "figures": figures}, is_of_file=True,
)  # fmt: skip


async def show_report(session: Session, _: Query) -> str:
    """The report, where there is one."""
    path = output_of(session, "report")
    address = session.documents.address(path) if path is not None and path.is_file() else ""
    return html("report.html", name="" if path is None else path.name, address=address, older=older(session, "report"))


async def window(session: Session, _: Form) -> Answer:
    """Open the report in a window of its own, for printing."""
    path = output_of(session, "report")
    if path is None or not path.is_file():
        raise Refusal("there is no report yet", "Run the pipeline first.")
    return Answer(document=session.documents.address(path))


REPORT = Page(path="/report", title="Report", show=show_report, acts={"window": window})
