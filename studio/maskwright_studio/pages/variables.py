"""Pages of the data: variables with their roles, and rules with their counts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import maskwright as mw
from maskwright_studio.data_process import NotYet, Superseded
from maskwright_studio.declared_lists import LISTS, is_listed, listed
from maskwright_studio.drawing import (
    BARS_HEIGHT,
    BARS_WIDTH,
    GRAPH_LEFT,
    GRAPH_RIGHT,
    GRAPH_WIDTH,
    bars,
    outline,
    rule_graph,
)
from maskwright_studio.page import Answer, Page, html
from maskwright_studio.pages.pipeline import proposed, schema
from maskwright_studio.parameter_form import LEFT_OUT, changed_fields, fields
from maskwright_studio.pipeline_text.layout import settings_of
from maskwright_studio.proposals import entry_at, value_at
from maskwright_studio.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

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

EDITED = ("role", "type", "missing", "label")
"""What is declared of a variable in its row."""

EVERY = {"role": "role of those that are selected", "type": "type of those that are selected"}
"""Fields of the form: their values are role and type of all variables that are selected."""


async def show_variables(session: Session, query: Query) -> str:
    """All variables, and the chosen one; its name is in the address."""
    session.needed_pipeline()
    name, values = query.get("name", ""), query.get("values", "")
    chosen = urlencode({"name": name, "values": values})
    return html("variables.html", name=name, chosen=chosen)


async def all_variables(session: Session, query: Query) -> str:
    """Table of all variables, with what the pipeline declares of each as fields."""
    pipeline = session.needed_pipeline()
    found = await session.data.query(pipeline, "variables")
    declared = await _declared(pipeline.text, [each["name"] for each in found["variables"]])
    return html(
        "variables_table.html", memory=session.data.memory, chosen=query.get("name", ""), roles=ROLES, fields=declared,
        every=EVERY, types=next((own["type"].choices for own in declared.values()), ()),
        **{**found, "variables": [_row(each) for each in found["variables"]]},
    )  # fmt: skip


def _row(variable: dict[str, Any]) -> dict[str, Any]:
    """A variable with its picture, and the words by which its row is found."""
    words = [variable["name"], variable["label"], variable["level"], variable["role"], variable["type"],
             variable["looks_like"], *([] if variable["is_declared"] else ["not declared"]),
             *(["unsure"] if variable["unsure"] else [])]  # fmt: skip
    return {**variable, "words": " ".join(filter(None, words)).lower(), "picture": outline(variable["shape"])}


async def one(session: Session, query: Query) -> str:
    """One variable: what it seems to be, and its distribution."""
    pipeline, name = session.needed_pipeline(), query.get("name", "")
    found = await session.data.query(pipeline, "variables")
    variable = next((each for each in found["variables"] if each["name"] == name), None)
    if variable is None:
        raise Refusal(f"there is no variable {name}", "Choose one in the table above.")
    values = query.get("values") == "shown"
    distribution = await session.data.query(pipeline, "distribution", name=name, values=values)
    return html(
        "variable.html", variable=variable, values=values, distribution=distribution, bars=bars(distribution),
        width=BARS_WIDTH, height=BARS_HEIGHT,
        with_values=f"/variables?{urlencode({'name': name, 'values': 'shown'})}",
        without_values=f"/variables?{urlencode({'name': name})}",
    )  # fmt: skip


async def propose_declarations(session: Session, form: Form) -> Answer:
    """Show what the fields of all rows, and role and type of those that are selected, change in the pipeline."""
    text = session.needed_pipeline().text
    given = form.get("selected", [])
    selected = [str(each) for each in (given if isinstance(given, list) else [given])]
    rows = dict.fromkeys(key.split("/")[2] for key in form if key.startswith("data/variables/") and key.count("/") == 3)
    every, selected = await _in_file_order(session, [*rows], selected)
    declared = await _declared(text, [*rows, *(each for each in selected if each not in rows)])
    chosen = _chosen(form, selected, declared)
    found = {each.path: value for own in declared.values() for each, value in changed_fields(own.values(), form)}
    found |= {("data", "variables", name, fact): value for fact, value in chosen.items() for name in selected}
    wrong = next((value for path, value in found.items() if path[-1] == "role" and value not in (*ROLES, LEFT_OUT)), "")
    if wrong:
        raise Refusal(f"there is no role {wrong}", f"Roles are: {', '.join(ROLES)}.")
    operations, notes = _by_lists(text, found, chosen if len(selected) > 1 else {}, selected, every)
    operations += [["set", [*path], value] for path, value in found.items() if value is not LEFT_OUT]
    operations += [["remove", [*path]] for path, value in found.items() if value is LEFT_OUT]
    if not operations and chosen:
        raise Refusal("all that are selected are declared so already")
    return await proposed(session, operations, notes)


async def _in_file_order(session: Session, rows: list[str], selected: list[str]) -> tuple[list[str], list[str]]:
    """Variables of the data, and those of them that are selected, as the file has them: the table may be sorted."""
    try:
        found = await session.data.query(session.needed_pipeline(), "variables")
    except (NotYet, Refusal):
        return rows, selected
    order = {each["name"]: at for at, each in enumerate(found["variables"])}
    return list(order), sorted(selected, key=lambda name: order.get(name, len(order)))


def _chosen(form: Form, selected: Sequence[str], declared: dict[str, dict[str, FormField]]) -> dict[str, str]:
    """Role and type of all that are selected, as far as they are chosen."""
    chosen = {fact: value for fact, name in EVERY.items() if (value := str(form.get(name, "")))}
    if selected and not chosen:
        raise Refusal("no role is chosen, and no type, for those that are selected", "Choose it above the table.")
    if chosen and not selected:
        raise Refusal("no variable is selected", "Select those that get this in the column Select.")
    choices = next(iter(declared.values()))["type"].choices if declared else ()
    if chosen.get("type", "") not in ("", *choices):
        raise Refusal(f"there is no type {chosen['type']}", f"Types are: {', '.join(choices)}.")
    return chosen


def _by_lists(
    text: str, found: dict[Any, object], chosen: dict[str, str], selected: Sequence[str], every: Sequence[str]
) -> tuple[list[Operation], list[str]]:
    """Operations on lists of variables; what they do is taken out of what is found."""
    settings = settings_of(text)
    operations: list[Operation] = []
    notes: list[str] = []
    for fact in LISTS:
        wanted = {
            name: str(value) for (*_, name, key), value in found.items()
            if key == fact and value is not LEFT_OUT
            and ((fact in chosen and name in selected) or is_listed(settings, fact, name))
        }  # fmt: skip
        own, said = listed(settings, fact, wanted, every)
        operations += own
        notes += said
        for name in wanted:
            del found["data", "variables", name, fact]
    return operations, notes


async def _declared(text: str, names: Sequence[str]) -> dict[str, dict[str, FormField]]:
    """Fields of what the pipeline declares of some variables, by variable and key."""
    try:
        settings = settings_of(text)
    except mw.InputError:
        return {}
    described = await schema()
    model = described["$defs"]["data.VariableDeclaration"]
    shown = {**model, "properties": {key: model["properties"][key] for key in EDITED}}
    return {
        name: {each.label: each for each in fields(described, shown, path, value_at(settings, path))}
        for name in names for path in (("data", "variables", name),)
    }  # fmt: skip


VARIABLES = Page(
    path="/variables", title="Variables", show=show_variables, parts={"every": all_variables, "one": one},
    acts={"propose": propose_declarations}, is_of_file=True,
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
        entry = value_at(settings_of(text), ("edits", at))
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
    settings = settings_of(session.needed_pipeline().text)
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
