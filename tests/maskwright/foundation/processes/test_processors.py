"""Processors, and how processes that work at the same time share them."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING

import pytest

from maskwright.foundation.processes.function_pool import FunctionWorkers
from maskwright.foundation.processes.resources import processors, share_of_each, shared_processors

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def eight(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)


@pytest.mark.usefixtures("eight")
@pytest.mark.parametrize(("workers", "threads"), [(1, 8), (2, 4), (3, 2), (4, 2), (5, 1), (8, 1), (20, 1)])
def test_workers_times_threads_are_at_most_the_processors(workers: int, threads: int) -> None:
    """Each has one thread at least, so that only more workers than processors are more."""
    said = shared_processors(workers)
    for name in ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        assert said[name] == str(threads)
    assert said["PATH"] == os.environ["PATH"]
    assert workers * threads <= max(8, workers)


@pytest.mark.usefixtures("eight")
def test_what_is_set_already_is_kept_where_it_is_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever gave this process two threads meant its children, too."""
    monkeypatch.setenv("NUMBA_NUM_THREADS", "2")
    monkeypatch.setenv("OMP_NUM_THREADS", "16")
    assert processors() == 2
    assert shared_processors(1)["NUMBA_NUM_THREADS"] == "2"
    assert shared_processors(1)["OMP_NUM_THREADS"] == "2"
    assert shared_processors(2)["NUMBA_NUM_THREADS"] == "1"


def test_a_process_that_calls_functions_has_its_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many workers as there are processors leave one thread to each."""
    (tmp_path / "telling_of_threads.py").write_text(
        "import os\nfrom maskwright import processors\n"
        "def told(progress):\n    return processors(), os.environ.get('OMP_NUM_THREADS')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    told = importlib.import_module("telling_of_threads").told
    with FunctionWorkers(share_of_each(processors())) as workers:
        assert workers.call(told) == (1, "1")
