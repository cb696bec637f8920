"""The kit closes the network while a plugin works, for calls at once too, and opens it again."""

from __future__ import annotations

import socket
import time

import pytest

from maskwright import Report
from maskwright.testing import report_checks


def slowly(path, record):
    time.sleep(0.05)
    path.write_text(f"{record['records']} records")


def asking(path, record):
    socket.create_connection(("127.0.0.1", 9), timeout=1)
    slowly(path, record)


def checks_of(write):
    report = Report(name="tried", write=write, suffixes=(".txt",), summary="Records.")
    return {check.id: check.values[0] for check in report_checks([report])}


def test_it_is_open_again_after_calls_at_once() -> None:
    checks_of(slowly)["tried-concurrent_calls"]()
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname(), timeout=5) as client,
    ):
        assert client.getpeername() == server.getsockname()


@pytest.mark.parametrize("check", ["minimal_record", "concurrent_calls"])
def test_who_connects_is_found(check) -> None:
    with pytest.raises(AssertionError, match="the network was used"):
        checks_of(asking)[f"tried-{check}"]()
