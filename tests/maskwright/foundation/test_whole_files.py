"""Files that appear whole, and what is left of those that were not finished."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from maskwright.foundation.files import write_text

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no locks that a rename survives")

WRITER = """
import sys, time
from pathlib import Path
from maskwright.foundation.files import write_whole
def write(path):
    path.write_text("half of")
    print("writing", flush=True)
    time.sleep(600)
write_whole(Path(sys.argv[1]), write)
"""


@pytest.fixture
def cut_off(tmp_path: Path):
    """Writer of a file, in the middle of it."""
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path / "table.csv")], stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"writing\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def _age(folder: Path, seconds: float) -> None:
    for path in folder.glob(".*"):
        os.utime(path, (time.time() - seconds,) * 2)


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path: Path, cut_off: subprocess.Popen) -> None:
    """The half of a file under its temporary name does not stay for ever."""
    os.kill(cut_off.pid, signal.SIGKILL)
    cut_off.wait()
    assert len(list(tmp_path.iterdir())) == 1
    _age(tmp_path, 60)
    write_text(tmp_path / "table.csv", "whole")
    assert [path.name for path in tmp_path.iterdir()] == ["table.csv"]


def test_a_living_writer_keeps_its_file(tmp_path: Path, cut_off: subprocess.Popen) -> None:
    """However old it is."""
    assert cut_off.poll() is None
    _age(tmp_path, 60)
    write_text(tmp_path / "table.csv", "whole")
    assert len(list(tmp_path.glob(".*-table.csv"))) == 1


def test_other_files_stay(tmp_path: Path) -> None:
    """Only names that such a file could have, of this very file."""
    names = [".0123abcd-other.csv", ".mine-table.csv", ".0123abcde-table.csv", "0123abcd-table.csv"]
    for name in names:
        (tmp_path / name).write_text("mine")
    _age(tmp_path, 60)
    write_text(tmp_path / "table.csv", "whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([*names, "table.csv"])
