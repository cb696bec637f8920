"""Rules: a rule is counted while it is typed; all rules with their counts, their conflicts, and suggestions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import maskwright as mw
from maskwright_studio.data_process import Superseded
from maskwright_studio.page import Answer, Page
from maskwright_studio.pages.pipeline import proposed
from maskwright_studio.proposals import MARK, entry_at, value_at
from maskwright_studio.refusal import Refusal
from maskwright_studio.rule_graph import LEFT, RIGHT, WIDTH, rule_graph
from maskwright_studio.showing import html

if TYPE_CHECKING:
    from maskwright_studio.page import Form, Query
    from maskwright_studio.session import Session


NUMBERED = re.compile(r"\bedit-\d+")
"""Name of a rule that has none of its own: its number among the rules of the pipeline."""

COUNTED_ANEW = (
    "Rules without a name are counted: those behind this one get another number. What names one by it, such as a "
    "waiver of edit-3, is then about another rule."
)


async def show(session: Session, query: Query) -> str:
    """The editor, the rules, and suggestions where they were asked for."""
    pipeline, at = session.needed_pipeline(), query.get("change", "")
    changed = _stated(pipeline.text, int(at)) if at.isdecimal() else None
    return html(
        "rules.html", pipeline=pipeline.path.name, suggest=query.get("suggest") == "yes", changed=changed,
        at=at if changed else "",
    )  # fmt: skip


def _stated(text: str, at: int) -> str:
    """Rule at a position in the pipeline, as it is written there; '' where there is none."""
    try:
        entry = value_at(mw.read_settings(text.removeprefix(MARK)), ("edits", at))
    except mw.InputError:
        return ""
    rule = entry.get("rule", "") if isinstance(entry, dict) else entry
    return rule if isinstance(rule, str) else ""


async def every(session: Session, _: Query) -> str:
    """All rules of the pipeline with their counts, conflicts, and the graph."""
    pipeline = session.needed_pipeline()
    found = await session.data.ask(pipeline, "rules")
    rules = [
        {**each, "at": None if each["place"] is None else entry_at(pipeline.text, ("edits",), *each["place"])}
        for each in found["rules"]
    ]
    return html(
        "rules_table.html", graph=rule_graph(rules), left=LEFT, right=RIGHT, width=WIDTH, memory=session.data.memory,
        **{**found, "rules": rules},
    )  # fmt: skip


async def suggestions(session: Session, _: Query) -> str:
    """Rules that hold in the data."""
    return html("suggestions.html", **await session.data.ask(session.needed_pipeline(), "suggestions"))


async def count(session: Session, form: Form) -> Answer:
    """Counts of the rule that is being typed."""
    rule = _rule(form)
    if not rule:
        return Answer(html=html("rule_counts.html", rule=""))
    try:
        found = await session.data.ask(session.needed_pipeline(), "rule", topic="typed rule", text=rule)
    except Superseded:
        return Answer()
    except Refusal as refusal:
        return Answer(html=html("refusal.html", refusal=refusal))
    return Answer(html=html("rule_counts.html", rule=rule, found=found))


async def propose(session: Session, form: Form) -> Answer:
    """Show what adding the rule, or putting it in the place of another one, changes in the pipeline."""
    rule = _rule(form)
    if not rule:
        raise Refusal("no rule is written", "Write one, such as: gross == net + tax")
    try:
        await session.data.ask(session.needed_pipeline(), "rule", topic="proposed rule", text=rule)
    except Superseded:
        return Answer()
    at = str(form.get("at", ""))
    if not at:
        return await proposed(session, [["append", ["edits"], rule]])
    settings = mw.read_settings(session.needed_pipeline().text.removeprefix(MARK))
    entry = value_at(settings, ("edits", int(at)))
    return await proposed(session, [["set", ["edits", int(at), *(["rule"] if isinstance(entry, dict) else [])], rule]])


async def delete(session: Session, form: Form) -> Answer:
    """Show what deleting a rule changes in the pipeline."""
    at, text = int(str(form.get("at", ""))), session.needed_pipeline().text
    notes = [COUNTED_ANEW] if NUMBERED.search(text) else []
    return await proposed(session, [["remove", ["edits", at]]], notes)


def _rule(form: Form) -> str:
    return " ".join(str(form.get("rule", "")).split())


RULES = Page(
    path="/rules", title="Rules", show=show, parts={"every": every, "suggestions": suggestions},
    acts={"count": count, "propose": propose, "delete": delete}, is_of_file=True,
)  # fmt: skip
