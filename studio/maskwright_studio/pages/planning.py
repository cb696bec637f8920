"""Plan: what a run would do, who keeps each edit and why, and the doubts that would stop its release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maskwright_studio.data_process import NotYet
from maskwright_studio.page import Answer, Page
from maskwright_studio.pages.pipeline import proposed
from maskwright_studio.refusal import Refusal
from maskwright_studio.showing import html
from maskwright_studio.waivers import entry_of, grouped, number_of, remember, waiver_of, waivers

if TYPE_CHECKING:
    from maskwright_studio.page import Form, Query
    from maskwright_studio.proposals import Operation
    from maskwright_studio.session import Session


async def show(session: Session, _: Query) -> str:
    """The plan of the pipeline that is on disk; it is made anew when the pipeline is another."""
    pipeline = session.needed_pipeline()
    return html("planning.html", name=pipeline.path.name)


async def plan(session: Session, _: Query) -> str:
    """The plan, and who keeps what; the process that has read the data makes it."""
    pipeline = session.needed_pipeline()
    found = await _planned(session)
    return html(
        "plan.html", plan=found["plan"], problems=found.get("problems", ()), name=pipeline.path.name,
        open=grouped(_doubts(found)), waivers=waivers(pipeline, _doubts(found)),
    )  # fmt: skip


async def _planned(session: Session) -> dict[str, Any]:
    found: dict[str, Any] = await session.data.ask(session.needed_pipeline(), "plan", again=session.plans)
    return found


async def again(session: Session, _: Form) -> Answer:
    """Make the plan anew: files of rules may be others."""
    session.plans += 1
    return Answer(go="here", say="The plan is being made.")


async def waive(session: Session, form: Form) -> Answer:
    """Show the waiver of a doubt as a change of the pipeline."""
    try:
        found = await _planned(session)
    except NotYet:
        found = {"plan": None}
    doubts = _doubts(found)
    doubt = next((each for each in doubts if number_of(each) == form.get("doubt")), None)
    if doubt is None:
        raise Refusal("the plan is not that of this pipeline any more", "Make it again.")
    entry = waiver_of(doubt, str(form.get("because", "")))
    remember(session.needed_pipeline(), entry, doubts)
    return await proposed(session, [["append", ["waive"], entry]])


async def holds(session: Session, form: Form) -> Answer:
    """Take the reason of a waiver for one of all that it covers now."""
    pipeline = session.needed_pipeline()
    try:
        found = await _planned(session)
    except NotYet:
        raise Refusal("the plan is being made", "Look at it first.") from None
    remember(pipeline, entry_of(pipeline, form.get("at")), _doubts(found))
    return Answer(go="here", say="The waiver stays as it is; its reason holds for all that it covers now.")


def _doubts(found: dict[str, Any]) -> list[dict[str, Any]]:
    return list((found["plan"] or {}).get("doubts", ()))


async def withdraw(session: Session, form: Form) -> Answer:
    """Show the removal of a waiver as a change of the pipeline."""
    operation: Operation = ["remove", ["waive", int(str(form.get("at", "")))]]
    return await proposed(session, [operation])


PLANNING = Page(
    path="/plan",
    title="Plan",
    show=show,
    parts={"plan": plan},
    acts={"again": again, "waive": waive, "holds": holds, "withdraw": withdraw},
    rests_on={"holds": "text", "withdraw": "text"},
    is_of_file=True,
)
