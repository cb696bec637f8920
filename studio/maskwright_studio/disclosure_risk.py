"""Disclosure risk of a file by its quasi-identifiers: figures with sentences, combinations of keys, records at risk."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import maskwright as mw

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright import Dataset, LinkedData, Measurement

MOST_SETS = 5_000
"""Sets of keys that are searched: all pairs and triples of 30 keys."""

LARGEST = 3
"""Keys of a set, at most."""

MOST_KEYS = 62
"""Keys that the measure `suda` takes."""

SHOWN_SETS = 30


@dataclass(frozen=True)
class Figure:
    """A figure of a measure as the page names it; `part`: '' for its value. `better`: the direction."""

    label: str
    unit: str
    part: str = ""
    better: str = "lower"


@dataclass(frozen=True)
class Requested:
    """A measure with its parameters, and the figures of it that are shown."""

    title: str
    name: str
    params: Mapping[str, object]
    figures: tuple[Figure, ...]


CLASSES = Requested(
    "Classes of equal keys", "k_anonymity", {"k": 3},
    (Figure("k, the smallest class", "count", better="higher"),
     Figure("records in classes below 3", "percent", "below_k")),
)  # fmt: skip
BELOW_FIVE = Requested(
    "Classes below 5", "k_anonymity", {"k": 5}, (Figure("records in classes below 5", "percent", "below_k"),)
)
UNIQUENESS = Requested(
    "Uniqueness", "uniqueness", {},
    (Figure("unique records", "percent"),
     Figure("expected to be unique in the population", "percent", "population_uniques")),
)  # fmt: skip
INDIVIDUAL = Requested(
    "Individual risk", "individual_risk", {},
    (Figure("records expected to be recognised", "percent"),
     Figure("records with a risk above 5 %", "percent", "share_above_0_05"),
     Figure("largest risk of a record", "probability", "largest"),
     Figure("households expected to be recognised by a member", "count", "households_expected"),
     Figure("largest risk of a household", "probability", "largest_household_risk")),
)  # fmt: skip
HOUSEHOLDS = (
    Requested("Household risk", "household_risk", {},
              (Figure("households expected to be recognised by a member", "percent"),
               Figure("largest risk of a household", "probability", "largest"))),
    Requested("Households alone with the set of their members", "household_uniqueness", {},
              (Figure("unique households", "percent"), Figure("households in classes below 3", "percent", "below_k"))),
)  # fmt: skip


def _combinations(size: int) -> Requested:
    return Requested(
        "Keys that single records out (SUDA)", "suda", {"largest": size, "sets": True},
        (Figure(f"records alone on at most {size} keys", "percent", "scored"),
         Figure("records with a DIS-SUDA above 10 %", "percent"),
         Figure("mean DIS-SUDA", "percent", "mean_risk")),
    )  # fmt: skip


def keys_of(data: Dataset) -> list[str]:
    """Quasi-identifiers that are declared, in file order."""
    return [each.name for each in data.variables if each.role == "quasi_identifier" and not each.inferred_role]


def largest_set(keys: int) -> int:
    """How many keys the sets that are searched have at most."""
    fitting = (
        size for size in range(1, LARGEST + 1) if sum(math.comb(keys, k) for k in range(1, size + 1)) <= MOST_SETS
    )
    return min(keys, max(fitting, default=1))


@dataclass(frozen=True)
class FoundRisk:
    """What the measures found of a file and, after a run, of the masked one.

    `found`: measurements with their requests, by label, as `maskwright.measure` gives them of the masked file; without
    one, of the original. `problems`: a sentence for each measure that could not be computed.
    """

    keys: Mapping[str, Sequence[str]]
    found: Mapping[str, tuple[Requested, Measurement]]
    problems: tuple[str, ...]
    has_masked: bool

    def both(self, label: str) -> tuple[Measurement | None, Measurement | None]:
        """Measurements of the original and of the masked file; None where there is none."""
        if label not in self.found:
            return None, None
        found = self.found[label][1]
        return (found.before or found, found) if self.has_masked else (found, None)


def measured_risk(
    data: Dataset | LinkedData, masked: Dataset | None, reporter: Any, only: Sequence[Requested] = ()
) -> FoundRisk:
    """Measure the risk of the original and, where there is one, of the masked file; each measure on its own.

    `only`: these measures; all that the page Risk shows where there are none.
    """
    found: dict[str, tuple[Requested, Measurement]] = {}
    problems = []
    levels = {"": data} if isinstance(data, mw.Dataset) else {each.name: each.data for each in data}
    keys = {name: keys_of(level) for name, level in levels.items()}
    if not any(keys.values()):
        return FoundRisk(keys, {}, (), masked is not None)
    size = largest_set(max(map(len, keys.values())))
    requests = [*only] or [CLASSES, BELOW_FIVE, UNIQUENESS, INDIVIDUAL, *(HOUSEHOLDS if "" not in levels else ())]
    if not only and max(map(len, keys.values())) <= MOST_KEYS:
        requests.append(_combinations(size))
    elif not only:
        problems.append(f"combinations of keys are searched for at most {MOST_KEYS} keys")
    for each in requests:
        named = {**each.params, "as": f"{each.name}_{each.params.get('k', '')}".strip("_")}
        try:
            measured = mw.measure(data, data if masked is None else masked, [{each.name: named}], reporter=reporter)
        except mw.MaskwrightError as error:
            problems.append(f"{each.title}: {error.problems[0].sentence}")
            continue
        found |= {label: (each, measurement) for label, measurement in measured.items()}
    return FoundRisk(keys, found, tuple(problems), masked is not None)


def shown_risk(risk: FoundRisk) -> dict[str, Any]:
    """What the page shows: figures, bands and combinations of both files; nothing of a record."""
    groups: dict[str, dict[str, Any]] = {}
    for label, (each, measurement) in risk.found.items():
        before, after = risk.both(label)
        assert before is not None
        level = label.rpartition(".")[0]
        rows = [
            {"label": figure.label, "better": figure.better, "before": _formatted(figure, before),
             "after": None if after is None else _formatted(figure, after)}
            for figure in each.figures if not figure.part or figure.part in before.parts
        ]  # fmt: skip
        if each is BELOW_FIVE:
            groups[f"{level}{CLASSES.name}"]["rows"] += rows
            continue
        groups[f"{level}{each.name}"] = {
            "title": f"{each.title}, level {level}" if level else each.title, "rows": rows,
            "before": before.sentence, "after": None if after is None else after.sentence,
            "notes": [note for note in measurement.notes if not note.startswith(("key variables", "smallest sets"))],
        }  # fmt: skip
    return {
        "keys": [[level, list(names)] for level, names in risk.keys.items() if names],
        "has_masked": risk.has_masked,
        "groups": list(groups.values()),
        "bands": list(_bands(risk)),
        "combinations": [found for label in risk.found if (found := _sets(risk, label))],
        "problems": list(risk.problems),
    }


def _formatted(figure: Figure, found: Measurement) -> str:
    value = found.parts.get(figure.part, math.nan) if figure.part else found.value
    if math.isnan(value):
        return "not defined"
    if figure.unit == "count":
        return f"{value:,.0f}" if value >= 100 or value == round(value) else f"{value:,.1f}"
    percent = 100.0 * value if figure.unit == "probability" else value
    return "< 0.01 %" if 0 < percent < 0.005 else f"{percent:.2f} %"


def _bands(risk: FoundRisk) -> Iterator[dict[str, Any]]:
    """Records in bands of class size and of risk."""
    for label, (each, _) in risk.found.items():
        before, after = risk.both(label)
        if each not in (CLASSES, INDIVIDUAL) or before is None:
            continue
        level = label.rpartition(".")[0]
        for table in before.tables:
            counts = {label: int(figures[0]) for label, *figures in table.rows}
            own = () if after is None else (row for each in after.tables for row in each.rows)
            masked = {label: int(figures[0]) for label, *figures in own}
            yield {
                "title": f"{table.title}, level {level}" if level else table.title, "heading": table.columns[0],
                "labels": list(counts), "original": list(counts.values()),
                "masked": [masked.get(label, 0) for label in counts],
            }  # fmt: skip


def _sets(risk: FoundRisk, label: str) -> dict[str, Any] | None:
    """Combinations of keys on which records of the original, or of the masked file, are alone; None of others."""
    each = risk.found[label][0]
    before, after = risk.both(label)
    level = label.rpartition(".")[0]
    keys = risk.keys.get(level, ())
    if each.name != "suda" or before is None or not keys:
        return None
    size = largest_set(max(len(names) for names in risk.keys.values()))
    rows: list[tuple[list[str], list[float | None]]] = []
    for names in itertools.chain.from_iterable(itertools.combinations(keys, k) for k in range(1, size + 1)):
        text = " + ".join(names)
        figures = [_share(found, f"{kind} {text}") for found in (before, after) for kind in ("minimal", "unique on")]
        if any(figures):
            rows.append((list(names), figures))
    rows.sort(key=lambda row: (-(row[1][0] or 0.0), -(row[1][2] or 0.0), len(row[0])))
    contributions = [
        [name, share, None if after is None else after.per_variable.get(name)]
        for name, share in sorted(before.per_variable.items(), key=lambda pair: -pair[1])
    ]
    shown = [[names, *shares] for names, shares in rows[:SHOWN_SETS]]
    return {
        "level": level, "size": size, "rows": shown, "left_out": max(0, len(rows) - SHOWN_SETS),
        "contributions": contributions,
    }  # fmt: skip


def _share(found: Measurement | None, part: str) -> float | None:
    return None if found is None else found.parts.get(part, 0.0)


def records_at_risk(
    risk: FoundRisk, data: Dataset, level: str, most: int, *, masked: bool,
    formatted: Callable[[Any, NDArray[np.int64]], list[str]],
) -> dict[str, Any]:  # fmt: skip
    """Records with the most risk and their values of the keys, which a click has requested."""
    columns: dict[str, NDArray[np.float64]] = {}
    for label, (each, _) in risk.found.items():
        found = risk.both(label)[masked]
        if label.rpartition(".")[0] == level and found is not None and found.per_record is not None:
            columns.setdefault(each.name, found.per_record)
    risks, classes = columns.get("individual_risk"), columns.get("k_anonymity")
    if risks is None or classes is None or len(risks) != len(data):
        raise mw.InputError("the risk of single records could not be computed")
    keyed = columns.get("suda", np.zeros(len(data)))
    worst = np.lexsort((np.arange(len(data)), -keyed, -risks, -classes))[:most].astype(np.int64)
    names = [name for name in risk.keys.get(level, ()) if name in data]
    cells = [formatted(data[name], worst) for name in names]
    return {
        "names": names,
        "rows": [
            {"record": int(at) + 1, "class": round(100.0 / float(classes[at])), "risk": 100.0 * float(risks[at]),
             "suda": float(keyed[at]), "values": [cell[place] for cell in cells]}
            for place, at in enumerate(worst)
        ],
    }  # fmt: skip
