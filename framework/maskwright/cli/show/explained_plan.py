"""What a check of the plan is given, key by key: from the record of the plan, and what is added of the pipeline."""

from __future__ import annotations

from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from maskwright.release.record.plan_record import PlanRecord
from maskwright.release.record.record_part import RecordPart

if TYPE_CHECKING:
    from collections.abc import Iterator

TITLE = "What a plan check gets"
ABOUT = (
    "Made from the record of the plan: the keys of `plan`, as `check(plan, params)` of a PlanCheck gets it. "
    "`steps[].step` is `step` of each of `steps`. Lists are tuples, and nothing can be changed."
)
_NOT_GIVEN = frozenset({"doubts", "notices", "checks", "levels", "costs"})
"""Of ``maskwright plan`` alone, which has them from whoever looked at the plan."""
_OF_THE_PIPELINE = (
    ("pipeline.measure", "tuple of str", "Labels of the measures: the name, unless `as` says another."),
    ("pipeline.thresholds", "mapping of str to float", "By label, or `label.part`: what must be kept."),
    ("pipeline.waived", "tuple of str", "Names of doubts, also of those that the file calls by their ids."),
    ("pipeline.output", "tuple of str", "Keys of `output:` that have a file: `data`, `record`, `report`, ..."),
)


def plan_keys() -> Iterator[tuple[str, str, str]]:
    """Key, type and meaning of all that a check of the plan is given."""
    yield from _keys(PlanRecord, "")
    yield from _OF_THE_PIPELINE


def _keys(record: type[RecordPart], before: str) -> Iterator[tuple[str, str, str]]:
    for name, field in record.model_fields.items():
        if not before and name in _NOT_GIVEN:
            continue
        inside = _records_in(field.annotation)
        said = (field.description or "").replace("``", "`").replace("null", "None")
        if inside is None:
            yield before + name, _form(field.annotation), said
        else:
            yield before + name, "tuple of mappings", said or (inside.__doc__ or "").partition("\n")[0]
            yield from _keys(inside, f"{before}{name}[].")


def _records_in(form: Any) -> type[RecordPart] | None:
    """Record of which a field holds several; None of others."""
    found = next(iter(get_args(_plain(form))), None)
    return found if isinstance(found, type) and issubclass(found, RecordPart) else None


def _plain(form: Any) -> Any:
    return _plain(get_args(form)[0]) if get_origin(form) is Annotated else form


def _form(form: Any) -> str:
    """Type in words."""
    form = _plain(form)
    given = get_args(form)
    match get_origin(form):
        case origin if origin in (Union, UnionType):
            return " or ".join("None" if each is NoneType else _form(each) for each in given)
        case origin if origin is Literal:
            return " or ".join(f'"{each}"' for each in given)
        case origin if origin is tuple:
            return f"tuple of {_form(given[0])}"
        case origin if origin is dict:
            return f"mapping of {_form(given[0])} to {_form(given[1])}"
    return "plain data" if form is object else str(form.__name__)
