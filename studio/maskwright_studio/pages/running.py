"""Pages of the run: the plan, and the run with its progress and outcome."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from maskwright_studio.data_process import NotYet, stamps_of_data
from maskwright_studio.decisions import decisions, guesses
from maskwright_studio.output_files import has_its_data, risks_not_kept, written_by
from maskwright_studio.page import Answer, Page, html
from maskwright_studio.pages.pipeline import proposed
from maskwright_studio.proposals import fingerprint
from maskwright_studio.refusal import Refusal, changed_outside
from maskwright_studio.session import inside, shown
from maskwright_studio.waivers import entry_of, is_waived, number_of, remember, waiver_of, waivers

if TYPE_CHECKING:
    from maskwright_studio.jobs import Job
    from maskwright_studio.page import Form, Query
    from maskwright_studio.pipeline_file import PipelineFile
    from maskwright_studio.proposals import Operation
    from maskwright_studio.session import Session


async def show_running(session: Session, query: Query) -> str:
    """What will be run, the last run or the chosen one, and all work of this session."""
    job = _chosen(session, query)
    jobs = session.jobs.all
    return html(
        "running.html", **_shown(session, job), jobs=jobs,
        is_busy=session.jobs.last is not None and not session.jobs.last.is_over,
        part=urlencode({"job": query["job"]}) if query.get("job") else "",
        unkept=risks_not_kept(session.needed_pipeline().text),
    )  # fmt: skip


async def progress(session: Session, query: Query) -> str:
    """How far the job is, or what came of it."""
    return html("progress.html", **_shown(session, _chosen(session, query)))


def _shown(session: Session, job: Job | None) -> dict[str, Any]:
    """What the templates get of a job."""
    pipeline = session.needed_pipeline()
    about = {} if job is None else job.request
    is_of_it = about.get("work") == "run" and about.get("pipeline") == str(pipeline.path)
    ended = job if is_of_it and job is not None and job.is_over else None
    return {
        "job": job, "pipeline": pipeline.path.name, "experiment": _experiment(session, about),
        "is_waived": lambda doubt: is_of_it and is_waived(doubt, pipeline.text),
        "open_of": lambda doubts: decisions(doubts, pipeline.text),
        "earlier": [] if job is not None else _earlier(session, pipeline),
        "waivers": [] if ended is None else waivers(pipeline, _waived(ended)),
        "is_older": ended is not None and about["seen"] != fingerprint(pipeline.text),
        "is_of_it": ended is not None and about["seen"] == fingerprint(pipeline.text),
        "has_its_data": ended is None or has_its_data(ended, pipeline),
    }  # fmt: skip


def _experiment(session: Session, about: dict[str, Any]) -> str:
    return shown(session.folder, Path(about["experiment"])) if "experiment" in about else ""


def _earlier(session: Session, pipeline: PipelineFile) -> list[str]:
    """Files in the folder that a run of the pipeline writes: of a run before the studio was started."""
    named = written_by(session.folder, shown(session.folder, pipeline.path)).values()
    return [name for name in named if (session.folder / name).exists()]


def _chosen(session: Session, query: Query) -> Job | None:
    """The job that the address names, else the one at work or that ended last."""
    number = query.get("job", "")
    if not number:
        return session.jobs.last
    job = session.jobs.numbered(number)
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
        "seen": fingerprint(pipeline.text), "data": stamps_of_data(pipeline),
    }  # fmt: skip
    await session.jobs.start(f"the run of {pipeline.path.name}", request)
    return Answer(go="/run", say="The run has begun.")


async def cancel(session: Session, _: Form) -> Answer:
    """Cancel what is at work, and say what was released of it."""
    job = await session.jobs.cancel()
    title = job.title[:1].upper() + job.title[1:]
    if job.state != "cancelled":
        return Answer(go="here", say=f"{title} had ended before it was cancelled.")
    return Answer(go="here", say=f"{title} is cancelled; {job.interrupted}.")


async def waive_run_doubt(session: Session, form: Form) -> Answer:
    """Show the waiver of a doubt that stopped a release, as a change of the pipeline."""
    unknown = Refusal("the run had no such doubt", "Run the pipeline again.")
    return await _waived_by(session, form, _doubts_of(session, form), unknown)


async def _waived_by(session: Session, form: Form, doubts: list[dict[str, Any]], unknown: Refusal) -> Answer:
    text = session.needed_pipeline().text
    decided = next((each.doubts for each in decisions(doubts, text) if each.number == form.get("doubt")), None)
    waived = decided or [each for each in doubts if number_of(each) == form.get("doubt")][:1]
    if not waived:
        raise unknown
    entry = waiver_of(waived, str(form.get("because", "")))
    remember(session.needed_pipeline(), entry, doubts)
    return await proposed(session, [["append", ["waive"], entry]])


async def confirm_run_waiver(session: Session, form: Form) -> Answer:
    """Take the reason of a waiver for one of all that the run found it to cover."""
    return _confirmed(session, form, _doubts_of(session, form))


def _confirmed(session: Session, form: Form, doubts: list[dict[str, Any]]) -> Answer:
    pipeline = session.needed_pipeline()
    remember(pipeline, entry_of(pipeline, form.get("at")), doubts)
    return Answer(go="here", say="The waiver stays as it is; its reason holds for all that it covers now.")


def _doubts_of(session: Session, form: Form) -> list[dict[str, Any]]:
    """Doubts of the run that a form names."""
    job = session.jobs.numbered(form.get("job"))
    if job is None or not job.result or job.request.get("pipeline") != str(session.needed_pipeline().path):
        raise Refusal("this doubt is not one of the pipeline that is open", "Run the pipeline again.")
    return list(job.result.get("doubts", ()))


def _waived(job: Job) -> list[dict[str, Any]]:
    """Doubts of a run that did not stop it."""
    return [each for each in (job.result or {}).get("doubts", ()) if each["because"] is not None]


async def open_file(session: Session, form: Form) -> Answer:
    """Open a file of a run in a window of its own: the button says where it shows what is confidential."""
    return Answer(document=session.documents.address(_file(session, form)))


async def download(session: Session, form: Form) -> Answer:
    """Hand a file of a run to the browser to keep."""
    return Answer(document=session.documents.address(_file(session, form), download=True))


def _file(session: Session, form: Form) -> Path:
    """File that a run has written, in the folder of the session."""
    number, _, key = str(form.get("file", "")).partition(" ")
    job = session.jobs.numbered(number)
    files = job.result["files"] if job is not None and job.state == "done" and job.request["work"] == "run" else ()
    name = next((each["file"] for each in files if each["key"] == key), None)
    if name is None:
        raise Refusal("this run wrote no such file", "Run the pipeline again.")
    path = inside(session.folder, name)
    if not path.is_file():
        raise Refusal(f"{path.name} is no longer there", "Run the pipeline again.")
    return path


RUNNING = Page(
    path="/run", title="Run", show=show_running, parts={"progress": progress},
    acts={"start": start, "cancel": cancel, "waive": waive_run_doubt, "holds": confirm_run_waiver, "open": open_file,
          "download": download},
    # What names the work needs nothing else to be as it was.
    rests_on={**dict.fromkeys(("progress", "cancel", "open", "download"), "nothing"), "holds": "text"},
)  # fmt: skip


async def show_planning(session: Session, _: Query) -> str:
    """The plan of the pipeline that is on disk; it is made anew when the pipeline is another."""
    pipeline = session.needed_pipeline()
    return html("planning.html", name=pipeline.path.name)


async def plan(session: Session, _: Query) -> str:
    """The plan, and who keeps what; the process that has read the data makes it."""
    pipeline = session.needed_pipeline()
    found = await _planned(session)
    return html(
        "plan.html",
        plan=found["plan"],
        problems=found.get("problems", ()),
        name=pipeline.path.name,
        open=[each for each in _doubts(found) if each["because"] is None],
    )


async def show_decisions(session: Session, _: Query) -> str:
    """What is to be decided before anything is released."""
    session.needed_pipeline()
    return html("decisions.html")


async def open_decisions(session: Session, _: Query) -> str:
    """Doubts of the plan with their answers, waivers, and what was guessed of variables."""
    pipeline = session.needed_pipeline()
    found = await _planned(session)
    looked = (await session.data.query(pipeline, "variables"))["variables"]
    left = decisions(_doubts(found), pipeline.text)
    decided = {name for each in left for name in each.subjects}
    return html(
        "open_decisions.html", plan=found["plan"], problems=found.get("problems", ()), name=pipeline.path.name,
        open=left, waivers=waivers(pipeline, _doubts(found)), guesses=guesses(looked, decided),
        facts={each["name"]: each for each in looked},
    )  # fmt: skip


async def _planned(session: Session) -> dict[str, Any]:
    found: dict[str, Any] = await session.data.query(session.needed_pipeline(), "plan", again=session.plans)
    return found


async def again(session: Session, _: Form) -> Answer:
    """Make the plan anew: files of rules may be others."""
    session.plans += 1
    return Answer(go="here", say="The plan is being made.")


async def waive_planned_doubt(session: Session, form: Form) -> Answer:
    """Show the waiver of a doubt as a change of the pipeline."""
    try:
        found = await _planned(session)
    except NotYet:
        found = {"plan": None}
    unknown = Refusal("the plan is not that of this pipeline any more", "Make it again.")
    return await _waived_by(session, form, _doubts(found), unknown)


async def confirm_planned_waiver(session: Session, form: Form) -> Answer:
    """Take the reason of a waiver for one of all that it covers now."""
    try:
        found = await _planned(session)
    except NotYet:
        raise Refusal("the plan is being made", "Look at it first.") from None
    return _confirmed(session, form, _doubts(found))


def _doubts(found: dict[str, Any]) -> list[dict[str, Any]]:
    return list((found["plan"] or {}).get("doubts", ()))


async def withdraw(session: Session, form: Form) -> Answer:
    """Show the removal of a waiver as a change of the pipeline."""
    operation: Operation = ["remove", ["waive", int(str(form.get("at", "")))]]
    return await proposed(session, [operation])


PLANNING = Page(
    path="/plan",
    title="Plan",
    show=show_planning,
    parts={"plan": plan},
    acts={"again": again, "waive": waive_planned_doubt, "holds": confirm_planned_waiver, "withdraw": withdraw},
    rests_on={"holds": "text", "withdraw": "text"},
    is_of_file=True,
)

DECIDING = Page(
    path="/decisions", title="Decisions", show=show_decisions, parts={"open": open_decisions}, is_of_file=True,
)  # fmt: skip
