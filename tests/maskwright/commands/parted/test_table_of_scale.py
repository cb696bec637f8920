"""What ``maskwright explain scale`` says of each built-in method and measure is what a run over parts does."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from parted_world import GROUPS, pipeline, read_parts, survey, write_parts

import maskwright as mw
from maskwright.commands.parted.feasibility import refuse_request, support, support_of_measure, support_of_method
from maskwright.commands.parted.measuring import refused_measure
from maskwright.pipeline.reading import read_pipeline
from maskwright.pipeline.resolved import MeasureRequest
from maskwright.planning.model import Step
from maskwright.plugins.registry import plugins

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

RECORDS, PARTS = 600, 2
PROCESSES = {"engine": "processes", "workers": 2, "block_size": 200}
PARAMS: dict[str, dict[str, Any]] = {
    "rounding": {"base": 5},
    "recoding": {"recode": {"age": [18.0, 65.0]}},
    "subdomains": {"random": 0, "domains": ["region"]},
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
    return asked_for | {"execution": {"engine": "local", "block_size": 200}, **changes}


def asked(names: Iterable[str]) -> list[dict[str, Any]]:
    """The section of measures."""
    return [{name: PARAMS.get(name, {})} for name in names]


def masked(folder: Path, name: str) -> pd.DataFrame:
    return read_parts(folder / name, PARTS)


def test_each_method_and_measure_is_in_the_table() -> None:
    rows = [(each.kind, each.name) for each in support(plugins())]
    assert rows == [
        *(("method", name) for name in plugins().methods), *(("measure", name) for name in plugins().measures)
    ]  # fmt: skip


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
    for name, execution in (("parts", PROCESSES), ("memory", {"block_size": 200})):
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


def test_measures_over_parts_are_those_of_a_run_in_memory(folder: Path) -> None:
    """Of the same masked values: those of a method that changes each record by itself."""
    wanted = []
    for name in of_built_ins("measure", "global"):
        try:
            in_memory = mw.run(settings(folder, f"memory-{name}", "rounding", execution={}, measure=asked([name])))
        except mw.InputError:
            # What these data have none of: over parts they have none of it either.
            with pytest.raises(mw.InputError):
                mw.run(settings(folder, f"parts-{name}", "rounding", measure=asked([name])))
        else:
            wanted.append((name, in_memory.record["measures"][name]["value"]))
    found = mw.run(settings(folder, "parts", "rounding", measure=asked(name for name, _ in wanted))).record
    assert {"sse", "il1s", "structural_zeros", "higher_moments"} <= {name for name, _ in wanted}
    for name, value in wanted:
        result = support_of_measure(plugins().measures[name]).result
        near = pytest.approx(value, rel=1e-9) if result == "exact" else pytest.approx(value, rel=0.1, abs=5)
        assert found["measures"][name]["value"] == near, name
        assert found["cut"]["measures"][name] == result


def test_measures_in_one_place_are_those_of_a_run_in_memory(folder: Path) -> None:
    wanted = {}
    for name in of_built_ins("measure", "whole"):
        try:
            run = mw.run(settings(folder, f"memory-{name}", "rounding", execution={}, measure=asked([name])))
        except mw.InputError:
            continue  # these data have none of what it measures
        wanted[name] = run.record["measures"][name]
    found = mw.run(settings(folder, "parts", "rounding", measure=asked(wanted))).record
    assert {"score", "propensity", "probabilistic_record_linkage"} <= wanted.keys()
    assert {name: found["measures"][name] for name in wanted} == wanted
    assert {found["cut"]["measures"][name] for name in wanted} == {"exact"}


def refused(folder: Path, **changes: Any) -> str:
    wanted = read_pipeline(settings(folder, "none", "rounding"))
    with pytest.raises(mw.InputError) as caught:
        refuse_request(replace(wanted, **changes))
    return str(caught.value)


@pytest.mark.parametrize("method", of_built_ins("method", "refused"))
def test_refused_methods_are_refused_by_name_with_the_reason_of_the_table(folder: Path, method: str) -> None:
    found = plugins().methods[method]
    said = refused(folder, steps=(Step(found, found.params.model_construct()),))
    assert f"step 1: {method} {support_of_method(found).why}" in said


@pytest.mark.parametrize("measure", of_built_ins("measure", "refused"))
def test_refused_measures_are_refused_by_name_with_a_reason(folder: Path, measure: str) -> None:
    found = plugins().measures[measure]
    request = MeasureRequest(measure, found, found.params.model_construct())
    assert f"{measure}: {refused_measure(request)}" in refused(folder, measures=(request,))
