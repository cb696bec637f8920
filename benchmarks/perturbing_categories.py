"""How fast categories are perturbed: ``python benchmarks/perturbing_categories.py [--largest 1000000]``.

Prints the machine; for three sizes that grow tenfold, processor seconds after compilation of PRAM and ordinal noise on
five variables, PRAM on combinations of two, and targeted swapping of as many households, the growth of each as a power
of the records, and the peak memory.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import time

import numpy as np

from maskwright import Block, Variable
from maskwright.plugins.registry import find_method

SEED = 20261122
CATEGORIES = tuple("abcdefgh")


def block_of(values, variables, **fields):
    """Block of complete records."""
    p = values.shape[1]
    return Block(values, np.isnan(values), variables, center=np.zeros(p), scale=np.ones(p), **fields)


def categories(n):
    """Five ordinal variables."""
    rng = np.random.default_rng(SEED)
    values = rng.choice(8, (n, 5), p=[0.3, 0.2, 0.15, 0.12, 0.1, 0.08, 0.04, 0.01]).astype(float)
    return block_of(values, tuple(Variable(f"x{j}", "ordinal", categories=CATEGORIES) for j in range(5)))


def households(n):
    """Households of one to six members in towns of about 2,000 households, 20 towns to a region."""
    rng = np.random.default_rng(SEED)
    sizes = rng.choice(np.arange(1, 7), n, p=[0.3, 0.3, 0.17, 0.15, 0.05, 0.03])
    home = np.repeat(np.arange(n), sizes)
    town = rng.integers(0, max(n // 2_000, 4), n)[home]
    companions = {name: rng.integers(0, kinds, len(home)).astype(float) for name, kinds in
                  (("sex", 2), ("age", 9), ("trade", 6))}  # fmt: skip
    places = np.stack([town // 20, town], axis=1).astype(float)
    return block_of(places, (Variable("region"), Variable("town")), households=home, companions=companions)


WORK = {
    "pram, 5 variables": (categories, "pram", {}),
    "pram by nearness, 5 variables": (categories, "pram", {"nearness": 0.3}),
    "pram on combinations of 5": (categories, "pram", {"joint": True}),
    "ordinal noise, 5 variables": (categories, "ordinal_noise", {"places": 2}),
    "targeted swapping, households": (
        households, "targeted_swapping",
        {"geography": ["region", "town"], "risk_variables": ["sex", "age", "trade"],
         "profiles": [["sex", "age"], ["age"], []]},
    ),
}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description="Benchmark of methods that perturb categories.")
    parser.add_argument("--largest", type=int, default=1_000_000)
    largest = parser.parse_args().largest
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    print(f"{os.cpu_count()} cores, load {load}; {platform.platform()}; python {platform.python_version()}; one thread")
    print(f"{'work':<32} {'n':>9} {'CPU s':>8} {'growth':>7} {'peak MB':>8}")
    for name, (make, method, given) in WORK.items():
        found = find_method(method)
        params = found.params(**given)
        found.protect(make(1_000), params, np.random.default_rng(SEED))
        before = None
        for n in (largest // 100, largest // 10, largest):
            block = make(n)
            seconds = []
            for _ in range(3):
                start = time.process_time()
                found.protect(block, params, np.random.default_rng(SEED))
                seconds.append(time.process_time() - start)
            best = min(seconds)
            growth = "" if before is None else f"{np.log10(best / before):.2f}"
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(f"{name:<32} {n:>9} {best:>8.3f} {growth:>7} {peak:>8.0f}")
            before = best


if __name__ == "__main__":
    main()
