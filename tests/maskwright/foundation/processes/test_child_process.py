"""A process that is asked: it may hang, crash or talk nonsense, and whoever asks goes on."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING

import pytest

from maskwright.foundation.processes.child_process import ChildProcess, ProcessEndedError

if TYPE_CHECKING:
    from pathlib import Path

MODULE = """
import json, os, signal, sys, time
if sys.argv[1:] == ["deaf"]:
    time.sleep(600)
for line in sys.stdin:
    request = json.loads(line)
    match request:
        case "hang":
            time.sleep(600)
        case "leave":
            sys.exit(3)
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "die while answering":
            os.write(1, b'{"half": ')
            os.kill(os.getpid(), signal.SIGKILL)
        case "nonsense":
            print("Traceback, said the plugin")
        case "bytes":
            os.write(1, bytes([255, 254, 10]))
        case "environment":
            print(json.dumps(sorted(os.environ)))
        case "silent":
            continue
        case _:
            print(json.dumps({"echo": request, "arguments": sys.argv[1:]}))
    sys.stdout.flush()
"""


@pytest.fixture
def start(tmp_path: Path):
    (tmp_path / "echoing.py").write_text(MODULE)
    started = []

    def begin(*arguments: str) -> ChildProcess:
        started.append(ChildProcess("echoing", *arguments, environment={"PYTHONPATH": str(tmp_path)}))
        return started[-1]

    yield begin
    for process in started:
        process.end()


def test_requests_and_answers(start) -> None:
    with start("a", "b") as process:
        process.tell("silent")
        for request in ({"x": "é\n\u2028"}, [1, None, 2.5], "x" * 1_000_000):
            assert process.ask(request, 60.0) == {"echo": request, "arguments": ["a", "b"]}
        assert process.ask(7) == {"echo": 7, "arguments": ["a", "b"]}


def test_nothing_of_our_environment_is_handed_on(start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MASKWRIGHT_CANARY", "1")
    assert "MASKWRIGHT_CANARY" not in start().ask("environment", 60.0)


@pytest.mark.parametrize(
    ("request_", "code", "said"),
    [
        ("leave", 3, "ended with code 3"),
        ("die", -9, "ended by signal 9"),
        ("die while answering", -9, "ended by signal 9"),
        ("nonsense", None, "gave an answer that is no JSON"),
        ("bytes", None, "gave an answer that is no JSON"),
    ],
)
@pytest.mark.parametrize("seconds", [None, 60.0])
def test_a_process_that_fails_is_told_and_gone(start, request_: str, code, said: str, seconds) -> None:
    process = start()
    with pytest.raises(ProcessEndedError) as raised:
        process.ask(request_, seconds)
    assert (raised.value.code, str(raised.value)) == (code, said)
    with pytest.raises(ProcessEndedError):
        process.ask("again", seconds)


@pytest.mark.parametrize(
    ("argument", "message"),
    [("", "hang"), ("deaf", "x"), ("deaf", "x" * 1_000_000)],
    ids=["hangs", "deaf", "pipe full"],
)
def test_the_time_limit_ends_the_process(start, argument: str, message: str) -> None:
    process = start(argument)
    with pytest.raises(TimeoutError):  # it would sleep for longer than a test may take
        process.ask(message, 0.5)
    with pytest.raises(ProcessEndedError):
        process.ask("again", 0.5)


def test_a_process_that_hangs_can_be_ended_from_outside(start) -> None:
    process = start()
    assert process.ask("ready")["echo"] == "ready"
    failures = []

    def wait() -> None:
        try:
            process.ask("hang")
        except ProcessEndedError as ended:
            failures.append(ended)

    waiting = threading.Thread(target=wait)
    waiting.start()
    time.sleep(0.2)
    process.end()
    process.end()
    waiting.join(10)
    assert not waiting.is_alive()
    assert len(failures) == 1


def test_leaving_the_block_ends_the_process(start) -> None:
    with start() as process:
        pid = process._process.pid
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
