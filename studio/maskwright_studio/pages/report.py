"""Report: the report of the pipeline, in a frame where none of its content can do anything."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from maskwright_studio.folder import inside
from maskwright_studio.page import Answer, Page
from maskwright_studio.refusal import Refusal
from maskwright_studio.showing import html

if TYPE_CHECKING:
    from maskwright_studio.page import Form, Query
    from maskwright_studio.session import Session


async def show(session: Session, _: Query) -> str:
    """The report, where there is one."""
    path = report_of(session)
    address = session.documents.address(path) if path is not None and path.is_file() else ""
    return html("report.html", name="" if path is None else path.name, address=address)


async def window(session: Session, _: Form) -> Answer:
    """Open the report in a window of its own, for printing."""
    path = report_of(session)
    if path is None or not path.is_file():
        raise Refusal("there is no report yet", "Run the pipeline first.")
    return Answer(document=session.documents.address(path))


def report_of(session: Session) -> Path | None:
    """File that the pipeline writes its report to; None where it writes none."""
    pipeline = session.needed_pipeline()
    try:
        settings = yaml.safe_load(pipeline.text)
    except yaml.YAMLError:
        raise Refusal(f"{pipeline.path.name} is no YAML as it stands") from None
    output = settings.get("output") if isinstance(settings, dict) else None
    name = output.get("report") if isinstance(output, dict) else None
    if not isinstance(name, str):
        return None
    return inside(session.folder, str(pipeline.path.parent / Path(name)))


REPORT = Page(path="/report", title="Report", show=show, acts={"window": window})
