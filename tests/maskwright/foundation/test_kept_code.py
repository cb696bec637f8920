"""Machine code is kept by what sources say: a change in what a function calls makes it anew, a copy does not."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from maskwright import kernel_cache
from maskwright.foundation.kernel_cache import content_key

if TYPE_CHECKING:
    from pathlib import Path

PACKAGE = {
    "__init__.py": "",
    "callee.py": """
from numba import njit
from maskwright import kernel_cache

@kernel_cache
@njit
def added(value):
    return value + 1
""",
    "constants.py": "FACTOR = 10\n",
    "caller.py": """
from numba import njit
from maskwright import kernel_cache
from toy_kernels.callee import added
from .constants import (
    FACTOR,  # of the sum, not its parts
)

@kernel_cache
@njit
def scaled(value):
    return FACTOR * added(value)
""",
}
PROGRAM = """
from toy_kernels.caller import scaled
print(scaled(1), sum(scaled.stats.cache_hits.values()))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    package = tmp_path / "sources" / "toy_kernels"
    package.mkdir(parents=True)
    for name, text in PACKAGE.items():
        (package / name).write_text(text, encoding="utf-8")
    return package


def said(folder: Path, cache: Path | None = None) -> list[int]:
    """What the function returns in a process of its own, and how often its machine code was found."""
    environment = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    environment["PYTHONPATH"] = os.pathsep.join([str(folder.parent), os.environ.get("PYTHONPATH", "")])
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    if cache is not None:
        environment["NUMBA_CACHE_DIR"] = str(cache)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, env=environment, timeout=120
    )
    return [int(each) for each in done.stdout.split()]


def test_code_is_found_by_copies_and_made_anew_when_what_it_calls_or_a_constant_changes(
    folder: Path, tmp_path: Path
) -> None:
    """A copy has other dates, and may keep its code elsewhere; the constant stands in another file."""
    assert said(folder) == [20, 0]
    copy = tmp_path / "installed" / "toy_kernels"
    copy.parent.mkdir()
    folder.rename(copy)
    for source in copy.glob("*.py"):
        os.utime(source, (1.0, 1.0))
    assert said(copy) == [20, 1]
    assert said(copy, tmp_path / "elsewhere") == [20, 1]
    (copy / "callee.py").write_text(PACKAGE["callee.py"].replace("+ 1", "+ 2"), encoding="utf-8")
    assert said(copy, tmp_path / "elsewhere") == [30, 0]
    assert said(copy, tmp_path / "elsewhere") == [30, 1]
    (copy / "constants.py").write_text("FACTOR = 20\n", encoding="utf-8")
    assert said(copy) == [60, 0]


def test_code_of_the_built_in_kernels_depends_on_the_files_that_they_call() -> None:
    from maskwright_builtin.partitions.mdav import kernel, leaves, search

    # Each is called by the next one.
    keys = [content_key(each.__name__, str(each.__file__)) for each in (leaves, search, kernel)]
    assert len(set(keys)) == 3


def test_what_is_not_compiled_is_left_as_it_is() -> None:
    def plain(value: float) -> float:
        return value

    assert kernel_cache(plain) is plain
