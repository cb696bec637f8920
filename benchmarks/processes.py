"""What processes gain for a method in pure Python: ``python benchmarks/processes.py [--records 40000] [--workers 2]``.

A method that goes through the records in a Python loop masks blocks of a twentieth of the file: by one worker, in
threads, and in processes. Prints the load of the machine, wall and processor seconds of each, and whether all results
are the same bytes. Starting the processes and sending the blocks is in the seconds. What is done one after another
(Python in threads, and in each process) is what the wall seconds come to where nobody else is at work.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

import maskwright as mw

if TYPE_CHECKING:
    from numpy.typing import NDArray

METHOD = '''
"""Each cell is moved a little, one by one."""
import maskwright as mw

CONTRACT = 2


def protect(block, params, rng):
    values = block.values.copy()
    for row in range(block.n):
        for column in range(block.p):
            step = 0.0
            for _ in range(40):
                step += rng.random() - 0.5
            values[row, column] += step * block.scale[column] / 40
    return mw.Masked(values, block.missing.copy())


@mw.hookimpl
def register_methods():
    return [mw.Method(name="slow_noise", protect=protect, summary="Noise in a Python loop.")]
'''


def installed(folder: Path) -> None:
    """Put the method where plugins are found."""
    (folder / "slow_noise.py").write_text(METHOD, encoding="utf-8")
    info = folder / "slow_noise-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: slow_noise\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[maskwright]\nslow_noise = slow_noise\n", encoding="utf-8")
    sys.path.insert(0, str(folder))


def processor_seconds() -> NDArray[np.float64]:
    """Of this process, and of those it started that have ended; shape (2,)."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return np.array([each.ru_utime + each.ru_stime for each in used])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=40_000)
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    rng = np.random.default_rng(1)
    data = pd.DataFrame(rng.normal(size=(asked.records, 4)), columns=list("abcd"))
    block_size = max(2, asked.records // 20)
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    print(f"{platform.platform()}, Python {platform.python_version()}, {os.cpu_count()} processors, load {load}")
    print(f"{asked.records:,} records of 4 variables in blocks of {block_size:,}")
    with tempfile.TemporaryDirectory() as folder:
        installed(Path(folder))
        ways = {
            "one worker": (1, False), f"{asked.workers} threads": (asked.workers, False),
            f"{asked.workers} processes": (asked.workers, True),
        }  # fmt: skip
        mw.protect(data.head(100), "slow_noise", seed=1)  # imports, and what is compiled
        results = set()
        for name, (workers, processes) in ways.items():
            wall, used = time.perf_counter(), processor_seconds()
            masked = mw.protect(data, "slow_noise", seed=1, workers=workers, processes=processes, block_size=block_size)
            wall, used = time.perf_counter() - wall, processor_seconds() - used
            results.add(hashlib.sha256(masked.to_numpy().tobytes()).hexdigest())
            own, others = used
            print(
                f"{name:14} wall {wall:7.2f} s   processor seconds: this process {own:6.2f}, others {others:6.2f}, "
                f"one after another {own + others / workers:6.2f}"
            )
    print("the same bytes" if len(results) == 1 else "OTHER BYTES")


if __name__ == "__main__":
    main()
