"""Measures of a file in parts are those of the file in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from parted_world import pipeline, read_parts, survey, write_parts

import maskwright as mw

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

RECORDS = 900
PARTS = 3

KEYS = {"keys": ["sex", "region", "age"]}

MEASURES: list[str | dict[str, Any]] = [
    "pil",
    "hellinger",
    "discrepancy",
    "regression_overlap",
    "kolmogorov_smirnov",
    "pi",
    {"k_anonymity": KEYS},
    {"uniqueness": {"key_sets": {"neighbour": ["region", "age"], "colleague": ["hours", "sex"]}}},
    {"individual_risk": {**KEYS, "bound": [0.05, 0.3]}},
    {"suda": KEYS},
    {"k_map": {"key_sets": {"neighbour": ["region", "age"], "colleague": ["hours", "sex"]}, "k": 40}},
    {"l_diversity": {"keys": ["sex", "region"], "sensitive": ["age", "hours"], "count": "entropy"}},
    {"t_closeness": {"keys": ["sex", "age"], "sensitive": ["region", "hours"]}},
    "distance_record_linkage",
    {"spikes": {"share": 0.02}},
    {"subdomains": {"random": 0, "domains": ["sex", "region"]}},
    {
        "weighted_score": {
            "components": [
                {"measure": "pil", "weight": 0.5},
                {"measure": "uniqueness", "weight": 0.1, "params": KEYS},
                {"measure": "distance_record_linkage", "weight": 0.25},
                {"measure": "regression_overlap", "weight": 0.25, "label": "models"},
            ]
        }
    },
]

DECLARED = {
    "number": {"role": "other"},
    "sex": {"role": "other"},
    "region": {"role": "other"},
    "weight": {"role": "weight"},
}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Mapping[str, Any], Mapping[str, mw.Measurement]]:
    """Measures of a run over parts, and of what it released in memory."""
    folder = tmp_path_factory.mktemp("measures")
    original = survey(RECORDS).assign(weight=np.random.default_rng(5).integers(0, 40, RECORDS).astype(float))
    write_parts(original, folder / "in", PARTS)
    settings = pipeline(
        folder / "in", folder / "out", measure=MEASURES, execution={"engine": "local", "block_size": 300}
    )
    settings["data"] = {"source": str(folder / "in"), "variables": DECLARED}
    record = mw.run(settings).record
    masked = read_parts(folder / "out", PARTS)
    return record["measures"], mw.measure(original, masked, MEASURES, declared=DECLARED)


@pytest.mark.parametrize("label", [each if isinstance(each, str) else next(iter(each)) for each in MEASURES])
def test_it_is_that_of_the_file_in_memory(
    label: str, both: tuple[Mapping[str, Any], Mapping[str, mw.Measurement]]
) -> None:
    found, expected = both[0][label], both[1][label]
    assert found["value"] == pytest.approx(expected.value, rel=1e-9, abs=1e-12)
    for name in ("parts", "per_variable"):
        figures = getattr(expected, name)
        assert set(found[name]) == set(figures)
        for each, value in found[name].items():
            assert value == pytest.approx(figures[each], rel=1e-9, abs=1e-12), each
    assert set(expected.notes) <= set(found["notes"])


def test_what_cannot_be_merged_is_measured_in_one_place(tmp_path: Path) -> None:
    """A file of the population, and a score with a component that sees all records."""
    write_parts(survey(60), tmp_path / "in", 2)
    survey(60).to_csv(tmp_path / "register.csv", index=False)
    components = [{"measure": "pil", "weight": 1}, {"measure": "interval_disclosure", "weight": 1, "label": "ranks"}]
    measures = [
        {"k_map": {"keys": ["sex", "region"], "population": str(tmp_path / "register.csv")}},
        {"weighted_score": {"components": components}}, "propensity", "sse",
    ]  # fmt: skip
    found = {}
    for name, execution in (("parts", {"engine": "local"}), ("memory", {"block_size": 50_000})):
        settings = pipeline(tmp_path / "in", tmp_path / name, measure=measures, execution=execution)
        found[name] = mw.run(settings).record["measures"]
    assert list(found["parts"]) == list(found["memory"])
    for label in ("k_map", "weighted_score", "propensity"):
        assert found["parts"][label] == found["memory"][label]
