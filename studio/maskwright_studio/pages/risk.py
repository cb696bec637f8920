"""Risk: of the original by its quasi-identifiers, of the masked file, and as a run keeps it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from maskwright_studio.drawing import BARS_HEIGHT, BARS_WIDTH, OVERLAY_HEIGHT, OVERLAY_WIDTH, bars, overlay
from maskwright_studio.output_files import needed_output, older, output_of
from maskwright_studio.page import Answer, Page, html
from maskwright_studio.pages.pipeline import proposed
from maskwright_studio.pipeline_text.layout import settings_of
from maskwright_studio.proposals import value_at
from maskwright_studio.refusal import Refusal

if TYPE_CHECKING:
    from maskwright_studio.page import Form, Query
    from maskwright_studio.proposals import Operation
    from maskwright_studio.session import Session


async def show_risk(session: Session, query: Query) -> str:
    """The risk of both files and, of what the run has kept, that of records by one measure, which the address names."""
    session.needed_pipeline()
    kept = {key: query[key] for key in ("measure", "values") if query.get(key)}
    at_risk = {key: query[key] for key in ("records", "level") if query.get(key)}
    record = output_of(session, "record")
    return html(
        "risk.html", chosen=urlencode(kept), at_risk=urlencode(at_risk), keeps_record=record is not None,
        has_record=record is not None and record.is_file(), older=older(session, "data") or older(session, "record"),
    )  # fmt: skip


def _masked(session: Session) -> dict[str, Any]:
    """The masked file and its stamp, as the data process takes it; nothing where there is none."""
    try:
        masked, stamp = needed_output(session, "data", "masked data")
    except Refusal:
        return {"masked": None, "stamp": ()}
    return {"masked": masked, "stamp": stamp}


async def figures(session: Session, _: Query) -> str:
    """Figures with their sentences, classes in bands, and combinations of keys: of the original and the masked file."""
    found = await session.data.query(session.needed_pipeline(), "risk", **_masked(session))
    pictures = [overlay(each["original"], each["masked"] if found["has_masked"] else []) for each in found["bands"]]
    return html(
        "risk_figures.html", found=found, pictures=pictures, width=OVERLAY_WIDTH, height=OVERLAY_HEIGHT,
        levels=[level for level, _ in found["keys"]],
    )  # fmt: skip


async def at_risk(session: Session, query: Query) -> str:
    """Records at risk with their values: only the address that a click leads to asks for them."""
    which = query.get("records", "")
    if which not in ("original", "masked"):
        raise Refusal("no records are asked for", "Press the button that shows them.")
    level = query.get("level", "")
    found = await session.data.query(
        session.needed_pipeline(), "at_risk", **_masked(session), of=which, level=level,
    )  # fmt: skip
    return html("records_at_risk.html", which=which, level=level, **found)


async def records(session: Session, query: Query) -> str:
    """Histogram, variables and the worst records, as the record of the run has them."""
    pipeline = session.needed_pipeline()
    record, stamp = needed_output(session, "record", "record of its runs")
    found = await session.data.query(pipeline, "risks", record=record, stamp=stamp, label=query.get("measure", ""))
    if not found["labels"]:
        return html("no_risk.html", measures=found["measures"])
    label = found["label"]
    values = None
    if query.get("values") == "shown":
        masked, stamp_of_data = needed_output(session, "data", "masked data")
        worst = [each["record"] for each in found["worst"]]
        values = await session.data.query(pipeline, "values_of", masked=masked, stamp=stamp_of_data, records=worst)
    drawn = bars({"form": "bins", "counts": found["counts"], "labels": [f"{each:.4g}" for each in found["edges"]]})
    return html(
        "risk_of_records.html", found=found, bars=drawn, width=BARS_WIDTH, height=BARS_HEIGHT, values=values,
        strongest=_strongest(found["per_variable"]),
        with_values=f"/risk?{urlencode({'measure': label, 'values': 'shown'})}",
        without_values=f"/risk?{urlencode({'measure': label})}",
    )  # fmt: skip


def _strongest(per_variable: dict[str, float | None]) -> list[tuple[str, float | None]]:
    return sorted(per_variable.items(), key=lambda each: -(each[1] or 0.0))


async def keep(session: Session, form: Form) -> Answer:
    """Show how the pipeline says that the risk of each record is kept in the record of the run."""
    pipeline, label = session.needed_pipeline(), str(form.get("measure", ""))
    settings = settings_of(pipeline.text)
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
    path="/risk", title="Risk", show=show_risk, parts={"figures": figures, "at_risk": at_risk, "records": records},
    acts={"keep": keep}, is_of_file=True,
)  # fmt: skip
