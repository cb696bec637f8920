"""Guarded calls beside the table: what a plugin prints, how long it takes, what observers and reports can do."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import maskwright as mw
from maskwright import Claims, Masked, Measure, Method, Partition, Report
from maskwright.cli.main import main
from maskwright.foundation.processes.signals import Interrupted
from maskwright.masking.protecting import processes
from maskwright.plugins.guarding.call import guarded_call
from maskwright.plugins.guarding.origin import Origin

sys.path.insert(0, str(Path(__file__).parent))

import bad_plugins
from bad_onlookers import HARMLESS_OBSERVERS, OBSERVERS, REPORTS
from bad_packages import PACKAGES, BadPackage, hooks, prints_and_offers
from bad_plugins import BadPlugin, module_of

if TYPE_CHECKING:
    import types
    from collections.abc import Callable

    Install = Callable[[Any], None]
    Written = Callable[[str], Path]


def offering(kind: str, plugin: object) -> types.ModuleType:
    return module_of(BadPlugin("", kind, plugin, ""))


def only_input_is_left(path: Path) -> bool:
    return sorted(each.name for each in path.parent.iterdir()) == ["data.csv", "pipeline.yaml"]


def test_what_a_plugin_prints_stays_away_from_json(
    install: Install,
    pipeline: Written,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    install(offering("method", Method(name="spoiler", protect=bad_plugins.prints, claims=Claims(handles_missing=True))))
    with caplog.at_level(logging.INFO, logger="maskwright"):
        assert main(["run", str(pipeline("method")), "--json"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["ok"]
    assert "4711" not in told.err + caplog.text
    assert "method 'spoiler' of package bad 1.2 printed 3 lines" in caplog.text


PACKAGE = """
import os, subprocess
import numpy as np
from maskwright import Claims, Masked, Method, hookimpl
CONTRACT = 2
def protect(block, params, rng):
    os.write(1, b"4711")
    subprocess.run(["echo", "4711"])
    return Masked(block.values + 1.0, block.missing.copy())
@hookimpl
def register_methods():
    return [Method(name="spoiler", protect=protect, claims=Claims(handles_missing=True))]
"""


def in_a_process(pipeline: Path) -> subprocess.CompletedProcess[str]:
    """A run by a process that finds the package among its modules."""
    site = pipeline.parent.with_name("site")
    (site / "bad-1.2.dist-info").mkdir(parents=True)
    (site / "bad.py").write_text(PACKAGE, encoding="utf-8")
    (site / "bad-1.2.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: bad\nVersion: 1.2\n")
    (site / "bad-1.2.dist-info" / "entry_points.txt").write_text("[maskwright]\nbad = bad\n")
    paths = os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH")]))
    return subprocess.run(
        [sys.executable, "-m", "maskwright", "run", str(pipeline), "--json"],
        env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True, timeout=200, check=False,
    )  # fmt: skip


def test_what_programs_of_a_plugin_write_stays_away_from_json(pipeline: Written) -> None:
    done = in_a_process(pipeline("method"))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["ok"]
    assert "4711" not in done.stdout + done.stderr


def test_the_prints_of_a_plugin_are_shown_to_who_looks_for_a_mistake(
    install: Install, pipeline: Written, capsys: pytest.CaptureFixture[str]
) -> None:
    install(offering("method", Method(name="spoiler", protect=bad_plugins.prints, claims=Claims(handles_missing=True))))
    assert main(["run", str(pipeline("method")), "--json", "--traceback"]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["ok"]
    assert "a value of 4711" in told.err


def test_the_message_of_an_exception_is_shown_on_demand_only(
    install: Install, pipeline: Written, capsys: pytest.CaptureFixture[str]
) -> None:
    install(offering("method", Method(name="spoiler", protect=bad_plugins.raises, claims=Claims(handles_missing=True))))
    assert main(["run", str(pipeline("method")), "--traceback"]) == 3
    assert "a value of 4711" in capsys.readouterr().err


def test_the_log_names_places_and_no_values(
    install: Install, pipeline: Written, capsys: pytest.CaptureFixture[str]
) -> None:
    install(offering("method", Method(name="spoiler", protect=bad_plugins.raises, claims=Claims(handles_missing=True))))
    assert main(["run", str(pipeline("method"))]) == 3
    said = capsys.readouterr().err
    log = Path(said.split(" is in ")[1].strip().removesuffix("."))
    text = log.read_text(encoding="utf-8")
    log.unlink()
    assert "method 'spoiler' of package bad 1.2 failed in step 1: KeyError" in text
    assert "bad_plugins.py" in text
    assert "4711" not in text


def test_other_threads_print_as_before(install: Install, pipeline: Written, capsys: pytest.CaptureFixture[str]) -> None:
    """Of two threads only the one that runs a plugin is kept apart."""
    inside, printed = threading.Event(), threading.Event()

    def waits(block, params, rng):
        inside.set()
        printed.wait(60)
        print("from the plugin")
        return bad_plugins.good(block)

    def other() -> None:
        inside.wait(60)
        print("from another thread")
        printed.set()

    install(offering("method", Method(name="spoiler", protect=waits, claims=Claims(handles_missing=True))))
    thread = threading.Thread(target=other)
    thread.start()
    mw.run(pipeline("method"))
    thread.join()
    assert capsys.readouterr().out == "from another thread\n"


def test_an_input_error_of_a_plugin_is_the_users(
    install: Install, pipeline: Written, capsys: pytest.CaptureFixture[str]
) -> None:
    install(
        offering("method", Method(name="spoiler", protect=bad_plugins.deliberate, claims=Claims(handles_missing=True)))
    )
    path = pipeline("method")
    assert main(["run", str(path)]) == 2
    assert "this method needs a variable of role weight" in capsys.readouterr().err
    assert only_input_is_left(path)


@pytest.mark.parametrize("hangs", [bad_plugins.hangs, bad_plugins.hangs_in_a_loop], ids=["asleep", "busy"])
def test_a_method_that_hangs_is_named(
    hangs: Callable[..., Masked], install: Install, pipeline: Written, capsys: pytest.CaptureFixture[str]
) -> None:
    install(offering("method", Method(name="spoiler", protect=hangs, claims=Claims(handles_missing=True))))
    path, before = pipeline("method"), set(threading.enumerate())
    assert main(["run", str(path), "--json", "--set", "execution.plugin_seconds=0.5"]) == 3
    told = capsys.readouterr()
    assert "method 'spoiler' of package bad 1.2 took longer than 0.5 seconds in step 1" in told.err
    assert told.out == ""
    assert only_input_is_left(path)
    left = set(threading.enumerate()) - before
    assert len(left) == 1
    bad_plugins.end_what_hangs()
    for thread in left:
        thread.join(60)
        assert not thread.is_alive()
    assert only_input_is_left(path)


def test_a_partition_that_hangs_is_named_and_not_the_method_that_waits_for_it(
    install: Install, pipeline: Written, capsys: pytest.CaptureFixture[str]
) -> None:
    install(offering("partition", Partition(name="spoiler", cluster=bad_plugins.cluster_hangs)))
    assert main(["run", str(pipeline("partition")), "--set", "execution.plugin_seconds=2"]) == 3
    assert "partition 'spoiler' of package bad 1.2 took longer than 2 seconds in step 1" in capsys.readouterr().err


def test_a_time_limit_changes_no_result(install: Install, pipeline: Written) -> None:
    install(offering("partition", Partition(name="spoiler", cluster=bad_plugins.cluster_fine)))
    path = pipeline("partition")
    masked = path.with_name("masked.csv")
    mw.run(path)
    first = masked.read_bytes()
    mw.run(path, {"execution.plugin_seconds": 300, "execution.workers": 2, "execution.block_size": 20})
    mw.run(path, {"execution.plugin_seconds": 300})
    assert masked.read_bytes() == first


def test_the_running_plugin_stands_in_the_progress_line(install: Install, pipeline: Written) -> None:
    titles: list[str] = []

    class Listener:
        def stage(self, title: str) -> Callable[[float], None]:
            titles.append(title)
            return lambda share: None

        def notice(self, text: str) -> None:
            """Nothing to say."""

    install(offering("method", Method(name="spoiler", protect=bad_plugins.fine, claims=Claims(handles_missing=True))))
    mw.run(pipeline("method"), reporter=Listener())
    assert "Masking, step 1: spoiler (bad 1.2)" in titles


# Pipes to processes that are killed are left to the collector of what nobody needs.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_method_in_a_process_is_named_with_its_step(
    install: Install, pipeline: Written, capsys: pytest.CaptureFixture[str]
) -> None:
    method = Method(name="spoiler", protect=bad_plugins.raises, claims=Claims(handles_missing=True))
    install(offering("method", method))
    settings = ["execution={workers: 2, block_size: 20, processes: true}"]
    path = pipeline("method")
    assert main(["run", str(path), *(word for each in settings for word in ("--set", each))]) == 3
    said = capsys.readouterr().err
    assert "method 'spoiler' of package bad 1.2 failed in step 1: KeyError at bad_plugins.py" in said
    assert "4711" not in said
    assert only_input_is_left(path)


def started_here() -> set[int]:
    """Processes that this one has started and that are there still."""
    return {int(word) for word in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()}


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="processes are counted as Linux tells them")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize(
    "hangs",
    [bad_plugins.hangs, bad_plugins.hangs_in_a_loop, bad_plugins.hangs_with_the_lock],
    ids=["asleep", "busy", "with the lock of the interpreter"],
)
def test_a_method_that_hangs_in_a_process_is_named_and_the_process_is_ended(
    hangs: Callable[..., Masked],
    install: Install,
    pipeline: Written,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A process that cannot say so is waited for in full; the others say so themselves, however busy the machine is.
    monkeypatch.setattr(processes, "SECONDS_TO_SAY_SO", 3.0 if hangs is bad_plugins.hangs_with_the_lock else 20.0)
    install(offering("method", Method(name="spoiler", protect=hangs, claims=Claims(handles_missing=True))))
    path, before = pipeline("method"), started_here()
    execution = "execution={workers: 2, block_size: 20, processes: true, plugin_seconds: 0.5}"
    assert main(["run", str(path), "--json", "--set", execution]) == 3
    told = capsys.readouterr()
    assert "method 'spoiler' of package bad 1.2 took longer than 0.5 seconds in step 1" in told.err
    assert told.out == ""
    assert only_input_is_left(path)
    assert started_here() == before


# Observers.


def test_who_observes_is_in_the_record_with_its_version(install: Install, pipeline: Written) -> None:
    install(module_of(HARMLESS_OBSERVERS[0]))
    record = mw.run(pipeline("report")).record
    assert record["plugins"]["observer after_step of bad"] == {"distribution": "bad", "version": "1.2"}


@pytest.mark.parametrize("bad", OBSERVERS, ids=lambda bad: bad.name)
def test_an_observer_that_changes_anything_is_named(
    bad: BadPlugin, install: Install, pipeline: Written, capsys: pytest.CaptureFixture[str]
) -> None:
    install(module_of(bad))
    path = pipeline("report")
    assert main(["run", str(path), "--json"]) == 3
    told = capsys.readouterr()
    (hook,) = bad.offered
    assert f"observer '{hook}' of package bad 1.2" in told.err
    assert bad.says in told.err
    assert only_input_is_left(path)


@pytest.mark.parametrize("bad", HARMLESS_OBSERVERS, ids=lambda bad: bad.name)
def test_an_observer_changes_nothing_even_through_the_memory(
    bad: BadPlugin,
    install: Install,
    pipeline: Written,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = pipeline("report")
    mw.run(path)
    alone = path.with_name("masked.csv").read_bytes()
    install(module_of(bad))
    mw.run(path)
    assert path.with_name("masked.csv").read_bytes() == alone
    assert capsys.readouterr().out == ""


def test_a_method_that_keeps_its_arrays_does_not_change_its_result_later(install: Install, pipeline: Written) -> None:
    """Results of blocks are taken when they are returned: a buffer that is used again changes none of them."""
    buffer = np.empty((100, 1))

    def same_buffer(block, params, rng):
        buffer[: block.n] = np.where(block.missing, np.nan, block.values * 2.0)
        return Masked(buffer[: block.n], block.missing.copy())

    install(
        offering(
            "method", Method(name="spoiler", protect=same_buffer, scope="variable", claims=Claims(handles_missing=True))
        )
    )
    path = pipeline("method")
    mw.run(path)
    original, masked = mw.read(path.with_name("data.csv")), mw.read(path.with_name("masked.csv"))
    assert sorted(masked["age"].values) == sorted(2 * original["age"].values)
    assert np.nansum(masked["wage"].values) == 2 * np.nansum(original["wage"].values)


# Claims of means and covariances.


def moved(block, params, rng):
    return bad_plugins.good(block)


def kept(block, params, rng):
    return Masked(block.values[::-1].copy(), block.missing[::-1].copy())


@pytest.mark.parametrize(("function", "held"), [(moved, False), (kept, True)])
def test_claims_of_means_and_covariances_are_measured(
    function: Callable[..., Masked], held: bool, install: Install, pipeline: Written
) -> None:
    method = Method(name="spoiler", protect=function, claims=Claims(preserves=frozenset({"mean", "covariance"})))
    install(offering("method", method))
    path = pipeline("method")
    data = path.with_name("data.csv")
    lines = [line for line in data.read_text(encoding="utf-8").splitlines() if ",," not in line]
    data.write_text("\n".join(lines) + "\n", encoding="utf-8")
    notices = [each["message"] for each in mw.run(path).record["notices"]]
    about = [notice for notice in notices if "claims to preserve" in notice]
    assert about == (
        []
        if held
        else [
            "step 1 (spoiler) on age, wage: it claims to preserve means, and the mean of age is another one",
            "step 1 (spoiler) on age, wage: it claims to preserve means, and the mean of wage is another one",
            "step 1 (spoiler) on age, wage: it claims to preserve covariances, and some are others",
        ]
    )


# Reports.


@pytest.mark.parametrize("bad", REPORTS, ids=lambda bad: bad.name)
def test_a_report_cannot_edit_the_record(
    bad: BadPlugin, install: Install, pipeline: Written, capsys: pytest.CaptureFixture[str]
) -> None:
    install(module_of(bad))
    path = pipeline("report")
    assert main(["run", str(path), "--json", "--set", bad.settings[0]]) == 3
    said = capsys.readouterr().err
    assert "report 'spoiler' of package bad 1.2" in said
    assert bad.says in said
    assert only_input_is_left(path)


def test_a_report_gets_neither_the_seed_nor_hashes_of_the_input(install: Install, pipeline: Written) -> None:
    def as_json(path, record):
        assert mw.RunRecord.model_validate(record).seed is None
        path.write_text(json.dumps(record), encoding="utf-8")

    install(offering("report", Report(name="spoiler", write=as_json, suffixes=(".json",))))
    path = pipeline("report")
    record = mw.run(path, {"seed": 987654321, "output.spoiler": "report.json"}).record
    text = path.with_name("report.json").read_text(encoding="utf-8")
    assert record["seed"] == 987654321
    assert "987654321" not in text
    assert all(each["sha256"] not in text for each in record["inputs"])
    assert json.loads(text)["outputs"]["data"]["sha256"] == record["outputs"]["data"]["sha256"]


# Registration.


def test_a_package_that_prints_while_it_registers_does_not_break_json(
    install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install(hooks(register_methods=prints_and_offers))
    assert main(["plugins", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["plugins"]
    assert {"name": "spoiler", "kind": "method", "distribution": "bad", "version": "1.2", "status": "ok",
            "error": None, "conflict": None} in listed  # fmt: skip


@pytest.mark.parametrize("bad", PACKAGES, ids=lambda bad: bad.name)
def test_a_package_that_cannot_be_loaded_is_listed_and_stops_nothing_else(
    bad: BadPackage, install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install(bad.module())
    assert main(["plugins", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["plugins"]
    (broken,) = (each for each in listed if each["status"] == "broken")
    assert broken["distribution"] == "bad"
    assert re.search(bad.says, broken["error"])


def test_measures_are_checked_on_two_files_too(install: Install, tmp_path: Path) -> None:
    data = "age,wage\n" + "".join(f"{age},{100 * age}\n" for age in range(20, 40))
    (tmp_path / "a.csv").write_text(data, encoding="utf-8")
    install(offering("measure", Measure(name="spoiler", compute=bad_plugins.above_its_range, range=(0.0, 100.0))))
    with pytest.raises(mw.PluginFailed, match=r"measure 'spoiler' of package bad 1\.2 returned a value above"):
        mw.measure(mw.read(tmp_path / "a.csv"), mw.read(tmp_path / "a.csv"), ["spoiler"])


def test_a_signal_during_compiled_code_is_no_fault_of_the_plugin() -> None:
    """Compiled code ends with an error of the interpreter then, made from that of the signal."""

    def compiled() -> None:
        raise SystemError("returned a result with an exception set") from Interrupted(15)

    with pytest.raises(Interrupted) as ended:
        guarded_call(Origin("method", "m", "p", "1.0"), compiled)
    assert ended.value.number == 15
    with pytest.raises(mw.PluginFailed):
        guarded_call(Origin("method", "m", "p", "1.0"), _fails)


def _fails() -> None:
    raise SystemError("a fault")
