"""Measures of equivalence classes: what some classes say, put together, in memory and of a file in parts alike."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from maskwright import (
    Classes,
    Comparison,
    Further,
    InputError,
    Measurement,
    Merging,
    PartOfFile,
    class_hashes,
    exact_sum,
)
from maskwright_builtin.measures.key_variables.key_classes import KeySetsParams, sets_of_keys, worst_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from maskwright import Progress
    from maskwright_builtin.measures.partition_statistics import Columns, Facts, Request
    from maskwright_builtin.numerics.arrays import Booleans, Floats, Integers

MOST_AT_ONCE = 20_000_000
"""Classes that one process holds: about 2 GB with ten keys."""
LOWEST_MISSING = -(1 << 51)
"""Missing cells have whole numbers from here to -1."""
SMALLEST = 1 << 1074
"""Exact sums are counted in one part of so many."""


def silent(share: float) -> None:
    """Progress that is not shown."""


@dataclass(frozen=True)
class About:
    """What is known of the whole file before its classes are counted.

    `keys`: of the set that is looked at. `weight`: exact sum of the usable weights; None without weights. `zero`,
    `light`: records with a weight of zero, and with one missing or below 1. `unit`: what a class counts. `suppressed`:
    of each key what its suppressed cells have.
    """

    keys: tuple[str, ...]
    records: int
    weight: int | None = None
    zero: int = 0
    light: int = 0
    unit: str = "record"
    suppressed: Mapping[str, Sequence[int]] = field(default_factory=dict)
    progress: Progress = silent


def exactly(values: Floats) -> str:
    """Exact sum of numbers, as facts have it."""
    return hex(exact_sum(values))


def total(facts: Sequence[Facts], name: str) -> float:
    """Sum of what `exactly` gave for all, rounded once."""
    return sum(int(each[name], 16) for each in facts) / SMALLEST


@dataclass(frozen=True, kw_only=True)
class ClassMeasure:
    """A measure of the classes of sets of key variables.

    `facts`: what it needs of some of the classes, plain data of JSON whose sums are exact, and the contribution of a
    record of each class; shape (c,). `figure`: the measure, of the facts of all classes. `usable`: weights that classes
    are summed by; None: they are not used. `at_once`: whether parameters need all classes together. `pooled`: whether
    all missing cells are alike, -1.
    """

    name: str
    facts: Callable[[Classes, Any, About], tuple[Facts, Floats]]
    figure: Callable[[Sequence[Facts], Any, About], Measurement]
    direction: Literal["lower", "higher"] = "lower"
    usable: Callable[[Floats], Floats] | None = None
    counts_households: bool = False
    at_once: Callable[[Any], bool] | None = None
    pooled: Callable[[Any], bool] | None = None
    refused: Callable[[Any], str | None] | None = None

    def compute(
        self,
        comparison: Comparison,
        params: KeySetsParams,
        more: Callable[[Measurement, Classes, About], Measurement] | None = None,
    ) -> Measurement:
        """The measure of a file in memory, whose classes are those of one part.

        `more`: adds what only records in memory say.
        """
        if not len(comparison.masked):
            raise InputError(f"{self.name}: there is nothing to measure: the masked file has no records")
        sets, about = self._about([self.partial(comparison, params, None)])
        about = replace(about, progress=comparison.progress)
        households = comparison.masked_households() if self.counts_households else None
        if households is not None:
            group = comparison.original.group_name
            about = replace(about, unit=group if group == "household" else f"{group} record")
        weights, found = self._weights(comparison), {}
        for name, keys in sets.items():
            about = replace(about, keys=keys)
            classes = Classes.of(self._cells(comparison, params, keys), weights=weights, units=households)
            facts, contributions = self.facts(classes, params, about)
            one = replace(self.figure([facts], params, about), per_record=contributions[classes.codes])
            found[name] = one if more is None else more(one, classes, about)
        return found[""] if params.key_sets is None else worst_of(found, self.direction)

    @property
    def merging(self) -> Merging:
        """The same measure of a file in parts."""
        return Merging(
            partial=self.partial, merged=self.merged, rows=self.rows, counted=self.counted, refused=self.refused
        )

    def _cells(self, comparison: Comparison, params: KeySetsParams, keys: Sequence[str]) -> list[Integers]:
        cells = [comparison.published_cells(key) for key in keys]
        if self.pooled is None or not self.pooled(params):
            return cells
        return [np.where(comparison.masked[key].missing, -1, each) for key, each in zip(keys, cells, strict=True)]

    def _weights(self, comparison: Comparison) -> Floats | None:
        weights = None if self.usable is None else comparison.masked_weights()
        return None if weights is None or self.usable is None else self.usable(weights)

    def partial(self, comparison: Comparison, params: KeySetsParams, request: Request) -> Facts:  # noqa: ARG002
        """Records of one part, which keys there are, and what its weights are."""
        sets = sets_of_keys(comparison, params, self.name)
        weights, usable = (None if self.usable is None else comparison.masked_weights()), self._weights(comparison)
        suppressed = {}
        named = dict.fromkeys(key for keys in sets.values() for key in keys) if self._at_once(params) else ()
        for key in named:
            cells = comparison.published_cells(key)
            emptied = comparison.masked[key].missing & (comparison.masked[key].missing_kinds() == 0)
            suppressed[key] = np.unique(cells[emptied]).tolist()
        return {
            "records": len(comparison.masked),
            "keys": {name: list(keys) for name, keys in sets.items()},
            "weight": None if usable is None else exactly(usable),
            "zero": 0 if weights is None else int((weights == 0.0).sum()),
            "light": 0 if weights is None else int((~(weights >= 1.0)).sum()),
            "suppressed": suppressed,
        }

    def _about(self, facts: Sequence[Facts]) -> tuple[dict[str, tuple[str, ...]], About]:
        """Sets of keys, and what is known of the whole file."""
        weights = [each["weight"] for each in facts if each["weight"] is not None]
        if weights and len(weights) < len(facts):
            raise InputError(
                "the weights are missing, negative or infinite in some of the parts: mend them, or give them another "
                "role"
            )
        suppressed = {
            key: sorted({cell for each in facts for cell in each["suppressed"][key]}) for key in facts[0]["suppressed"]
        }
        sums = {name: sum(each[name] for each in facts) for name in ("records", "zero", "light")}
        weight = sum(int(each, 16) for each in weights) if weights else None
        keys = {name: tuple(keys) for name, keys in facts[0]["keys"].items()}
        return keys, About((), weight=weight, suppressed=suppressed, **sums)

    def _known(self, request: Mapping[str, Any], name: str) -> About:
        sums = {each: request[each] for each in ("records", "zero", "light", "suppressed")}
        weight = None if request["weight"] is None else int(request["weight"], 16)
        return About(tuple(request["keys"][name]), weight=weight, **sums)

    def _at_once(self, params: KeySetsParams) -> bool:
        return self.at_once is not None and self.at_once(params)

    def rows(
        self, comparison: Comparison, params: KeySetsParams, request: Request, part: PartOfFile
    ) -> tuple[Columns, Integers]:
        """Classes of one part, by the task that counts them: the first one, where it needs all of them."""
        assert request is not None
        weights = self._weights(comparison)
        pieces: list[dict[str, Integers]] = []
        for number, keys in enumerate(request["keys"].values()):
            at_once = self._at_once(params)
            given = self._cells(comparison, params, keys) if at_once else class_hashes(comparison.masked, keys)
            columns = Classes.of(given, weights=weights).columns()
            pieces.append({"set": np.full(len(columns["records"]), number, dtype=np.int64), **columns})
        names = dict.fromkeys(name for each in pieces for name in each)
        joined = {
            name: np.concatenate([each.get(name, np.zeros(len(each["set"]), dtype=np.int64)) for each in pieces])
            for name in names
        }
        if self._at_once(params):
            return joined, np.zeros(len(joined["set"]), dtype=np.int64)
        return joined, (joined["k0"].view(np.uint64) % np.uint64(part.tasks)).astype(np.int64)

    def counted(self, columns: Columns, params: KeySetsParams, request: Request) -> Facts:
        """Facts of the classes of one task, by set of keys."""
        assert request is not None
        if self._at_once(params) and len(columns["set"]) > MOST_AT_ONCE:
            raise InputError(
                f"{self.name}: all classes are needed at once, and there are {len(columns['set']):,} of the parts: "
                f"name fewer keys; {MOST_AT_ONCE:,} fit"
            )
        facts = {}
        for number, (name, keys) in enumerate(request["keys"].items()):
            own = np.flatnonzero(columns["set"] == number)
            if len(own):
                used = {f"k{place}" for place in range(len(keys) if self._at_once(params) else 2)}
                chosen = {key: each[own] for key, each in columns.items() if key in used or not key.startswith("k")}
                facts[name] = dict(self.facts(Classes.of_columns(chosen), params, self._known(request, name))[0])
        return facts

    def merged(self, facts: Sequence[Facts], params: KeySetsParams, request: Request) -> Measurement | Further:
        """The measure of all parts, or what it asks of them."""
        if request is None:
            keys, about = self._about(facts)
            names = ("records", "zero", "light", "suppressed")
            known = {name: getattr(about, name) for name in names}
            weight = None if about.weight is None else hex(about.weight)
            return Further(
                {"keys": {name: list(own) for name, own in keys.items()}, "weight": weight, **known}, "tasks"
            )
        found = {
            name: self.figure([each[name] for each in facts if name in each], params, self._known(request, name))
            for name in request["keys"]
        }
        return found[""] if params.key_sets is None else worst_of(found, self.direction)


def is_missing(key: Integers) -> Booleans:
    """Classes in which a key is missing; shape (c,)."""
    return (key < 0) & (key >= LOWEST_MISSING)


def codes_of_classes(classes: Classes, about: About) -> list[Integers]:
    """Codes 0, 1, ... of each key of the classes, shape (c,) each; -1 where suppressed, or if all missing are alike."""
    found = []
    for name, key in zip(about.keys, classes.keys, strict=True):
        gone = is_missing(key)
        if len(np.unique(key[gone])) > 1:
            gone &= np.isin(key, about.suppressed[name])
        codes = np.full(len(key), -1, dtype=np.int64)
        codes[~gone] = np.unique(key[~gone], return_inverse=True)[1]
        found.append(codes)
    return found
