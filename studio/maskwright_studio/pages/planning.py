"""Plan: what a run would do, who keeps each edit and why, and the doubts that would stop its release."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import maskwright as mw
from maskwright_studio.data_process import NotYet
from maskwright_studio.page import Answer, Page
from maskwright_studio.pages.pipeline import proposed
from maskwright_studio.proposals import value_at
from maskwright_studio.refusal import Refusal
from maskwright_studio.showing import html

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
        waived=[] if found["plan"] is None else waived(pipeline.text),
    )  # fmt: skip


async def _planned(session: Session) -> dict[str, Any]:
    found: dict[str, Any] = await session.data.ask(session.needed_pipeline(), "plan", again=session.plans)
    return found


def waived(text: str) -> list[dict[str, Any]]:
    """Waivers of the pipeline."""
    found = value_at(mw.read_settings(text.removeprefix("\ufeff")), ("waive",))
    return [each for each in found or () if isinstance(each, dict)]


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
    doubts = (found["plan"] or {}).get("doubts", ())
    doubt = next((each for each in doubts if number_of(each) == form.get("doubt")), None)
    if doubt is None:
        raise Refusal("the plan is not that of this pipeline any more", "Make it again.")
    return await proposed(session, [["append", ["waive"], waiver_of(doubt, str(form.get("because", "")))]])


def waiver_of(doubt: dict[str, Any], because: str) -> dict[str, object]:
    """Entry of the pipeline that waives a doubt.

    Parameters
    ----------
    doubt : dict
        As the plan or the record of a run has it.
    because : str

    Raises
    ------
    Refusal
        There is no reason.
    """
    reason = because.strip()
    if not reason.strip(" ."):
        raise Refusal("a doubt is waived with a reason", "Say why it may be published all the same.")
    entry: dict[str, object] = {"doubt": doubt["doubt"]}
    if doubt["about"] != "file":
        entry[doubt["about"]] = int(doubt["subject"]) if doubt["about"] == "step" else doubt["subject"]
    return entry | {"because": reason}


def is_waived(doubt: dict[str, Any], text: str) -> bool:
    """Whether the text of a pipeline waives a doubt that an earlier run had; one that is no YAML waives nothing."""
    try:
        entries = waived(text)
    except mw.InputError:
        return False
    return any(
        entry.get("doubt") in (doubt["doubt"], doubt["id"])
        and (doubt["about"] == "file" or str(doubt["subject"]) in _listed(entry.get(doubt["about"])))
        for entry in entries
    )


def _listed(subjects: object) -> list[str]:
    return [str(each) for each in subjects] if isinstance(subjects, list) else [str(subjects)]


async def withdraw(session: Session, form: Form) -> Answer:
    """Show the removal of a waiver as a change of the pipeline."""
    operation: Operation = ["remove", ["waive", int(str(form.get("at", "")))]]
    return await proposed(session, [operation])


def number_of(doubt: dict[str, Any]) -> str:
    """What tells a doubt from the others of a plan."""
    return f"{doubt['id']} {doubt['subject']}"


PLANNING = Page(
    path="/plan",
    title="Plan",
    show=show,
    parts={"plan": plan},
    acts={"again": again, "waive": waive, "withdraw": withdraw},
    is_of_file=True,
)
