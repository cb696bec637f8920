"""What `maskwright plan` expects of a run beside what the run takes: peak memory and processor seconds.

    python benchmarks/costs.py [--records 100000 400000] [--variables 5 10 20] [--format parquet csv]

Each run is in a process of its own, so that the peak belongs to it; two totals and ranges, k = 5, `mdav` in blocks of
50,000 records, pil and sse. Ends with 1 where what is expected is more than twice or less than half of what was
measured.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

RUN = """
import json, resource, sys, time
from maskwright.commands.plan import plan_pipeline
from maskwright.commands.run import run
if sys.argv[2] == "plan":
    print(json.dumps(plan_pipeline(sys.argv[1])["costs"]))
else:
    start = time.process_time()
    done = run(sys.argv[1])
    print(json.dumps({
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6, "cpu": time.process_time() - start,
        "seconds": done.record["seconds"],
    }))
"""


def write(folder: Path, records: int, variables: int, form: str) -> Path:
    """Data and pipeline; the path of the pipeline."""
    rng = np.random.default_rng(1)
    common = rng.lognormal(8.0, 1.0, records)
    names = [f"v{number}" for number in range(variables)]
    columns = {name: np.round(common * rng.uniform(0.1, 1.0, records)) for name in names}
    columns[names[2]] = columns[names[0]] + columns[names[1]]
    table = pa.table({name: column.astype(np.int64) for name, column in columns.items()})
    (pq.write_table if form == "parquet" else pc.write_csv)(table, folder / f"data.{form}")
    groups = [names[:3], *(names[start : start + 3] for start in range(3, variables, 3))]
    (folder / "pipeline.yaml").write_text(
        json.dumps({
            "maskwright": 1, "data": {"source": f"data.{form}"}, "seed": 1, "execution": {"block_size": 50_000},
            "edits": ["v0 + v1 == v2", "v3 >= 0", "v4 in [0, 1000000000]"],
            "protect": [{"method": "microaggregation", "params": {"k": 5, "partition": "mdav"}, "groups": groups}],
            "measure": ["pil", "sse"], "output": {"data": f"masked.{form}"},
        }),
        encoding="utf-8",
    )  # fmt: skip
    return folder / "pipeline.yaml"


def asked(pipeline: Path, what: str) -> dict[str, float]:
    """What a process of its own says."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(pipeline), what], capture_output=True, text=True, check=True
    )  # fmt: skip
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    """Print one line for each shape and format."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, nargs="+", default=[100_000, 400_000])
    parser.add_argument("--variables", type=int, nargs="+", default=[10])
    parser.add_argument("--format", nargs="+", default=["parquet"], choices=["parquet", "csv"])
    chosen = parser.parse_args()
    wrong = False
    print("  records  variables  format   peak MB expected  ratio    CPU s expected  ratio")
    for form in chosen.format:
        for variables in chosen.variables:
            for records in chosen.records:
                with tempfile.TemporaryDirectory() as folder:
                    pipeline = write(Path(folder), records, variables, form)
                    expected, measured = asked(pipeline, "plan"), asked(pipeline, "run")
                peak, cpu = measured["peak"], measured["cpu"]
                memory, time = expected["peak_megabytes"] / peak, expected["seconds"] / cpu
                print(
                    f"{records:>9} {variables:>10}  {form:8} {peak:>6.0f} {expected['peak_megabytes']:>9.0f}"
                    f" {memory:>7.2f} {cpu:>8.1f} {expected['seconds']:>8.1f} {time:>7.2f}", flush=True,
                )  # fmt: skip
                wrong |= not (0.5 <= memory <= 2.0 and 0.5 <= time <= 2.0)
    sys.exit(wrong)


if __name__ == "__main__":
    main()
