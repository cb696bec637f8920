"""A finished run, as the run hands it to reports."""

from __future__ import annotations

from typing import Any

import pytest


def _edit(name: str, kind: str, kept_by: str, arrived: int, adjusted: int = 0) -> dict[str, Any]:
    return {
        "name": name,
        "kind": kind,
        "text": f"text of {name} < 3",
        "message": f"message of {name}",
        "severity": "error",
        "kept_by": kept_by,
        "how": f"how {name} is kept",
        "violations": 0,
        "violations_on_arrival": arrived,
        "unknown": 0,
        "fired": 1080,
        "adjusted": adjusted,
    }


def _measure(value: float, kind: str, parts: dict[str, float] | None = None) -> dict[str, Any]:
    return {
        "value": value,
        "unit": "percent",
        "direction": "lower",
        "kind": kind,
        "parts": parts or {},
        "per_variable": {"gross": 12.0, "net": 11.5, "rent": 3.25},
        "notes": [],
        "threshold": None,
        "met": None,
    }


@pytest.fixture
def record() -> dict[str, Any]:
    """Record of a run of the example (made up; the keys are those of run.json)."""
    edits = [
        _edit("gross-sum", "linear", "construction", 3),
        _edit("net-income", "linear", "derivation", 2),
        _edit("rent-product", "product", "derivation", 2, 41),
        _edit("age-range", "range", "construction", 2),
        _edit("employed-values", "range", "construction", 0),
        _edit("no-work-no-wages", "governing", "construction", 2),
        _edit("known-region", "domain", "checked", 0),
        _edit("energy-cost", "range", "construction", 0),
    ]
    groups = [
        {
            "variables": ["gross", "wages", "self_employment", "pensions", "other_income", "tax", "net", "employed"],
            "operators": {"gross": "mean", "employed": "mean"},
            "edits": ["gross-sum", "net-income", "no-work-no-wages"],
            "strata": [
                {"label": "employed = 0", "records": 320, "merged": False},
                {"label": "otherwise", "records": 760, "merged": False},
            ],
            "smallest_cluster": 5,
        },
        {
            "variables": ["floor_area", "rent_m2", "rent"],
            "operators": {"floor_area": "geometric_mean", "rent_m2": "geometric_mean", "rent": "geometric_mean"},
            "edits": ["rent-product"],
            "strata": [{"label": "all records", "records": 1080, "merged": False}],
            "smallest_cluster": 5,
        },
        {
            "variables": ["size", "age", "energy"],
            "operators": {"size": "mean", "age": "mean", "energy": "mean"},
            "edits": ["age-range", "energy-cost"],
            "strata": [{"label": "all records", "records": 1080, "merged": False}],
            "smallest_cluster": None,
        },
    ]
    plan = {
        "records": 1080,
        "steps": [
            {
                "step": 1,
                "method": "microaggregation",
                "params": {"k": 5, "partition": "mdav", "group_size": 3},
                "groups": groups,
            }
        ],
        "edits": [{key: edit[key] for key in ("name", "kind", "text", "kept_by", "how")} for edit in edits],
        "grid": {"gross": 0, "net": 0, "wages": 0, "energy": 2, "share": None},
        "untouched": ["weight", "region"],
        "dropped": ["id"],
        "warnings": ["grouping by equalities would lose less"],
    }
    return {
        "maskwright": "0.1.0",
        "ok": True,
        "records": 1080,
        "pipeline": {"file": "pipeline.yaml", "text": "maskwright: 1\n# a <comment> & more\n"},
        "inputs": [{"role": "data", "file": "survey.xml", "sha256": "ab" * 32, "bytes": 431_000}],
        "outputs": {
            "data": {"file": "masked.xml", "sha256": "cd" * 32},
            "svrl": {"file": "masked.svrl.xml", "sha256": "ef" * 32},
            "report": {"file": "report.html"},
            "record": {"file": "run.json"},
            "public_record": {"file": "about.json"},
        },
        "plugins": {"microaggregation": {"distribution": "maskwright", "version": "0.1.0"}},
        "seed": 42,
        "variables": [
            {"name": "gross", "type": "integer", "role": "confidential", "decimals": 0, "masked_by": 1},
            {"name": "region", "type": "nominal", "role": "other", "decimals": None, "masked_by": None},
        ],
        "plan": plan,
        "edits": edits,
        "k": {
            "requested": 5,
            "groups": [
                {"step": 1, "variables": group["variables"], "requested": 5, "smallest": 5, "below": 0}
                for group in groups
            ],
            "quasi_identifiers": {"variables": ["size", "age"], "smallest": 5, "below": 0},
            "records": {"smallest": 1, "below": 1080},
        },
        "measures": {
            "pil": _measure(16.3127, "loss", {"values": 10.0, "means": 1.0, "covariances": 12.0}),
            "sse": _measure(9.21, "loss"),
            "linkage7": _measure(3.42, "risk"),
            "interval_disclosure": _measure(31.0, "risk", {str(width): 6.0 * width for width in range(1, 11)}),
            "score": _measure(19.876, "score", {"loss": 16.31, "linkage": 3.42, "interval": 31.0}),
        },
        "adjustment": [
            {
                "variables": ["floor_area", "rent_m2", "rent"],
                "acting_on": "representatives",
                "rows": 212,
                "moved": 41,
                "fallback": 0,
                "cost_sd": {"rent": 0.002, "rent_m2": 0.011},
            }
        ],
        "notices": ["id is an identifier: the column is not in the masked file"],
        "seconds": {"read": 0.1, "protect": 1.25, "measure": 0.5},
    }
