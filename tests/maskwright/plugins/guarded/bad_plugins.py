"""Plugins that do what no plugin may do, in one table: what each is, what it does, and what is said of it.

Each is offered by a package ``bad`` of version 1.2, alone, and tried with the pipeline of its kind.
"""

from __future__ import annotations

import re
import sys
import threading
import types
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from installing import hook
from pydantic import BaseModel, Field

from maskwright import (
    Claims,
    InputError,
    Limit,
    Masked,
    Measure,
    MeasureClaims,
    Measurement,
    MeasurePart,
    Method,
    NoParams,
    Partition,
    PromisesK,
    Removed,
    Variable,
    aggregate,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from maskwright import Block, Comparison


@dataclass(frozen=True)
class BadPlugin:
    """One bad plugin.

    Attributes
    ----------
    name : str
        Of the case: what it does, in a few words.
    kind : str
        As in `PluginInfo`, ``observer``, or ``registration``.
    offered : object
        The plugin; of an observer or a registration, the functions that implement hooks, by name.
    says : str
        Regular expression of what is said; the name of the plugin and of its package stand there too.
    code : int
        Exit code of the run.
    settings : mapping
        Put over the pipeline.
    """

    name: str
    kind: str
    offered: Any
    says: str
    code: int = 3
    settings: tuple[str, ...] = ()


class KParams(BaseModel, extra="forbid", frozen=True):
    """Parameters of a method that promises k."""

    k: Annotated[int, PromisesK()] = Field(default=3, ge=2, description="Smallest cluster.")


def clusters(block: Block, k: int) -> NDArray[np.int64]:
    return np.minimum(np.arange(block.n) // k, max(block.n // k - 1, 0))


def clustered(block: Block, labels: NDArray[np.int64]) -> Masked:
    representatives = aggregate(block.values, block.missing, labels, block.operators)
    return Masked(
        np.where(block.missing, np.nan, representatives[labels]),
        block.missing.copy(),
        labels=labels,
        representatives=representatives,
    )


# Methods.


def good(block: Block) -> Masked:
    return Masked(np.where(block.missing, np.nan, block.values * 1.1 + 1.0), block.missing.copy())


def raises(block, params, rng):
    raise KeyError("a value of 4711")


def ends_the_program(block, params, rng):
    sys.exit(0)


def ends_it_with_a_text(block, params, rng):
    raise SystemExit("done with 4711")


class Stop(BaseException):
    """Nothing that catches exceptions catches this."""


def raises_what_is_no_exception(block, params, rng):
    raise Stop


def recurses(block, params, rng):
    return recurses(block, params, rng)


def fills(block, params, rng):
    return Masked(np.where(block.missing, 30.0, block.values + 1.0), np.zeros_like(block.missing))


def empties(block, params, rng):
    missing = block.missing.copy()
    missing[0] = True
    return Masked(np.where(missing, np.nan, block.values + 1.0), missing)


def other_values(block, params, rng):
    found = clustered(block, clusters(block, params.k))
    return replace(found, values=np.where(block.missing, np.nan, block.values))


def labels_out_of_range(block, params, rng):
    labels = clusters(block, params.k)
    found = clustered(block, labels)
    return replace(found, labels=labels + 7)


def labels_of_numbers(block, params, rng):
    found = clustered(block, clusters(block, params.k))
    return replace(found, labels=found.labels.astype(float))


def clusters_too_small(block, params, rng):
    return clustered(block, clusters(block, params.k - 1))


def no_labels(block, params, rng):
    return good(block)


def too_few_records(block, params, rng):
    return Masked(block.values[1:] + 1.0, block.missing[1:])


def single_precision(block, params, rng):
    found = good(block)
    return replace(found, values=found.values.astype(np.float32))


def infinite(block, params, rng):
    found = good(block)
    return replace(found, values=np.where(block.missing, np.nan, np.inf))


def numbers_as_missing(block, params, rng):
    found = good(block)
    return replace(found, missing=found.missing.astype(np.int64))


def a_list(block, params, rng):
    return Masked(block.values.tolist(), block.missing)


def nothing(block, params, rng):
    return None


def writes_into_its_input(block, params, rng):
    block.values[:] = 0.0
    return good(block)


def makes_its_input_writable(block, params, rng):
    block.values.setflags(write=True)
    block.values[:] = 0.0
    return good(block)


def writes_into_companions(block, params, rng):
    block.companions["age"] = np.zeros(block.n)
    return good(block)


def drops(block, params, rng):
    return Masked(block.values[1:] + 1.0, block.missing[1:])


def rows_twice(block, params, rng):
    return Removed(kept_rows=np.zeros(block.n, dtype=np.int64))


def cells_for_records(block, params, rng):
    return Removed(cells=block.missing.copy())


def removes_nothing_at_all(block, params, rng):
    return Removed()


def weights_of_nobody(block, params, rng):
    return Removed(kept_rows=np.arange(1, block.n), weights=np.full(block.n - 1, -1.0))


def masks_instead(block, params, rng):
    return good(block)


def remove_raises(block, params, rng):
    raise KeyError("a value of 4711")


def drawn_codes(block, params, rng):
    return Masked(np.full_like(block.values, 99.0), block.missing.copy())


def half_codes(block, params, rng):
    return Masked(np.where(block.missing, np.nan, 0.5), block.missing.copy())


def other_variables(block, params, rng):
    variables = tuple(Variable(f"{each.name}x", "ordinal", categories=("a",)) for each in block.variables)
    return Masked(np.zeros_like(block.values), block.missing.copy(), variables=variables)


def codes_beyond_the_new_categories(block, params, rng):
    variables = tuple(replace(each, type="ordinal", categories=("a", "b")) for each in block.variables)
    return Masked(np.where(block.missing, np.nan, 2.0), block.missing.copy(), variables=variables)


def an_array_in_notes(block, params, rng):
    return replace(good(block), notes={"drawn": rng.random(3)})


def nan_in_notes(block, params, rng):
    return replace(good(block), notes={"stress": float("nan")})


def records_in_notes(block, params, rng):
    return replace(good(block), notes={"original": np.nan_to_num(block.values[:, 0]).tolist()})


def a_value_in_a_warning(block, params, rng):
    return replace(good(block), notes={"warnings": [f"the largest wage is {np.nanmax(block.values):.0f}"]})


def limit_of_another(block, params, rng):
    return replace(good(block), limits=(Limit("region", high=1.0),))


def limits_of_nothing(params, variables):
    return (Limit(variables[0].name, high=float("inf")),)


def text_for_a_number(params, p):
    return "three"


def fails_while_planning(params, p):
    raise ZeroDivisionError


def fine(block, params, rng):
    return good(block)


def fine_with_codes(block, params, rng):
    return Masked(block.values.copy(), block.missing.copy())


def _method(
    function: Callable[..., Any] = fine, params: type[BaseModel] = NoParams, scope: Any = "group", **claims: Any
) -> Method:
    kept = Claims(handles_missing=True, **claims)
    return Method(name="spoiler", protect=function, params=params, scope=scope, claims=kept)


def _remover(function: Callable[..., Any]) -> Method:
    return Method(name="spoiler", remove=function, claims=Claims(removes={"records"}))


def _k_method(function: Callable[..., Any]) -> Method:
    return _method(function, params=KParams)


_CODES = frozenset({"nominal"})
_ON_REGION = (
    "protect.0.variables=[region]",
    "data.variables={age: {role: other}, wage: {role: other}}",
)

_AS_IS = ("data.variables={age: {release: as is}, wage: {release: as is}, region: {release: as is}}",)
"""A step that takes records away masks nothing."""

METHODS = (
    BadPlugin("an exception", "method", _method(raises), r"failed in step 1: KeyError at bad_plugins\.py:\d+"),
    BadPlugin("sys.exit(0)", "method", _method(ends_the_program), r"failed in step 1: SystemExit at bad_plugins\.py"),
    BadPlugin("sys.exit with a text", "method", _method(ends_it_with_a_text), "failed in step 1: SystemExit"),
    BadPlugin("no Exception at all", "method", _method(raises_what_is_no_exception), "failed in step 1: Stop at bad_"),
    BadPlugin("endless recursion", "method", _method(recurses), "failed in step 1: RecursionError"),
    BadPlugin("fills missing cells", "method", _method(fills), r"in step 1 put values into \d+ cells that have none"),
    BadPlugin("empties cells", "method", _method(empties), "in step 1 left cells empty, and does not say"),
    BadPlugin("values without labels", "method", _k_method(other_values), "not the representatives of their clusters"),
    BadPlugin("labels out of range", "method", _k_method(labels_out_of_range), "labels that are not one whole number"),
    BadPlugin("labels that are no whole numbers", "method", _k_method(labels_of_numbers), "not one whole number"),
    BadPlugin("clusters below k", "method", _k_method(clusters_too_small), "at least 3 records; the smallest has 2"),
    BadPlugin("promised groups without labels", "method", _k_method(no_labels), "returned no labels"),
    BadPlugin("too few records", "method", _method(too_few_records), r"values of shape \(34, 2\); expected \(35, 2\)"),
    BadPlugin("single precision", "method", _method(single_precision), "values of type float32; expected float64"),
    BadPlugin("infinite values", "method", _method(infinite), "NaN or infinite values in cells that are not missing"),
    BadPlugin("missing as numbers", "method", _method(numbers_as_missing), "missing of type int64; expected bool"),
    BadPlugin("a list for an array", "method", _method(a_list), "a list as values; expected an array"),
    BadPlugin("nothing returned", "method", _method(nothing), "returned a NoneType"),
    BadPlugin("writes into the block", "method", _method(writes_into_its_input), "read-only, in step 1: ValueError"),
    BadPlugin("makes the block writable", "method", _method(makes_its_input_writable), "in step 1: ValueError"),
    BadPlugin("writes into companions", "method", _method(writes_into_companions), "read-only, in step 1: TypeError"),
    BadPlugin("drops records", "method", _method(drops, scope="all"), r"values of shape \(\d+, 2\); expected"),
    BadPlugin(
        "the same record twice",
        "method",
        _remover(rows_twice),
        r"not rows 0\.\.39, ascending, each once",
        settings=_AS_IS,
    ),
    BadPlugin(
        "cells for records",
        "method",
        _remover(cells_for_records),
        "has to give kept_rows, and no other",
        settings=_AS_IS,
    ),
    BadPlugin(
        "removes nothing at all", "method", _remover(removes_nothing_at_all), "has to give kept_rows", settings=_AS_IS
    ),
    BadPlugin(
        "weights of nobody", "method", _remover(weights_of_nobody), "not one finite number, 0 or more", settings=_AS_IS
    ),
    BadPlugin(
        "a remover that masks",
        "method",
        _remover(masks_instead),
        "returned a Masked; it has to return",
        settings=_AS_IS,
    ),
    BadPlugin(
        "a remover that fails",
        "method",
        _remover(remove_raises),
        r"failed in step 1: KeyError at bad_plugins",
        settings=_AS_IS,
    ),
    BadPlugin(
        "codes of no category",
        "method",
        _method(drawn_codes, variable_types=_CODES),
        "values of region that are codes of none of its categories",
        settings=_ON_REGION,
    ),
    BadPlugin(
        "codes that are no whole numbers",
        "method",
        _method(half_codes, variable_types=_CODES),
        "values of region that are codes of none of its categories",
        settings=_ON_REGION,
    ),
    BadPlugin(
        "other variables",
        "method",
        _method(other_variables, removes=frozenset({"detail"})),
        "returned other variables than those of its block",
    ),
    BadPlugin(
        "codes beyond the new categories",
        "method",
        _method(codes_beyond_the_new_categories, removes=frozenset({"detail"})),
        "values of age that are codes of none of its categories",
    ),
    BadPlugin("an array in notes", "method", _method(an_array_in_notes), "a note 'drawn' that is no plain data"),
    BadPlugin("NaN in notes", "method", _method(nan_in_notes), "a note 'stress' that is no plain data"),
    BadPlugin("records in notes", "method", _method(records_in_notes), "'original' with something for each record"),
    BadPlugin("a value in a warning", "method", _method(a_value_in_a_warning), "said a value of a record in a warning"),
    BadPlugin("a limit of another variable", "method", _method(limit_of_another), "'region', which it does not mask"),
    BadPlugin("an infinite limit", "method", _method(limits=limits_of_nothing), "'age' that is no finite number"),
    BadPlugin("a text for a number", "method", _method(fewest_records=text_for_a_number), "not a whole number"),
    BadPlugin("fails while planning", "method", _method(fewest_records=fails_while_planning), "ZeroDivisionError at"),
)

# Partitions: they are blamed themselves, not the method that calls them.


def clusters_of_one(block, k, params, rng):
    return np.arange(block.n)


def labels_for_half(block, k, params, rng):
    return clusters(block, k)[::2]


def labels_with_holes(block, k, params, rng):
    return clusters(block, k) * 2


def negative_labels(block, k, params, rng):
    return clusters(block, k) - 1


def labels_in_a_list(block, k, params, rng):
    return clusters(block, k).tolist()


def labels_as_fractions(block, k, params, rng):
    return clusters(block, k) / 1.0


def cluster_raises(block, k, params, rng):
    raise IndexError("record 4711")


def cluster_writes(block, k, params, rng):
    block.values[:] = 0.0
    return clusters(block, k)


def _partition(function: Callable[..., Any]) -> Partition:
    return Partition(name="spoiler", cluster=function)


PARTITIONS = (
    BadPlugin("clusters below k", "partition", _partition(clusters_of_one), r"a cluster of 1 record.* at least 3"),
    BadPlugin("too few labels", "partition", _partition(labels_for_half), "one whole number for each of 35 records"),
    BadPlugin("clusters without records", "partition", _partition(labels_with_holes), "clusters without a record"),
    BadPlugin("negative labels", "partition", _partition(negative_labels), "do not count clusters from 0"),
    BadPlugin("labels in a list", "partition", _partition(labels_in_a_list), "in step 1 returned a list; labels are"),
    BadPlugin("labels as fractions", "partition", _partition(labels_as_fractions), "returned float64 of shape"),
    BadPlugin("an exception", "partition", _partition(cluster_raises), "failed in step 1: IndexError at bad_plugins"),
    BadPlugin("writes into the block", "partition", _partition(cluster_writes), "read-only, in step 1: ValueError"),
)

# Measures.


def above_its_range(comparison, params, rng):
    return Measurement(150.0)


def below_its_range(comparison, params, rng):
    return Measurement(-0.5)


def infinite_value(comparison, params, rng):
    return Measurement(float("inf"))


def undefined_without_a_note(comparison, params, rng):
    return Measurement(float("nan"))


def a_text_as_value(comparison, params, rng):
    return Measurement("12.5")


def a_number(comparison, params, rng):
    return 12.5


def an_unknown_variable(comparison, params, rng):
    return Measurement(0.0, per_variable={"salary": 1.0})


def an_infinite_part(comparison, params, rng):
    return Measurement(0.0, parts={"worst": float("inf")})


def a_part_out_of_range(comparison, params, rng):
    return Measurement(0.0, parts={"worst": 101.0})


def worst(params):
    return [MeasurePart("worst", range=(0.0, 100.0))]


def an_interval_upside_down(comparison, params, rng):
    return Measurement(0.0, interval=(2.0, 0.0))


def contributions_of_others(comparison, params, rng):
    return Measurement(0.0, per_record=np.zeros(3))


def notes_of_numbers(comparison, params, rng):
    return Measurement(0.0, notes=(1.0,))


def compute_raises(comparison, params, rng):
    raise KeyError("a value of 4711")


def writes_into_the_masked_file(comparison, params, rng):
    comparison.masked["age"].values[:] = 0.0
    return Measurement(0.0)


def makes_the_original_writable(comparison, params, rng):
    values = comparison.original["age"].values
    values.setflags(write=True)
    values[:] = 0.0
    return Measurement(0.0)


def compute_fine(comparison, params, rng):
    return Measurement(0.0)


def uses_numbers(params, measurable):
    return [1, 2]


def _measure(function: Callable[[Comparison, Any, Any], Any] = compute_fine, **more: Any) -> Measure:
    return Measure(name="spoiler", compute=function, range=(0.0, 100.0), **more)


MEASURES = (
    BadPlugin("above its range", "measure", _measure(above_its_range), "above the range that it declares, 0 to 100"),
    BadPlugin("below its range", "measure", _measure(below_its_range), "below the range that it declares, 0 to 100"),
    BadPlugin("an infinite value", "measure", _measure(infinite_value), "a value that is infinite"),
    BadPlugin("undefined without a note", "measure", _measure(undefined_without_a_note), "no note says why"),
    BadPlugin("a text as value", "measure", _measure(a_text_as_value), "a value that is a str, not a number"),
    BadPlugin("no Measurement", "measure", _measure(a_number), "returned a float, not a Measurement"),
    BadPlugin("an unknown variable", "measure", _measure(an_unknown_variable), "'salary', which is no variable of"),
    BadPlugin("an infinite part", "measure", _measure(an_infinite_part), "a part 'worst' that is infinite"),
    BadPlugin("a part out of range", "measure", _measure(a_part_out_of_range, parts=worst), "'worst' above the range"),
    BadPlugin("an interval upside down", "measure", _measure(an_interval_upside_down), "above its upper end"),
    BadPlugin("contributions of others", "measure", _measure(contributions_of_others), r"shape \(3,\), of 40 masked"),
    BadPlugin("notes of numbers", "measure", _measure(notes_of_numbers), "notes that are not a tuple of sentences"),
    BadPlugin("an exception", "measure", _measure(compute_raises), r"failed: KeyError at bad_plugins\.py:\d+"),
    BadPlugin("writes into the file", "measure", _measure(writes_into_the_masked_file), "read-only,: ValueError at"),
    BadPlugin("makes data writable", "measure", _measure(makes_the_original_writable), "failed: ValueError at bad_"),
    BadPlugin(
        "uses no names",
        "measure",
        _measure(claims=MeasureClaims(uses=uses_numbers)),
        "something else than names of variables",
    ),
)

BAD_PLUGINS = (*METHODS, *PARTITIONS, *MEASURES)

# Methods and partitions that harm nobody in a run, or of which a run only tells.

SCRATCH = np.zeros(100_000)


def prints(block, params, rng):
    print("a value of 4711\nand another")
    sys.stdout.write("4712\n")
    return good(block)


def in_a_buffer(block, params, rng):
    buffer = SCRATCH[: block.values.size].reshape(block.values.shape)
    buffer[:] = good(block).values
    return Masked(buffer, block.missing.copy())


_ENDS = [threading.Event()]


def end_what_hangs():
    """Let calls that hang return: a thread cannot be ended from outside, and a busy one slows whatever comes after."""
    _ENDS.pop().set()
    _ENDS.append(threading.Event())


def hangs_asleep():
    _ENDS[0].wait(3600)


def hangs(block, params, rng):
    hangs_asleep()
    return good(block)


def hangs_in_a_loop(block, params, rng):
    end = _ENDS[0]
    while not end.is_set():
        pass
    return good(block)


def hangs_with_the_lock(block, params, rng):
    """Compiled code that lets no other thread of its process go on."""
    re.match(r"(a+)+$", "a" * 60 + "b")
    return good(block)


def cluster_hangs(block, k, params, rng):
    hangs_asleep()
    return clusters(block, k)


HANGING = (
    BadPlugin("never ends", "method", _method(hangs), "took longer than 0.5 seconds in step 1",
              settings=("execution.plugin_seconds=0.5",)),
    BadPlugin("never ends, at work", "method", _method(hangs_in_a_loop), "took longer than 0.5 seconds in step 1",
              settings=("execution.plugin_seconds=0.5",)),
    BadPlugin("never ends", "partition", _partition(cluster_hangs), "took longer than 2 seconds in step 1",
              settings=("execution.plugin_seconds=2",)),
)  # fmt: skip
"""Refused where the pipeline says how long a plugin may take."""

HARMLESS = (
    BadPlugin("prints values of records", "method", _method(prints), ""),
    BadPlugin("works in a buffer of its module", "method", _method(in_a_buffer), ""),
)
"""The released file is that of `fine`: what is printed is kept apart, what is returned is copied."""

CLAIMING = (
    BadPlugin("claims to keep means", "method", _method(preserves={"mean"}), "claims to preserve means"),
    BadPlugin("claims to keep covariances", "method", _method(preserves={"covariance"}), "claims to preserve covari"),
)
"""The released file is that of `fine`, and the run says that the claim did not hold."""


def module_of(bad: BadPlugin) -> types.ModuleType:
    """Module of a package that offers a bad plugin, and nothing else."""
    module = types.ModuleType("bad")
    vars(module)["CONTRACT"] = 2
    hooks = bad.offered if isinstance(bad.offered, dict) else {f"register_{bad.kind}s": lambda: [bad.offered]}
    for name, function in hooks.items():
        setattr(module, name, hook(name, function))
    return module


def deliberate(block, params, rng):
    raise InputError("this method needs a variable of role weight")


def cluster_fine(block, k, params, rng):
    return clusters(block, k)


def write_fine(path, record):
    path.write_text("fine", encoding="utf-8")
