"""How fast errors are located.

    python benchmarks/localisation.py [--records 10000] [--workers 2] [--rules 10000] [--peer 200]

Made-up records of 16 variables under 12 edits (sums, inequalities, ranges, a product, two governing rules), cells
spoilt until each record violates one. Prints processor seconds of one process, peak memory and growth, and how many
fields are needed; the same by as many processes as there are workers, seconds of all of them and by the clock. Beside
it the usual way, one mixed-integer programme a record with HiGHS (without the product, which is no linear constraint),
with the records in which its optimum is another. Then the analysis of many rules.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import sys
import time
from collections import Counter

import numpy as np
import pandas as pd
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

import maskwright as mw
from maskwright.data.frames import dataset_from_frame
from maskwright.edits.analysis.analyse import analyse
from maskwright.edits.evaluation.check import evaluate
from maskwright.edits.localisation.localize import localize

SEED = 20261121
LINEAR = [
    "wages + self_employed == earned",
    "earned + interest + rents == gross",
    "gross == tax + fees + net",
    "tax <= gross",
    "fees <= gross",
    "wages >= 0 and self_employed >= 0 and interest >= 0 and rents >= 0",
    "tax >= 0 and fees >= 0 and net >= 0",
    "assets >= debts",
    "savings <= assets and savings >= 0 and debts >= 0",
]
GOVERNING = ["if hours == 0 then wages == 0", "if wages > 50000 then tax >= 1000"]
PRODUCT = "area * rent_m2 == rent"
# What a programme with a big M takes for "far enough": ten times the largest value is common advice.
BIG_M = 1e8


def survey(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Records that obey every edit."""
    hours = rng.choice([0, 20, 38, 40], n)
    frame = pd.DataFrame({"hours": hours, "wages": np.where(hours == 0, 0, rng.integers(9_000, 90_000, n))})
    for name, top in (("self_employed", 30_000), ("interest", 5_000), ("rents", 9_000)):
        frame[name] = rng.integers(0, top, n) * rng.integers(0, 2, n)
    frame["earned"] = frame["wages"] + frame["self_employed"]
    frame["gross"] = frame["earned"] + frame["interest"] + frame["rents"]
    frame["tax"] = (frame["gross"] * rng.uniform(0.02, 0.3, n)).astype(int)
    frame["tax"] = np.maximum(frame["tax"], np.where(frame["wages"] > 50_000, 1000, 0))
    frame["fees"] = (frame["gross"] * rng.uniform(0, 0.1, n)).astype(int)
    frame["net"] = frame["gross"] - frame["tax"] - frame["fees"]
    frame["assets"] = rng.integers(10_000, 20_000_000, n)
    frame["debts"] = (frame["assets"] * rng.uniform(0, 1, n)).astype(int)
    frame["savings"] = (frame["assets"] * rng.uniform(0, 0.5, n)).astype(int)
    frame["area"], frame["rent_m2"] = rng.integers(20, 200, n), rng.integers(4, 40, n)
    frame["rent"] = frame["area"] * frame["rent_m2"]
    return frame


def violating(n: int, edits: mw.EditSet) -> pd.DataFrame:
    """Exactly n records that violate an edit: one to four cells of each are changed."""
    rng = np.random.default_rng(SEED)
    frame = survey(2 * n, rng)
    cells = rng.random(frame.shape).argsort(axis=1) < rng.integers(1, 5, len(frame))[:, None]
    factors = rng.choice([0, 10, 100, -1, 2, 1.01], frame.shape)
    spoilt = np.rint(frame * np.where(cells, factors, 1)).astype(np.int64) + cells
    columns = mw.RecordChunk.from_dataset(dataset_from_frame(spoilt, {}))
    broken = np.logical_or.reduce([~evaluate(edit, columns).holds for edit in edits])
    return spoilt[broken].head(n).reset_index(drop=True)


def peer(frame: pd.DataFrame, names: list[str]) -> tuple[list[float], list[bool], float]:
    """Fewest fields by one MILP a record (NaN: none found), whether they suffice, and the seconds of the MILP.

    They suffice when a linear programme in which all other cells are fixed, without any big M for them, has a solution.
    """
    place = {name: number for number, name in enumerate(names)}
    p = len(names)
    rows: list[dict[int, float]] = []
    upper: list[float] = []

    def at_most(bound: float, **terms: float) -> None:
        rows.append({place.get(name, -1) if name not in {"z", "u"} else p * 2 + (name == "u"): value
                     for name, value in terms.items()})  # fmt: skip
        upper.append(bound)

    def equal(**terms: float) -> None:
        at_most(0, **terms)
        at_most(0, **{name: -value for name, value in terms.items()})

    equal(wages=1, self_employed=1, earned=-1)
    equal(earned=1, interest=1, rents=1, gross=-1)
    equal(gross=1, tax=-1, fees=-1, net=-1)
    for small, large in (("tax", "gross"), ("fees", "gross"), ("debts", "assets"), ("savings", "assets")):
        at_most(0, **{small: 1, large: -1})
    for name in ("wages", "self_employed", "interest", "rents", "tax", "fees", "net", "savings", "debts"):
        at_most(0, **{name: -1})
    # z = 1: hours differ from 0 (upwards only, which is enough here); z = 0: wages are 0. Likewise u for the tax.
    at_most(0, wages=1, z=-BIG_M)
    at_most(BIG_M - 1, hours=-1, z=BIG_M)
    at_most(50_000, wages=1, u=-BIG_M)
    at_most(BIG_M - 1000, tax=-1, u=BIG_M)
    matrix = np.zeros((len(rows), 2 * p + 2))
    for number, terms in enumerate(rows):
        for column, value in terms.items():
            matrix[number, column] = value
    move = np.zeros((2 * p, 2 * p + 2))
    for number in range(p):
        move[number, number], move[number, p + number] = 1, -BIG_M
        move[p + number, number], move[p + number, p + number] = -1, -BIG_M
    cost = np.concatenate([np.zeros(p), np.ones(p), [0, 0]])
    whole = np.concatenate([np.zeros(p), np.ones(p + 2)])
    low = np.concatenate([np.full(p, -np.inf), np.zeros(p + 2)])
    high = np.concatenate([np.full(p, np.inf), np.ones(p + 2)])
    found: list[float] = []
    suffice: list[bool] = []
    seconds = 0.0
    for record in frame[names].to_numpy(dtype=float):
        limits = np.concatenate([record, -record])
        start = time.process_time()
        answer = milp(
            cost, integrality=whole, bounds=Bounds(low, high),
            constraints=[LinearConstraint(matrix, -np.inf, np.array(upper)), LinearConstraint(move, -np.inf, limits)],
        )  # fmt: skip
        seconds += time.process_time() - start
        found.append(float("nan") if answer.x is None else round(float(answer.x[p : 2 * p].sum())))
        suffice.append(answer.x is not None and mends(answer.x[p : 2 * p] > 0.5, record, matrix, upper))
    return found, suffice, seconds


def mends(chosen: np.ndarray, record: np.ndarray, matrix: np.ndarray, upper: list[float]) -> bool:
    """Whether values of the chosen fields alone satisfy the edits, for one of the four ways through the branches."""
    p = len(record)
    for z in (0, 1):
        for u in (0, 1):
            bounds = [(None, None) if free else (value, value) for free, value in zip(chosen, record, strict=True)]
            bounds += [(0, 0)] * p + [(z, z), (u, u)]
            if linprog(np.zeros(2 * p + 2), A_ub=matrix, b_ub=upper, bounds=bounds, method="highs").status == 0:
                return True
    return False


def main() -> None:
    parser = argparse.ArgumentParser(description="Benchmark of error localisation and of the analysis of rules.")
    parser.add_argument("--records", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rules", type=int, default=10_000)
    parser.add_argument("--peer", type=int, default=200)
    chosen = parser.parse_args()
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    print(f"{os.cpu_count()} cores, load {load}; {platform.platform()}; python {platform.python_version()}")
    edits = mw.EditSet.parse([*LINEAR, *GOVERNING, PRODUCT])
    before = None
    print(f"{'violating records':>18} {'CPU s':>7} {'ms each':>8} {'peak MB':>8} {'growth':>7}  fields: records")
    for n in (chosen.records // 10, chosen.records // 3, chosen.records):
        data = dataset_from_frame(violating(n, edits), {})
        start = time.process_time()
        found = localize(data, edits, workers=1)
        seconds = time.process_time() - start
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        growth = "" if before is None else f"{np.log(seconds / before[1]) / np.log(n / before[0]):.2f}"
        sizes = Counter(len(each.fields) for each in found.found if each.fields is not None)
        shown = ", ".join(f"{size}: {count}" for size, count in sorted(sizes.items()))
        left = len(found.found) - found.located
        print(f"{len(found.found):>18} {seconds:>7.2f} {1000 * seconds / n:>8.2f} {memory:>8.0f} {growth:>7}  {shown}; "
              f"not localised {left}, not proven {found.unproven}")  # fmt: skip
        before = (n, seconds)
    for workers in range(1, chosen.workers + 1):
        began, start = sum(os.times()[:4]), time.perf_counter()
        beside = localize(data, edits, workers=workers)
        if [vars(each) for each in beside.found] != [vars(each) for each in found.found]:
            sys.exit(f"{workers} workers locate other fields")
        print(f"{chosen.records} records, workers {workers}: {sum(os.times()[:4]) - began:.2f} s CPU of all processes, "
              f"{time.perf_counter() - start:.2f} s by the clock; the same fields")  # fmt: skip
    linear = mw.EditSet.parse([*LINEAR, *GOVERNING])
    frame = violating(chosen.peer, linear)
    start = time.process_time()
    own = [len(each.fields or ()) for each in localize(dataset_from_frame(frame, {}), linear, workers=1).found]
    middle = time.process_time()
    other, suffice, seconds = peer(frame, [name for name in frame.columns if name not in ("area", "rent_m2", "rent")])
    pairs = list(zip(own, other, suffice, strict=True))
    print(
        f"{chosen.peer} records, 11 edits: {1000 * (middle - start) / chosen.peer:.2f} ms each; HiGHS MILP a record "
        f"{1000 * seconds / chosen.peer:.2f} ms, {seconds / (middle - start):.1f} times. It names fewer fields in "
        f"{sum(b < a for a, b, _ in pairs)} records (in {sum(b < a and not good for a, b, good in pairs)} of them they "
        f"do not suffice), more in {sum(b > a for a, b, _ in pairs)}"
    )
    rules = [rule for i in range(chosen.rules // 5) for rule in (
        f"a{i} + b{i} == c{i}", f"a{i} >= 0", f"b{i} >= 0", f"if c{i} > 5 then d{i} <= a{i}", f"c{i} + b{i} >= -1",
    )]  # fmt: skip
    chain = [f"V{i} <= V{i + 1}" for i in range(chosen.rules)]
    for name, texts in (("groups of five", rules), ("one chain", chain), ("contradicting chain", [*chain, "V9 < V3"])):
        many = mw.EditSet.parse(texts)
        start = time.process_time()
        result = analyse(many)
        print(f"analysis of {len(texts)} rules, {name}: {time.process_time() - start:.1f} s CPU, "
              f"{len(result.findings)} findings, not analysed {dict(result.skipped)}")  # fmt: skip


if __name__ == "__main__":
    main()
