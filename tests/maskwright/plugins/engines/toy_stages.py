"""Works of small stages, in a module of their own: engines send them to other processes by name."""

from __future__ import annotations

import errno
import os
import signal
import time
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    from maskwright import Stage


def draw(folder: Path, key: str, seed: int = 0) -> dict:
    """Numbers that depend on the key and the seed alone."""
    rng = np.random.default_rng([seed, *key.encode()])
    values = rng.standard_normal(1000)
    (folder / "values.bin").write_bytes(values.tobytes())
    (folder / "more").mkdir()
    (folder / "more" / "note.txt").write_text(key)
    return {"n": len(values), "key": key}


def logged(folder: Path, key: str, log: Path) -> dict:
    """As `draw`, and leaves a line elsewhere each time that it is done."""
    with log.open("a") as file:
        file.write(f"{key}\n")
    return draw(folder, key)


def slowly(folder: Path, key: str, log: Path, seconds: float) -> dict:
    time.sleep(seconds)
    done = logged(folder, key, log)
    wait_to_be_killed(log)
    return done


def wait_to_be_killed(log: Path) -> None:
    """Go no further once there are as many lines as a file beside them says: whoever kills the run has time."""
    halt = log.with_name("halt")
    end = time.monotonic() + 120
    while halt.exists() and len(log.read_text().split()) >= int(halt.read_text()) and time.monotonic() < end:
        time.sleep(0.01)


def first_is_last(folder: Path, key: str, log: Path) -> dict:
    """The key 0 waits until the key 2 is done."""
    end = time.monotonic() + 60
    while key == "0" and "2" not in (log.read_text() if log.exists() else "") and time.monotonic() < end:
        time.sleep(0.02)
    return logged(folder, key, log)


def fails(folder: Path, key: str, log: Path, poisoned: str) -> dict:
    """One key raises, with a value in its message."""
    if key == poisoned:
        with log.open("a") as file:
            file.write(f"{key}\n")
        raise ValueError("income 123456")
    return draw(folder, key)


def killed(folder: Path, key: str, log: Path, poisoned: str, times: int) -> dict:
    """One key kills its process so many times."""
    if key == poisoned and (not log.exists() or len(log.read_text().splitlines()) < times):
        with log.open("a") as file:
            file.write(f"{key}\n")
        os.kill(os.getpid(), signal.SIGKILL)
    return draw(folder, key)


def no_room(folder: Path, key: str) -> dict:
    (folder / "half.bin").write_bytes(b"half")
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def process(folder: Path, key: str) -> dict:
    """Number of the process, and how many threads it may have."""
    (folder / "x").write_text("x")
    return {"pid": os.getpid(), "numba": os.environ.get("NUMBA_NUM_THREADS"), "omp": os.environ.get("OMP_NUM_THREADS")}


def no_json(folder: Path, key: str) -> dict:
    return {"rng": np.random.default_rng(1)}


def takes_a_gigabyte(folder: Path, key: str) -> dict:
    return {"bytes": int(np.ones(1 << 27).sum())}


def follows(folder: Path, key: str, first: Stage, log: Path, seed: int) -> dict:
    """Reads what the first stage wrote for the key."""
    values = np.frombuffer((first.folder(key) / "values.bin").read_bytes())
    with log.open("a") as file:
        file.write(f"second-{key}\n")
    wait_to_be_killed(log)
    (folder / "sum.bin").write_bytes((values + seed).tobytes())
    return {}
