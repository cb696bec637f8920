"""Variables: what each is declared to be, what it seems to be, how it is distributed; a role is one line of YAML."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from maskwright_studio.bars import HEIGHT, WIDTH, bars
from maskwright_studio.page import Page
from maskwright_studio.pages.pipeline import proposed
from maskwright_studio.refusal import Refusal
from maskwright_studio.showing import html

if TYPE_CHECKING:
    from maskwright_studio.page import Answer, Form, Query
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
        with_values=f"/variables?{urlencode({'name': name, 'values': 'shown'})}",
        without_values=f"/variables?{urlencode({'name': name})}",
    )  # fmt: skip


async def propose(session: Session, form: Form) -> Answer:
    """Show what changing a role changes in the pipeline."""
    name, role = str(form.get("name", "")), str(form.get("role", ""))
    if role not in ROLES:
        raise Refusal(f"there is no role {role}", f"Roles are: {', '.join(ROLES)}.")
    return await proposed(session, [["set", ["data", "variables", name, "role"], role]])


VARIABLES = Page(
    path="/variables", title="Variables", show=show, parts={"every": every, "one": one},
    acts={"propose": propose}, is_of_file=True,
)  # fmt: skip
