"""When bars appear, and where notices go."""

from __future__ import annotations

import io
import threading
from contextlib import redirect_stderr

import pytest

from maskwright.cli.show.screen import Terminal
from maskwright.foundation.progress import stage

SHOW_CURSOR = "\x1b[?25h"


class FakeTerminal(io.StringIO):
    """Stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


class Clock:
    """Seconds, set by the test."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> FakeTerminal:
    """Stream that says it is a terminal of 90 columns."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "90")
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    return FakeTerminal()


def reporter_on(stream: FakeTerminal, clock: Clock, quiet: bool = False) -> Terminal:
    with redirect_stderr(stream):
        return Terminal(quiet, clock)


def test_short_work_draws_nothing(terminal: FakeTerminal) -> None:
    clock = Clock()
    with stage(reporter_on(terminal, clock), "protecting") as progress:
        for share in (0.1, 0.5, 0.9):
            clock.now += 0.6
            progress(share)
    assert terminal.getvalue() == ""


def test_long_work_draws_a_bar_with_its_title_and_takes_it_away(terminal: FakeTerminal) -> None:
    clock = Clock()
    reporter = reporter_on(terminal, clock)
    with stage(reporter, "protecting") as progress:
        progress(0.1)
        clock.now = 2.0
        progress(0.3)
    drawn = terminal.getvalue()
    assert "protecting" in drawn
    assert "30%" in drawn
    length = len(drawn)
    with stage(reporter, "measuring") as progress:
        progress(0.5)
    assert len(terminal.getvalue()) == length


def test_into_a_pipe_go_notices_and_a_line_of_long_work_now_and_then(capsys: pytest.CaptureFixture[str]) -> None:
    clock = Clock()
    reporter = Terminal(clock=clock)
    with stage(reporter, "protecting") as progress:
        for clock.now in range(10, 130, 10):
            progress(clock.now / 130)
        reporter.notice("id is an [identifier]: dropped")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "protecting: 23% done, about 1 min 40 s left", "protecting: 46% done, about 1 min 10 s left",
        "protecting: 92% done, about 10.0 s left", "id is an [identifier]: dropped",
    ]  # fmt: skip


def test_quiet_says_nothing(terminal: FakeTerminal) -> None:
    clock = Clock()
    reporter = reporter_on(terminal, clock, quiet=True)
    with stage(reporter, "protecting") as progress:
        clock.now = 60.0
        progress(0.5)
    reporter.notice("dropped")
    assert terminal.getvalue() == ""


def test_stages_may_nest_and_report_from_threads(terminal: FakeTerminal) -> None:
    clock = Clock()
    reporter = reporter_on(terminal, clock)
    with stage(reporter, "outer") as outer, stage(reporter, "inner") as inner:
        clock.now = 3.0
        workers = [
            threading.Thread(target=lambda: [report(share / 100) for report in (outer, inner) for share in range(99)])
            for _ in range(4)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        reporter.notice("between bars")
    assert "outer" in terminal.getvalue()
    assert "inner" in terminal.getvalue()
    assert "between bars" in terminal.getvalue()
    assert terminal.getvalue().rstrip().endswith(SHOW_CURSOR)


def test_an_interrupted_stage_takes_its_bar_away(terminal: FakeTerminal) -> None:
    clock = Clock()
    reporter = reporter_on(terminal, clock)

    def work() -> None:
        with stage(reporter, "protecting") as progress:
            clock.now = 5.0
            progress(0.2)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert terminal.getvalue().rstrip().endswith(SHOW_CURSOR)
