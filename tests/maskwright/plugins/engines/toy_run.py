"""A run of two small stages, in a process that can be killed: python toy_run.py FOLDER ENGINE WORKERS [--resume]."""

from __future__ import annotations

import shutil
import sys
from functools import partial
from pathlib import Path

import toy_stages

from maskwright import EngineTerms, Stage
from maskwright.plugins.registry import plugins
from maskwright.release.work_folders import scratch_folder

KEYS = [f"block-{number:02}" for number in range(12)]


class Told:
    """Notices are lines of standard output."""

    def notice(self, text):
        print(text, flush=True)


def run(folder: Path, name: str, workers: int, *, resume: bool) -> None:
    output = folder / "out"
    engine = plugins().engines[name]
    with scratch_folder(folder, output, "identity", resume=resume, reporter=Told()) as scratch:
        seed = scratch.remember("seed", lambda: 7)
        first = Stage("first", partial(toy_stages.slowly, log=folder / "log", seconds=0.05), scratch.path, identity="1")
        with engine.start(EngineTerms(workers, scratch.path), engine.params()) as started:
            list(started.run(first, KEYS))
            work = partial(toy_stages.follows, first=first, log=folder / "log", seed=seed)
            second = Stage("second", work, scratch.path, identity="1")
            list(started.run(second, KEYS))
        staged = folder / "staged"
        shutil.rmtree(staged, ignore_errors=True)
        staged.mkdir()
        for key in KEYS:
            shutil.copy(second.folder(key) / "sum.bin", staged / key)
        staged.rename(output)


if __name__ == "__main__":
    run(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), resume="--resume" in sys.argv)
