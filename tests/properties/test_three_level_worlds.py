"""Random regions, households and persons: what is masked on three levels obeys every rule that pandas can check.

9 worlds here, 400 with ``pytest -m slow``, more by hand::

    python tests/properties/test_three_level_worlds.py 1000
"""

from __future__ import annotations

import contextlib
import io
import re
import shutil
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import yaml

from maskwright.cli.main import main

sys.path.insert(0, str(Path(__file__).parent))
from three_level_worlds import Release, World, dump

MOST_TIMES = 6
"""Runs of a world: each waives the doubts that stopped the one before."""

REASONS = (
    r"promises k = .* to keep edit .* the records of each group have to move together",
    r"promises k = .* but edit .* reads .* (of other records|outside one variable group)",
    r"totals: \{.*: adjust\}: no step masks anything else that edit .* reads",
    r"totals: .* is no total that steps mask",
    r"edit '.*' does not hold in .* masked .* records",
    r"rank_swapping\): p = 10 percent",
    r"are suppressed, and .* tie them across three levels",
    r"needs the values of .*, which are computed by edit .* after all steps",
)
"""Why a run may be refused: it says what to do, or that no values were found, and releases nothing."""


def run(world: World, folder: Path) -> tuple[Release | None, str]:
    """Release of a world, or why there is none."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    world.write(folder)
    waived: list[dict[str, Any]] = []
    for _ in range(MOST_TIMES):
        settings = world.pipeline(waived)
        (folder / "pipeline.yaml").write_text(dump(settings), encoding="utf-8")
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors), contextlib.redirect_stdout(io.StringIO()):
            code = main(["run", str(folder / "pipeline.yaml"), "--quiet"])
        if code == 0:
            return Release(world, folder, settings), ""
        _, _, proposed = errors.getvalue().partition("waive:\n")
        lines = [line.strip() for line in proposed.splitlines() if line.lstrip().startswith("- {doubt:")]
        more = [each | {"because": "a made-up world"} for each in yaml.safe_load("\n".join(lines)) or ()]
        if code != 1 or not [each for each in more if each not in waived]:
            break
        waived += [each for each in more if each not in waived]
    assert not [*folder.glob("out*"), *folder.glob("keys*"), *folder.glob("run.json")]
    return None, errors.getvalue()


def judged(seeds: range, folder: Path) -> tuple[Counter[str], list[str]]:
    """Releases by form, and what is wrong with them or with refusals."""
    forms: Counter[str] = Counter()
    wrong: list[str] = []
    for seed in seeds:
        world = World(seed)
        release, refusal = run(world, folder / "world")
        if release is not None:
            forms[world.form] += 1
            wrong += [f"world {seed} {world.form}: {each}" for each in release.wrong()]
        elif not any(re.search(reason, refusal) for reason in REASONS):
            wrong.append(f"world {seed} {world.form}: refused: {refusal[:300]}")
    return forms, wrong


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("first", "count"), [(0, 9), pytest.param(9, 391, marks=pytest.mark.slow)])
def test_what_is_released_of_three_levels_is_right(first: int, count: int, tmp_path: Path) -> None:
    forms, wrong = judged(range(first, first + count), tmp_path)
    assert wrong == []
    assert set(forms) == {"linked", "nested", "flat"}
    assert forms.total() > count / 3


@pytest.mark.parametrize("seed", [9, 94, 112])
def test_what_is_found_in_decimals_or_in_several_passes_is_released(seed: int, tmp_path: Path) -> None:
    """No two-decimal income has the right sum in binary64; a total moves onto gdp, and then off what a person has."""
    release, refusal = run(World(seed), tmp_path / "world")
    assert release is not None, refusal
    assert [*release.wrong()] == []


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    written = []
    for folder in (tmp_path / "one", tmp_path / "other"):
        release, _ = run(World(0), folder)
        assert release is not None
        written.append({path.name: path.read_bytes() for path in folder.glob("out*")})
    assert written[0] == written[1]


if __name__ == "__main__":
    with TemporaryDirectory() as scratch:
        found, mistakes = judged(range(int(sys.argv[1])), Path(scratch))
    print(dict(found), *mistakes, sep="\n")
