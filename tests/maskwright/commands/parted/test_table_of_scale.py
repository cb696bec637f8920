"""What ``maskwright explain scale`` says of each built-in method and measure is what a run over parts does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from parted_world import GROUPS, pipeline, read_parts, survey, write_parts

import maskwright as mw
from maskwright.commands.parted.feasibility import SETTINGS, support, support_of_measure, support_of_method
from maskwright.plugins.registry import plugins

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

RECORDS, PARTS = 600, 2
LOCAL = {"engine": "local", "block_size": 200}
PARAMS: dict[str, dict[str, Any]] = {
    "rounding": {"base": 5},
    "recoding": {"recode": {"age": [18.0, 65.0]}},
    "subdomains": {"random": 0, "domains": ["region"]},
    "dominance": {"tables": [["region"]], "amounts": ["wages", "tax"]},
}
"""Of methods and measures that ask for some, or are refused with others."""
CATEGORIES: dict[str, Any] = {"region": {"type": "ordinal", "categories": ["north", "south", "west"], "role": "other"}}

NUMERIC = [name for group in GROUPS for name in group]


def of_built_ins(kind: str, *forms: str) -> list[str]:
    """Names in rows of the table."""
    packages = plugins().packages(kind)
    rows = [each for each in support(plugins()) if each.kind == kind and each.form in forms]
    return [each.name for each in rows if packages[each.name] == "maskwright"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("table")
    write_parts(survey(RECORDS), found / "in", PARTS)
    return found


def settings(folder: Path, name: str, method: str, **changes: Any) -> dict[str, object]:
    """A pipeline that masks with one method; edits on ranges only, which each method can keep."""
    found = plugins().methods[method]
    of_numbers, coarser = "integer" in found.claims.variable_types, "detail" in found.claims.removes
    names = (["age"] if coarser else NUMERIC) if of_numbers else ["region"]
    steps: list[dict[str, Any]] = [{"method": method, "params": PARAMS.get(method, {}), "variables": names}]
    if coarser or not of_numbers:
        # Numbers are measured: where the method masks categories, another one masks them.
        steps.append({"method": "rounding", "params": PARAMS["rounding"], "variables": ["wages", "tax", "gross"]})
    asked_for = pipeline(folder / "in", folder / name, protect=steps, edits=["age in [0, 120]"], measure=["sse"])
    masked = {each for one in steps for each in one["variables"]}
    others = {each: {"role": "other"} for each in survey(1).columns if each not in masked}
    asked_for["data"] = {"source": str(folder / "in"), "variables": others | ({} if of_numbers else CATEGORIES)}
    return asked_for | {"execution": LOCAL, **changes}


def asked(names: Iterable[str]) -> list[dict[str, Any]]:
    """The section of measures."""
    return [{name: PARAMS.get(name, {})} for name in names]


def masked(folder: Path, name: str) -> pd.DataFrame:
    return read_parts(folder / name, PARTS)


def test_each_method_and_measure_is_in_the_table() -> None:
    rows = [(each.kind, each.name) for each in support(plugins())]
    assert rows == [
        *(("method", name) for name in plugins().methods), *(("measure", name) for name in plugins().measures),
        *(("setting", each.name) for each in SETTINGS),
    ]  # fmt: skip


@pytest.mark.waived("spike-lost")
@pytest.mark.parametrize("method", of_built_ins("method", "local"))
def test_local_methods_give_the_values_of_a_run_in_memory(folder: Path, method: str) -> None:
    assert support_of_method(plugins().methods[method]).result == "exact"
    mw.run(settings(folder, f"{method}-parts", method))
    mw.run(settings(folder, f"{method}-memory", method, execution={}))
    pd.testing.assert_frame_equal(masked(folder, f"{method}-parts"), masked(folder, f"{method}-memory"))


@pytest.mark.parametrize("method", of_built_ins("method", "whole"))
def test_methods_in_one_place_give_the_values_of_a_run_in_memory(folder: Path, method: str) -> None:
    assert support_of_method(plugins().methods[method]).result == "exact"
    found, outcomes = {}, []
    for name, execution in (("parts", LOCAL), ("memory", {"block_size": 200})):
        try:
            mw.run(settings(folder, f"{method}-{name}", method, execution=execution))
            found[name] = masked(folder, f"{method}-{name}")
            outcomes.append("released")
        except mw.MaskwrightError as error:
            # What cannot be released from memory cannot be released over parts either, for the same reasons.
            found_there = (each.finding for each in error.problems if each.finding is not None)
            outcomes.append(sorted(f"{each.kind} {each.subject}" for each in found_there))
    assert outcomes[0] == outcomes[1]
    if found:
        pd.testing.assert_frame_equal(found["parts"], found["memory"])


@pytest.mark.waived("spike-lost")
@pytest.mark.parametrize("method", of_built_ins("method", "block"))
def test_methods_in_blocks_keep_edits_and_lose_about_what_blocks_in_memory_do(folder: Path, method: str) -> None:
    assert support_of_method(plugins().methods[method]).result == "blocked"
    over_parts = mw.run(settings(folder, f"{method}-parts", method)).record
    in_memory = mw.run(settings(folder, f"{method}-memory", method, execution={"block_size": 200})).record
    found = masked(folder, f"{method}-parts")
    assert found.age.between(0, 120).all()
    assert (found[NUMERIC] != survey(RECORDS)[NUMERIC]).any().all()
    assert "cut by a sample" in over_parts["mode"]
    losses = [record["measures"]["sse"]["value"] for record in (over_parts, in_memory)]
    assert 0.5 <= losses[0] / losses[1] <= 2


def measurable(folder: Path, form: str) -> list[str]:
    """Measures of which these data have what is measured; the others are refused over parts and in memory."""
    found = []
    for name in of_built_ins("measure", form):
        asked_for = [
            settings(folder, "none", "rounding", execution=each, measure=asked([name])) for each in ({}, LOCAL)
        ]
        try:
            mw.plan_pipeline(asked_for[0])
        except mw.InputError:
            with pytest.raises(mw.InputError):
                mw.plan_pipeline(asked_for[1])
        else:
            found.append(name)
    return found


def measures_of_both(folder: Path, form: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Records of a run in memory, and of one over parts, with all measures of this form."""
    names = measurable(folder, form)
    both: list[dict[str, Any]] = [
        dict(mw.run(settings(folder, f"{form}-{name}", "rounding", execution=each, measure=asked(names))).record)
        for name, each in (("memory", {}), ("parts", LOCAL))
    ]
    assert list(both[0]["measures"]) == names
    return both[0], both[1]


def test_measures_over_parts_are_those_of_a_run_in_memory(folder: Path) -> None:
    """Of the same masked values: those of a method that changes each record by itself."""
    wanted, found = measures_of_both(folder, "global")
    assert {"sse", "il1s", "structural_zeros", "higher_moments"} <= wanted["measures"].keys()
    for name, measured in wanted["measures"].items():
        result, value = support_of_measure(plugins().measures[name]).result, measured["value"]
        near = pytest.approx(value, rel=1e-9) if result == "exact" else pytest.approx(value, rel=0.1, abs=5)
        assert found["measures"][name]["value"] == near, name
        assert found["cut"]["measures"][name] == result


def test_measures_in_one_place_are_those_of_a_run_in_memory(folder: Path) -> None:
    wanted, found = measures_of_both(folder, "whole")
    assert {"score", "propensity", "probabilistic_record_linkage"} <= wanted["measures"].keys()
    assert found["measures"] == wanted["measures"]
    assert {found["cut"]["measures"][name] for name in wanted["measures"]} == {"exact"}


def in_one_process(found: mw.RunResult) -> bool:
    """Whether a run says that all records were in one process."""
    return any("all records are in one process" in each["message"] for each in found.record["notices"])


def persons(path: Path, parts: int) -> Path:
    """Households of one to three persons in CSV files, with some numbers that break a rule."""
    rng = np.random.default_rng(5)
    home = np.repeat(np.arange(300), rng.integers(1, 4, 300))
    frame = pd.DataFrame({"home": home, "person": np.arange(len(home))})
    for name, top in (("age", 9), ("job", 4), ("region", 3)):
        frame[name] = rng.integers(0, top, len(frame))
    frame["wages"], frame["rooms"] = rng.integers(100, 5000, len(frame)), home % 7
    frame["tax"], frame.loc[::50, "tax"] = frame.wages // 10, 1
    frame["net"] = frame.wages - frame.tax
    frame.loc[::60, "net"] += 1
    path.mkdir()
    for number, rows in enumerate(np.array_split(np.arange(len(frame)), parts)):
        frame.iloc[rows].to_csv(path / f"part-{number}.csv", index=False)
    return path


KEYS = ["age", "job", "region"]
ROUNDED: dict[str, Any] = {"method": "rounding", "variables": ["wages", "tax", "net"], "params": {"base": 10}}
STEPS: dict[str, list[dict[str, Any]]] = {
    "local_suppression": [ROUNDED, {"method": "local_suppression", "variables": KEYS, "params": {"k": 3}}],
    "record_suppression": [ROUNDED, {"method": "record_suppression", "params": {"k": 3, "keys": KEYS}}],
    "sampling": [ROUNDED, {"method": "sampling", "params": {"fraction": 0.5}}],
    "generalisation": [
        ROUNDED, {"method": "generalisation", "variables": KEYS, "params": {"k": 3, "suppression_limit": 0.2}},
    ],
    "cart_synthesis": [{"method": "cart_synthesis", "variables": ["wages", "tax", "net"]}],
}  # fmt: skip
"""How each method that takes all records into one process is asked for."""

LEVELS: dict[str, Any] = {
    "data": {"levels": {"home": {"key": "home", "variables": ["rooms"]}, "person": {"key": "person", "in": "home"}}},
    "output": {"data": "masked.csv"},
}
MENDED = {"edits": ["wages - tax == net"]}
SET: dict[str, Any] = {
    "data: levels": LEVELS,
    "data: cluster": {"data": {"cluster": "home"}},
    "on_input_violation: drop": {"on_input_violation": "drop", **MENDED},
    "on_input_violation: localize": {"on_input_violation": "localize", **MENDED},
    "release: order: random": {"release": {"order": "random"}},
    "release: ids: new": {"release": {"ids": "new"}},
    "output: key_map": {"output": {"key_map": "map.csv"}, "release": {"ids": "new"}},
    "output: formulas: escape": {"output": {"formulas": "escape"}},
    "measure: per_record": {"measure": [{"sse": {"per_record": True}}]},
}
"""How each setting that takes all records into one process is set."""


def released(source: Path, target: Path, execution: dict[str, Any], **changes: Any) -> tuple[Any, ...]:
    """What a run releases, in order and without its record."""
    role = "quasi_identifier" if str(KEYS) in str(changes.get("protect")) else "other"
    variables: dict[str, Any] = {name: {"type": "nominal", "role": role} for name in KEYS}
    variables |= {"rooms": {"role": "other"}, "person": {"role": "identifier"}, "home": {"role": "identifier"}}
    settings: dict[str, Any] = {"maskwright": 1, "protect": [ROUNDED], "seed": 3, "measure": ["sse"], **changes}
    settings["data"] = {"source": str(source), "variables": variables, **changes.get("data", {})}
    files = {"data": "data/", "record": "run.json", **changes.get("output", {})}
    settings["output"] = {key: each if key == "formulas" else f"{target}/{each}" for key, each in files.items()}
    settings["execution"] = execution
    target.mkdir()
    found = mw.run(settings)
    said = any("all records are in one process" in each["message"] for each in found.record["notices"])
    assert said == ("engine" in execution)
    written = (each for each in sorted(target.rglob("*")) if each.is_file() and each.suffix == ".csv")
    return (*((each.name, each.read_bytes()) for each in written), found.record["doubts"], found.record["measures"])


@pytest.mark.covering(3)
@pytest.mark.parametrize("parts", [1, 3, 7])
@pytest.mark.parametrize("method", of_built_ins("method", "run"))
def test_methods_in_one_process_are_those_of_a_run_in_memory(tmp_path: Path, method: str, parts: int) -> None:
    source, dask = persons(tmp_path / "in", parts), parts == 3 and method == "local_suppression"
    changes = {"protect": STEPS[method], "measure": [] if method == "cart_synthesis" else ["sse"]}
    in_memory = released(source, tmp_path / "memory", {"block_size": 400}, **changes)
    assert len(in_memory) == parts + 2
    for engine in ("local", "processes", *(["dask"] if dask else [])):
        execution = {"engine": engine, "block_size": 400}
        assert released(source, tmp_path / engine, execution, **changes) == in_memory


@pytest.mark.waived("follows-from-published")
@pytest.mark.parametrize("name", [each.name for each in SETTINGS])
def test_settings_in_one_process_are_those_of_a_run_in_memory(tmp_path: Path, name: str) -> None:
    source = persons(tmp_path / "in", 3)
    in_memory = released(source, tmp_path / "memory", {"block_size": 400}, **SET[name])
    assert released(source, tmp_path / "parts", {"engine": "processes", "block_size": 400}, **SET[name]) == in_memory


@pytest.mark.parametrize("measure", of_built_ins("measure", "run"))
def test_measures_of_households_are_those_of_a_run_in_memory(tmp_path: Path, measure: str) -> None:
    params = {} if measure == "household_linkage" else {"members": KEYS}
    source, changes = persons(tmp_path / "in", 3), {**LEVELS, "measure": [{measure: params}]}
    in_memory = released(source, tmp_path / "memory", {"block_size": 400}, **changes)
    assert released(source, tmp_path / "parts", {"engine": "local", "block_size": 400}, **changes) == in_memory


@pytest.mark.parametrize("rare", ["job", "wages"])
def test_doubts_in_one_process_are_those_of_a_run_in_memory(tmp_path: Path, rare: str) -> None:
    """A variable that tells the suppressed key, and a number that few records have beside it."""
    source = persons(tmp_path / "in", 3)
    for path in source.iterdir():
        frame = pd.read_csv(path)
        frame.assign(label="job " + frame[rare].astype(str)).to_csv(path, index=False)
    steps = STEPS["local_suppression"]
    said = []
    for name, execution in (("memory", {"block_size": 400}), ("parts", {"engine": "local", "block_size": 400})):
        with pytest.raises(mw.OpenDoubts) as caught:
            released(source, tmp_path / name, execution, protect=[*steps, {**steps[-1], "params": {"k": 50}}])
        said.append([each.sentence for each in caught.value.problems])
        assert not list((tmp_path / name).iterdir())
    assert said[0] == said[1]


def test_what_does_not_fit_into_one_process_is_refused_with_the_reason_and_the_memory(tmp_path: Path) -> None:
    source, execution = persons(tmp_path / "in", 3), {"engine": "local", "memory_limit": "350MB"}
    with pytest.raises(mw.InputError, match=r"expected to need 0.35 GB .* memory_limit is 350MB") as caught:
        released(source, tmp_path / "out", execution, protect=STEPS["local_suppression"])
    assert "All records are in one process: step 2: local_suppression takes" in str(caught.value)
