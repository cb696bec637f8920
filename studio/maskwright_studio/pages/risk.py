"""Risk: how the risk of single records is distributed, what drives it, and which records have the most."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

import maskwright as mw
from maskwright_studio.bars import HEIGHT, WIDTH, bars
from maskwright_studio.earlier import older
from maskwright_studio.page import Answer, Page
from maskwright_studio.pages.pipeline import proposed
from maskwright_studio.proposals import value_at
from maskwright_studio.refusal import Refusal
from maskwright_studio.released import needed_output, output_of
from maskwright_studio.showing import html

if TYPE_CHECKING:
    from maskwright_studio.page import Form, Query
    from maskwright_studio.proposals import Operation
    from maskwright_studio.session import Session


async def show(session: Session, query: Query) -> str:
    """The risk of records by one measure; which one is in the address."""
    session.needed_pipeline()
    kept = {key: query[key] for key in ("measure", "values") if query.get(key)}
    return html(
        "risk.html",
        chosen=urlencode(kept),
        has_record=output_of(session, "record") is not None,
        older=older(session, "record"),
    )


async def records(session: Session, query: Query) -> str:
    """Histogram, variables and the worst records, as the record of the run has them."""
    pipeline = session.needed_pipeline()
    record, stamp = needed_output(session, "record", "record of its runs")
    found = await session.data.ask(pipeline, "risks", record=record, stamp=stamp, label=query.get("measure", ""))
    if not found["labels"]:
        return html("no_risk.html", measures=found["measures"])
    label = found["label"]
    values = None
    if query.get("values") == "shown":
        masked, stamp_of_data = needed_output(session, "data", "masked data")
        asked = [each["record"] for each in found["worst"]]
        values = await session.data.ask(pipeline, "values_of", masked=masked, stamp=stamp_of_data, records=asked)
    drawn = bars({"form": "bins", "counts": found["counts"], "labels": [f"{each:.4g}" for each in found["edges"]]})
    return html(
        "risk_of_records.html", found=found, bars=drawn, width=WIDTH, height=HEIGHT, values=values,
        drivers=urlencode({"measure": label}), strongest=_strongest(found["per_variable"]),
        with_values=f"/risk?{urlencode({'measure': label, 'values': 'shown'})}",
        without_values=f"/risk?{urlencode({'measure': label})}",
    )  # fmt: skip


def _strongest(per_variable: dict[str, float | None]) -> list[tuple[str, float | None]]:
    return sorted(per_variable.items(), key=lambda each: -(each[1] or 0.0))


async def drivers(session: Session, query: Query) -> str:
    """Combinations of quasi-identifiers by which records are alone."""
    record, stamp_of_record = needed_output(session, "record", "record of its runs")
    masked, stamp = needed_output(session, "data", "masked data")
    found = await session.data.ask(
        session.needed_pipeline(), "drivers", masked=masked, stamp=stamp, record=record,
        stamp_of_record=stamp_of_record, label=query.get("measure", ""),
    )  # fmt: skip
    return html("risk_drivers.html", **found)


async def keep(session: Session, form: Form) -> Answer:
    """Show how the pipeline says that the risk of each record is kept in the record of the run."""
    pipeline, label = session.needed_pipeline(), str(form.get("measure", ""))
    settings = mw.read_settings(pipeline.text.removeprefix("\ufeff"))
    operations: list[Operation] = []
    for at, entry in enumerate(value_at(settings, ("measure",)) or []):
        name = entry if isinstance(entry, str) else next(iter(entry), "")
        params = entry.get(name) if isinstance(entry, dict) else None
        if label not in (name, (params or {}).get("as")):
            continue
        bare = not params
        operations.append(
            ["set", ["measure", at], {name: {"per_record": True}}] if bare
            else ["set", ["measure", at, name, "per_record"], True]
        )  # fmt: skip
        break
    if not operations:
        raise Refusal(f"the pipeline has no measure {label}", "Choose one of its measures of risk.")
    if output_of(session, "record") is None:
        operations.append(["set", ["output", "record"], "run.json"])
    return await proposed(session, operations)


RISK = Page(
    path="/risk", title="Risk", show=show, parts={"records": records, "drivers": drivers}, acts={"keep": keep},
    is_of_file=True,
)  # fmt: skip
