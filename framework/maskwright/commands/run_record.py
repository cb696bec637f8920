"""The record of a run: everything for the office, and the part of it that may be published."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from maskwright.plugins.registry import plugins
from maskwright.release.files import file_facts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright.commands.arrive import ReadyRun
    from maskwright.edits.evaluation.check import Outcome
    from maskwright.masking.masking_result import MaskingResult


def run_record(
    prepared: ReadyRun,
    result: MaskingResult,
    outcome: Outcome,
    measures: Mapping[str, Mapping[str, Any]],
    seed: int,
    seconds: Mapping[str, float],
) -> dict[str, Any]:
    """Plain record of a run, as `run.json` holds it: confidential, because it has the seed and hashes of the input."""
    described, plan = prepared.pipeline, prepared.plan
    masked_by = {name: group.step for group in plan.groups for name in group.variables}
    planned = plan.to_json()
    exact = described.execution.block_size is None
    published = {variable.name: variable for variable in result.masked.variables}
    return {
        "maskwright": version("maskwright"),
        "ok": False,
        "records": outcome.records,
        "pipeline": {"file": described.path.name, "text": described.text, "settings": dict(described.settings)},
        "inputs": _inputs(prepared),
        "outputs": {key: {"file": str(path)} for key, path in described.output.paths.items()},
        "plugins": _plugins(prepared),
        "seed": seed,
        "mode": "exact" if exact else f"blocks of at most {described.execution.block_size} records",
        "variables": [
            {
                "name": variable.name,
                "type": published.get(variable.name, variable).type,
                "role": variable.role,
                "decimals": published.get(variable.name, variable).decimals,
                "masked_by": masked_by.get(variable.name),
            }
            for variable in plan.variables.values()
        ],
        "plan": planned,
        "edits": _edits(prepared, result, outcome, planned),
        "dropped_edits": [{"name": edit.name, "text": edit.text} for edit in prepared.dropped],
        "suppressed": [dict(each) for each in (result.removal.suppressed if result.removal else ())],
        "localisation": None if prepared.localisation is None else dict(prepared.localisation),
        "k": dict(result.k),
        "measures": {label: dict(found) for label, found in measures.items()},
        "adjustment": [dict(unit) for unit in result.adjustment],
        "moved": [dict(each) for each in result.moved],
        "loss_by_step": {
            "method": result.cost.method,
            "adjustment": result.cost.adjustment,
            "rounding": result.cost.rounding,
            "several_edits": result.cost.several_edits,
        },
        "moment_drift": None if result.drift is None else result.drift.to_json(),
        "structural_zeros": [dict(each) for each in result.zeros],
        "methods": [dict(notes) for notes in result.notes],
        "notices": [*prepared.notices, *result.notices],
        "seconds": dict(seconds),
    }


def _inputs(prepared: ReadyRun) -> list[dict[str, Any]]:
    described = prepared.pipeline
    files = [("data", described.data.path), ("pipeline", described.path)]
    files.extend(("edits", each.path) for each in described.edits if hasattr(each, "path"))
    return [{"role": role, "file": path.name, **file_facts(path)} for role, path in files]


def _plugins(prepared: ReadyRun) -> dict[str, dict[str, str]]:
    described, registry = prepared.pipeline, plugins()
    used = {("source", described.data.source.name), ("source", described.output.source.name)}
    used |= {("method", step.method.name) for step in described.steps}
    used |= {("partition", step.partition.partition.name) for step in described.steps if step.partition is not None}
    used |= {("measure", request.measure.name) for request in described.measures}
    used |= {("report", report.name) for report, _ in described.output.reports}
    infos = {f"{kind} {name}": registry.info(kind, name) for kind, name in sorted(used)}
    return {key: {"distribution": info.distribution, "version": info.version} for key, info in infos.items()}


def _edits(
    prepared: ReadyRun, result: MaskingResult, outcome: Outcome, planned: Mapping[str, Any]
) -> list[dict[str, Any]]:
    arrival = {each.name: each for each in prepared.arrival.edits}
    keepers = {each["name"]: each for each in planned["edits"]}
    # An edit that is published `when` its cells are present is still of the kind that was masked for.
    own_kind = {edit.name: edit.kind for edit in prepared.edits}
    rows: list[dict[str, Any]] = []
    for each in outcome.edits:
        keeper = keepers[each.name]
        moved = result.adjusted.get(each.name, 0)
        # A promise is only reported as kept when it was: an edit that needed adjustment was kept by adjustment.
        kept_by = "adjustment" if moved and keeper["kept_by"] == "construction" else keeper["kept_by"]
        edit = result.edits[each.name]
        rows.append(
            {
                "name": each.name,
                "kind": own_kind.get(each.name, each.kind),
                "text": edit.text,
                "message": edit.message,
                "severity": edit.severity,
                "planned": keeper["kept_by"],
                "kept_by": kept_by,
                "how": keeper["how"],
                "violations": each.violations,
                "violations_on_arrival": arrival[each.name].violations,
                "unknown": each.unknown,
                "not_applicable": 0 if result.removal is None else result.removal.not_applicable.get(each.name, 0),
                "fired": each.fired,
                "adjusted": moved,
                "loss": (result.cost.edits or {}).get(each.name, 0.0),
            }
        )
    return rows


def run_json(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what ``maskwright run --json`` prints."""
    return {
        "ok": record["ok"],
        "records": record["records"],
        "edits": [
            {key: row[key] for key in ("name", "kind", "kept_by", "violations", "adjusted")} for row in record["edits"]
        ],
        "k": record["k"],
        "measures": record["measures"],
        "outputs": {key: facts["file"] for key, facts in record["outputs"].items()},
        "seconds": record["seconds"],
    }


def public_record(record: Mapping[str, Any]) -> dict[str, Any]:
    """Part of a run record that may be published with the data.

    Methods and parameters, edits, smallest classes and loss. No seed, no hash, no file name of the input, no count that
    only the original data could give, no risk measure.
    """
    steps = [
        {
            "method": step["method"],
            "params": step["params"],
            "groups": [{"variables": group["variables"], "operators": group["operators"]} for group in step["groups"]],
        }
        for step in record["plan"]["steps"]
    ]
    return {
        "maskwright": record["maskwright"],
        "records": record["records"],
        "mode": record["mode"],
        "plugins": record["plugins"],
        "variables": [
            {
                "name": each["name"],
                "type": each["type"],
                "decimals": each["decimals"],
                "masked": each["masked_by"] is not None,
            }
            for each in record["variables"]
            if each["role"] != "identifier"
        ],
        "steps": steps,
        "edits": [
            {key: row[key] for key in ("name", "kind", "text", "severity", "kept_by", "violations", "not_applicable")}
            for row in record["edits"]
        ],
        "dropped_edits": record["dropped_edits"],
        "suppressed": record["suppressed"],
        "k": record["k"],
        "loss": {
            label: {key: found[key] for key in ("measure", "params", "value", "unit", "direction", "parts")}
            for label, found in record["measures"].items()
            if found["kind"] == "loss"
        },
    }
