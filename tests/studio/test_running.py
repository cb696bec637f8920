"""Runs that are started on the page: the same bytes as the command line's, cancelled without a trace, told truly."""

import html
import os
import re
import signal
import time
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def running(studio, office):
    return studio(office / "pipeline.yaml")


def until(running, *texts, seconds=600):
    """The page's progress, once it shows one of the texts."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        shown = running.ask("/part/run/progress")[2]
        if any(text in shown for text in texts):
            return shown
        time.sleep(0.3)
    raise AssertionError(shown)


def worker_of(running):
    """Process of the job at work, once it is there."""
    end = time.monotonic() + 60
    while (found := _worker_of(running)) is None and time.monotonic() < end:
        time.sleep(0.01)
    return found


def _worker_of(running):
    for each in Path("/proc").glob("[0-9]*"):
        try:
            line = (each / "cmdline").read_bytes()
            parent = (each / "stat").read_text().rsplit(")", 1)[1].split()[1]
        except OSError:
            continue
        if b"maskwright_studio.worker" in line and int(parent) == running.process.pid:
            return int(each.name)
    return None


def test_a_run_writes_the_bytes_of_the_command_line(running, office, command):
    assert command(office, "run", "pipeline.yaml", "--quiet")[0] == 0
    expected = (office / "masked.csv").read_bytes()
    (office / "masked.csv").unlink()
    assert running.act("/run/start")["say"] == "The run has begun."
    shown = until(running, "Released", "problems")
    assert "the edit holds in 60 masked records" in shown
    assert '<th scope="row">sse</th>' in shown
    assert (office / "masked.csv").read_bytes() == expected
    assert (office / "masked.csv").stat().st_mode & 0o077 == 0
    assert "report.html" in running.view("/report")


def test_a_cancelled_run_leaves_nothing(running, office):
    content = b"of an earlier run"
    (office / "masked.csv").write_bytes(content)
    before = sorted(path.name for path in office.iterdir())
    said = ""
    while "nothing was released" not in said:
        # A run that is done before it is cancelled says so, and what it put in place.
        (office / "masked.csv").write_bytes(content)
        running.act("/run/start")
        until(running, "<li")
        said = running.act("/run/cancel")["say"]
        shown = until(running, "Cancelled", "Released")
        is_replaced = (office / "masked.csv").read_bytes() != content
        assert is_replaced == ("Cancelled; nothing was released" not in shown) == ("nothing was released" not in said)
    assert sorted(path.name for path in office.iterdir()) == before
    assert running.act("/run/cancel")["wrong"]


def test_one_run_at_a_time(running):
    running.act("/run/start")
    os.kill(worker_of(running), signal.SIGSTOP)
    assert "still at work" in running.act("/run/start")["say"]
    os.kill(worker_of(running), signal.SIGCONT)
    running.act("/run/cancel")


def test_a_killed_worker_is_said_and_the_next_run_works(running):
    running.act("/run/start")
    os.kill(worker_of(running), signal.SIGKILL)
    assert "ended from outside" in until(running, "ended from outside", "Released")
    running.act("/run/start")
    assert "Released" in until(running, "Released", "problems")


def test_a_refused_run_says_why(running, office):
    text = (office / "pipeline.yaml").read_text()
    try:
        (office / "pipeline.yaml").write_text(text + "thresholds: {sse: 0}\n")
        answer = running.act("/run/start")
        assert "changed outside" in answer["say"]
        assert running.act("/open/read_again")["say"] == "pipeline.yaml was read again."
        running.act("/run/start")
        shown = until(running, "Not released", "Released")
        assert "sse is" in shown
        running.act("/open/undo")
        assert (office / "pipeline.yaml").read_text() == text
        assert running.act("/open/undo")["wrong"]
        running.act("/open/redo")
        assert (office / "pipeline.yaml").read_text() != text
        running.act("/open/undo")
    finally:
        (office / "pipeline.yaml").write_text(text)


def test_a_doubt_that_masking_raised_is_waived_on_the_page(running, office):
    text = (office / "pipeline.yaml").read_text()
    rounding = text.replace("microaggregation", "rounding").replace("k: 5", "base: 10")
    try:
        (office / "pipeline.yaml").write_text(rounding)
        running.act("/open/read_again")
        running.act("/run/start")
        shown = until(running, "Not released", "Released", "not end well")
        number = re.search(r"<h2>(\d+)\. ", shown)[1]
        assert "Doubts that stopped the release" in shown
        form = {"job": number, "doubt": re.search('name="doubt" value="([^"]+ tax)"', shown)[1]}
        assert "with a reason" in running.act("/run/waive", **form, because=" ")["say"]
        proposed = running.act("/run/waive", **form, because="it is in tens")["html"]
        assert "variable: tax" in proposed
        assert "because: it is in tens" in proposed
        assert (office / "pipeline.yaml").read_text() == rounding
        assert "no such doubt" in running.act("/run/waive", **form | {"doubt": "W301 age"}, because="so")["say"]
        fields = {name: html.unescape(value) for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', proposed)}
        assert not running.act("/pipeline/save", **fields)["wrong"]
        after = running.ask("/part/run/progress")[2]
        assert after.count("Waived in pipeline.yaml since") == 1
        assert f'value="{form["doubt"]}"' not in after, "a doubt is waived once"
        assert after.count("Why it may be published") == shown.count("Why it may be published") - 1
        running.act("/open/undo")
        assert "Waived in" not in running.ask("/part/run/progress")[2]
        assert f'href="/run?job={number}"' in running.view("/run")
        assert running.view("/run?job=1").count("<h2>1. ") == 1
        assert "no work 99" in running.view("/run?job=99")
    finally:
        (office / "pipeline.yaml").write_text(text)
        running.act("/open/read_again")


def test_a_mistake_in_the_pipeline_has_its_place(running, office):
    text = (office / "pipeline.yaml").read_text()
    try:
        (office / "pipeline.yaml").write_text(text.replace("k: 5", "kk: 5"))
        running.act("/open/read_again")
        running.act("/run/start")
        shown = until(running, "It did not end well", "Released")
        assert '<a href="/pipeline?line=10">line 10, column' in shown
        assert "exit code 2" in shown
    finally:
        (office / "pipeline.yaml").write_text(text)
        running.act("/open/read_again")


def test_the_worker_ends_with_the_studio(studio, office):
    running = studio(office / "pipeline.yaml")
    running.act("/run/start")
    worker = worker_of(running)
    assert worker is not None
    running.process.kill()
    running.process.wait(10)
    end = time.monotonic() + 20
    while Path(f"/proc/{worker}").exists() and time.monotonic() < end:
        time.sleep(0.1)
    assert not Path(f"/proc/{worker}").exists()
    assert not list(office.glob(".maskwright-*"))
