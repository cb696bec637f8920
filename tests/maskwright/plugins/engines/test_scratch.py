"""The scratch folder: for its owner only, one run at a time, removed at the end, kept where a run may go on from it."""

from __future__ import annotations

import errno
import os
import signal
import stat

import pytest

from maskwright import EngineLost, InputError, ScratchFull, TaskFailed
from maskwright.foundation.processes.signals import signals_handled
from maskwright.release.files import writing
from maskwright.release.work_folders import make_staging, others, scratch_folder


class Told:
    """Keeps what it is told."""

    def __init__(self):
        self.notices = []

    def notice(self, text):
        self.notices.append(text)


@pytest.fixture
def told():
    return Told()


@pytest.fixture
def scratch(tmp_path, told):
    def make(identity="1", *, resume=False, output="masked.parquet"):
        return scratch_folder(tmp_path, tmp_path / output, identity, resume=resume, reporter=told)

    return make


def left_by(scratch, end, **options):
    """What a run leaves that ends with an error, or with a call."""
    found = []

    def run():
        with scratch(**options) as folder:
            found.append(folder.path)
            (folder.path / "block").mkdir()
            (folder.path / "block" / "x").write_text("1")
            if isinstance(end, BaseException):
                raise end
            end(folder)

    with pytest.raises((Exception, KeyboardInterrupt)), signals_handled():
        run()
    return found[0]


def test_it_is_private_and_gone_at_the_end(scratch, tmp_path, told):
    with scratch() as folder:
        assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
        (folder.path / "block").mkdir()
        (folder.path / "block" / "x").write_text("1")
    assert not list(tmp_path.iterdir())
    assert not told.notices


def test_a_folder_that_is_made_is_said(tmp_path, told):
    """A name may be mistyped; the folder of the masked data is no other one."""
    where, output = tmp_path / "elsewhere", tmp_path / "out" / "masked.parquet"
    for parent in (where, where, output.parent):
        with scratch_folder(parent, output, "1", resume=False, reporter=told):
            pass
    assert told.notices == [f"there was no folder {where}: it is made for what the tasks write on the way"]


@pytest.mark.parametrize("error", [ValueError("x"), InputError("x"), KeyboardInterrupt()])
def test_errors_and_interrupts_leave_nothing(scratch, tmp_path, error):
    left_by(scratch, error)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_leave_nothing(scratch, tmp_path, number):
    left_by(scratch, lambda folder: signal.raise_signal(number))
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_leave_what_is_finished_where_the_run_was_to_be_resumed(scratch, number):
    path = left_by(scratch, lambda folder: signal.raise_signal(number), resume=True)
    with scratch(resume=True) as folder:
        assert folder.path == path
        assert (path / "block" / "x").read_text() == "1"


def test_what_is_finished_is_kept_where_the_masked_data_find_no_room(scratch, tmp_path):
    def full(folder):
        with writing(tmp_path / "masked.parquet"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = left_by(scratch, full)
    with scratch(resume=True) as folder:
        assert folder.path == path


@pytest.mark.parametrize("error", [TaskFailed("x"), EngineLost("x"), ScratchFull("x")])
def test_what_is_finished_is_kept_where_a_run_may_go_on(scratch, told, error):
    path = left_by(scratch, error)
    assert told.notices == [f"what is finished is kept in {path}, which holds confidential data; --resume uses it"]
    with scratch(resume=True) as folder:
        assert folder.path == path
        assert (path / "block" / "x").read_text() == "1"
    assert told.notices[1:] == [f"resuming from {path}"]
    assert not path.exists()


def test_what_was_drawn_is_remembered(scratch):
    drawn = iter([7, 8])

    def first(folder):
        assert folder.remember("seed", lambda: next(drawn)) == 7
        assert stat.S_IMODE((folder.path / "seed.json").stat().st_mode) == 0o600
        raise TaskFailed("x")

    left_by(scratch, first)
    with scratch(resume=True) as folder:
        assert folder.remember("seed", lambda: next(drawn)) == 7


def test_without_resume_what_is_left_is_removed(scratch, told):
    path = left_by(scratch, TaskFailed("x"))
    with scratch() as folder:
        assert [each.name for each in folder.path.iterdir()] == ["lock"]
    assert f"removed {path}" in told.notices[1]
    assert "--resume would have used it" in told.notices[1]


def test_what_is_of_another_pipeline_is_not_resumed(scratch, told):
    path = left_by(scratch, TaskFailed("x"))
    with scratch("2", resume=True) as folder:
        assert folder.path != path
        assert not path.exists()
    assert "it was of another pipeline, seed or input" in told.notices[1]
    assert told.notices[2] == "there is nothing to resume: the run begins anew"


def test_what_is_left_of_another_output_stays(scratch):
    path = left_by(scratch, TaskFailed("x"))
    with scratch(output="other.parquet"):
        assert path.exists()


def test_two_runs_of_one_output_are_refused(scratch):
    with scratch() as folder:
        for identity in ("1", "2"):
            with pytest.raises(InputError, match="another run is at work on the same output"), scratch(identity):
                pass
        assert folder.path.exists()


def test_a_release_beside_it_does_not_take_it_for_its_own(scratch, tmp_path):
    with scratch():
        staging = make_staging(tmp_path, "token")
        assert not list(others(staging))
        staging.remove()
