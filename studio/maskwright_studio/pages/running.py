"""Run: start the pipeline, follow it, cancel it; what came of it, and of the other work of this session."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from maskwright_studio.folder import inside, shown
from maskwright_studio.page import Answer, Page
from maskwright_studio.pages.pipeline import proposed
from maskwright_studio.pages.planning import is_waived, number_of, waiver_of
from maskwright_studio.proposals import fingerprint
from maskwright_studio.refusal import Refusal, changed_outside
from maskwright_studio.showing import html

if TYPE_CHECKING:
    from maskwright_studio.jobs import Job
    from maskwright_studio.page import Form, Query
    from maskwright_studio.session import Session


async def show(session: Session, query: Query) -> str:
    """What will be run, the last run or the chosen one, and all work of this session."""
    job = _chosen(session, query)
    jobs = session.jobs.all
    return html(
        "running.html", **_shown(session, job), jobs=jobs,
        is_busy=session.jobs.last is not None and not session.jobs.last.is_over,
        part=urlencode({"job": query["job"]}) if query.get("job") else "",
    )  # fmt: skip


async def progress(session: Session, query: Query) -> str:
    """How far the job is, or what came of it."""
    return html("progress.html", **_shown(session, _chosen(session, query)))


def _shown(session: Session, job: Job | None) -> dict[str, Any]:
    """What the templates are told of a job."""
    pipeline = session.needed_pipeline()
    about = {} if job is None else job.request
    is_of_it = about.get("work") == "run" and about.get("pipeline") == str(pipeline.path)
    return {
        "job": job, "pipeline": pipeline.path.name, "experiment": _experiment(session, about),
        "is_waived": lambda doubt: is_of_it and is_waived(doubt, pipeline.text),
        "is_older": is_of_it and job is not None and job.is_over and about["seen"] != fingerprint(pipeline.text),
    }  # fmt: skip


def _experiment(session: Session, about: dict[str, Any]) -> str:
    return shown(session.folder, Path(about["experiment"])) if "experiment" in about else ""


def _chosen(session: Session, query: Query) -> Job | None:
    """The job that the address names, else the one at work or that ended last."""
    number = query.get("job", "")
    if not number:
        return session.jobs.last
    job = next((each for each in session.jobs.all if str(each.number) == number), None)
    if job is None:
        raise Refusal(f"there is no work {number} in this session", "Choose one below, or run the pipeline.")
    return job


async def start(session: Session, _: Form) -> Answer:
    """Run the pipeline that is on disk."""
    pipeline = session.needed_pipeline()
    if pipeline.changed_outside():
        raise changed_outside(pipeline.path.name)
    request = {
        "work": "run", "pipeline": str(pipeline.path), "folder": str(session.folder),
        "seen": fingerprint(pipeline.text),
    }  # fmt: skip
    await session.jobs.start(f"the run of {pipeline.path.name}", request)
    return Answer(go="/run", say="The run has begun.")


async def cancel(session: Session, _: Form) -> Answer:
    """Cancel what is at work: nothing is released, and its temporary files are removed."""
    await session.jobs.cancel()
    job = session.jobs.last
    title = "The work" if job is None else job.title[:1].upper() + job.title[1:]
    return Answer(go="here", say=f"{title} is cancelled; nothing was released by it.")


async def waive(session: Session, form: Form) -> Answer:
    """Show the waiver of a doubt that stopped a release, as a change of the pipeline."""
    job = next((each for each in session.jobs.all if str(each.number) == form.get("job")), None)
    if job is None or not job.result or job.request.get("pipeline") != str(session.needed_pipeline().path):
        raise Refusal("this doubt is not one of the pipeline that is open", "Run the pipeline again.")
    doubt = next((each for each in job.result.get("doubts", ()) if number_of(each) == form.get("doubt")), None)
    if doubt is None:
        raise Refusal("the run had no such doubt", "Run the pipeline again.")
    return await proposed(session, [["append", ["waive"], waiver_of(doubt, str(form.get("because", "")))]])


async def open_file(session: Session, form: Form) -> Answer:
    """Open a file of a run in a window of its own: the button says where it shows what is confidential."""
    return Answer(document=session.documents.address(_file(session, form)))


async def download(session: Session, form: Form) -> Answer:
    """Hand a file of a run to the browser to keep."""
    return Answer(document=session.documents.address(_file(session, form), download=True))


def _file(session: Session, form: Form) -> Path:
    """File that a run has written, in the folder of the session."""
    number, _, key = str(form.get("file", "")).partition(" ")
    job = next((each for each in session.jobs.all if str(each.number) == number), None)
    files = job.result["files"] if job is not None and job.state == "done" and job.request["work"] == "run" else ()
    name = next((each["file"] for each in files if each["key"] == key), None)
    if name is None:
        raise Refusal("this run wrote no such file", "Run the pipeline again.")
    path = inside(session.folder, name)
    if not path.is_file():
        raise Refusal(f"{path.name} is no longer there", "Run the pipeline again.")
    return path


RUNNING = Page(
    path="/run", title="Run", show=show, parts={"progress": progress},
    acts={"start": start, "cancel": cancel, "waive": waive, "open": open_file, "download": download},
)  # fmt: skip
