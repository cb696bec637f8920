"""Run: start the pipeline, follow it, cancel it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright_studio.page import Answer, Page
from maskwright_studio.refusal import Refusal
from maskwright_studio.showing import html

if TYPE_CHECKING:
    from maskwright_studio.page import Form, Query
    from maskwright_studio.session import Session


async def show(session: Session, _: Query) -> str:
    """What will be run, and the last run."""
    return html("running.html", pipeline=session.needed_pipeline().path.name, job=session.jobs.last)


async def progress(session: Session, _: Query) -> str:
    """How far the job is."""
    return html("progress.html", job=session.jobs.last)


async def start(session: Session, _: Form) -> Answer:
    """Run the pipeline that is on disk."""
    pipeline = session.needed_pipeline()
    if pipeline.changed_outside():
        raise Refusal(f"{pipeline.path.name} was changed outside this page", "Read it again on the page Open.")
    await session.jobs.start(f"the run of {pipeline.path.name}", {"work": "run", "pipeline": str(pipeline.path)})
    return Answer(go="here", say="The run has begun.")


async def cancel(session: Session, _: Form) -> Answer:
    """Cancel the run: nothing is released, and its temporary files are removed."""
    await session.jobs.cancel()
    return Answer(go="here", say="The run is cancelled; nothing was released by it.")


RUNNING = Page(
    path="/run", title="Run", show=show, parts={"progress": progress}, acts={"start": start, "cancel": cancel}
)
