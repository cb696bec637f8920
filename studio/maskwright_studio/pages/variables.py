"""Variables: what each is declared to be, what it seems to be, how it is distributed; a role is one line of YAML."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

import maskwright as mw
from maskwright_studio.bars import HEIGHT, WIDTH, bars
from maskwright_studio.page import Page
from maskwright_studio.pages.pipeline import proposed, schema
from maskwright_studio.parameter_form import LEFT_OUT, changed_fields, fields
from maskwright_studio.proposals import MARK, value_at
from maskwright_studio.refusal import Refusal
from maskwright_studio.showing import html

if TYPE_CHECKING:
    from maskwright_studio.page import Answer, Form, Query
    from maskwright_studio.parameter_form import FormField
    from maskwright_studio.proposals import Operation
    from maskwright_studio.session import Session

ROLES = {
    "identifier": "names a person or unit directly; never released",
    "quasi_identifier": "what an intruder may know from elsewhere; masked",
    "confidential": "what nobody should learn of a person; masked",
    "weight": "sampling weight; published as it is",
    "other": "published as it is",
}


async def show(session: Session, query: Query) -> str:
    """All variables, and the chosen one; its name is in the address."""
    session.needed_pipeline()
    name, values = query.get("name", ""), query.get("values", "")
    chosen = urlencode({"name": name, "values": values})
    return html("variables.html", name=name, chosen=chosen)


async def every(session: Session, query: Query) -> str:
    """Table of all variables."""
    found = await session.data.ask(session.needed_pipeline(), "variables")
    return html("variables_table.html", memory=session.data.memory, chosen=query.get("name", ""), **found)


async def one(session: Session, query: Query) -> str:
    """One variable: its distribution, and a form for its role."""
    pipeline, name = session.needed_pipeline(), query.get("name", "")
    found = await session.data.ask(pipeline, "variables")
    variable = next((each for each in found["variables"] if each["name"] == name), None)
    if variable is None:
        raise Refusal(f"there is no variable {name}", "Choose one in the table above.")
    values = query.get("values") == "shown"
    distribution = await session.data.ask(pipeline, "distribution", name=name, values=values)
    return html(
        "variable.html", variable=variable, values=values, roles=ROLES,
        distribution=distribution, bars=bars(distribution), width=WIDTH, height=HEIGHT,
        declared=await _declared(pipeline.text, name),
        with_values=f"/variables?{urlencode({'name': name, 'values': 'shown'})}",
        without_values=f"/variables?{urlencode({'name': name})}",
    )  # fmt: skip


async def propose(session: Session, form: Form) -> Answer:
    """Show what changing what is declared of a variable changes in the pipeline."""
    name, role = str(form.get("name", "")), str(form.get("role", ""))
    if role not in ROLES:
        raise Refusal(f"there is no role {role}", f"Roles are: {', '.join(ROLES)}.")
    path = ["data", "variables", name]
    others: list[Operation] = [
        ["remove", [*path, each.label]] if value is LEFT_OUT else ["set", [*path, each.label], value]
        for each, value in changed_fields(await _declared(session.needed_pipeline().text, name), form)
    ]
    # A role that was guessed is declared where that is all that was asked for.
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
    path="/variables", title="Variables", show=show, parts={"every": every, "one": one},
    acts={"propose": propose}, is_of_file=True,
)  # fmt: skip
