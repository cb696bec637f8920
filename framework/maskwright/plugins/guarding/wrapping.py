"""Plugins as the registry gives them: every function of theirs is guarded, and what it returns is looked at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from maskwright.plugins.attack import Attack
from maskwright.plugins.engine import Engine
from maskwright.plugins.guarding.call import Guarded, broke_contract, engine_iterator, guarded_call, guarded_iterator
from maskwright.plugins.guarding.origin import Origin
from maskwright.plugins.guarding.returned_values import (
    checked_inferences,
    checked_labels,
    checked_measurement,
    checked_rules,
    checked_workers,
)
from maskwright.plugins.measure import Measure, MeasurePart
from maskwright.plugins.method import Limit, Method
from maskwright.plugins.partition import Partition
from maskwright.plugins.report import Report
from maskwright.plugins.rules import RuleLanguage
from maskwright.plugins.source import NestedFormat, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from maskwright.data.variable import Variable
    from maskwright.plugins.block import Gathering

AnyPlugin = TypeVar("AnyPlugin", Source, RuleLanguage, Partition, Method, Measure, Attack, Report, Engine)

_YIELD = ("batches", "written_batches", "documents")
"""Functions of an opened file that yield its records."""


def guarded(plugin: AnyPlugin, kind: str, distribution: str, version: str) -> AnyPlugin:
    """The same plugin, each of whose functions is guarded.

    `distribution`, `version`: of the package that offers it.
    """
    origin = Origin(kind, plugin.name, distribution, version)
    return replace(plugin, **_WRAPPED[kind](plugin, origin))


class _GuardedReading:
    """A file that a source has opened: each of its attributes and records is requested with a guarded call."""

    def __init__(self, reading: Any, origin: Origin) -> None:
        self._reading = reading
        self._origin = origin

    def __getattr__(self, name: str) -> Any:
        found = guarded_call(self._origin, getattr, self._reading, name, passes=(AttributeError,))
        if name not in _YIELD:
            return found

        def records(*arguments: Any, **named: Any) -> Any:
            items = guarded_call(self._origin, found, *arguments, named=named)
            return guarded_iterator(self._origin, items)

        return records


def _of(plugin: object, origin: Origin, name: str, **more: Any) -> Guarded | None:
    """One function of a plugin, guarded; None where the plugin has none."""
    function: Callable[..., Any] | None = getattr(plugin, name)
    if function is None:
        return None
    module = str(getattr(function, "__module__", None) or "").partition(".")[0]
    return Guarded(function, replace(origin, module=module), **more)


def _source(source: Source, origin: Origin) -> dict[str, Any]:
    def opened(_: tuple[Any, ...], reading: Any) -> Any:
        return _GuardedReading(reading, origin)

    def records(_: tuple[Any, ...], items: Any) -> Any:
        return guarded_iterator(origin, items)

    def nested(format_: NestedFormat) -> NestedFormat:
        functions: dict[str, Any] = {
            "open": _of(format_, origin, "open", check=opened),
            "write": _of(format_, origin, "write", passes=(OSError,), given=_written_levels),
        }
        return replace(format_, **functions)

    opening = ("open", "open_once")
    yielding = ("read_plainly", "content")
    asking: dict[str, Any] = {
        name: _of(source.format, origin, name)
        for name in ("params_of_written", "missing_codes", "refuse_unwritable", "lost_when_replaced")
    }
    return {
        **{name: _of(source, origin, name, check=opened) for name in opening},
        **{name: _of(source, origin, name, check=records) for name in yielding},
        "format": replace(source.format, **asking),
        "write": _of(source, origin, "write", passes=(OSError,), given=_written),
        "nested": None if source.nested is None else nested(source.nested),
    }


def _written(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """What a source writes: batches whose errors are not its own."""
    path, batches, *others = arguments
    return path, engine_iterator(batches), *others


def _written_levels(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    path, tables, *others = arguments
    return path, {level: engine_iterator(batches) for level, batches in tables.items()}, *others


def _rule_language(language: RuleLanguage, origin: Origin) -> dict[str, Any]:
    def edits(_: tuple[Any, ...], found: Any) -> Any:
        from maskwright.edits.edit_set import EditSet

        if not isinstance(found, EditSet):
            raise broke_contract(origin, f"returned a {type(found).__name__}, not an EditSet")
        return found

    return {
        **{name: _of(language, origin, name, check=edits) for name in ("read", "read_leveled")},
        "write": _of(language, origin, "write", check=partial(_second, checked_rules, origin)),
    }


def _partition(partition: Partition, origin: Origin) -> dict[str, Any]:
    return {"cluster": _of(partition, origin, "cluster", check=partial(checked_labels, origin))}


def _method(method: Method, origin: Origin) -> dict[str, Any]:
    def whole(what: str) -> Callable[[tuple[Any, ...], Any], Any]:
        def check(_: tuple[Any, ...], found: Any) -> Any:
            if isinstance(found, bool) or not isinstance(found, int):
                raise broke_contract(origin, f"says {what} with a {type(found).__name__}, not a whole number")
            return found

        return check

    def limits(arguments: tuple[Any, ...], found: Any) -> tuple[Limit, ...]:
        return checked_limits(origin, tuple(arguments[1]), found)

    def publishes(_: tuple[Any, ...], found: Any) -> Variable | None:
        from maskwright.data.variable import Variable

        if found is not None and not isinstance(found, Variable):
            raise broke_contract(origin, f"publishes a {type(found).__name__} in the place of a variable")
        return found

    def variant(_: tuple[Any, ...], found: Any) -> Method:
        if not isinstance(found, type(method)) or found.name != method.name:
            raise broke_contract(origin, "returned no method of its own name as its variant")
        return replace(found, **_method(found, origin))

    claims = method.claims
    claimed: dict[str, Any] = {
        "mean_cluster_size": _of(claims, origin, "mean_cluster_size", check=whole("how large its clusters are")),
        "fewest_records": _of(claims, origin, "fewest_records", check=whole("how many records it needs")),
        "limits": _of(claims, origin, "limits", check=limits),
        "publishes": _of(claims, origin, "publishes", check=publishes),
        "gathering": None if claims.gathering is None else _gathering(claims.gathering, origin),
    }
    return {
        **{name: _of(method, origin, name) for name in ("protect", "remove")},
        "claims": replace(claims, **claimed),
        "iterations": _of(method, origin, "iterations", check=partial(_one_by_one, origin)),
        "variant": _of(method, origin, "variant", check=variant),
    }


def _gathering(gathering: Gathering, origin: Origin) -> Gathering:
    def facts(_: tuple[Any, ...], found: Any) -> Any:
        if not isinstance(found, Mapping):
            raise broke_contract(origin, f"says of its records with a {type(found).__name__}, not a mapping")
        return found

    names = ("partial", "merged", "notes")
    guarded: dict[str, Any] = {name: _of(gathering, origin, name, check=facts) for name in names}
    return replace(gathering, **guarded)


def checked_limits(origin: Origin, variables: tuple[Variable, ...], found: Any) -> tuple[Limit, ...]:
    """Limits of a method, each of one of its variables."""
    import math

    limits = tuple(found) if isinstance(found, (tuple, list)) else (found,)
    names = {each.name for each in variables}
    for each in limits:
        if not isinstance(each, Limit):
            raise broke_contract(origin, f"gave a {type(each).__name__} as a limit")
        if each.variable not in names:
            raise broke_contract(origin, f"gave a limit of {each.variable!r}, which it does not mask")
        bounds = [bound for bound in (each.low, each.high, each.multiple_of) if bound is not None]
        if not all(isinstance(bound, (int, float)) and math.isfinite(bound) for bound in bounds):
            raise broke_contract(origin, f"gave a limit of {each.variable!r} that is no finite number")
    return limits


def _measure(measure: Measure, origin: Origin) -> dict[str, Any]:
    claims = measure.claims
    claimed: dict[str, Any] = {
        "uses": _of(claims, origin, "uses", check=partial(_each, origin, str, "names of variables")),
        "components": _of(claims, origin, "components"),
        "check": _of(claims, origin, "check", check=partial(_gone_through, origin)),
    }
    return {
        "compute": _of(measure, origin, "compute", check=partial(checked_measurement, origin, measure)),
        "parts": _of(measure, origin, "parts", check=partial(_each, origin, MeasurePart, "parts")),
        "claims": replace(claims, **claimed),
    }


def _attack(attack: Attack, origin: Origin) -> dict[str, Any]:
    return {"infer": _of(attack, origin, "infer", check=partial(checked_inferences, origin))}


def _one_by_one(origin: Origin, _: tuple[Any, ...], found: Any) -> Iterator[Any]:
    return guarded_iterator(origin, found)


def _gone_through(origin: Origin, _: tuple[Any, ...], found: Any) -> tuple[Any, ...]:
    return tuple(guarded_iterator(origin, found))


def _each(origin: Origin, kind: type[Any], what: str, _: tuple[Any, ...], found: Any) -> tuple[Any, ...]:
    """What a function returned one by one, all of one type."""
    items = () if isinstance(found, str) else tuple(guarded_iterator(origin, found))
    if isinstance(found, str) or not all(isinstance(each, kind) for each in items):
        raise broke_contract(origin, f"returned something else than {what}")
    return items


def _report(report: Report, origin: Origin) -> dict[str, Any]:
    return {"write": _of(report, origin, "write", passes=(OSError,))}


def _second(checked: Callable[[Origin, Any], Any], origin: Origin, _: tuple[Any, ...], found: Any) -> Any:
    return checked(origin, found)


def _engine(engine: Engine, origin: Origin) -> dict[str, Any]:
    return {"start": _of(engine, origin, "start", check=partial(_second, checked_workers, origin))}


_WRAPPED: dict[str, Callable[[Any, Origin], dict[str, Any]]] = {
    "source": _source,
    "rule_language": _rule_language,
    "partition": _partition,
    "method": _method,
    "measure": _measure,
    "attack": _attack,
    "report": _report,
    "engine": _engine,
}
