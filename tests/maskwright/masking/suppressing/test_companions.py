"""What is emptied beside a suppressed cell does not tell its value, to an intruder who knows the program and the edits.

The intruder lists files that look the same: he changes the suppressed cells of one record, or of two, to all that the
edits allow, runs the program on it, and keeps what comes out with the same cells emptied.
"""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import maskwright as mw
from maskwright.masking.suppressing.complementary_suppression import Complement, complement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Row = tuple[int, ...]

NAMES = ("tenure", "zone", "rent", "rooms")
TEXTS = {"tenure": ("own", "coop", "let"), "zone": ("N", "S")}
POSSIBLE: list[Row] = list(itertools.product(range(3), range(2), range(3), range(3)))
RULES: dict[str, Callable[[Row], bool]] = {
    'if tenure == "own" then rent == 0': lambda r: r[0] != 0 or r[2] == 0,
    "if rent == 0 then tenure == 'own'": lambda r: r[2] != 0 or r[0] == 0,
    'if tenure == "coop" then rent <= 1': lambda r: r[0] != 1 or r[2] <= 1,
    'if zone == "N" and rooms == 0 then tenure == "let"': lambda r: r[1] != 0 or r[3] != 0 or r[0] == 2,
    "if rooms == 2 then tenure in {'own', 'coop'}": lambda r: r[3] != 2 or r[0] <= 1,
    "rent <= rooms": lambda r: r[2] <= r[3],
    "if zone == 'S' then rent >= 1": lambda r: r[1] != 1 or r[2] >= 1,
}
BOX = ["rent in {0, 1, 2}", "rooms in {0, 1, 2}"]


def dataset(rows: list[Row]) -> mw.Dataset:
    columns = []
    for name, values in zip(NAMES, np.array(rows).T, strict=True):
        nothing = np.zeros(len(rows), dtype=np.bool_)
        if name in TEXTS:
            variable = mw.Variable(name, "nominal", categories=TEXTS[name])
            columns.append(mw.Column(variable, values.astype(np.int32), nothing))
        else:
            columns.append(mw.Column(mw.Variable(name, "integer", decimals=0), values.astype(np.float64), nothing))
    return mw.Dataset(tuple(columns))


def emptied(rows: list[Row], hidden: dict[str, np.ndarray], edits: mw.EditSet) -> tuple[np.ndarray, Complement]:
    """Cells that are empty in the file, shape (n, 4), and what the program says of them."""
    found = complement(dataset(rows), hidden, list(edits))
    gone = [hidden.get(n, np.zeros(len(rows), bool)) | found.cells.get(n, np.False_) for n in NAMES]
    return np.stack(gone, axis=1), found


def alike(
    rows: list[Row], hidden: dict[str, np.ndarray], edits: mw.EditSet, allowed: list[Row], changed: tuple[int, ...]
) -> Iterator[list[Row]]:
    """Files that differ in suppressed cells of these records, and come out with the same cells emptied."""
    looks, _ = emptied(rows, hidden, edits)
    choices = [
        [each for each in allowed if all(looks[r, j] or each[j] == rows[r][j] for j in range(4))] for r in changed
    ]
    for chosen in itertools.product(*choices):
        world = list(rows)
        for place, row in zip(changed, chosen, strict=True):
            world[place] = row
        if np.array_equal(emptied(world, hidden, edits)[0], looks):
            yield world


def told_by_holes(rows: list[Row], hidden: dict[str, np.ndarray], edits: mw.EditSet, allowed: list[Row]) -> set[str]:
    """Suppressed cells that have one possible value, of those of which the program does not say so."""
    looks, found = emptied(rows, hidden, edits)
    open_rows = np.flatnonzero(looks.any(axis=1)).tolist()
    wrong = set()
    for name, gone in hidden.items():
        j = NAMES.index(name)
        if found.known.get(name) or found.undecided.get(name):
            continue
        for row in np.flatnonzero(gone & ~found.disclosed.get(name, np.False_)).tolist():
            tries = [(row,), *((row, other) for other in open_rows if other != row)]
            if not any(
                world[row][j] != rows[row][j] for changed in tries
                for world in alike(rows, hidden, edits, allowed, changed)
            ):  # fmt: skip
                wrong.add(f"{name} of record {row}")
    return wrong


@settings(max_examples=40 if os.environ.get("SLOW") else 15)
@given(
    rules=st.lists(st.sampled_from(sorted(RULES)), min_size=1, max_size=4, unique=True),
    n=st.integers(1, 5),
    names=st.lists(st.sampled_from(["tenure", "rooms", "zone"]), min_size=1, max_size=2, unique=True),
    share=st.sampled_from([0.5, 0.8, 1.0]),
    seed=st.integers(0, 10**6),
)
def test_what_is_emptied_does_not_tell_a_suppressed_value(
    rules: list[str], n: int, names: list[str], share: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    allowed = [each for each in POSSIBLE if all(RULES[rule](each) for rule in rules)]
    rows = [allowed[place] for place in rng.integers(0, len(allowed), n)]
    hidden = {name: rng.random(n) < share for name in names}
    edits = mw.EditSet.parse([*rules, *BOX])
    assert told_by_holes(rows, hidden, edits, allowed) == set()
