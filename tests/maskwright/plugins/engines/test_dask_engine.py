"""Dask: the same receipts and bytes; workers that are killed or unfit; schedulers that are not there or get lost."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from functools import partial
from importlib.metadata import version

import pytest
import toy_stages
from test_local_engines import KEYS, files_in

from maskwright import EngineLost, EngineTerms, InputError, ScratchFull, Stage, TaskFailed, perform
from maskwright.plugins.registry import needed_packages, plugins
from maskwright_builtin.engines.dask_cluster import check_processors, processor
from maskwright_builtin.engines.dask_engine import _attempt

pytest.importorskip("distributed")
pytestmark = [pytest.mark.filterwarnings("default"), pytest.mark.usefixtures("no_sockets_of_dask")]


def started(scratch, workers=2, packages=None, **params):
    engine = plugins().engines["dask"]
    return engine.start(EngineTerms(workers, scratch, packages or {}), engine.params.model_validate(params))


@pytest.fixture(autouse=True)
def _workers_find_the_toys(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))


@pytest.fixture
def scratch(tmp_path):
    (tmp_path / "scratch").mkdir()
    return tmp_path / "scratch"


def test_a_worker_killed_in_the_middle_changes_nothing(scratch, tmp_path):
    serial = tmp_path / "serial"
    serial.mkdir()
    expected = [perform(Stage("draw", toy_stages.draw, serial, identity="1"), key) for key in KEYS]
    log = tmp_path / "log"
    work = partial(toy_stages.killed, log=log, poisoned=KEYS[3], times=1)
    with started(scratch) as engine:
        found = list(engine.run(Stage("draw", work, scratch, identity="1"), iter(KEYS)))
    assert [each.files for each in found] == [each.files for each in expected]
    assert log.read_text() == f"{KEYS[3]}\n"


def test_same_receipts_and_bytes_of_another_process(scratch, tmp_path):
    serial = tmp_path / "serial"
    serial.mkdir()
    expected = [perform(Stage("draw", toy_stages.draw, serial, identity="1"), key) for key in KEYS]
    with started(scratch, 1, needed_packages()) as engine:
        found = list(engine.run(Stage("draw", toy_stages.draw, scratch, identity="1"), iter(KEYS)))
        environment = list(engine.run(Stage("env", toy_stages.process, scratch), KEYS[:4]))
    assert found == expected
    assert files_in(scratch / "draw") == files_in(serial / "draw")
    assert os.getpid() not in {each.facts["pid"] for each in environment}


def test_workers_that_are_killed_each_time_and_tasks_that_fail_name_the_task(scratch, tmp_path):
    kills = Stage("kills", partial(toy_stages.killed, log=tmp_path / "log", poisoned=KEYS[3], times=99), scratch)
    fails = Stage("fails", partial(toy_stages.fails, log=tmp_path / "fails", poisoned=KEYS[5]), scratch)
    full = Stage("full", toy_stages.no_room, scratch)
    with started(scratch) as engine:
        with pytest.raises(TaskFailed, match=f"stage kills, task {KEYS[3]}: 3 workers ended over it"):
            list(engine.run(kills, KEYS))
        with pytest.raises(TaskFailed, match=f"stage fails, task {KEYS[5]}: ValueError at .*it was tried 3 times"):
            list(engine.run(fails, KEYS))
        with pytest.raises(ScratchFull, match="stage full, task block-00: no room is left on"):
            list(engine.run(full, KEYS))
    assert (tmp_path / "log").read_text().split() == [KEYS[3]] * 3
    assert (tmp_path / "fails").read_text().split() == [KEYS[5]] * 3


def refused(scratch, workers=1, packages=None, **params):
    """What is said when the engine does not start."""
    with pytest.raises(InputError) as caught, started(scratch, workers, packages, **params):
        pass
    return str(caught.value)


def test_workers_with_another_version_are_refused_with_both(scratch):
    said = refused(scratch, packages={"numpy": "0.0.1"})
    assert f"has numpy {version('numpy')}, and numpy 0.0.1 is at work here" in said
    assert "numpy==0.0.1" in said


def test_workers_without_a_package_are_refused_by_its_name(scratch):
    said = refused(scratch, packages={"maskwright-noise": "1.2"})
    assert "has no package maskwright-noise, and maskwright-noise 1.2 is at work here" in said


class OtherProcessors:
    """A client of workers whose processors are not this one."""

    def __init__(self, change):
        self.change = change

    def run(self, function, on_error):
        return {"tls://node1:4000": function(), "tls://node2:4000": self.change(function())}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda own: own[:-1], f"node2:4000 lacks {processor()[-1]}, unlike this one"),
        (lambda own: (*own, "avx1024"), "node2:4000 also has avx1024, unlike this one"),
        (lambda own: ("vax", *own[1:]), f"node2:4000 lacks {processor()[0]} and also has vax"),
        (lambda own: ValueError("no processor"), "node2:4000 lacks"),
    ],
)
def test_workers_with_other_processors_are_refused_by_their_instructions(change, said):
    with pytest.raises(InputError, match=r"(?s)other_processors: true") as caught:
        check_processors(OtherProcessors(change))
    assert said in str(caught.value)
    check_processors(OtherProcessors(lambda own: own))


def test_a_worker_that_joins_late_with_another_processor_is_refused():
    with pytest.raises(InputError, match=r"joined late has a processor with other instructions"):
        raise _attempt("no file", "a", (), "another kind")


def test_a_running_cluster_is_asked_for_its_processors_unless_others_are_declared(scratch, tmp_path, monkeypatch):
    def unlike(client):
        raise InputError("other processors")

    monkeypatch.setattr("maskwright_builtin.engines.dask_engine.check_processors", unlike)
    with Machines(tmp_path, "tcp") as machines:
        assert "other processors" in refused(scratch, address=machines.address)
        with started(scratch, 1, address=machines.address, other_processors=True):
            pass


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def test_no_scheduler_answers(scratch):
    address = f"tcp://127.0.0.1:{free_port()}"
    assert f"no Dask scheduler answers at {address} (" in refused(scratch, address=address, connect_seconds=1)


@pytest.mark.parametrize("address", ["tcp://node1:8786", "tcp://10.0.0.7:8786", "node1:8786", "ws://127.0.0.1:1"])
def test_what_is_not_encrypted_is_refused_off_this_machine(scratch, address):
    said = refused(scratch, address=address)
    assert "is not encrypted, and not on this machine" in said
    assert "tls: {ca: FILE" in said


def test_keys_that_are_not_there(scratch):
    tls = dict.fromkeys(("ca", "cert", "key"), str(scratch / "no.pem"))
    assert "tls: there is no file" in refused(scratch, address="tls://node1:8786", tls=tls)


def test_an_encrypted_address_without_keys(scratch):
    said = refused(scratch, address="tls://127.0.0.1:8786")
    assert "a tls:// address needs keys" in said
    assert "tls: {ca: FILE, cert: FILE, key: FILE}" in said


def test_files_of_schedulers(scratch, tmp_path):
    (tmp_path / "s.json").write_text('{"address": "tcp://node1:8786"}')
    assert "'tcp://node1:8786' is not encrypted" in refused(scratch, scheduler_file=str(tmp_path / "s.json"))
    assert "there is no scheduler file" in refused(scratch, scheduler_file=str(tmp_path / "none.json"))


def test_what_workers_need_is_maskwright_and_what_computes_for_it():
    needed = needed_packages()
    assert needed["maskwright"] == version("maskwright")
    assert {"numpy", "numba", "pyarrow"} <= set(needed)


class Machines:
    """A scheduler and a worker, as an office has them: processes of their own."""

    def __init__(self, folder, protocol, *options):
        self.address = f"{protocol}://127.0.0.1:{free_port()}"
        self.folder, self.options = folder, options
        self.processes = []

    def start(self):
        self.begin("scheduler", "--host", self.address, "--no-dashboard", "--no-show")
        self.wait()
        self.begin("worker", self.address, "--nthreads", "1", "--no-dashboard", "--no-nanny", "--death-timeout", "60")

    def wait(self):
        """Until somebody listens."""
        end = time.monotonic() + 120
        while time.monotonic() < end:
            try:
                socket.create_connection(("127.0.0.1", int(self.address.rpartition(":")[2])), 1).close()
            except OSError:
                time.sleep(0.1)
            else:
                return

    def begin(self, *command):
        command = [sys.executable, "-m", "dask", *command, *self.options]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": self.folder}
        self.processes.append(subprocess.Popen(command, **quiet))

    def kill(self):
        for process in self.processes:
            process.send_signal(signal.SIGKILL)
            process.wait()
        self.processes.clear()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.kill()


@pytest.fixture
def keys_of_tls(tmp_path):
    """A certificate that has signed itself."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl makes the certificate")
    names = [f"{tmp_path}/key.pem", f"{tmp_path}/cert.pem"]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=maskwright"]
    subprocess.run([*command, "-keyout", names[0], "-out", names[1]], check=True, capture_output=True)
    return {"ca": names[1], "cert": names[1], "key": names[0]}


def test_a_running_cluster_is_spoken_to_with_tls(scratch, tmp_path, keys_of_tls):
    files = ["--tls-ca-file", keys_of_tls["ca"], "--tls-cert", keys_of_tls["cert"], "--tls-key", keys_of_tls["key"]]
    with Machines(tmp_path, "tls", *files) as machines:
        options = {"address": machines.address, "tls": keys_of_tls}
        with started(scratch, 1, needed_packages(), **options) as engine:
            found = list(engine.run(Stage("draw", toy_stages.draw, scratch), KEYS[:5]))
        assert [each.key for each in found] == KEYS[:5]
        assert "needs keys" in refused(scratch, address=machines.address, connect_seconds=2)


def test_a_scheduler_that_is_started_again_gets_what_is_left(scratch, tmp_path):
    log = tmp_path / "log"
    stage = Stage("slow", partial(toy_stages.slowly, log=log, seconds=0.2), scratch, identity="1")
    keys = KEYS[:8]
    with Machines(tmp_path, "tcp") as machines, started(scratch, 1, address=machines.address) as engine:
        receipts = engine.run(stage, keys)
        found = [next(receipts)]
        machines.kill()
        machines.start()
        found.extend(receipts)
    assert [each.key for each in found] == keys
    assert len(log.read_text().split()) <= len(keys) + 1


def test_a_scheduler_that_stays_away_ends_the_run(scratch, tmp_path):
    stage = Stage("slow", partial(toy_stages.slowly, log=tmp_path / "log", seconds=0.2), scratch, identity="1")
    with Machines(tmp_path, "tcp") as machines, started(scratch, 1, address=machines.address) as engine:
        receipts = engine.run(stage, KEYS)
        next(receipts)
        machines.kill()
        # Nobody will answer: only what starts needs its time.
        cluster = engine._workers
        cluster._params = cluster._params.model_copy(update={"connect_seconds": 2.0})
        with pytest.raises(EngineLost, match=r"(?s)was lost.*--resume goes on from there"):
            list(receipts)
