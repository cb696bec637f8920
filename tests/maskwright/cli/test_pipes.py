"""Rules that a shell gives through a pipe, ``--edits <(...)``; data have to be in a file, and that is said."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest

from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")


def pipe(folder: Path, text: str) -> Path:
    """A pipe without an ending, into which a text is being written."""
    path = folder / "63"
    os.mkfifo(path)
    threading.Thread(target=path.write_text, args=(text,), daemon=True).start()
    return path


def test_rules_come_through_a_pipe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "d.csv").write_text("age\n31\n-4\n", encoding="utf-8")
    assert main(["validate", str(tmp_path / "d.csv"), "--edits", str(pipe(tmp_path, "edits: [age >= 0]"))]) == 1
    assert "1 violation" in capsys.readouterr().out


def test_data_do_not_come_through_a_pipe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rules.yaml").write_text("edits: [age >= 0]", encoding="utf-8")
    os.mkfifo(tmp_path / "63")
    assert main(["validate", str(tmp_path / "63"), "--edits", str(tmp_path / "rules.yaml")]) == 2
    said = capsys.readouterr().err
    assert "is a pipe, and data are read from files" in said
    assert "Write the data to a file" in said
