"""What is kept of a pipeline: nothing is lost where two write, and a full disk is a sentence."""

import errno
import os

import pytest

from maskwright_studio.pipeline_file import PipelineFile
from maskwright_studio.refusal import Refusal


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "pipeline.yaml"
    path.write_text("seed: 1\n", "utf-8")
    return path


def full(*_):
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_leaves_the_file_as_it_is(path, monkeypatch):
    pipeline = PipelineFile(path)
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(Refusal, match="No space left on device; it is as it was"):
        pipeline.save("seed: 2\n", "seed: 1\n")
    assert path.read_text("utf-8") == pipeline.text == "seed: 1\n"
    assert [each.name for each in path.parent.iterdir()] == ["pipeline.yaml"]


def test_a_history_that_cannot_be_kept_is_said_and_the_change_is_saved(path, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    pipeline = PipelineFile(path)
    pipeline.save("seed: 2\n", "seed: 1\n")
    assert "could not be kept" in pipeline.history.problem
    pipeline.undo()
    assert path.read_text("utf-8") == "seed: 1\n"


def test_versions_of_two_studios_are_kept(path):
    one, other = PipelineFile(path), PipelineFile(path)
    one.save("seed: 2\n", "seed: 1\n")
    other.read_again()
    other.save("seed: 3\n", "seed: 2\n")
    one.read_again()
    assert {"seed: 1\n", "seed: 2\n", "seed: 3\n"} <= set(PipelineFile(path).versions)


def test_a_damaged_history_is_no_history(path):
    pipeline = PipelineFile(path)
    pipeline.save("seed: 2\n", "seed: 1\n")
    pipeline.history.file.write_text("{", "utf-8")
    assert PipelineFile(path).versions == ["seed: 2\n"]


def test_old_versions_are_let_go(path):
    pipeline = PipelineFile(path)
    for seed in range(300):
        pipeline.save(f"seed: {seed}\n", pipeline.text)
    assert len(PipelineFile(path).versions) == 200
    assert pipeline.text == "seed: 299\n"
