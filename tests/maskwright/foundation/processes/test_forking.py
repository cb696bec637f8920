"""Processes that are copies of one: prepared once, ended with it, replaced when they are lost."""

from __future__ import annotations

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import copied_functions as functions
import pytest

from maskwright.foundation.processes.child_process import ProcessEndedError, can_fork
from maskwright.foundation.processes.function_pool import FunctionWorkers

pytestmark = pytest.mark.skipif(not can_fork(), reason="processes are copied on Linux only")


def gone(number: int) -> bool:
    """Whether a process is no more, or waits to be asked for its code only."""
    late = time.monotonic() + 30
    while time.monotonic() < late:
        try:
            if Path(f"/proc/{number}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0] == "Z":
                return True
        except OSError:
            return True
        time.sleep(0.05)
    return False


def test_what_is_prepared_is_prepared_once():
    with FunctionWorkers(prepare=functions.prepare) as workers, ThreadPoolExecutor(2) as threads:
        one, other = threads.map(lambda _: workers.call(functions.told, 1.0), range(2))
    assert one[0] != other[0]
    assert one[1:] == other[1:]
    assert len(one[2]) == 1
    assert functions.MADE == []


def test_without_it_each_process_is_started_by_itself():
    with FunctionWorkers() as workers:
        assert workers.call(functions.told)[1:] == (os.getpid(), [])


def test_what_fails_while_preparing_is_for_the_calls_to_say():
    with FunctionWorkers(prepare=functions.fail) as workers:
        assert workers.call(functions.told)[2] == []


def test_all_end_with_the_context():
    with FunctionWorkers(prepare=functions.prepare) as workers:
        number, parent, _ = workers.call(functions.told)
    assert gone(number)
    assert gone(parent)


def test_a_copy_that_is_killed_is_replaced():
    with FunctionWorkers(prepare=functions.prepare, replaced=True) as workers:
        before = workers.call(functions.told)
        with pytest.raises(ProcessEndedError) as ended:
            workers.call(functions.kill)
        assert ended.value.code == -signal.SIGKILL
        after = workers.call(functions.told)
    assert before[0] != after[0]
    assert before[1:] == after[1:]


def test_copies_end_with_the_process_they_were_copied_from_and_another_one_is_started():
    with FunctionWorkers(prepare=functions.prepare, replaced=True) as workers:
        number, parent, made = workers.call(functions.told)
        os.kill(parent, signal.SIGKILL)
        assert gone(number)
        lost = 0
        while True:
            try:
                after = workers.call(functions.told)
                break
            except ProcessEndedError:
                lost += 1
        assert lost <= 2, "once for the copy, once for the process"
    assert after[2] != made


def test_a_copy_has_no_more_memory_than_it_may_have():
    with FunctionWorkers(memory_limit=1 << 29, prepare=functions.prepare, replaced=True) as workers:
        with pytest.raises(MemoryError):
            workers.call(functions.fill)
        assert workers.call(functions.told)
