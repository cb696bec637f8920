"""The kit begins with the contract check of the engine, and says what the engine says."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import pytest
from pydantic import BaseModel, Field

from maskwright import (
    Claims,
    EditSet,
    KeyVariables,
    Masked,
    Measure,
    Measurement,
    Method,
    Partition,
    PluginError,
    Report,
    RuleLanguage,
    Source,
)
from maskwright.plugins.contract import contract_error
from maskwright.testing import (
    measure_checks,
    method_checks,
    offered,
    partition_checks,
    report_checks,
    rule_language_checks,
    source_checks,
)

SCRATCH = np.zeros(10_000)


def protect(block, params, rng):
    return Masked(block.values, block.missing)


def compute(comparison, params, rng):
    return Measurement(0.0)


def nothing(*arguments: Any) -> Any:
    raise AssertionError("not called here")


def write(path, record):
    nothing()


class AsParams(BaseModel):
    """Parameters."""

    text: str = Field(default="", alias="as", description="Text.")


class KeysOnOneParams(BaseModel):
    """Parameters."""

    keys: Annotated[int, KeyVariables()] = Field(default=1, description="Number.")


REFUSED: list[tuple[str, Any, Any]] = [
    ("method", method_checks, Method(name="two words", protect=protect)),
    ("method", method_checks, Method(name="m", protect=lambda block: None)),
    ("method", method_checks, Method(name="m", protect=protect, claims=Claims(preserves=frozenset({"meen"})))),
    ("method", method_checks, Method(name="m", protect=protect, scope="everything")),
    ("method", method_checks, Method(name="m", protect=protect, params=dict)),
    ("measure", measure_checks, Measure(name="m", compute=compute, direction="up")),
    ("measure", measure_checks, Measure(name="m", compute=compute, range=(1.0, 0.0))),
    ("partition", partition_checks, Partition(name="p", cluster=lambda block, k: None)),
    ("source", source_checks, Source(name="s", suffixes=(".S",), open=nothing, write=nothing)),
    ("rule_language", rule_language_checks, RuleLanguage(name="e", suffixes=("rules",), read=nothing)),
    ("report", report_checks, Report(name="r", write=lambda: None)),
    ("report", report_checks, "a text"),
]


@pytest.mark.parametrize(("kind", "checks", "plugin"), REFUSED)
def test_what_the_engine_refuses_fails_with_its_own_sentence(kind: str, checks: Any, plugin: Any) -> None:
    said = contract_error(kind, plugin)
    assert said is not None
    (check,) = checks([plugin], excuses={"some_check": "the contract comes first"})
    assert check.id.endswith("-contract")
    with pytest.raises(AssertionError) as told:
        check.values[0]()
    assert str(told.value) == said


def test_the_name_of_a_built_in_plugin_is_taken() -> None:
    (check,) = method_checks([Method(name="pram", protect=protect)])
    with pytest.raises(AssertionError, match="'pram' is already built in"):
        check.values[0]()


def failing(parameters: list[Any]) -> dict[str, str]:
    failed = {}
    for parameter in parameters:
        try:
            parameter.values[0]()
        except AssertionError as error:
            failed[parameter.id.split("-", 1)[1]] = str(error)
    return failed


def method(function: Any) -> Method:
    return Method(
        name="tried",
        protect=function,
        claims=Claims(handles_missing=True),
        summary="s",
        reference="none",
        example="method: tried\n",
    )


def in_a_buffer(block, params, rng):
    buffer = SCRATCH[: block.values.size].reshape(block.values.shape)
    buffer[:] = block.values
    doubled = buffer * 2.0
    return Masked(doubled, block.missing)


def of_a_buffer(block, params, rng):
    buffer = SCRATCH[: block.values.size].reshape(block.values.shape)
    buffer[:] = block.values
    return Masked(buffer, block.missing)


def prints(block, params, rng):
    print("done")
    return Masked(block.values, block.missing)


def tells_the_largest(block, params, rng):
    return Masked(block.values, block.missing, notes={"largest": float(block.values.max())})


def tells_in_words(block, params, rng):
    return Masked(block.values, block.missing, doubts=(f"the largest is {block.values.max():,.1f}",))


def notes_an_array(block, params, rng):
    return Masked(block.values, block.missing, notes={"means": np.zeros(3)})


def empties(block, params, rng):
    missing = block.missing.copy()
    missing[0] = True
    return Masked(np.where(missing, np.nan, block.values), missing)


@pytest.mark.parametrize(
    ("function", "check", "said"),
    [
        (in_a_buffer, "concurrent_calls", "calls at once give other results"),
        (of_a_buffer, "concurrent_calls", "what one call returned is changed by the next"),
        (prints, "prints_nothing", "printed on standard output"),
        (tells_the_largest, "notes", "hold a value of a record"),
        (tells_in_words, "notes", "hold a value of a record"),
        (notes_an_array, "notes", "that is no plain data"),
        (empties, "shapes_continuous", "left cells empty, and does not say that it removes cells"),
    ],
)
def test_misconduct_of_a_method_is_found(function: Any, check: str, said: str) -> None:
    assert said in failing(method_checks([method(function)]))[check]


def test_a_method_without_misconduct_passes() -> None:
    assert failing(method_checks([method(protect)])) == {}


def counted_in_module(comparison, params, rng):
    SCRATCH[0] = np.abs(comparison.masked_values() - comparison.original_values()).max()
    total = float(SCRATCH[0])
    return Measurement(total)


def tells_its_largest(comparison, params, rng):
    return Measurement(0.0, notes=(f"the largest value is {comparison.original_values().max():.2f}",))


def clusters_in_module(block, k, params, rng):
    SCRATCH[: block.n] = np.argsort(np.argsort(block.values[:, 0], kind="stable"), kind="stable")
    ranks = SCRATCH[: block.n].astype(np.int64)
    return np.minimum(ranks // k, max(block.n // k - 1, 0))


def test_memory_of_the_module_is_found_in_measures_and_partitions() -> None:
    measure = Measure(name="tried", compute=counted_in_module, summary="s", reference="none")
    assert "calls at once" in failing(measure_checks([measure]))["concurrent_calls"]
    partition = Partition(name="tried", cluster=clusters_in_module, summary="s", reference="none")
    assert set(failing(partition_checks([partition]))) == {"concurrent_calls"}


def test_a_measure_that_tells_values_is_found() -> None:
    measure = Measure(name="tried", compute=tells_its_largest, summary="s", reference="none")
    assert "hold a value of a record" in failing(measure_checks([measure]))["notes"]


def test_a_refused_plugin_cannot_be_offered() -> None:
    with pytest.raises(PluginError, match="'two words' is refused: the name must be"), offered([REFUSED[0][2]]):
        raise AssertionError("not reached")
    with pytest.raises(PluginError, match="a EditSet is no plugin"), offered([EditSet()]):
        raise AssertionError("not reached")
