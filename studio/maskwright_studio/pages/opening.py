"""Open: choose a pipeline of the folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright_studio.page import Answer, Page
from maskwright_studio.refusal import Refusal
from maskwright_studio.showing import html

if TYPE_CHECKING:
    from maskwright_studio.page import Form, Query
    from maskwright_studio.session import Session


async def show(session: Session, _: Query) -> str:
    """Pipelines of the folder, and the one that is open."""
    pipeline = session.pipeline
    return html(
        "opening.html",
        folder=str(session.folder),
        pipelines=session.pipelines(),
        open=None if pipeline is None else pipeline.path.relative_to(session.folder).as_posix(),
        text="" if pipeline is None else pipeline.text,
    )


async def choose(session: Session, form: Form) -> Answer:
    """Open a pipeline."""
    pipeline = session.open(str(form.get("pipeline", "")))
    return Answer(go="/", say=f"{pipeline.path.name} is open.")


async def undo(session: Session, _: Form) -> Answer:
    """Undo the last change of the pipeline."""
    session.needed_pipeline().undo()
    return Answer(go="here", say="The last change is undone.")


async def redo(session: Session, _: Form) -> Answer:
    """Do again what was undone."""
    session.needed_pipeline().redo()
    return Answer(go="here", say="The change is made again.")


async def read_again(session: Session, _: Form) -> Answer:
    """Take the pipeline as it is on disk."""
    pipeline = session.needed_pipeline()
    if not pipeline.changed_outside():
        raise Refusal(f"{pipeline.path.name} is as it was last read")
    pipeline.read_again()
    return Answer(go="here", say=f"{pipeline.path.name} was read again.")


OPENING = Page(
    path="/open", title="Open", show=show, acts={"choose": choose, "undo": undo, "redo": redo, "read_again": read_again}
)
