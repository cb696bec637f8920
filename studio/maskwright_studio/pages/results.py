"""Pages of results: before and after, risk of records, and the report."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import maskwright as mw
from maskwright_studio.drawing import BARS_HEIGHT, BARS_WIDTH, OVERLAY_HEIGHT, OVERLAY_WIDTH, bars, overlay, shade_of
from maskwright_studio.output_files import needed_output, older, output_of, section_of
from maskwright_studio.page import Answer, Page, html
from maskwright_studio.pages.pipeline import proposed
from maskwright_studio.proposals import value_at
from maskwright_studio.refusal import Refusal
from maskwright_studio.session import inside

if TYPE_CHECKING:
    from maskwright_studio.page import Form, Query
    from maskwright_studio.proposals import Operation
    from maskwright_studio.session import Session


OF_NUMBERS = ("pil", "kolmogorov_smirnov")
OF_CATEGORIES = ("contingency_tables",)
"""Measures that need no pairs of records: released records may stand in another order."""


async def show_before_and_after(session: Session, query: Query) -> str:
    """Variables of both files, the chosen one, correlations, and measures of both files where they are requested."""
    needed_output(session, "data", "masked data")
    name, values, measured = (query.get(key, "") for key in ("name", "values", "measured"))
    return html(
        "before_and_after.html", name=name, chosen=urlencode({"name": name, "values": values}), measured=measured,
        older=older(session, "data"), measuring=f"/before-and-after?{urlencode({'name': name, 'measured': 'yes'})}",
    )  # fmt: skip


async def _queried(session: Session, what: str, **details: Any) -> Any:
    masked, stamp = needed_output(session, "data", "masked data")
    return await session.data.query(session.needed_pipeline(), what, masked=masked, stamp=stamp, **details)


async def every(session: Session, query: Query) -> str:
    """Table of the variables."""
    found = await _queried(session, "both")
    return html("compared_variables.html", chosen=query.get("name", ""), memory=session.data.memory, **found)


async def one(session: Session, query: Query) -> str:
    """Distribution of one variable in both files."""
    name, values = query.get("name", ""), query.get("values") == "shown"
    found = await _queried(session, "overlaid", name=name, values=values)
    addresses = {"with_values": _address(name, "shown"), "without_values": _address(name, "")}
    if found["form"] == "recoded":
        return html("recoded.html", name=name, found=found, after=found["after"], values=values, **addresses)
    return html(
        "overlaid.html", name=name, found=found, values=values, picture=overlay(found["original"], found["masked"]),
        width=OVERLAY_WIDTH, height=OVERLAY_HEIGHT, **addresses,
    )  # fmt: skip


def _address(name: str, values: str) -> str:
    return f"/before-and-after?{urlencode({'name': name, 'values': values})}"


async def correlations(session: Session, _: Query) -> str:
    """Differences of the correlations as a coloured table."""
    found = await _queried(session, "correlations")
    rows = [
        (name, [_cell(*pair) for pair in zip(found["original"][at][:at], found["masked"][at][:at], strict=True)])
        for at, name in enumerate(found["names"])
    ]
    return html("correlations.html", names=found["names"], rows=rows, left_out=found["left_out"])


def _cell(before: float | None, after: float | None) -> dict[str, Any]:
    difference = None if before is None or after is None else after - before
    return {"before": before, "after": after, "difference": difference, "shade": shade_of(difference)}


async def figures(session: Session, _: Query) -> str:
    """What ``maskwright measure`` says of both files."""
    both = await _queried(session, "both")
    kinds = {each["is_numeric"] for each in both["variables"] if not each["recoded"]}
    measures = (*(OF_NUMBERS if True in kinds else ()), *(OF_CATEGORIES if False in kinds else ()))
    pipeline = session.needed_pipeline().path
    source = section_of(session, "data").get("source")
    if not isinstance(source, str):
        raise Refusal("the data are not one file", "The measures of the run stand on the page Run.")
    original, masked = inside(session.folder, str(pipeline.parent / source)), needed_output(session, "data", "")[0]
    if not measures or not original.is_file():
        raise Refusal("the data are not one file with variables to measure", "See the measures on the page Run.")
    files = [Path(os.path.relpath(each, session.folder)).as_posix() for each in (original, masked, pipeline)]
    words = [
        "measure",
        *files[:2],
        *(word for each in measures for word in ("--measure", each)),
        "--pipeline",
        files[2],
    ]
    found = await session.commands.look(Path(masked), *words)
    return html("measured_files.html", found=found["measures"], command=f"maskwright {shlex.join(words)} --json")


BEFORE_AND_AFTER = Page(
    path="/before-and-after", title="Before and after", show=show_before_and_after,
    parts={"every": every, "one": one, "correlations": correlations, "figures": figures}, is_of_file=True,
)  # fmt: skip


async def show_risk(session: Session, query: Query) -> str:
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
    found = await session.data.query(
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
    path="/risk", title="Risk", show=show_risk, parts={"records": records, "drivers": drivers}, acts={"keep": keep},
    is_of_file=True,
)  # fmt: skip


async def show_report(session: Session, _: Query) -> str:
    """The report, where there is one."""
    path = output_of(session, "report")
    address = session.documents.address(path) if path is not None and path.is_file() else ""
    return html("report.html", name="" if path is None else path.name, address=address, older=older(session, "report"))


async def window(session: Session, _: Form) -> Answer:
    """Open the report in a window of its own, for printing."""
    path = output_of(session, "report")
    if path is None or not path.is_file():
        raise Refusal("there is no report yet", "Run the pipeline first.")
    return Answer(document=session.documents.address(path))


REPORT = Page(path="/report", title="Report", show=show_report, acts={"window": window})
