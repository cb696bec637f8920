"""Time and memory of linking households by the sets of their members, and of counting alike ones.

    python benchmarks/household_linkage.py [--households N]

The survey of ``maskwright demo --levels``. Masked values are the true ones with noise on amounts that are not 0. Times
are process CPU seconds. Memory is what the process holds at its largest.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

from maskwright.commands.demo.levels.model import survey
from maskwright_builtin.measures.groups.group_keys import group_classes
from maskwright_builtin.measures.groups.household_linkage import GroupValues, chance_of_link

AMOUNTS = ("wages", "selfe", "pens", "bene", "income")


def main(households):
    """Print a line for each amount of noise, and for each width of the bands of age."""
    drawn = list(survey(households))
    amounts = np.concatenate([np.column_stack([part.person[name] for name in AMOUNTS]) for part in drawn]).astype(float)
    sizes = np.concatenate([np.diff(part.starts) for part in drawn])
    starts = np.append(0, np.cumsum(sizes))
    weights = 1.0 / amounts.std(axis=0, ddof=1)
    generator = np.random.default_rng(1)
    alike, nothing = np.zeros(len(amounts), dtype=np.int64), np.zeros((households, 0))
    print(f"{households} households, {len(amounts)} persons")
    for noise in (0.02, 0.1, 0.5):
        moved = np.rint(amounts + noise * generator.normal(size=amounts.shape) / weights)
        masked = np.where(amounts > 0, moved, amounts)
        files = [GroupValues(nothing, values, starts, alike, sizes) for values in (amounts, masked)]
        began = time.process_time()
        chance = chance_of_link(*files, np.zeros(0), weights, lambda _: None)
        seconds = time.process_time() - began
        held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(f"noise {noise}: {100 * chance.mean():.1f} % linked, {seconds:.1f} s, {held:.2f} GB")
    home = np.repeat(np.arange(households), sizes)
    age, sex = (np.concatenate([part.person[name] for part in drawn]) for name in ("age", "sex"))
    region = np.concatenate([part.household["region"] for part in drawn])
    for years in (1, 5, 10, 20):
        began = time.process_time()
        classes = group_classes([region], [sex, age // years], home, households)
        unique = 100 * (np.bincount(classes)[classes] == 1).mean()
        print(f"age by {years} years: {unique:.1f} % unique, {time.process_time() - began:.2f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--households", type=int, default=460_000)
    main(parser.parse_args().households)
