"""Records: those of the original and of the masked file side by side, after a click that says so."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from maskwright_studio.output_files import older, output_of
from maskwright_studio.page import Page, html
from maskwright_studio.released_rows import masked_files, release_of

if TYPE_CHECKING:
    from maskwright_studio.page import Query
    from maskwright_studio.session import Session

MOST = 50
"""Records of a page."""

SMALLEST_CLASS = 3
"""Size below which a class of equal keys is at risk, where nothing else is said."""

SHOWN = {
    "": "all",
    "changed": "changed by masking",
    "violating": "violate an edit",
    "risk": "at risk in the original",
    "masked-risk": "at risk in the masked file",
    "left-out": "not in the masked file",
}
"""What is shown of the records, by the word in the address."""


def _state_of(query: Query) -> dict[str, str]:
    """What the address says of this page, as far as it is understood; never a value of a record."""
    found = {key: query.get(key, "") for key in ("level", "edit", "variable", "columns", "of", "values")}
    numbers = {key: query.get(key, "") for key in ("k", "start", "record")}
    numbers = {key: each if each.isdecimal() and len(each) < 12 else "" for key, each in numbers.items()}
    show = query.get("show", "")
    return {**found, **numbers, "show": show if show in SHOWN else ""}


def address(state: dict[str, str], **changed: object) -> str:
    """Address of the page with some things changed; a page of the list and a record count for one list only."""
    kept = {key: value for key, value in state.items() if key not in ("start", "record")}
    found = {key: str(value) for key, value in {**kept, **changed}.items() if value}
    return f"/records?{urlencode(found)}" if found else "/records"


async def show_records(session: Session, query: Query) -> str:
    """What there is to see, and after a click the records themselves."""
    session.needed_pipeline()
    shown = {key: value for key, value in _state_of(query).items() if value}
    has_masked = bool(masked_files(session))
    return html("records.html", state=urlencode(shown), older=older(session, "data") if has_masked else None)


async def rows(session: Session, query: Query) -> str:
    """How many records each choice shows, and a page of them where a click has requested it."""
    pipeline, state = session.needed_pipeline(), _state_of(query)
    release = await asyncio.to_thread(release_of, session)
    k = max(2, int(state["k"] or SMALLEST_CLASS))
    found = await session.data.query(pipeline, "record_counts", release=release, level=state["level"], k=k)
    is_alone = state["of"] == "masked" and found["masked"] is not None
    page: dict[str, Any] = {}
    if state["values"] == "shown":
        page = await session.data.query(
            pipeline, "records", release=release, level=state["level"], k=k, show="" if is_alone else state["show"],
            edit=state["edit"], variable=state["variable"], columns=state["columns"],
            start=int(state["start"] or 0), most=MOST, record=int(state["record"] or 0), masked_alone=is_alone,
        )  # fmt: skip
    return html(
        "record_rows.html", found=found, page=page, state=state, k=k, titles=SHOWN, most=MOST,
        is_alone=is_alone and bool(found["not_paired"]),
        to=lambda **changed: address(state, **changed), marked=page["marked"] if page else 0,
        can_map=output_of(session, "key_map") is None,
    )  # fmt: skip


RECORDS = Page(path="/records", title="Records", show=show_records, parts={"rows": rows}, is_of_file=True)
