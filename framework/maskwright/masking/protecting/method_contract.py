"""What the engine demands of what a method returns: values, clusters, removed records, notes, and what it claims."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.data.classes.classes import Classes
from maskwright.data.cluster_aggregation import ChosenAggregation
from maskwright.edits.edit import DomainPart
from maskwright.edits.edit_set import EditSet
from maskwright.foundation.errors import InputError, Problem
from maskwright.masking.adjusting.constraint_system import RELATIVE, system_of, violated
from maskwright.masking.adjusting.targets import Targets
from maskwright.masking.aggregation import aggregate
from maskwright.planning.model import Group, Keeper, Step
from maskwright.planning.variable_groups import keeps
from maskwright.plugins.guarding.call import broke_contract
from maskwright.plugins.guarding.frozen import frozen, read_only
from maskwright.plugins.guarding.origin import origin_of
from maskwright.plugins.guarding.wrapping import checked_limits
from maskwright.plugins.method import Masked, Method, Removed

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pydantic import BaseModel

    from maskwright.data.variable import Variable
    from maskwright.foundation.arrays import Booleans, Floats, Integers
    from maskwright.masking.protecting.assembling import GroupResult
    from maskwright.plugins.block import Block


DISCLOSING_DIGITS = 5
"""A number of so many digits in a sentence that is a value of the data is there by no chance."""

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


FEW = 10
"""A list shorter than this is not taken for one of records, however few records there are."""


def wrong_notes(block: Block, masked: Any) -> Iterator[str]:
    """What is wrong with the notes of a result, each as the rest of a sentence after the name of the method."""
    if not isinstance(masked.notes, Mapping):
        yield f"gave notes that are a {type(masked.notes).__name__}, not a mapping"
        return
    for name, note in masked.notes.items():
        if not isinstance(name, str):
            yield "gave a note whose name is no text"
        elif not _is_plain(note):
            yield f"gave a note {name!r} that is no plain data: texts, whole numbers, finite numbers, lists, mappings"
        elif name != "published" and _longest(note) >= max(block.n, block.p + 1, FEW):
            yield f"gave a note {name!r} with something for each record"
    if not isinstance(masked.notes.get("published", {}), Mapping):
        yield "gave a note 'published' that is no mapping of lists"
    sentences = [*_sentences(masked.notes.get("warnings", ())), *masked.doubts]
    if not all(isinstance(each, str) for each in sentences):
        yield "gave warnings that are not a list of sentences"
        return
    if any(_discloses_value(sentence, block) for sentence in sentences):
        yield "said a value of a record in a warning"


def _sentences(given: Any) -> list[Any]:
    return list(given) if isinstance(given, (list, tuple)) else [None]


def _is_plain(note: object) -> bool:
    if isinstance(note, (np.floating, float)):
        return math.isfinite(note)
    if note is None or isinstance(note, (str, bool, int, np.integer, np.bool_)):
        return True
    if isinstance(note, Mapping):
        return all(isinstance(name, str) and _is_plain(each) for name, each in note.items())
    return isinstance(note, (list, tuple)) and all(_is_plain(each) for each in note)


def _longest(note: object) -> int:
    """Entries of the longest list inside."""
    if isinstance(note, Mapping):
        return max((_longest(each) for each in note.values()), default=0)
    if isinstance(note, (list, tuple)):
        return max(len(note), max((_longest(each) for each in note), default=0))
    return 0


def _discloses_value(sentence: str, block: Block) -> bool:
    """Whether a sentence has a number of many digits that is the value of a cell."""
    numbers = [float(each) for each in _NUMBER.findall(sentence) if sum(map(str.isdigit, each)) >= DISCLOSING_DIGITS]
    return bool(numbers) and bool(np.isin(block.values, numbers).any())


def checked_masked(method: Method, params: BaseModel, block: Block, masked: object) -> Masked:
    """What a method returned, held to its contract; a plugin's mistake must not become a wrong release."""
    origin = origin_of(method.protect, "method", method.name)
    if not isinstance(masked, Masked):
        raise broke_contract(origin, f"returned a {type(masked).__name__}; it has to return maskwright.Masked")
    wrong = next(_wrong(method, params, block, masked), None)
    if wrong is not None:
        raise broke_contract(origin, wrong)
    limits = checked_limits(origin, block.variables, masked.limits)
    return Masked(
        values=read_only(masked.values.copy()), missing=read_only(masked.missing.copy()), variables=masked.variables,
        labels=_own(masked.labels, np.int64), representatives=_own(masked.representatives, np.float64),
        notes=frozen(dict(masked.notes)), limits=limits, missing_codes=_own(masked.missing_codes, np.int64),
        doubts=tuple(masked.doubts), suppressed=_own(masked.suppressed, np.bool_),
        without_spread=tuple(masked.without_spread),
    )  # fmt: skip


def _own(array: NDArray[Any] | None, dtype: type[Any]) -> NDArray[Any] | None:
    return None if array is None else read_only(np.array(array, dtype=dtype))


def _wrong(method: Method, params: BaseModel, block: Block, masked: Any) -> Iterator[str]:
    """What a result breaks, each as the rest of a sentence after the name of the method, the gravest first."""
    shape = block.values.shape
    yield from _wrong_array("values", masked.values, shape, np.float64)
    yield from _wrong_array("missing", masked.missing, shape, np.bool_)
    if not np.all(np.isfinite(masked.values[~masked.missing])):
        yield "returned NaN or infinite values in cells that are not missing"
    had = block.missing
    if "cells" not in method.claims.removes and not method.claims.draws_records and (masked.missing & ~had).any():
        yield "left cells empty, and does not say that it removes cells"
    if not method.claims.draws_records and (had & ~masked.missing).any():
        yield f"put values into {int((had & ~masked.missing).sum())} cells that have none"
    yield from _wrong_suppressed(method, masked)
    yield from _wrong_codes(masked, shape)
    yield from _wrong_detail(method, block, masked)
    yield from _wrong_categories(masked.variables or block.variables, masked)
    yield from _wrong_clusters(method, params, block, masked, shape)
    if not all(isinstance(doubt, str) for doubt in masked.doubts):
        yield "gave doubts that are not a tuple of sentences"
    if not set(masked.without_spread) <= set(block.names):
        yield "named variables as without spread that are not in the block"
    yield from wrong_notes(block, masked)


def _wrong_array(name: str, array: object, shape: tuple[int, ...], dtype: type[Any]) -> Iterator[str]:
    if not isinstance(array, np.ndarray):
        yield f"returned a {type(array).__name__} as {name}; expected an array"
    elif array.shape != shape:
        yield f"returned {name} of shape {array.shape}; expected {shape}"
    elif array.dtype != dtype:
        yield f"returned {name} of type {array.dtype}; expected {np.dtype(dtype)}"


def _wrong_clusters(
    method: Method, params: BaseModel, block: Block, masked: Any, shape: tuple[int, ...]
) -> Iterator[str]:
    """Labels and representatives: one for each record, each used, and what the values are; as many records as k."""
    labels, representatives = masked.labels, masked.representatives
    if (labels is None) != (representatives is None):
        yield "returned labels without representatives, or representatives without labels"
    if labels is None or representatives is None:
        if method.makes_clusters:
            yield "promises groups but returned no labels and representatives"
        return
    if not isinstance(labels, np.ndarray) or labels.shape != shape[:1]:
        yield f"returned labels that are not one whole number for each of {shape[0]} records"
        return
    clusters = len(representatives)
    if not np.issubdtype(labels.dtype, np.integer) or (len(labels) and (labels.min() < 0 or labels.max() >= clusters)):
        yield f"returned labels that are not one whole number 0..{clusters - 1} for each of {shape[0]} records"
        return
    yield from _wrong_array("representatives", representatives, (clusters, shape[1]), np.float64)
    if not np.bincount(labels, minlength=clusters).all():
        yield "returned representatives of clusters that have no record"
    if not ((masked.values == representatives[labels]) | masked.missing).all():
        yield "returned values that are not the representatives of their clusters"
    k = method.smallest_cluster(params)
    if k is None:
        return
    by_household = block.households is not None and method.claims.counts_households
    smallest, most = _smallest(labels, block.households if by_household else None, clusters)
    if smallest < min(k, most):
        what = block.groups_said if by_household else "records"
        yield f"promised clusters of at least {k} {what}; the smallest has {smallest}"


def _smallest(labels: Integers, households: Integers | None, clusters: int) -> tuple[int, int]:
    """How many records, or households, the smallest cluster has, and how many there are in all."""
    if households is None:
        return int(np.bincount(labels, minlength=clusters).min(initial=len(labels))), len(labels)
    labels = Classes.of([labels, households]).keys[0]
    return int(np.bincount(labels, minlength=clusters).min()), len(np.unique(households))


def _wrong_suppressed(method: Method, masked: Any) -> Iterator[str]:
    """Missing codes that a method takes away: of missing cells, and it has said that it removes cells."""
    gone = masked.suppressed
    if gone is None:
        return
    yield from _wrong_array("suppressed", gone, masked.missing.shape, np.bool_)
    if "cells" not in method.claims.removes or (gone & ~masked.missing).any():
        yield "took codes away: only missing cells, of a method that removes cells, can lose theirs"


def _wrong_codes(masked: Any, shape: tuple[int, ...]) -> Iterator[str]:
    codes = masked.missing_codes
    if codes is None:
        return
    if not isinstance(codes, np.ndarray) or codes.shape != shape or not np.issubdtype(codes.dtype, np.integer):
        yield f"returned missing codes that are not whole numbers of shape {shape}"


def checked_removed(remover: Method, block: Block, removed: object) -> Removed:
    """What a remover returned, held to its contract: it takes away what it says, and rows, cells and weights fit."""
    origin = origin_of(remover.remove, "method", remover.name)
    if not isinstance(removed, Removed):
        raise broke_contract(origin, f"returned a {type(removed).__name__}; it has to return maskwright.Removed")
    wrong = next(_wrongly_removed(remover, block, removed), None)
    if wrong is not None:
        raise broke_contract(origin, wrong)
    return Removed(
        kept_rows=_own(removed.kept_rows, np.int64), weights=_own(removed.weights, np.float64),
        cells=_own(removed.cells, np.bool_), notes=frozen(dict(removed.notes)), doubts=tuple(removed.doubts),
    )  # fmt: skip


def _wrongly_removed(remover: Method, block: Block, removed: Any) -> Iterator[str]:
    rows, cells, weights = removed.kept_rows, removed.cells, removed.weights
    wanted, other = (rows, cells) if "records" in remover.claims.removes else (cells, rows)
    if wanted is None or other is not None:
        field, what = ("kept_rows", "records") if "records" in remover.claims.removes else ("cells", "cells")
        yield f"takes away {what}, so it has to give {field}, and no other"
    if cells is not None:
        yield from _wrong_array("cells", cells, block.values.shape, np.bool_)
    if rows is None and weights is not None:
        yield "changes weights, and drops no records"
    if rows is not None:
        rising = isinstance(rows, np.ndarray) and rows.ndim == 1 and rows.dtype == np.int64
        rising = rising and bool(np.all(np.diff(rows) > 0))
        if not rising or (len(rows) and (rows[0] < 0 or rows[-1] >= block.n)):
            yield f"returned kept_rows that are not rows 0..{block.n - 1}, ascending, each once"
        if weights is not None and (
            block.weights is None or weights.shape != rows.shape or not np.all(np.isfinite(weights) & (weights >= 0.0))
        ):
            yield "returned weights that are not one finite number, 0 or more, for each record kept"
    if not all(isinstance(doubt, str) for doubt in removed.doubts):
        yield "gave doubts that are not a tuple of sentences"
    yield from wrong_notes(block, removed)


def _wrong_detail(method: Method, block: Block, masked: Any) -> Iterator[str]:
    """Variables that a method changes: as many, of the same names, and categories unless it leaves one as it was."""
    coarser = "detail" in method.claims.removes
    if masked.variables is None:
        if coarser:
            yield "publishes categories, and does not say which: give variables"
        return
    if not coarser:
        yield "changes variables, and does not say that it removes detail"
    if [each.name for each in masked.variables] != list(block.names):
        yield "returned other variables than those of its block"
    for before, after in zip(block.variables, masked.variables, strict=True):
        if after == before:
            continue
        wanted = "ordinal" if before.is_numeric else before.type
        if after.type != wanted:
            yield f"made {after.type} of {after.name}, which was to be {wanted}"
        if len(set(after.categories)) != len(after.categories):
            yield f"gave {after.name} two categories of one name"
        if after.bands and len(after.bands) != len(after.categories):
            yield f"says of {len(after.bands)} of {len(after.categories)} categories of {after.name} what they are"


def _wrong_categories(variables: tuple[Variable, ...], masked: Any) -> Iterator[str]:
    """Codes of categories: whole numbers, each that of a category."""
    for position, variable in enumerate(variables):
        if variable.is_numeric:
            continue
        codes = masked.values[~masked.missing[:, position], position]
        if not ((codes == np.rint(codes)) & (codes >= 0) & (codes < len(variable.categories))).all():
            yield f"returned values of {variable.name} that are codes of none of its categories"


MOMENT_TOLERANCE = 1e-6
"""In standard deviations of the file, or products of two: rounding in binary64 stays far below, any masking above."""


def broken_claims(method: Method, params: BaseModel, block: Block, masked: Masked) -> Iterator[str]:
    """Sentences on claims of a method that do not hold in what it made of a block; no count and no value.

    Means are those that the method makes: weighted ones where it says that it uses weights. Examined are numeric
    variables whose representatives are means; covariances only of records without missing cells.
    """
    claims = method.claims.preserves & {"mean", "covariance"}
    if not claims or masked.variables is not None or not block.n:
        return
    clustered = masked.labels is not None
    columns = [
        position
        for position, variable in enumerate(block.variables)
        if variable.is_numeric and (not clustered or not block.operators or block.operators[position] == "mean")
    ]
    weights = block.weights if method.uses_weights(params) else None
    if "mean" in claims:
        for position in columns:
            before = _mean(block.values[:, position], block.missing[:, position], weights)
            after = _mean(masked.values[:, position], masked.missing[:, position], weights)
            if abs(after - before) > MOMENT_TOLERANCE * _size(block, position):
                yield f"it claims to preserve means, and the mean of {block.variables[position].name} is another one"
    if "covariance" in claims and columns and not (block.missing | masked.missing).any() and block.n > 1:
        scales = np.array([_size(block, position) for position in columns])
        gap = np.abs(_covariances(masked.values[:, columns]) - _covariances(block.values[:, columns]))
        if (gap > MOMENT_TOLERANCE * np.outer(scales, scales)).any():
            yield "it claims to preserve covariances, and some are others"


def with_warnings(masked: Masked, warnings: tuple[str, ...]) -> Masked:
    """A result that also warns of these."""
    if not warnings:
        return masked
    return replace(masked, notes={**masked.notes, "warnings": (*masked.notes.get("warnings", ()), *warnings)})


def _mean(values: Floats, missing: Booleans, weights: Floats | None) -> float:
    present = ~missing
    if not present.any():
        return 0.0
    if weights is None or not weights[present].any():
        return float(np.mean(values[present]))
    return float(np.average(values[present], weights=weights[present]))


def _covariances(values: Floats) -> Floats:
    return np.atleast_2d(np.cov(values, rowvar=False))


def _size(block: Block, position: int) -> float:
    """Standard deviation of a variable in the file, or what rounding errors of its values are a share of."""
    scale = float(block.scale[position]) if len(block.scale) > position else 1.0
    present = block.values[~block.missing[:, position], position]
    largest = float(np.abs(present).max(initial=0.0))
    return max(scale, 1e-6 * largest)


def refuse_other_representatives(method: Method, params: BaseModel, block: Block, masked: Masked) -> None:
    """Stop where a method does not make its representatives with the aggregation that the step asks for."""
    chosen = [position for position, each in enumerate(block.operators) if isinstance(each, ChosenAggregation)]
    if not chosen or masked.labels is None or masked.representatives is None:
        return
    weights = block.weights if method.uses_weights(params) else None
    wanted = aggregate(
        block.values[:, chosen], block.missing[:, chosen], masked.labels, [block.operators[each] for each in chosen],
        weights, len(masked.representatives),
    )  # fmt: skip
    size = np.maximum(np.abs(wanted), block.scale[chosen] if len(block.scale) else 1.0)
    if (np.abs(masked.representatives[:, chosen] - wanted) > RELATIVE * size).any():
        message = f"{method.name} makes its representatives in its own way: it has no use for 'aggregation'"
        raise InputError(Problem(message, hint="Leave 'aggregation' out, or take a method such as microaggregation."))


def broken_aggregation_claims(step: Step, group: Group, result: GroupResult, edits: EditSet) -> Iterator[Keeper]:
    """Edits that the aggregation of a step claims to keep and that its representatives break."""
    chosen = step.aggregation
    if chosen is None or result.representatives is None:
        return
    own = {name for name, operator in zip(group.variables, group.operators, strict=True) if operator == str(chosen)}
    claimed = EditSet(tuple(
        edit for edit in edits
        if edit.name in group.edits and set(edit.variables) <= own and edit.kind != "checked" and keeps(chosen, edit)
        and not any(isinstance(part, DomainPart) for part in edit.parts)
    ))  # fmt: skip
    if not len(claimed):
        return
    system = system_of(Targets(result.variables, {}), claimed, np.ones(len(result.variables)), {})
    for name, rows in violated(system, result.representatives).items():
        if rows.any():
            how = (
                f"the aggregation {str(chosen)!r} claims to keep it, and {int(rows.sum())} of {len(rows)} "
                "representatives break it: they are moved onto it"
            )
            yield Keeper(name, "adjustment", how)
