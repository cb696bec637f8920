"""The process that holds the data: counts as the commands give them, told when it is killed, gone with the studio."""

import json
import os
import re
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import maskwright as mw


@pytest.fixture(scope="module")
def running(studio, office):
    return studio(office / "pipeline.yaml")


def data_process_of(running):
    for each in Path("/proc").glob("[0-9]*"):
        try:
            line = (each / "cmdline").read_bytes()
            parent = (each / "stat").read_text().rsplit(")", 1)[1].split()[1]
        except OSError:
            continue
        if b"maskwright_studio.data_worker" in line and int(parent) == running.process.pid:
            return int(each.name)
    return None


def until_read(running, part):
    """A part of a page, once it no longer says how far the reading is."""
    return running.settled(f"/part{part}")


def test_variables_are_shown_in_counts(running):
    shown = until_read(running, "/variables/every")
    assert "60 records" in shown
    assert re.search(r"[1-9]\d* MB of memory", shown)
    assert shown.count("<tr>") == 5
    assert "quasi_identifier" in shown


def test_values_stand_behind_a_click(running):
    shown = until_read(running, "/variables/one?name=tax")
    assert "Show values of records" in shown
    assert "590" not in shown
    assert "590" in until_read(running, "/variables/one?name=tax&values=shown")


def test_the_bars_count_all_records(running):
    shown = until_read(running, "/variables/one?name=age")
    counts = [int(each) for each in re.findall(r'<td class="number">(\d+)</td>', shown)]
    assert sum(counts) == 60


def test_counts_of_a_rule_are_those_of_the_command(running, office, command):
    for rule in ("gross == net + tax", "tax >= 100", "if age < 30 then gross < 500", "net in original"):
        (office / "one.yaml").write_text(f"edits: ['{rule}']\n", encoding="utf-8")
        _, said = command(office, "validate", "people.csv", "--edits", "one.yaml", "--original", "people.csv", "--json")
        (counted,) = json.loads(said)["edits"]
        shown = running.act("/rules/count", rule=rule)["html"]
        violated = f"Violated in {counted['violations'] or 'none'}"
        assert violated in shown
        assert f"unknown in {counted['unknown']} of the {counted['fired']} records" in " ".join(shown.split())


def test_a_wrong_rule_is_told_with_the_nearest_name(running):
    shown = running.act("/rules/count", rule="gros == net")["html"]
    assert "No variable called" in shown
    assert "did you mean" in shown
    assert "argument" not in shown


def test_rules_are_listed_with_conflicts_by_name(running, office):
    text = (office / "pipeline.yaml").read_text()
    try:
        (office / "pipeline.yaml").write_text(
            text.replace("protect:", "  - {name: old, rule: age > 99}\n  - {name: young, rule: age < 20}\nprotect:")
        )
        assert "changed outside" in running.ask("/part/rules/every")[2]
        running.act("/open/read_again")
        shown = until_read(running, "/rules/every")
        assert "Conflict: no record can satisfy old and young together" in shown
        assert "edit-1 binds gross" in shown
    finally:
        (office / "pipeline.yaml").write_text(text)
        running.act("/open/read_again")


def test_suggestions_are_those_of_the_library(running, office):
    data = mw.pipeline_data(office / "pipeline.yaml")
    expected = [each.rule for each in mw.suggest(data, mw.pipeline_edits(office / "pipeline.yaml")).found]
    assert expected
    assert re.findall(r' value="([^"]+)"', until_read(running, "/rules/suggestions")) == expected


def test_a_process_that_does_not_hear_that_it_is_cancelled_is_ended(running, office):
    until_read(running, "/variables/every")
    first = data_process_of(running)
    os.kill(first, signal.SIGSTOP)
    shown = running.ask("/part/variables/one?name=net&values=shown")[2]
    number = re.search(r'act/open/cancel" name="number" value="(\d+)"', shown)[1]
    assert running.act("/open/cancel", number=number)["say"] == "It is cancelled."
    assert "This was cancelled" in running.ask("/part/variables/one?name=net&values=shown")[2]
    while Path(f"/proc/{first}").exists():
        time.sleep(0.05)
    assert "60 records" in until_read(running, "/variables/every")
    running.act("/open/compute_again")
    assert "Hide values" in until_read(running, "/variables/one?name=net&values=shown")


def test_a_killed_data_process_is_said_and_started_again(running):
    until_read(running, "/variables/every")
    first = data_process_of(running)
    os.kill(first, signal.SIGKILL)
    while Path(f"/proc/{first}").exists():
        time.sleep(0.01)
    shown = running.ask("/part/variables/one?name=gross")[2]
    assert "ended from outside" in shown
    assert "60 records" in until_read(running, "/variables/every")
    assert data_process_of(running) != first


def test_changed_data_are_read_again(running, office):
    until_read(running, "/variables/every")
    content = (office / "people.csv").read_text()
    try:
        (office / "people.csv").write_text(content + "77,10,4,6\n")
        assert "61 records" in until_read(running, "/variables/every")
        (office / "people.csv").unlink()
        assert "people.csv" in until_read(running, "/variables/every")
    finally:
        (office / "people.csv").write_text(content)
    assert "60 records" in until_read(running, "/variables/every")


def test_an_answer_that_another_pipeline_prevents_is_told_by_its_name(studio, office):
    (office / "other.yaml").write_bytes((office / "pipeline.yaml").read_bytes())
    running = studio(office / "pipeline.yaml")
    with ThreadPoolExecutor(1) as tab:
        counting = tab.submit(running.act, "/rules/count", rule="gross == net + tax")
        while (first := data_process_of(running)) is None:
            time.sleep(0.01)
        os.kill(first, signal.SIGSTOP)  # so that it does not answer before the other one is opened
        assert not running.act("/open/choose", pipeline="other.yaml")["wrong"]
        running.ask("/part/variables/every")
        shown = counting.result(timeout=120)["html"]
    assert "other.yaml was opened meanwhile, so the data of pipeline.yaml are no longer held" in shown
    assert "ended from outside" not in shown
    assert "60 records" in until_read(running, "/variables/every")


def test_the_data_process_ends_with_the_studio(studio, office):
    running = studio(office / "pipeline.yaml")
    until_read(running, "/variables/every")
    child = data_process_of(running)
    assert child is not None
    running.process.kill()
    running.process.wait(10)
    end = time.monotonic() + 5
    while Path(f"/proc/{child}").exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert not Path(f"/proc/{child}").exists()
