"""Report: the report of the pipeline, in a frame where none of its content can do anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright_studio.earlier import older
from maskwright_studio.page import Answer, Page
from maskwright_studio.refusal import Refusal
from maskwright_studio.released import output_of
from maskwright_studio.showing import html

if TYPE_CHECKING:
    from maskwright_studio.page import Form, Query
    from maskwright_studio.session import Session


async def show(session: Session, _: Query) -> str:
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


REPORT = Page(path="/report", title="Report", show=show, acts={"window": window})
