"""Random worlds of categorical files and every method that masks categories, run from pipeline files and judged.

The judge knows the files that a run wrote and shares nothing with the product (`categorical_checks`). 36 worlds in the
tests, 2,000 with ``pytest -m slow``, or by hand::

    python tests/properties/test_categorical_releases.py 2000 [first]
"""

from __future__ import annotations

import re
import sys
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import maskwright as mw

sys.path.insert(0, str(Path(__file__).parent))
from categorical_checks import CHECKS, COARSER, Release, derivable_cells
from categorical_files import random_world
from categorical_steps import METHODS, choose_steps


@dataclass
class Tally:
    """What became of the worlds."""

    released: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[int]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    numbers: Counter[str] = field(default_factory=Counter)


def judge(seed: int, tally: Tally, folder: Path) -> None:
    """Run the pipeline of a world, and look at what it released."""
    world = random_world(seed)
    choose_steps(world)
    path = world.write(folder)
    steps = " + ".join(step["method"] for step in world.steps)
    try:
        mw.run(path)
    except mw.MaskwrightError as error:
        reason = reason_of(error)
        tally.refused[reason] += 1
        tally.examples.setdefault(reason, []).append(seed)
        return
    except Exception as error:  # noqa: BLE001 - a crash is a finding
        place = traceback.extract_tb(error.__traceback__)[-1]
        tally.faults.append(f"world {seed}: {steps}: crash: {error!r} at {place.filename}:{place.lineno}")
        return
    for step in world.steps:
        tally.released[step["method"]] += 1
    release = Release(world, folder)
    tally.numbers["releases"] += 1
    tally.numbers["records"] += len(release.after)
    tally.numbers["edits"] += len(world.rules)
    for each in release.record["edits"]:
        tally.numbers[f"edits {each['form'] or 'as stated'}"] += 1
    tally.numbers["edits dropped"] += len(release.dropped)
    tally.numbers["emptied cells"] += len(release.emptied)
    tally.numbers["releases with coarser categories"] += any(
        len(release.leaves(name, row[name])) > 1
        for name in release.coarse for row in release.after if row[name] not in world.missing[name]
    )  # fmt: skip
    for kind, check in CHECKS.items():
        try:
            found = check(release)
        except Exception as error:  # noqa: BLE001 - so that the other worlds are looked at too
            found = [f"{kind} cannot be judged: {error!r}"]
        tally.numbers[f"faults: {kind}"] += len(found)
        tally.faults += [f"world {seed}: {steps}: {each}" for each in found]
    if release.dropped:
        everything = list(release.original_rules.values())
        tally.numbers["cells that dropped edits tell"] += len(derivable_cells(release, everything, as_published=False))


def reason_of(error: mw.MaskwrightError) -> str:
    """First sentence of a refusal without names and numbers, so that equal ones are counted together."""
    if isinstance(error, mw.OpenDoubts):
        kinds = sorted(set(re.findall(r"W\d\d\d [a-z-]+", str(error))))
        return "doubt: " + ", ".join(kinds)
    text = re.sub(r"^(\S*:)?\d+:\d+: ", "", str(error).splitlines()[0])
    text = re.sub(r"'[^']*'|\d+(\.\d+)?", "#", text)
    names = r"\b(region|town|sex|births|trade|level|age|marital|isco|home|work|study|rname|wage|other|income)\b"
    return f"{type(error).__name__}: {re.sub(names, '*', text)}"[:150]


def run(worlds: int, first: int, *, print_faults: bool = False) -> Tally:
    """Judge so many worlds."""
    tally = Tally()
    for seed in range(first, first + worlds):
        known = len(tally.faults)
        with TemporaryDirectory() as folder:
            judge(seed, tally, Path(folder))
        for each in tally.faults[known:] if print_faults else ():
            print(each, flush=True)
    return tally


def expect_nothing_wrong(tally: Tally) -> None:
    """No fault, and every method released something."""
    assert tally.faults == []
    assert tally.numbers["releases with coarser categories"] > 0
    assert set(COARSER) < set(METHODS)


def test_releases_of_random_categorical_worlds_hold_what_they_say() -> None:
    expect_nothing_wrong(run(24, 0))


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("first", [0, 500, 1000, 1500])
def test_releases_of_many_random_categorical_worlds_hold_what_they_say(first: int) -> None:
    tally = run(500, first)
    expect_nothing_wrong(tally)
    assert set(tally.released) == set(METHODS)


def main() -> None:
    """Run by hand."""
    worlds, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    tally = run(worlds, first, print_faults=True)
    print("released by method:", dict(tally.released))
    print("refused:")
    for reason, count in tally.refused.most_common():
        print(f"  {count} {reason} (worlds {tally.examples[reason][:4]})")
    print("figures:", dict(tally.numbers))
    print(f"{len(tally.faults)} faults")


if __name__ == "__main__":
    main()
