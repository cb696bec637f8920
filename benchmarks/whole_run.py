"""The whole run on the example survey: seconds of each stage and peak memory, at growing numbers of records.

    python benchmarks/whole_run.py [--records 10000 100000 1000000]

Each size runs in a process of its own, so that the peak belongs to it. The peer is the machine: the time to read and
write the same file as bytes is the physical limit of the input and output stages.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path

WORK = """
import json, resource, sys, time
from pathlib import Path
from maskwright.commands.demo.files import write_demo
from maskwright.commands.run import run
start = time.process_time()
files = write_demo(Path(sys.argv[1]), int(sys.argv[2]))
written = time.process_time() - start
wall = time.perf_counter()
result = run(files.pipeline)
print(json.dumps({
    "wall": time.perf_counter() - wall, "cpu": time.process_time() - start - written,
    "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "seconds": result.record["seconds"],
    "violations": sum(row["violations"] for row in result.record["edits"]),
}))
"""


def main() -> None:
    """Print one line for each size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, nargs="+", default=[1080, 10_000, 100_000])
    before: tuple[int, float] | None = None
    print("  records   wall s    CPU s  peak MB  growth  stages (s); bytes read and written (s)")
    for records in parser.parse_args().records:
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [sys.executable, "-c", WORK, folder, str(records)], capture_output=True, text=True, check=True
            )
            found = json.loads(done.stdout)
            start = time.perf_counter()
            content = (Path(folder) / "survey.xml").read_bytes()
            (Path(folder) / "copy").write_bytes(content)
            limit = time.perf_counter() - start
        growth = math.log(found["cpu"] / before[1]) / math.log(records / before[0]) if before else math.nan
        stages = ", ".join(f"{name} {seconds:.1f}" for name, seconds in found["seconds"].items())
        print(
            f"{records:>9} {found['wall']:>8.1f} {found['cpu']:>8.1f} {found['peak']:>8.0f} {growth:>7.2f}  "
            f"{stages}; {limit:.2f}"
        )
        if found["violations"]:
            sys.exit("an edit does not hold")
        before = (records, found["cpu"])


if __name__ == "__main__":
    main()
