"""Edits with a slip of the pen, and right edits on files with errors: what share of the runs is stopped.

``python benchmarks/slipped_edits.py [FILES]``, 300 of each kind by default. A file has a total, a product, bounds and
orderings. Of a slipped file one edit is changed: a bound (a digit lost, or two exchanged), a sign, a unit, a variable,
an operator. Of a file with errors 1 to 3 % of the records have one wrong cell, and the edits are right.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter

import numpy as np
import pandas as pd

import maskwright as mw

EDITS = (
    "wages + pensions + rents == income", "hours * rate == pay", "tax <= income", "age in [16, 110]",
    "wages <= 300000", "hours <= 2800", "income - tax == net",
)  # fmt: skip

SLIPS: dict[str, tuple[tuple[int, str], ...]] = {
    "bound": ((3, "age in [16, 11]"), (4, "wages <= 30000"), (5, "hours <= 280"), (3, "age in [61, 110]")),
    "sign": ((0, "wages - pensions + rents == income"), (6, "income + tax == net"),
             (0, "wages + pensions - rents == income")),
    "unit": ((0, "wages + pensions + 1000 * rents == income"), (1, "hours * rate == 100 * pay"),
             (6, "income - 10 * tax == net")),
    "variable": ((0, "wages + pensions + tax == income"), (0, "wages + rents == income"),
                 (1, "hours * wages == pay"), (2, "income <= tax")),
    "operator": ((2, "tax >= income"), (5, "hours >= 2800"), (1, "hours / rate == pay"), (6, "income - tax > net")),
}  # fmt: skip


def people(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """A file of persons that obeys the edits."""
    frame = pd.DataFrame({
        "age": rng.integers(16, 95, n),
        "wages": np.minimum(rng.lognormal(10.2, 0.5, n).round(), 250_000),
        "pensions": (rng.lognormal(9, 0.5, n) * (rng.random(n) < 0.4)).round(),
        "rents": (rng.lognormal(7, 0.8, n) * (rng.random(n) < 0.3)).round(),
        "hours": rng.integers(200, 2_400, n),
        "rate": rng.integers(9, 90, n),
    })  # fmt: skip
    frame["income"] = frame["wages"] + frame["pensions"] + frame["rents"]
    frame["pay"] = frame["hours"] * frame["rate"]
    frame["tax"] = (frame["income"] * rng.uniform(0, 0.4, n)).round()
    frame["net"] = frame["income"] - frame["tax"]
    return frame


def with_errors(frame: pd.DataFrame, rng: np.random.Generator, share: float) -> pd.DataFrame:
    """Copy in which some records have one wrong cell: a digit too many, or a value of another record."""
    frame = frame.astype(float)
    for row in np.flatnonzero(rng.random(len(frame)) < share):
        name = rng.choice(["income", "pay", "wages", "net", "hours"])
        wrong = frame.at[row, name] * 10 if rng.random() < 0.5 else frame[name].sample(random_state=rng).iloc[0]
        frame.at[row, name] = wrong
    return frame


def doubts(frame: pd.DataFrame, edits: list[str], seed: int) -> set[str]:
    """Ids of the doubts that stop a run; empty where it is released."""
    declared = {name: {"decimals": 0, "unchanged": 100} for name in frame}
    params = {"k": 5, "k_guarantee": "report", "structural_zeros": ["pensions", "rents"]}
    try:
        mw.protect(frame, "microaggregation", edits=edits, seed=seed, params=params, declared=declared)
    except mw.OpenDoubts as error:
        return set(re.findall(r"W\d{3}", str(error)))
    except mw.MaskwrightError as error:
        return {type(error).__name__}
    return set()


def main() -> None:
    """Print the shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="?", type=int, default=300)
    files = parser.parse_args().files
    stopped: dict[str, Counter[str]] = {kind: Counter() for kind in SLIPS}
    kinds = list(SLIPS)
    for number in range(files):
        rng = np.random.default_rng(number)
        frame = people(rng, int(rng.choice([60, 200, 1000])))
        kind = kinds[number % len(kinds)]
        place, slip = SLIPS[kind][int(rng.integers(len(SLIPS[kind])))]
        frame = with_errors(frame, rng, float(rng.choice([0.0, 0.02])))
        edits = [slip if at == place else edit for at, edit in enumerate(EDITS)]
        found = doubts(frame, edits, number)
        stopped[kind]["files"] += 1
        stopped[kind]["stopped"] += bool(found)
        stopped[kind].update(found)
        if not found:
            print(f"  released: {slip} ({len(frame)} records)")
    for kind, counts in stopped.items():
        others = ", ".join(f"{name} {count}" for name, count in counts.items() if name not in ("files", "stopped"))
        print(f"{kind:9} stopped {counts['stopped']} of {counts['files']} ({others})")
    released, reasons = 0, Counter[str]()
    for number in range(files):
        rng = np.random.default_rng(10_000 + number)
        frame = people(rng, int(rng.choice([60, 200, 1000])))
        found = doubts(with_errors(frame, rng, float(rng.uniform(0.01, 0.03))), list(EDITS), number)
        released += not found
        reasons.update(found)
    print(f"errors    released {released} of {files} ({dict(reasons)})")


if __name__ == "__main__":
    main()
