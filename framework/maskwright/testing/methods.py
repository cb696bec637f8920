"""Checks of protection methods."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.data.variable import Variable
from maskwright.foundation.errors import InputError, MaskwrightError, PluginFailed
from maskwright.plugins.guarding.wrapping import guarded
from maskwright.plugins.method import Masked
from maskwright.plugins.parameter_markers import PromisesK
from maskwright.testing.checks import (
    Check,
    ChecksOf,
    Params,
    check_documented,
    check_picklable,
    example_params,
    generator,
    leaves_alone,
    params_of,
    require,
)
from maskwright.testing.claims import CLAIMS, protected, returned
from maskwright.testing.conduct import (
    check_calls,
    prints_nothing,
    recognisable_values,
    reveals_no_values,
    without_published,
)
from maskwright.testing.sample_data import TYPES, block_of, numbers, with_holes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from maskwright.data.variable import VariableType
    from maskwright.plugins.block import Block
    from maskwright.plugins.method import Masked, Method, Removed

_Numbers = Callable[..., "NDArray[np.float64]"]
"""``(p, kind, seed=1) -> values``, shape (60, p)."""


def _checks(method: Method, given: Params) -> Iterator[tuple[str, Check]]:
    usual_numbers = _repeated_numbers if method.has_keys else partial(numbers, 60)
    yield "parameters", partial(params_of, method, given)
    yield "documented", partial(check_documented, method)
    yield "example", partial(_example, method)
    yield "planning", partial(_planning, method, given)
    yield (
        "picklable",
        partial(check_picklable, method, _function(method)),
    )
    p = 1 if method.scope == "variable" else 3
    accepted: list[VariableType] = [each for each in TYPES if each in method.claims.variable_types]
    for name in accepted:
        yield f"shapes_{name}", partial(_shapes, method, given, block_of(usual_numbers(p, name), name))
        if method.claims.handles_missing:
            block = block_of(with_holes(usual_numbers(p, name)), name)
            yield f"missing_cells_{name}", partial(_shapes, method, given, block)
        yield f"one_record_{name}", partial(_answers_or_refuses, method, given, block_of(numbers(1, p, name), name))
        same = block_of(np.repeat(numbers(1, p, name), 30, axis=0), name)
        yield f"identical_records_{name}", partial(_answers_or_refuses, method, given, same)
    if not accepted:
        return
    first = accepted[0]
    usual = block_of(usual_numbers(p, first), first)
    if p > 1:
        constant = usual_numbers(p, first)
        constant[:, 1] = 2.0
        yield "constant_column", partial(_answers_or_refuses, method, given, block_of(constant, first))
    if first == "continuous":
        yield "large_numbers", partial(_shapes, method, given, block_of(usual_numbers(p, first) * 1e9 + 1e12))
    yield "input_unmodified", partial(_input_unmodified, method, given, usual)
    yield "same_seed_same_result", partial(_same_seed, method, given, usual)
    yield "progress_is_a_share", partial(_progress, method, given, usual)
    yield "clusters_and_representatives", partial(_clusters, method, given, usual)
    yield "concurrent_calls", partial(_concurrent, method, given, usual_numbers, p, first)
    yield "prints_nothing", partial(_silent, method, given, usual)
    yield "notes", partial(_notes, method, given, usual_numbers, p, first)
    if method.claims.deterministic:
        yield "deterministic", partial(_deterministic, method, given, usual)
    if method.parameter(PromisesK) is not None and method.promised_k(params_of(method, given)) is not None:
        yield "k_respected", partial(_k_respected, method, given, usual)
    yield "any_cut", partial(_any_cut, method, given, usual)
    yield "gathering", partial(_gathering, method, given, usual)
    for claim in sorted(method.claims.preserves & set(CLAIMS)):
        yield f"preserves_{claim}", partial(CLAIMS[claim], method, params_of, given)


method_checks = ChecksOf("method", _checks)


def _planning(method: Method, given: Params) -> None:
    """Require that what is asked before any data are read has an answer, and one of the right type."""
    params = params_of(method, given)
    if method.is_remover:
        return
    asked = guarded(method, "method", "", "")
    variables = tuple(Variable(f"x{number}") for number in (1, 2, 3))
    questions: dict[str, tuple[Any, ...]] = {
        "fewest_records": (params, 3), "mean_cluster_size": (params, 100), "limits": (params, variables),
        "publishes": (params, variables[0]),
    }  # fmt: skip
    for name, arguments in questions.items():
        function = getattr(asked.claims, name)
        try:
            if function is not None:
                function(*arguments)
        except PluginFailed as error:
            raise AssertionError(f"{name}: {error.problems[0].sentence}") from None
        except MaskwrightError as error:
            require(bool(str(error).strip()), "a refusal must say why")


def _function(method: Method) -> Callable[..., Any]:
    function = method.remove if method.is_remover else method.protect
    assert function is not None
    return function


def _repeated_numbers(p: int, kind: VariableType, seed: int = 1) -> NDArray[np.float64]:
    """Records that have equals, for methods that look at classes of equal keys; shape (60, p)."""
    return np.repeat(numbers(12, p, kind, seed), 5, axis=0)


def _returned(method: Method, given: Params, block: Block, seed: int = 20230) -> Masked | Removed:
    return returned(method, params_of(method, given), block, generator(seed))


def _protected(method: Method, given: Params, block: Block, seed: int = 20230) -> Masked:
    return protected(method, params_of(method, given), block, generator(seed))


def _example(method: Method) -> None:
    params = example_params(method)
    require(params is not None, f"{method.name}: example is empty; write a YAML step that runs")
    method.params.model_validate(params)


def _shapes(method: Method, given: Params, block: Block) -> None:
    _check_shapes(method, block, _protected(method, given, block))


def _check_shapes(method: Method, block: Block, masked: Masked) -> None:
    m = len(masked.values) if "records" in method.claims.removes else block.n
    p = block.p if masked.variables is None else len(masked.variables)
    require(masked.values.shape == (m, p), f"values must have shape {(m, p)}, not {masked.values.shape}")
    require(masked.values.dtype == np.float64, f"values must be float64, not {masked.values.dtype}")
    require(masked.missing.shape == (m, p), f"missing must have shape {(m, p)}, not {masked.missing.shape}")
    require(masked.missing.dtype == np.bool_, f"missing must be bool, not {masked.missing.dtype}")
    require(np.array_equal(np.isnan(masked.values), masked.missing), "values must be NaN exactly where missing")
    require(not np.isinf(masked.values).any(), "values must be finite")
    for position, variable in enumerate(masked.variables or block.variables):
        if variable.categories:
            codes = masked.values[~masked.missing[:, position], position]
            known = np.isin(codes, np.arange(len(variable.categories)))
            require(known.all(), f"{variable.name} is {variable.type}: its values must be codes of its categories")


def _concurrent(method: Method, given: Params, values_of: _Numbers, p: int, kind: VariableType) -> None:
    blocks = [block_of(values_of(p, kind, seed), kind) for seed in (1, 2, 3, 4)]
    check_calls(_function(method), lambda block: _returned(method, given, block), blocks)


def _silent(method: Method, given: Params, block: Block) -> None:
    prints_nothing(lambda: _protected(method, given, block))


def _notes(method: Method, given: Params, values_of: _Numbers, p: int, kind: VariableType) -> None:
    """Require that notes are plain data, and neither they nor a refusal hold a value of a record."""
    values = values_of(p, kind)
    if kind in ("continuous", "integer"):
        values = np.round(values * 1e6 + 1e9, 0 if kind == "integer" else 3)
    telling = recognisable_values(values)
    try:
        found = _returned(method, given, block_of(values, kind))
    except MaskwrightError as error:
        reveals_no_values(str(error), telling, "refusals")
        return
    try:
        json.dumps(dict(found.notes), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise AssertionError(f"notes must be texts and finite numbers, for the record is JSON: {error}") from None
    reveals_no_values([without_published(found.notes), found.doubts], telling, "notes and doubts")


def _answers_or_refuses(method: Method, given: Params, block: Block) -> None:
    """Degenerate blocks are masked, or refused with a sentence for people."""
    try:
        masked = _protected(method, given, block)
    except MaskwrightError as error:
        require(bool(str(error).strip()), "a refusal must say why")
        return
    _check_shapes(method, block, masked)


def _input_unmodified(method: Method, given: Params, block: Block) -> None:
    values, missing = block.values.copy(), block.missing.copy()
    _protected(method, given, block)
    same = np.array_equal(values, block.values, equal_nan=True) and np.array_equal(missing, block.missing)
    require(same, "protect changed the block it was given")


def _same_seed(method: Method, given: Params, block: Block) -> None:
    one, other = (_protected(method, given, block) for _ in range(2))
    same = np.array_equal(one.values, other.values, equal_nan=True)
    require(same, "two calls with the same seed gave different values: take all randomness from rng")


def _deterministic(method: Method, given: Params, block: Block) -> None:
    params = params_of(method, given)
    untouched = leaves_alone(generator(), lambda rng: protected(method, params, block, rng))
    require(untouched, "deterministic is claimed, and protect takes numbers from rng")
    one, other = (_protected(method, given, block, seed).values for seed in (1, 2))
    require(np.array_equal(one, other, equal_nan=True), "deterministic is claimed, and two calls differ")


def _progress(method: Method, given: Params, block: Block) -> None:
    from dataclasses import replace

    reporter: list[float] = []
    _protected(method, given, replace(block, progress=reporter.append))
    require(all(0.0 <= share <= 1.0 for share in reporter), "progress must be given a share between 0 and 1")
    require(reporter == sorted(reporter), "the share given to progress must not fall")


def _clusters(method: Method, given: Params, block: Block) -> None:
    masked = _protected(method, given, block)
    require((masked.labels is None) == (masked.representatives is None), "give labels and representatives, or neither")
    if masked.labels is None or masked.representatives is None:
        return
    labels, representatives = masked.labels, masked.representatives
    require(labels.dtype == np.int64 and labels.shape == (len(masked.values),), "labels: one int64 for each record")
    present = np.unique(labels)
    whole = np.array_equal(present, np.arange(len(representatives)))
    require(whole, "labels must be 0..c-1, each used, one row of representatives for each")
    equal = (masked.values == representatives[labels]) | masked.missing
    require(equal.all(), "values must be representatives[labels] where not missing")


def _any_cut(method: Method, given: Params, block: Block) -> None:
    """Of a method that says that a file may be cut anywhere, mask a file in two cuts and compare."""
    params = params_of(method, given)
    if method.with_params(params).claims.cut != "any":
        return
    records = np.arange(block.n)
    whole = protected(method, params, replace(block, file_n=block.n, records=records), generator())
    for cut in (np.array_split(records, 3), [records[::2], records[1::2]]):
        for part in cut:
            own = replace(
                block, values=block.values[part], missing=block.missing[part], records=part, file_n=block.n
            )  # fmt: skip
            found = protected(method, params, own, generator())
            same = np.array_equal(found.values, whole.values[part], equal_nan=True)
            require(
                same and np.array_equal(found.missing, whole.missing[part]) and found.variables == whole.variables,
                'cut="any": records of a part come out otherwise than in the whole file; draw with uniform_by_record, '
                'and look at no other record, or say cut="near" or "none"',
            )


def _gathering(method: Method, given: Params, block: Block) -> None:
    """Of a method that asks something of all records, mask a file in parts and compare with all of it."""
    params = params_of(method, given)
    gathering = method.with_params(params).claims.gathering
    if gathering is None:
        return
    records = np.arange(block.n)
    whole = protected(method, params, replace(block, file_n=block.n, records=records), generator())
    for cut in (np.array_split(records, 3), [records]):
        parts = [
            replace(block, values=block.values[part], missing=block.missing[part], records=part, file_n=block.n)
            for part in cut
        ]
        try:
            facts = [json.loads(json.dumps(gathering.partial(part, params))) for part in parts]
        except InputError as error:
            require(bool(str(error).strip()), "a refusal must say why")
            return
        merged = gathering.merged(facts, params)
        if gathering.notes is not None:
            gathering.notes(merged, block.variables, params)
        for part, rows in zip(parts, cut, strict=True):
            found = protected(method, params, replace(part, gathered=merged), generator())
            same = np.array_equal(found.values, whole.values[rows], equal_nan=True)
            require(
                same and np.array_equal(found.missing, whole.missing[rows]) and found.variables == whole.variables,
                "gathering: records of a part, with the facts of all parts, come out otherwise than in the whole file; "
                "draw with uniform_by_record, add up without rounding, and look at no other record",
            )


def _k_respected(method: Method, given: Params, block: Block) -> None:
    k = method.promised_k(params_of(method, given)) or 1
    masked = _protected(method, given, block)
    if masked.labels is not None:
        require(np.bincount(masked.labels).min() >= k, f"a cluster has fewer than k = {k} records")
    # Without key parameters of its own, the block's variables are all keys; an empty cell is a value of its own.
    _, sizes = np.unique(np.where(masked.missing, np.inf, masked.values), axis=0, return_counts=True)
    require(sizes.min() >= k, f"fewer than k = {k} records share one combination of masked values")
