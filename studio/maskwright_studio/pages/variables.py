"""Pages of the data: variables with their roles, and rules with their counts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlencode

import maskwright as mw
from maskwright_studio.data_process import Superseded
from maskwright_studio.drawing import BARS_HEIGHT, BARS_WIDTH, GRAPH_LEFT, GRAPH_RIGHT, GRAPH_WIDTH, bars, rule_graph
from maskwright_studio.page import Answer, Page, html
from maskwright_studio.pages.pipeline import proposed, schema
from maskwright_studio.parameter_form import LEFT_OUT, changed_fields, fields
from maskwright_studio.proposals import MARK, entry_at, value_at
from maskwright_studio.refusal import Refusal

if TYPE_CHECKING:
    from maskwright_studio.page import Form, Query
    from maskwright_studio.parameter_form import FormField
    from maskwright_studio.proposals import Operation
    from maskwright_studio.session import Session


ROLES = {
    "identifier": "names a person or unit directly; never released",
    "quasi_identifier": "what an intruder may know from elsewhere; masked",
    "confidential": "what must not be learned of a person; masked",
    "weight": "sampling weight; published as it is",
    "other": "published as it is",
}


async def show_variables(session: Session, query: Query) -> str:
    """All variables, and the chosen one; its name is in the address."""
    session.needed_pipeline()
    name, values = query.get("name", ""), query.get("values", "")
    chosen = urlencode({"name": name, "values": values})
    return html("variables.html", name=name, chosen=chosen)


async def all_variables(session: Session, query: Query) -> str:
    """Table of all variables."""
    found = await session.data.query(session.needed_pipeline(), "variables")
    return html("variables_table.html", memory=session.data.memory, chosen=query.get("name", ""), **found)


async def one(session: Session, query: Query) -> str:
    """One variable: its distribution, and a form for its role."""
    pipeline, name = session.needed_pipeline(), query.get("name", "")
    found = await session.data.query(pipeline, "variables")
    variable = next((each for each in found["variables"] if each["name"] == name), None)
    if variable is None:
        raise Refusal(f"there is no variable {name}", "Choose one in the table above.")
    values = query.get("values") == "shown"
    distribution = await session.data.query(pipeline, "distribution", name=name, values=values)
    return html(
        "variable.html", variable=variable, values=values, roles=ROLES,
        distribution=distribution, bars=bars(distribution), width=BARS_WIDTH, height=BARS_HEIGHT,
        declared=await _declared(pipeline.text, name),
        with_values=f"/variables?{urlencode({'name': name, 'values': 'shown'})}",
        without_values=f"/variables?{urlencode({'name': name})}",
    )  # fmt: skip


async def propose_declaration(session: Session, form: Form) -> Answer:
    """Show what changing what is declared of a variable changes in the pipeline."""
    name, role = str(form.get("name", "")), str(form.get("role", ""))
    if role not in ROLES:
        raise Refusal(f"there is no role {role}", f"Roles are: {', '.join(ROLES)}.")
    path = ["data", "variables", name]
    others: list[Operation] = [
        ["remove", [*path, each.label]] if value is LEFT_OUT else ["set", [*path, each.label], value]
        for each, value in changed_fields(await _declared(session.needed_pipeline().text, name), form)
    ]
    # A role that was guessed is declared where that is all that was requested.
    own: list[Operation] = [] if others and role == form.get("was") else [["set", [*path, "role"], role]]
    return await proposed(session, [*own, *others])


async def _declared(text: str, name: str) -> list[FormField]:
    """Fields of the type and of the missing codes that the pipeline declares."""
    try:
        settings = mw.read_settings(text.removeprefix(MARK))
    except mw.InputError:
        return []
    described, path = await schema(), ("data", "variables", name)
    found = fields(described, described["$defs"]["data.VariableDeclaration"], path, value_at(settings, path))
    return [each for each in found if each.label in ("type", "missing")]


VARIABLES = Page(
    path="/variables", title="Variables", show=show_variables, parts={"every": all_variables, "one": one},
    acts={"propose": propose_declaration}, is_of_file=True,
)  # fmt: skip


NUMBERED = re.compile(r"\bedit-\d+")
"""Name of a rule that has none of its own: its number among the rules of the pipeline."""

COUNTED_ANEW = (
    "Rules without a name are counted: those behind this one get another number. What names one by it, such as a "
    "waiver of edit-3, is then about another rule."
)


async def show_rules(session: Session, query: Query) -> str:
    """The editor, the rules, and suggestions where they were requested."""
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


async def all_rules(session: Session, _: Query) -> str:
    """All rules of the pipeline with their counts, conflicts, and the graph."""
    pipeline = session.needed_pipeline()
    found = await session.data.query(pipeline, "rules")
    rules = [
        {**each, "at": None if each["place"] is None else entry_at(pipeline.text, ("edits",), *each["place"])}
        for each in found["rules"]
    ]
    return html(
        "rules_table.html",
        graph=rule_graph(rules),
        left=GRAPH_LEFT,
        right=GRAPH_RIGHT,
        width=GRAPH_WIDTH,
        memory=session.data.memory,
        **{**found, "rules": rules},
    )  # fmt: skip


async def suggestions(session: Session, _: Query) -> str:
    """Rules that hold in the data."""
    return html("suggestions.html", **await session.data.query(session.needed_pipeline(), "suggestions"))


async def count(session: Session, form: Form) -> Answer:
    """Counts of the rule that is being typed."""
    rule = _rule(form)
    if not rule:
        return Answer(html=html("rule_counts.html", rule=""))
    try:
        found = await session.data.query(session.needed_pipeline(), "rule", topic="typed rule", text=rule)
    except Superseded:
        return Answer()
    except Refusal as refusal:
        return Answer(html=html("refusal.html", refusal=refusal))
    return Answer(html=html("rule_counts.html", rule=rule, found=found))


async def propose_rule(session: Session, form: Form) -> Answer:
    """Show what adding the rule, or putting it in the place of another one, changes in the pipeline."""
    rule = _rule(form)
    if not rule:
        raise Refusal("no rule is written", "Write one, such as: gross == net + tax")
    try:
        await session.data.query(session.needed_pipeline(), "rule", topic="proposed rule", text=rule)
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
    path="/rules", title="Rules", show=show_rules, parts={"every": all_rules, "suggestions": suggestions},
    acts={"count": count, "propose": propose_rule, "delete": delete}, is_of_file=True,
)  # fmt: skip
