"""Work beside other work: its result and its errors come to who waits, and it never outlives the body."""

from __future__ import annotations

import threading

import pytest

from maskwright.commands.running.background_task import background_task
from maskwright.foundation.errors import InputError


class Stages:
    """Reporter that keeps what it is told."""

    def __init__(self):
        self.told = []

    def stage(self, title):
        return lambda share: self.told.append((title, share))

    def notice(self, text):
        self.told.append(text)


def test_the_result_comes_to_who_waits_and_the_stage_ends():
    def work(progress):
        progress(0.5)
        return 7

    reporter = Stages()
    with background_task(work, "Counting") as counting:
        found = counting.awaited(reporter)

    assert found == 7
    assert reporter.told[-1] == ("Counting", 1.0)


def test_a_share_of_one_is_shown_only_when_the_work_has_ended():
    go, reporter = threading.Event(), Stages()

    def work(progress):
        progress(1.0)
        assert go.wait(60)

    with background_task(work, "Counting") as counting:
        threading.Timer(0.4, go.set).start()
        counting.awaited(reporter)

    assert [share for _, share in reporter.told].count(1.0) == 1


def test_its_error_is_raised_where_it_is_waited_for():
    def work(progress):
        raise InputError("no such column")

    with pytest.raises(InputError, match="no such column"), background_task(work, "Counting") as counting:
        counting.awaited(Stages())


def test_an_error_of_the_body_ends_the_work_and_is_the_one_that_is_raised():
    ended, going_on = threading.Event(), threading.Event()

    def work(progress):
        try:
            while True:
                progress(0.1)
                going_on.set()
        finally:
            ended.set()

    def fails_meanwhile():
        with background_task(work, "Counting"):
            assert going_on.wait(60)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails_meanwhile()

    assert ended.is_set()
