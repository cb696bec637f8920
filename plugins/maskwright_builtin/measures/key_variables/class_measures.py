"""Measures of equivalence classes: what some classes say, put together, in memory and of a file in parts alike."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np

from maskwright import (
    Classes,
    Comparison,
    Further,
    InputError,
    Measurement,
    Merging,
    PartOfFile,
    Problem,
    class_hashes,
    exact_sum,
)
from maskwright_builtin.key_counts.frequencies import require_positive
from maskwright_builtin.measures.key_variables.key_classes import (
    FractionParams,
    KeysParams,
    has_sets,
    sampling_fraction,
    sets_of_keys,
    worst_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from maskwright import Progress
    from maskwright_builtin.measures.partition_statistics import Columns, Facts, Request
    from maskwright_builtin.numerics.arrays import Booleans, Floats, Integers

MOST_AT_ONCE = 20_000_000
"""Classes that one process holds: about 2 GB with ten keys."""
MOST_VALUES = 10_000
"""Different values of a sensitive variable, at most: each part counts the records of each of them."""
PLAIN = ("records", "zero", "light", "suppressed", "compared")
"""What is known of the whole file in terms of JSON."""
LOWEST_MISSING = -(1 << 51)
"""Missing cells have whole numbers from here to -1."""
SMALLEST = 1 << 1074
"""Exact sums are counted in one part of so many."""


def silent(share: float) -> None:
    """Progress that is not shown."""


@dataclass(frozen=True, eq=False)
class SensitiveValues:
    """What is known of a sensitive variable in the whole file.

    `values`: different ones, ascending; shape (v,). `counts`: records that have each, or households; shape (v,).
    `missing`: records without a value. `ordered`: whether the order of the values means anything.
    """

    values: Floats
    counts: Integers
    missing: int
    ordered: bool

    @classmethod
    def of(cls, comparison: Comparison, name: str, keys: Sequence[str], households: Integers | None) -> Self:
        """Of the masked file: a household counts once for each value that it has in a class."""
        column = comparison.masked[name]
        there = ~column.missing
        values = column.values[there]
        if households is not None:
            cells = [comparison.published_cells(key)[there] for key in keys]
            values = values[Classes.of([*cells, values, households[there]]).first]
        different, counts = np.unique(values, return_counts=True)
        ordered = column.variable.type != "nominal"
        return cls(different.astype(np.float64), counts, int(column.missing.sum()), ordered)

    def __add__(self, other: SensitiveValues) -> SensitiveValues:
        values, place = np.unique(np.concatenate([self.values, other.values]), return_inverse=True)
        counts = np.bincount(place, np.concatenate([self.counts, other.counts])).astype(np.int64)
        return SensitiveValues(values, counts, self.missing + other.missing, self.ordered)

    @property
    def shares(self) -> Floats:
        """Of each value; shape (v,)."""
        return np.asarray(self.counts / self.counts.sum(), dtype=np.float64)

    def to_json(self) -> list[Any]:
        """Plain data."""
        return [self.values.tolist(), self.counts.tolist(), self.missing, self.ordered]

    @classmethod
    def from_json(cls, plain: Sequence[Any]) -> Self:
        """What `to_json` gave."""
        return cls(np.array(plain[0], dtype=np.float64), np.array(plain[1], dtype=np.int64), *plain[2:])


@dataclass(frozen=True)
class About:
    """What is known of the whole file before its classes are counted.

    `keys`: of the set that is looked at. `weight`: exact sum of the usable weights; None without weights. `zero`,
    `light`: records with a weight of zero, and with one missing or below 1. `unit`: what a class counts. `suppressed`:
    of each key what its suppressed cells have. `compared`: variables that are compared.
    `comparison`: the files, where all records are in memory.
    """

    keys: tuple[str, ...]
    records: int
    weight: int | None = None
    zero: int = 0
    light: int = 0
    unit: str = "record"
    suppressed: Mapping[str, Sequence[int]] = field(default_factory=dict)
    sensitive: Mapping[str, SensitiveValues] = field(default_factory=dict)
    compared: Sequence[str] = ()
    comparison: Comparison | None = None

    @property
    def progress(self) -> Progress:
        """Of a file in memory."""
        return silent if self.comparison is None else self.comparison.progress


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
    all missing cells are alike, -1. `sensitive`: names of the variables whose values in the classes are looked at.
    """

    name: str
    facts: Callable[[Classes, Any, About], tuple[Facts, Floats]]
    figure: Callable[[Sequence[Facts], Any, About], Measurement]
    direction: Literal["lower", "higher"] = "lower"
    usable: Callable[[Floats], Floats] | None = None
    weighted: bool = False
    counts_households: bool = False
    at_once: Callable[[Any], bool] | None = None
    pooled: Callable[[Any], bool] | None = None
    sensitive: Callable[[Comparison, Any, Sequence[str]], list[str]] | None = None
    refused: Callable[[Any], str | None] | None = None

    def compute(self, comparison: Comparison, params: KeysParams) -> Measurement:
        """The measure of a file in memory, whose classes are those of one part."""
        if not len(comparison.masked):
            raise InputError(f"{self.name}: there is nothing to measure: the masked file has no records")
        households = comparison.masked_households() if self.counts_households else None
        facts = self._of_part(comparison, params)
        if self.sensitive is not None:
            facts |= {"sensitive": self._sensitive(comparison, params, facts["keys"][""], households)}
        sets, about = self._about([facts])
        about = replace(about, comparison=comparison)
        if households is not None:
            group = comparison.original.group_name
            about = replace(about, unit=group if group == "household" else f"{group} record")
        weights, found = self._weights(comparison), {}
        for name, keys in sets.items():
            about = replace(about, keys=keys)
            cells = self._cells(comparison, params, keys)
            classes = _classes_of(comparison, cells, about.sensitive, weights, households)
            own, contributions = self.facts(classes, params, about)
            found[name] = replace(self.figure([own], params, about), per_record=contributions[classes.codes])
        return worst_of(found, self.direction) if has_sets(params) else found[""]

    @property
    def merging(self) -> Merging:
        """The same measure of a file in parts."""
        return Merging(
            partial=self.partial, merged=self.merged, rows=self.rows, counted=self.counted, refused=self.refused
        )

    def _cells(self, comparison: Comparison, params: KeysParams, keys: Sequence[str]) -> list[Integers]:
        cells = [comparison.published_cells(key) for key in keys]
        if self.pooled is None or not self.pooled(params):
            return cells
        return [np.where(comparison.masked[key].missing, -1, each) for key, each in zip(keys, cells, strict=True)]

    def _weights(self, comparison: Comparison) -> Floats | None:
        weights = comparison.masked_weights() if self.usable is not None else None
        if weights is None or self.usable is None:
            return None
        usable = self.usable(weights)
        require_positive(usable)
        return usable

    def partial(self, comparison: Comparison, params: KeysParams, request: Request) -> Facts:  # noqa: ARG002
        """Records of one part, which keys there are, what its weights are, and its sensitive values."""
        facts = self._of_part(comparison, params)
        if self.sensitive is None:
            return facts
        found = self._sensitive(comparison, params, facts["keys"][""], None)
        for name, values in found.items():
            if len(values.values) > MOST_VALUES:
                raise InputError(
                    Problem(
                        f"{self.name}: {name} has more than {MOST_VALUES} different values in a part, which is too "
                        "many over parts",
                        hint="name `sensitive` variables with fewer values, or leave out `execution: engine`",
                    )
                )
        plain = {name: values.to_json() for name, values in found.items()}
        return {**facts, "sensitive": plain}

    def _sensitive(
        self, comparison: Comparison, params: KeysParams, keys: Sequence[str], households: Integers | None
    ) -> dict[str, SensitiveValues]:
        assert self.sensitive is not None
        names = self.sensitive(comparison, params, keys)
        return {name: SensitiveValues.of(comparison, name, keys, households) for name in names}

    def _of_part(self, comparison: Comparison, params: KeysParams) -> dict[str, Any]:
        sets = sets_of_keys(comparison, params, self.name)
        weights, usable = (comparison.masked_weights() if self.weighted else None), self._weights(comparison)
        suppressed = {}
        named = dict.fromkeys(key for keys in sets.values() for key in keys) if self._at_once(params) else ()
        for key in named:
            cells = comparison.published_cells(key)
            emptied = comparison.masked[key].missing & (comparison.masked[key].missing_kinds() == 0)
            suppressed[key] = np.unique(cells[emptied]).tolist()
        return {
            "records": len(comparison.masked),
            "keys": {name: list(keys) for name, keys in sets.items()},
            "weight": None if weights is None else exactly(weights if usable is None else usable),
            "zero": 0 if weights is None else int((weights == 0.0).sum()),
            "light": 0 if weights is None else int((~(weights >= 1.0)).sum()),
            "suppressed": suppressed,
            "compared": list(comparison.variables),
        }

    def _about(self, facts: Sequence[Facts]) -> tuple[dict[str, tuple[str, ...]], About]:
        """Sets of keys, and what is known of the whole file."""
        weights = [each["weight"] for each in facts if each["weight"] is not None]
        suppressed = {
            key: sorted({cell for each in facts for cell in each["suppressed"][key]}) for key in facts[0]["suppressed"]
        }
        records, zero, light = (sum(each[name] for each in facts) for name in ("records", "zero", "light"))
        weight = sum(int(each, 16) for each in weights) if weights else None
        keys = {name: tuple(keys) for name, keys in facts[0]["keys"].items()}
        sensitive: dict[str, SensitiveValues] = {}
        for each in facts:
            for name, plain in each.get("sensitive", {}).items():
                own = plain if isinstance(plain, SensitiveValues) else SensitiveValues.from_json(plain)
                sensitive[name] = sensitive[name] + own if name in sensitive else own
        about = About((), records, weight, zero, light, suppressed=suppressed, compared=facts[0]["compared"])
        return keys, replace(about, sensitive=sensitive)

    def _known(self, request: Mapping[str, Any], name: str) -> About:
        weight = None if request["weight"] is None else int(request["weight"], 16)
        about = About(tuple(request["keys"][name]), weight=weight, **{each: request[each] for each in PLAIN})
        return replace(about, sensitive=_sensitive_of(request))

    def _at_once(self, params: KeysParams) -> bool:
        return self.at_once is not None and self.at_once(params)

    def rows(
        self, comparison: Comparison, params: KeysParams, request: Request, part: PartOfFile
    ) -> tuple[Columns, Integers]:
        """Classes of one part, by the task that counts them: the first one, where it needs all of them."""
        assert request is not None
        weights, sensitive = self._weights(comparison), _sensitive_of(request)
        pieces: list[dict[str, Integers]] = []
        for number, keys in enumerate(request["keys"].values()):
            at_once = self._at_once(params)
            given = self._cells(comparison, params, keys) if at_once else class_hashes(comparison.masked, keys)
            columns = _classes_of(comparison, given, sensitive, weights, None).columns()
            pieces.append({"set": np.full(len(columns["records"]), number, dtype=np.int64), **columns})
        names = dict.fromkeys(name for each in pieces for name in each)
        joined = {
            name: np.concatenate([each.get(name, np.zeros(len(each["set"]), dtype=np.int64)) for each in pieces])
            for name in names
        }
        if self._at_once(params):
            return joined, np.zeros(len(joined["set"]), dtype=np.int64)
        return joined, (joined["k0"].view(np.uint64) % np.uint64(part.tasks)).astype(np.int64)

    def counted(self, columns: Columns, params: KeysParams, request: Request) -> Facts:
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
                about = self._known(request, name)
                classes = Classes.of_columns(chosen, tuple(about.sensitive))
                facts[name] = dict(self.facts(classes, params, about)[0])
        return facts

    def merged(self, facts: Sequence[Facts], params: KeysParams, request: Request) -> Measurement | Further:
        """The measure of all parts, or what it asks of them."""
        if request is None:
            keys, about = self._about(facts)
            known = {name: getattr(about, name) for name in PLAIN}
            known |= {"sensitive": {name: each.to_json() for name, each in about.sensitive.items()}}
            weight = None if about.weight is None else hex(about.weight)
            return Further(
                {"keys": {name: list(own) for name, own in keys.items()}, "weight": weight, **known}, "tasks"
            )
        found = {
            name: self.figure([each[name] for each in facts if name in each], params, self._known(request, name))
            for name in request["keys"]
        }
        return worst_of(found, self.direction) if has_sets(params) else found[""]


def _sensitive_of(request: Mapping[str, Any]) -> dict[str, SensitiveValues]:
    return {name: SensitiveValues.from_json(plain) for name, plain in request["sensitive"].items()}


def _classes_of(
    comparison: Comparison, cells: Sequence[Any], sensitive: Mapping[str, SensitiveValues], weights: Floats | None,
    households: Integers | None,
) -> Classes:  # fmt: skip
    """Classes on some cells, with the ranks of sensitive values in them."""
    ranks, present = {}, {}
    for name, known in sensitive.items():
        column = comparison.masked[name]
        present[name] = ~column.missing
        ranks[name] = np.searchsorted(known.values, np.where(column.missing, 0, column.values))
    return Classes.of(cells, weights=weights, units=households, sensitive=ranks, present=present)


def fraction_of_file(about: About, params: FractionParams) -> tuple[float, tuple[str, ...]]:
    """Sampling fraction of the masked records, and what a reader should know of it."""
    weight = None if about.weight is None else about.weight / SMALLEST
    return sampling_fraction(params, about.records, weight)


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
        codes[~gone] = Classes.of([key[~gone]]).codes
        found.append(codes)
    return found
