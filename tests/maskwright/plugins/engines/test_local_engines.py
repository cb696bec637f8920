"""Threads and processes: the same receipts and bytes as one task after the other, whatever happens to the workers."""

from __future__ import annotations

import hashlib
import os
from functools import partial

import pytest
import toy_stages

from maskwright import EngineTerms, MemoryFull, ScratchFull, Stage, TaskFailed, perform
from maskwright.foundation.processes.resources import processors
from maskwright.plugins.registry import plugins

KEYS = [f"block-{number:02}" for number in range(20)]


def started(name, scratch, workers, **params):
    engine = plugins().engines[name]
    return engine.start(EngineTerms(workers, scratch), engine.params(**params))


def files_in(folder):
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture
def scratch(tmp_path):
    (tmp_path / "scratch").mkdir()
    return tmp_path / "scratch"


@pytest.fixture
def expected(tmp_path):
    folder = tmp_path / "serial"
    folder.mkdir()
    receipts = [perform(Stage("draw", toy_stages.draw, folder, identity="1"), key) for key in KEYS]
    return receipts, files_in(folder)


# With 1 and 2 workers the checks of the kit look at the same.
@pytest.mark.parametrize(("name", "workers"), [("local", 3), ("processes", 4)])
def test_same_receipts_and_bytes(scratch, expected, name, workers):
    with started(name, scratch, workers) as engine:
        found = list(engine.run(Stage("draw", toy_stages.draw, scratch, identity="1"), iter(KEYS)))
    assert (found, files_in(scratch)) == expected


@pytest.mark.parametrize("name", ["local", "processes"])
def test_order_is_that_of_the_keys_when_later_ones_are_done_first(scratch, tmp_path, name):
    log = tmp_path / "log"
    stage = Stage("slow", partial(toy_stages.first_is_last, log=log), scratch)
    with started(name, scratch, 2) as engine:
        found = [receipt.key for receipt in engine.run(stage, list("01234"))]
    assert found == list("01234")
    assert log.read_text().split().index("2") < log.read_text().split().index("0")


@pytest.mark.parametrize("name", ["local", "processes"])
def test_keys_are_asked_for_as_they_are_needed(scratch, name):
    asked = []

    def keys():
        for number in range(1000):
            asked.append(number)
            yield f"k{number}"

    with started(name, scratch, 2) as engine:
        receipts = engine.run(Stage("draw", toy_stages.draw, scratch), keys())
        assert next(receipts).key == "k0"
        assert len(asked) < 30
        receipts.close()
        assert [each.key for each in engine.run(Stage("draw", toy_stages.draw, scratch), ["other"])] == ["other"]


@pytest.mark.parametrize("name", ["local", "processes"])
def test_what_is_done_is_not_done_again(scratch, tmp_path, name):
    stage = Stage("draw", partial(toy_stages.logged, log=tmp_path / "log"), scratch, identity="1")
    done = [perform(stage, key) for key in KEYS[5:9]]
    with started(name, scratch, 2) as engine:
        found = list(engine.run(stage, KEYS))
    assert found[5:9] == done
    assert sorted((tmp_path / "log").read_text().split()) == KEYS


@pytest.mark.parametrize("name", ["local", "processes"])
def test_a_task_that_always_fails_is_named_after_three_tries(scratch, tmp_path, name):
    log = tmp_path / "log"
    stage = Stage("bad", partial(toy_stages.fails, log=log, poisoned=KEYS[7]), scratch)
    with started(name, scratch, 2) as engine, pytest.raises(TaskFailed) as caught:
        list(engine.run(stage, KEYS))
    said = str(caught.value)
    assert f"stage bad, task {KEYS[7]}: ValueError at toy_stages.py:" in said
    assert "it was tried 3 times" in said
    assert "--resume" in said
    assert "123456" not in said
    assert log.read_text().split() == [KEYS[7]] * 3


def test_a_worker_that_is_killed_twice_is_replaced(scratch, tmp_path, expected):
    work = partial(toy_stages.killed, log=tmp_path / "log", poisoned=KEYS[3], times=2)
    with started("processes", scratch, 2) as engine:
        found = list(engine.run(Stage("draw", work, scratch, identity="1"), KEYS))
    assert [each.files for each in found] == [each.files for each in expected[0]]
    assert len((tmp_path / "log").read_text().split()) == 2
    assert not [path for path in scratch.glob("draw/.*") if KEYS[3] not in path.name]


def test_a_task_that_always_kills_its_worker_is_named_and_no_other(scratch, tmp_path):
    work = partial(toy_stages.killed, log=tmp_path / "log", poisoned=KEYS[3], times=99)
    stage = Stage("draw", work, scratch)
    said = rf"stage draw, task {KEYS[3]}: its process ended by signal 9; it was tried 3 times"
    with started("processes", scratch, 2) as engine, pytest.raises(TaskFailed, match=said):
        list(engine.run(stage, KEYS))
    assert (tmp_path / "log").read_text().split() == [KEYS[3]] * 3


@pytest.mark.parametrize("name", ["local", "processes"])
def test_a_full_disk_ends_the_run(scratch, name):
    with started(name, scratch, 2) as engine, pytest.raises(ScratchFull, match="no room is left on"):
        list(engine.run(Stage("big", toy_stages.no_room, scratch), KEYS))


@pytest.mark.parametrize("workers", [1, 2])
def test_workers_share_the_processors(scratch, workers):
    with started("processes", scratch, workers) as engine:
        found = list(engine.run(Stage("env", toy_stages.process, scratch), KEYS))
    assert os.getpid() not in {each.facts["pid"] for each in found}
    assert {int(each.facts["numba"]) for each in found} == {max(1, processors() // workers)}
    assert {each.facts["numba"] for each in found} == {each.facts["omp"] for each in found}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a limit of Linux")
def test_a_worker_gets_no_more_memory_than_it_may_have(scratch):
    stage = Stage("hog", toy_stages.takes_a_gigabyte, scratch)
    with (
        started("processes", scratch, 1, memory_limit="700MB") as engine,
        pytest.raises(MemoryFull, match=r"(?s)task a: there is not enough memory.*memory_limit"),
    ):
        list(engine.run(stage, ["a"]))
