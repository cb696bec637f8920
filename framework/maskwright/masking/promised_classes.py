"""Classes of equal records: those that steps promise k of, on quasi-identifiers, and on whole records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from maskwright.data.record_groups import published_classes
from maskwright.foundation.doubts import Doubt
from maskwright.planning.model import Step, key_names, size_compared_with, with_steps

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from maskwright.data.dataset import Dataset
    from maskwright.planning.plan import Plan


@dataclass(frozen=True)
class ClassSets:
    """Variables on which classes of equal records are counted.

    `promised`: those that steps promise k of, as `groups` in the `k` of `run.json`, without what is counted. `quasi`:
    quasi-identifiers. `names`: all.
    """

    promised: tuple[Mapping[str, Any], ...]
    quasi: tuple[str, ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, plan: Plan, masked: Dataset, records: int) -> ClassSets:
        """Sets of a masked file with so many records."""
        quasi = tuple(column.name for column in masked if column.variable.role == "quasi_identifier")
        return cls(tuple(_promised_sets(plan, records)), quasi, masked.names)

    @property
    def k(self) -> int | None:
        """The largest class that is promised."""
        return max((each["expected"] for each in self.promised), default=None)

    def asked(self) -> list[tuple[tuple[str, ...], int]]:
        """Each set, and the size that its classes are compared with."""
        own = [(tuple(each["variables"]), int(each["expected"])) for each in self.promised]
        wider = [self.quasi, self.names] if self.quasi else [self.names]
        return [*own, *((names, size_compared_with(names, own, self.k or 2)) for names in wider)]

    def report(self, counts: Sequence[Mapping[str, int]]) -> dict[str, Any]:
        """What was counted of each set, as the `k` of `run.json`."""
        found = [{"expected": k, **each} for (_, k), each in zip(self.asked(), counts, strict=True)]
        return {
            "requested": max(
                (each["requested"] for each in self.promised if each["requested"] is not None), default=None
            ),
            "expected": self.k,
            "groups": [{**each, **count} for each, count in zip(self.promised, found, strict=False)],
            "quasi_identifiers": {"variables": list(self.quasi), **found[-2]} if self.quasi else None,
            "records": found[-1],
        }


def smallest_classes(masked: Dataset, plan: Plan) -> dict[str, Any]:
    """Smallest equivalence classes of a masked file: per group, on quasi-identifiers, on whole records.

    As in `run.json`.
    """
    sets = ClassSets.of(plan, masked, len(masked))
    return sets.report([_counted(masked, names, k) for names, k in sets.asked()])


def promised_classes(masked: Dataset, plan: Plan) -> list[dict[str, Any]]:
    """Smallest class of a masked file on each group of variables that a step promises k of.

    As `groups` in the `k` of `run.json`.
    """
    return [
        {**each, **_counted(masked, each["variables"], each["expected"])} for each in _promised_sets(plan, len(masked))
    ]


def _promised_sets(plan: Plan, records: int) -> Iterator[dict[str, Any]]:
    """Variables whose step puts one representative in the place of each cluster, and keys whose combinations have k."""
    for group, step in with_steps(plan.groups, plan.steps):
        size = step.group_records(records)
        if size is not None:
            yield _promised(step, group.variables, step.k, size)
    for position, step in enumerate(plan.steps, 1):
        promised = step.promised
        if step.method.has_keys and promised is not None:
            names = [name for group in plan.groups if group.step == position for name in group.variables]
            keys = key_names(step, [plan.variables[name] for name in names])
            yield _promised(step, tuple(dict.fromkeys((*step.keys_above, *keys))), promised, promised)


def _promised(step: Step, names: Sequence[str], requested: int | None, size: int) -> dict[str, Any]:
    guaranteed = requested is not None and step.planning.k_guarantee == "require"
    return {
        "step": step.number, "variables": list(names), "requested": requested, "guaranteed": guaranteed,
        "expected": size,
    }  # fmt: skip


def _counted(masked: Dataset, names: Sequence[str], k: int) -> dict[str, int]:
    smallest, below = class_sizes(masked, names, k)
    return {"smallest": smallest, "below": below}


def class_sizes(data: Dataset, names: Sequence[str], k: int) -> tuple[int, int]:
    """Size of the smallest class of records equal in the named variables, and how many records are in classes below k.

    A missing cell is a value of its own, and so is each missing code. Where households are declared, the size of a
    class is the number of households in it.
    """
    classes = published_classes(data, names)
    return int(classes.size.min(initial=len(data))), int(classes.records[classes.size < k].sum())


def class_doubts(plan: Plan, gaps: AbstractSet[str], groups: Iterable[Mapping[str, Any]]) -> Iterator[Doubt]:
    """Classes smaller than promised; `gaps`: variables with missing cells.

    An empty cell is a value of its own, and so is each missing code; cells that a later step took may have made a
    class too small. Only where clusters are made of available cases may their classes be smaller: their averages rest
    on k values, and the plan counts patterns of missing cells that fewer than k records share.
    """
    for found in groups:
        step = next(each for each in plan.steps if each.number == found["step"])
        promised = found["requested"] if step.planning.k_guarantee == "require" else None
        if promised is None:
            continue
        of_available_cases = not step.method.has_keys and step.planning.missing == "available_cases"
        if of_available_cases and not gaps.isdisjoint(found["variables"]):
            continue
        if found["smallest"] < promised:
            yield Doubt(
                "promise-not-kept", str(found["step"]),
                f"k = {promised} is promised of {', '.join(found['variables'])}, and the smallest class has "
                f"{found['smallest']}",
                count=found["smallest"], place=step.place, hint=_way_to_k(step),
            )  # fmt: skip


def _way_to_k(step: Step) -> str | None:
    if not step.keys_above or step.keeps_detail:
        return None
    keys = ", ".join(step.keys_above)
    return (
        f"{step.method.name} recodes each level by itself, and k is counted with {keys} too: add a step of "
        "local_suppression, which empties the cells that this takes, on the keys of all levels."
    )
