"""One task of a stage: whole or not at all, done once, damaged results done again, and no value in what is said."""

from __future__ import annotations

import pickle
import stat
import threading
from functools import partial

import pytest
import toy_stages

from maskwright import ScratchFull, Stage, TaskFailed, perform, receipt_of


@pytest.fixture
def log(tmp_path):
    return tmp_path / "log"


@pytest.fixture
def stage(tmp_path, log):
    (tmp_path / "scratch").mkdir()
    return Stage("draw", partial(toy_stages.logged, log=log), tmp_path / "scratch", identity="1")


def test_a_task_that_is_done_is_not_done_again(stage, log):
    receipt = perform(stage, "a")
    assert perform(stage, "a") == receipt == receipt_of(stage, "a")
    assert log.read_text() == "a\n"
    assert sorted(receipt.files) == ["more/note.txt", "values.bin"]
    assert receipt.facts == {"n": 1000, "key": "a"}


def test_only_the_owner_may_read(stage):
    perform(stage, "a")
    for path in stage.scratch.rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)


@pytest.mark.parametrize(
    "damage",
    [
        lambda folder: (folder / "values.bin").write_bytes(b"other"),
        lambda folder: (folder / "values.bin").unlink(),
        lambda folder: (folder / "extra").write_text("x"),
        lambda folder: (folder / "receipt.json").write_text("{"),
        lambda folder: (folder / "receipt.json").write_text("[]"),
        lambda folder: (folder / "receipt.json").unlink(),
        lambda folder: (folder / "receipt.json").write_text(
            (folder / "receipt.json").read_text().replace('"n": 1000', '"n": 1001')
        ),
    ],
)
def test_what_is_damaged_is_done_again(stage, log, damage):
    receipt = perform(stage, "a")
    damage(stage.folder("a"))
    assert receipt_of(stage, "a") is None
    assert perform(stage, "a") == receipt == receipt_of(stage, "a")
    assert log.read_text() == "a\na\n"
    assert [path.name for path in stage.folder("a").parent.iterdir()] == ["a"]


def test_receipts_of_another_identity_do_not_count(stage, log):
    perform(stage, "a")
    other = Stage(stage.name, stage.work, stage.scratch, identity="2")
    assert receipt_of(other, "a") is None
    perform(other, "a")
    assert log.read_text() == "a\na\n"
    assert receipt_of(stage, "a") is None


def test_an_identity_that_is_not_given_is_made_of_the_arguments(tmp_path):
    one, other = (Stage("draw", partial(toy_stages.draw, seed=seed), tmp_path) for seed in (1, 2))
    assert one.fingerprint != other.fingerprint
    assert Stage("draw", partial(toy_stages.draw, seed=1), tmp_path).fingerprint == one.fingerprint
    assert pickle.loads(pickle.dumps(one)).fingerprint == one.fingerprint


def test_two_attempts_at_once_end_well_with_one_result(tmp_path):
    stage = Stage("draw", partial(toy_stages.slowly, log=tmp_path / "log", seconds=0.2), tmp_path, identity="1")
    found = []
    threads = [threading.Thread(target=lambda: found.append(perform(stage, "a"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tmp_path / "log").read_text() == "a\n" * 4
    assert len(found) == 4
    assert all(each == found[0] for each in found)
    assert [path.name for path in (tmp_path / "draw").iterdir()] == ["a"]


def test_failures_are_told_without_the_message(tmp_path):
    stage = Stage("bad", partial(toy_stages.fails, log=tmp_path / "log", poisoned="b"), tmp_path)
    with pytest.raises(TaskFailed, match=r"stage bad, task b: ValueError at toy_stages.py:\d+$") as caught:
        perform(stage, "b")
    assert "123456" not in repr(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    assert not list((tmp_path / "bad").iterdir())


def test_facts_that_are_no_plain_data_are_refused(tmp_path):
    with pytest.raises(TaskFailed, match="stage odd, task a: TypeError"):
        perform(Stage("odd", toy_stages.no_json, tmp_path), "a")


def test_a_full_disk_is_told_with_the_machine_and_leaves_nothing(tmp_path):
    with pytest.raises(ScratchFull, match=r"task a: no room is left on \S+ in "):
        perform(Stage("big", toy_stages.no_room, tmp_path), "a")
    assert not list((tmp_path / "big").iterdir())


@pytest.mark.parametrize("key", ["", "../x", "a/b", ".a", "a" * 101, "a b"])
def test_keys_are_names_of_folders(stage, key):
    with pytest.raises(ValueError, match="name of a task"):
        perform(stage, key)
