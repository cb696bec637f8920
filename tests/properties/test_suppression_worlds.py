"""Random categorical files with random edits, suppressed by every count: k holds, every edit holds, no cell follows.

The checker shares nothing with the product: it counts pair by pair, and lists all completions of each record.
10 worlds in the tests, 40 with ``SLOW=1``, more with ``MASKWRIGHT_WORLDS=2000``, or by hand::

    python tests/properties/test_suppression_worlds.py 2000 [first]
"""

from __future__ import annotations

import itertools
import os
import sys
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright.commands.protect import mask_request
from maskwright.commands.requests import masking_request

if TYPE_CHECKING:
    from collections.abc import Callable

WORLDS = int(os.environ.get("MASKWRIGHT_WORLDS", "40" if os.environ.get("SLOW") else "10"))
COUNTS = ("own", "own", "alpha0", "subset", "wildcard")

Record = dict[str, Any]


@dataclass(frozen=True)
class World:
    """Records that obey random edits, and how they are suppressed."""

    frame: pd.DataFrame
    edits: tuple[str, ...]
    values: dict[str, list[str]]
    allowed: Callable[[Record], bool]
    determined: tuple[tuple[str, str], ...]
    keys: tuple[str, ...]
    params: dict[str, Any]


def world(seed: int) -> World:
    """A file of 30 to 120 records, three to five variables and, at times, one that is the label of another."""
    rng = np.random.default_rng([20261122, seed])
    names = [f"v{number}" for number in range(int(rng.integers(3, 6)))]
    values = {name: list("abcde"[: int(rng.integers(2, 6))]) for name in names}
    n = int(rng.integers(30, 121))
    frame = pd.DataFrame({
        name: rng.choice(values[name], n, p=rng.dirichlet(np.full(len(values[name]), 0.8))) for name in names
    })  # fmt: skip
    edits: list[str] = []
    tests: list[Callable[[Record], bool]] = []
    for _ in range(int(rng.integers(0, 4))):
        one, other = (str(name) for name in rng.choice(names, 2, replace=False))
        when = str(rng.choice(values[one]))
        then = [str(each) for each in values[other] if rng.random() < 0.6] or [str(values[other][0])]

        def test(r: Record, one: str = one, other: str = other, when: str = when, then: list[str] = then) -> bool:
            return r[one] != when or r[other] in then

        left = frame[[test(each) for each in frame.to_dict("records")]].reset_index(drop=True)
        # A rule that fires in no record is refused.
        if (left[one] == when).any():
            frame = left
            edits.append(f"if {one} == '{when}' then {other} in {{{', '.join(map(repr, then))}}}")
            tests.append(test)
    if rng.random() < 0.5:
        pair = tuple(str(name) for name in rng.choice(names, 2, replace=False))
        edits.append(f"({pair[0]}, {pair[1]}) in original")
        there = set(zip(frame[pair[0]], frame[pair[1]], strict=True))
        tests.append(lambda r, pair=pair, there=there: (r[pair[0]], r[pair[1]]) in there)  # type: ignore[misc]
    determined: tuple[tuple[str, str], ...] = ()
    if rng.random() < 0.3:
        frame["label"] = "L" + frame[names[0]]
        determined = ((names[0], "label"), ("label", names[0]))
        # In few records, or where one value is nearly everybody's, nobody can tell a label from chance: it is declared.
        if len(frame) < 40 or frame[names[0]].value_counts(normalize=True).max() > 0.7:
            edits.append(f"({names[0]}, label) in original")
    keys = tuple(str(name) for name in rng.permutation(names)[: int(rng.integers(1, len(names) + 1))])
    params: dict[str, Any] = {"k": int(rng.integers(2, 5)), "keys": list(keys), "count": str(rng.choice(COUNTS))}
    if params["count"] == "own" and len(keys) > 2 and rng.random() < 0.4:
        params["subsets"] = 2
    if rng.random() < 0.3:
        params["importance"] = {keys[0]: 3.0}
    return World(frame, tuple(edits), values, lambda r: all(test(r) for test in tests), determined, keys, params)


def suppressed(given: World) -> pd.DataFrame | None:
    """The published file; None where nothing is released."""
    declared = {
        name: {"type": "nominal", "role": "quasi_identifier" if name in given.keys else "other"}
        for name in given.frame.columns
    }
    # A wildcard k that emptied cells bought is a doubt, and has to hold all the same.
    bought = {"doubt": "method-warned", "step": 1, "because": "a wildcard k is asked for"}
    waived = [bought] if given.params["count"] == "wildcard" else []
    try:
        done = mask_request(masking_request(
            given.frame, "local_suppression", edits=list(given.edits), params=given.params,
            variables=list(given.keys), declared=declared, seed=1, waive=waived,
        ))  # fmt: skip
    except mw.OpenDoubts:
        return None
    published = done.masked.to_pandas().astype(object)
    return published.where(published.notna(), None)


def counted(shown: list[tuple[Any, ...]], count: str) -> list[int]:
    """Whom each record counts, itself among them."""
    found = []
    for mine in shown:
        number = 0
        asked = sum(each is not None for each in mine)
        for its in shown:
            both = [(a, b) for a, b in zip(mine, its, strict=True) if a is not None and b is not None]
            matches = all(a == b for a, b in both)
            number += mine == its or (
                count != "own"
                and matches
                and (
                    None not in its
                    or (count != "alpha0" and len(both) == asked)
                    or (count == "wildcard" and 2 * len(both) > asked)
                )
            )
        found.append(number)
    return found


def mistakes(given: World, published: pd.DataFrame) -> list[str]:
    """What is wrong with a published file."""
    found = []
    kept = published.notna().to_numpy()
    if not (published.to_numpy()[kept] == given.frame.to_numpy()[kept]).all():
        found.append("a published value is another one")
    size = given.params.get("subsets", len(given.keys))
    for keys in itertools.combinations(given.keys, size):
        shown = [tuple(each) for each in published[list(keys)].to_numpy()]
        if min(counted(shown, given.params["count"])) < given.params["k"]:
            found.append(f"k is not reached on {keys}")
    possible = given.values
    records = published.to_dict("records")
    for record in records:
        empty = [name for name in possible if record[name] is None]
        completed = [
            record | dict(zip(empty, each, strict=True))
            for each in itertools.product(*(possible[name] for name in empty))
        ]
        left = [each for each in completed if given.allowed(each)]
        if not left:
            found.append("the published cells break an edit")
        found += [f"{name} follows" for name in empty if len({each[name] for each in left}) == 1]
        for known, name in given.determined:
            if record[known] is not None and record[name] is None:
                others = {each[name] for each in records if each[known] == record[known] and each[name] is not None}
                found += [f"{name} is inferred from {known}"] if len(others) == 1 else []
    return found


@pytest.mark.parametrize("seed", range(WORLDS))
def test_no_world_gives_a_suppressed_cell_away(seed: int) -> None:
    """Or nothing is released, because something is in doubt."""
    given = world(seed)
    if len(given.frame) < 3 * given.params["k"]:
        return
    published = suppressed(given)
    if published is not None:
        assert mistakes(given, published) == []


def main() -> None:
    """Try many worlds, and say how many were released and what was wrong."""
    count, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    seen: Counter[str] = Counter()
    cells = 0
    for seed in range(first, first + count):
        given = world(seed)
        if len(given.frame) < 3 * given.params["k"]:
            seen["too small"] += 1
            continue
        published = suppressed(given)
        if published is None:
            seen["stopped by a doubt"] += 1
            continue
        seen["released"] += 1
        cells += int(published.isna().to_numpy().sum())
        for mistake in mistakes(given, published):
            seen["mistakes"] += 1
            print(f"world {seed}: {mistake}", given.params, given.edits, flush=True)
    print(dict(seen), f"{cells} suppressed cells")


if __name__ == "__main__":
    main()
