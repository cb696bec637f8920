"""Rules: a rule is counted while it is typed; all rules with their counts, their conflicts, and suggestions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright_studio.data_process import Superseded
from maskwright_studio.page import Answer, Page
from maskwright_studio.pages.pipeline import proposed
from maskwright_studio.refusal import Refusal
from maskwright_studio.rule_graph import LEFT, RIGHT, WIDTH, rule_graph
from maskwright_studio.showing import html

if TYPE_CHECKING:
    from maskwright_studio.page import Form, Query
    from maskwright_studio.session import Session


async def show(session: Session, query: Query) -> str:
    """The editor, the rules, and suggestions where they were asked for."""
    pipeline = session.needed_pipeline()
    return html("rules.html", pipeline=pipeline.path.name, suggest=query.get("suggest") == "yes")


async def every(session: Session, _: Query) -> str:
    """All rules of the pipeline with their counts, conflicts, and the graph."""
    found = await session.data.ask(session.needed_pipeline(), "rules")
    graph = rule_graph(found["rules"])
    return html(
        "rules_table.html", graph=graph, left=LEFT, right=RIGHT, width=WIDTH, memory=session.data.memory, **found
    )


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
    """Show what adding the rule changes in the pipeline."""
    rule = _rule(form)
    if not rule:
        raise Refusal("no rule is written", "Write one, such as: gross == net + tax")
    try:
        await session.data.ask(session.needed_pipeline(), "rule", topic="proposed rule", text=rule)
    except Superseded:
        return Answer()
    return await proposed(session, [["append", ["edits"], rule]])


def _rule(form: Form) -> str:
    return " ".join(str(form.get("rule", "")).split())


RULES = Page(
    path="/rules", title="Rules", show=show, parts={"every": every, "suggestions": suggestions},
    acts={"count": count, "propose": propose}, is_of_file=True,
)  # fmt: skip
