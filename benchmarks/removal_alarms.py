"""Ordinary suppression of cells and of records: which share of the runs a doubt about distortion stops.

``python benchmarks/removal_alarms.py [SEEDS]``, 3 by default: household files of 200 to 5,000 persons, four sets of
keys with age or household size among them, k of 2, 3 and 5. What a run did to its numeric keys is computed anew from
what is published: the farther of mean and standard deviation, in standard deviations of the original, and the cells
that are gone.
"""

from __future__ import annotations

import argparse
import itertools
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pandas as pd

import maskwright as mw
from maskwright.commands.protect import mask_request
from maskwright.commands.requests import masking_request

NUMBERS = ("age", "size")
KEYS = (
    ("age", "region", "sex"), ("age", "sex"), ("size", "region", "sex", "education"),
    ("age", "size", "region", "sex", "education"),
)  # fmt: skip
RECORDS = (200, 500, 1_000, 2_000, 5_000)


def people(rng: np.random.Generator, n: int) -> pd.DataFrame:
    """Persons in households of one to seven; the large ones have more children."""
    sizes = rng.choice(np.arange(1, 8), n, p=[0.36, 0.33, 0.13, 0.11, 0.04, 0.02, 0.01])
    home = np.repeat(np.arange(n), sizes)[:n]
    size = sizes[home]
    place = np.arange(n) - np.searchsorted(home, home)
    age = np.where(place < 2, rng.integers(20, 90, n) - 3 * size, rng.integers(0, 22, n))
    schooling = rng.choice(4, n, p=[0.2, 0.4, 0.25, 0.15])
    return pd.DataFrame({
        "age": np.clip(age, 0, 95),
        "size": size,
        "region": rng.choice(list("abcdef"), n, p=[0.3, 0.25, 0.2, 0.12, 0.08, 0.05])[home],
        "sex": rng.choice(["f", "m"], n),
        "education": np.array(["none", "school", "trade", "degree"])[np.where(age < 16, 0, schooling)],
    })  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """What a run did to a numeric key: how far it moved, what share of its cells went, and what was said of it."""

    moved: float
    gone: float
    stopped: bool
    cautioned: bool


def outcomes(frame: pd.DataFrame, method: str, keys: tuple[str, ...], k: int) -> list[Outcome]:
    """Of each numeric key of a run."""
    declared = {name: {"role": "quasi_identifier"} for name in keys}
    request = masking_request(frame, method, params={"k": k, "keys": list(keys)}, seed=1, declared=declared)
    done = mask_request(request, is_released=False)
    doubted = {each.subject for each in done.doubts if each.kind == "adjustment-distorts"}
    cautioned = {each.subject for each in done.notices if each.is_caution}
    found = []
    for name in (each for each in keys if each in NUMBERS):
        left = done.masked[name].values[~done.masked[name].missing]
        before = frame[name].to_numpy(dtype=float)
        moved = (left.mean() - before.mean(), left.std() - before.std()) if len(left) else (0.0, 0.0)
        found.append(
            Outcome(
                max(map(abs, moved)) / before.std(), 1 - len(left) / len(before), name in doubted, name in cautioned
            )
        )
    return found


def main() -> None:
    """Print the shares."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("seeds", nargs="?", type=int, default=3)
    seeds = parser.parse_args().seeds
    for method in ("local_suppression", "record_suppression"):
        counts: Counter[str] = Counter()
        for seed, n, keys, k in itertools.product(range(seeds), RECORDS, KEYS, (2, 3, 5)):
            frame = people(np.random.default_rng(seed * 10_000 + n), n)[list(keys)]
            try:
                found = outcomes(frame, method, keys, k)
            except mw.InputError:
                counts["nothing to publish"] += 1
                continue
            stopped = any(each.stopped for each in found)
            tame = all(each.moved < 0.1 and each.gone < 0.2 for each in found)
            counts["runs"] += 1
            counts["stopped"] += stopped
            counts["tame"] += tame
            counts["tame and stopped"] += tame and stopped
            counts["cautioned"] += not stopped and any(each.cautioned for each in found)
            for each in found:
                far, most = each.moved >= 0.2, each.gone > 0.5
                counts["variables moved 0.2 sd or more"] += far
                counts["of them stopped"] += far and each.stopped
                counts["variables moved less, half their cells there"] += not far and not most
                counts["of these stopped"] += not far and not most and each.stopped
        print(method, *(f"{what}: {count}" for what, count in counts.items()), sep="\n  ")


if __name__ == "__main__":
    main()
