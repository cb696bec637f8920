"""Records of runs that never were: one with nothing in it that may be left out, and one with everything.

Both are made from the types of `RunRecord`, so that a new field is in them at once.
"""

from __future__ import annotations

import types
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from maskwright.release.record.measure_record import TableRecord
from maskwright.release.record.record_part import RecordPart
from maskwright.release.record.run_record import InputFile, RunRecord

SEED = 8_271_828_182_845_904
HASH = "5ec2e7" * 10 + "5ec2"
NAMES = {"method": "microaggregation", "measure": "pil"}
"""Names of plugins are those of some that are there: what is said of them can be looked up."""
MARKUP = '<script>alert("x")</script>'


def minimal_record() -> dict[str, Any]:
    """Plain data of a record in which everything is empty that may be."""
    return RunRecord.model_validate(_least(RunRecord)).to_json()


def maximal_record() -> dict[str, Any]:
    """Plain data of a record in which every field has something: texts hold markup, the seed is `SEED`.

    Hashes of input files are `HASH`.
    """
    return RunRecord.model_validate(_most(RunRecord, "run")).to_json()


def _is_part(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, RecordPart)


def _least(kind: Any) -> Any:
    """Least content of a type: the empty text, no entries, null where it may be."""
    if _is_part(kind):
        return {name: _least(field.annotation) for name, field in kind.model_fields.items() if field.is_required()}
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _least(arguments[0])
    if origin is Literal:
        return arguments[0]
    if origin is tuple and Ellipsis not in arguments:
        return tuple(map(_least, arguments))
    least: dict[Any, Any] = {tuple: (), list: [], dict: {}, int: 0, float: 0.0, bool: False, str: ""}
    return least.get(origin or kind)


def _most(kind: Any, name: str, number: int = 1) -> Any:
    """Content of a type, with texts that say where they are."""
    if _is_part(kind):
        return _most_of_part(kind, number)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Annotated, Union, types.UnionType):
        return _most(next(each for each in arguments if each is not type(None)), name, number)
    if origin is Literal:
        return arguments[number % len(arguments)]
    if origin is dict:
        return {f"{name} {each}": _most(arguments[1], name, each) for each in (1, 2, 3)}
    if origin in (tuple, list):
        is_one_kind = origin is list or Ellipsis in arguments
        kinds = (arguments[0],) * 3 if is_one_kind else arguments
        return origin(_most(each, name, place) for place, each in enumerate(kinds, 1))
    text = f"{name} {number}"
    most: dict[Any, Any] = {str: NAMES.get(name, f"{text} {MARKUP} ü"), float: 12.5 * number, bool: True}
    most[int] = SEED if name == "seed" else number
    return most.get(kind, text)


def _most_of_part(kind: type[RecordPart], number: int) -> dict[str, Any]:
    if kind is TableRecord:
        return _table(number)
    content = {each: _most(field.annotation, each, number) for each, field in kind.model_fields.items()}
    return {**content, "sha256": HASH} if kind is InputFile else content


def _table(number: int) -> dict[str, Any]:
    """Table whose rows have as many figures as there are columns for them."""
    return {
        "name": f"table {number}",
        "title": f"title {MARKUP}",
        "columns": ("size", "records", "others"),
        "rows": tuple((f"{each}", (2.0 * each, 3.0 * each)) for each in (1, 2, 3)),
        "unit": "records",
    }
