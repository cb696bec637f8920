"""Checks of engines."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from maskwright.foundation.errors import InputError, MaskwrightError
from maskwright.plugins.engine import EngineTerms, ScratchFull, Stage, TaskFailed
from maskwright.plugins.engines import trial_tasks
from maskwright.plugins.guarding.wrapping import guarded
from maskwright.plugins.task import perform, receipt_of
from maskwright.testing.checks import (
    Check,
    ChecksOf,
    Params,
    check_described,
    params_of,
    require,
)
from maskwright.testing.conduct import prints_nothing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from maskwright.plugins.engine import Engine, Receipt, Workers

    Work = Callable[[Path, str], Mapping[str, object]]


KEYS = tuple(f"task-{number:02}" for number in range(12))
MANY = 200


def _checks(engine: Engine, given: Params) -> Iterator[tuple[str, Check]]:
    yield "parameters", partial(params_of, engine, given)
    yield "documented", partial(check_described, engine.name, engine.summary, engine.params)
    for workers in (1, 2):
        yield f"same_receipts_{workers}_workers", partial(_same_receipts, engine, given, workers)
    yield "nothing_to_do", partial(_nothing_to_do, engine, given)
    yield "keys_are_asked_for_as_needed", partial(_few_ahead, engine, given)
    yield "what_is_done_counts", partial(_done_counts, engine, given)
    yield "failing_task_is_named", partial(_failing_named, engine, given)
    yield "errors_for_people_pass", partial(_errors_pass, engine, given)
    yield "full_disk", partial(_full_disk, engine, given)
    yield "prints_nothing", partial(_silent, engine, given)


engine_checks = ChecksOf("engine", _checks)
"""`params` say where, if tests run elsewhere."""


@contextmanager
def _started(engine: Engine, given: Params, workers: int = 2) -> Iterator[tuple[Workers, Path]]:
    """Workers as a run has them, and a folder for them."""
    running = guarded(engine, "engine", "", "")
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name).resolve()
        with running.start(EngineTerms(workers, scratch), params_of(engine, given)) as started:
            yield started, scratch


def _same_receipts(engine: Engine, given: Params, workers: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        stage = Stage("write", trial_tasks.write, Path(name), identity="1")
        expected = [perform(stage, key) for key in KEYS]
    with _started(engine, given, workers) as (started, scratch):
        stage = Stage("write", trial_tasks.write, scratch, identity="1")
        found = list(started.run(stage, iter(KEYS)))
        there = [receipt_of(stage, key) for key in KEYS]
    require([each.key for each in found] == list(KEYS), "receipts must come in the order of the keys")
    require(found == expected, "receipts are not those of the same tasks done one after the other with `perform`")
    require(there == expected, "a task's files and its receipt are not in its folder: call `perform`")


def _nothing_to_do(engine: Engine, given: Params) -> None:
    with _started(engine, given) as (started, scratch):
        found = list(started.run(Stage("write", trial_tasks.write, scratch, identity="1"), ()))
    require(not found, "receipts came, and there was no key")


def _few_ahead(engine: Engine, given: Params) -> None:
    asked = 0

    def keys() -> Iterator[str]:
        nonlocal asked
        for number in range(MANY):
            asked += 1
            yield f"many-{number}"

    with _started(engine, given) as (started, scratch):
        receipts = started.run(Stage("many", trial_tasks.write_anew, scratch, identity="1"), keys())
        next(receipts)
        so_far = asked
        close = getattr(receipts, "close", None)
        if close is not None:
            close()
        after = list(started.run(Stage("after", trial_tasks.write_anew, scratch, identity="1"), KEYS[:2]))
    require(so_far < MANY, "all keys were requested before the first receipt: there may be millions")
    require(len(after) == 2, "no other stage can be run after one that was left in the middle")


def _done_counts(engine: Engine, given: Params) -> None:
    with _started(engine, given) as (started, scratch):
        stage = Stage("anew", trial_tasks.write_anew, scratch, identity="1")
        before = [perform(stage, key) for key in KEYS[:6]]
        found = list(started.run(stage, KEYS))
        again = list(started.run(stage, KEYS))
    require(found[:6] == before, "a task that was done is done again: call `perform`")
    require(again == found, "a stage that was done is done again: call `perform`")


def _failing_named(engine: Engine, given: Params) -> None:
    said = _raised(engine, given, trial_tasks.fail, TaskFailed)
    require(trial_tasks.POISONED in said, "a task that fails must be named")
    require(trial_tasks.MESSAGE not in said, "what a task raised was reported; it may hold values")


def _errors_pass(engine: Engine, given: Params) -> None:
    said = _raised(engine, given, trial_tasks.refuse, InputError)
    require(f"{KEYS[0]}: this is refused" in said, "an error of Maskwright's must come as it was raised")


def _full_disk(engine: Engine, given: Params) -> None:
    _raised(engine, given, trial_tasks.find_no_room, ScratchFull)


def _raised(engine: Engine, given: Params, work: Work, kind: type[MaskwrightError]) -> str:
    """What is said by a run that has to fail; the workers have to end all the same."""
    found: list[Receipt] = []
    with _started(engine, given) as (started, scratch):
        try:
            found.extend(started.run(Stage("failing", work, scratch, identity="1"), KEYS))
        except kind as error:
            return str(error)
    raise AssertionError(f"{len(found)} receipts came, and {kind.__name__} had to")


def _silent(engine: Engine, given: Params) -> None:
    prints_nothing(lambda: _same_receipts(engine, given, 1))
