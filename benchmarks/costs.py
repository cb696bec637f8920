"""What `maskwright plan` expects of a run beside what the run takes: peak memory and processor seconds.

    python benchmarks/costs.py [--records 100000 400000] [--variables 5 10 20] [--format parquet csv]
    python benchmarks/costs.py --plugins [NAME ...] [--records 10000 100000] [--seconds 100]

Each run is in a process of its own, so that the peak belongs to it; two totals and ranges, k = 5, `mdav` in blocks of
50,000 records, pil and sse. With `--plugins` each built-in method, partition and measure in turn, of four amounts and
four keys; runs that take longer than `--seconds` are ended. Beside the ratio stands the `Cost` that the figures give,
less a run of `rounding` alone. Ends with 1 where what is expected is more than twice or less than half of what was
measured.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import yaml

from maskwright.plugins.registry import plugins

RUN = """
import json, resource, sys, time
from maskwright.commands.plan import plan_pipeline
from maskwright import ReleaseRefused
from maskwright.commands.run import run
if sys.argv[2] == "plan":
    print(json.dumps(plan_pipeline(sys.argv[1])["costs"]))
else:
    try:
        run(sys.argv[1])
    except ReleaseRefused:
        pass  # a doubt stops the release when all has been done
    print(json.dumps({
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6, "cpu": time.process_time(),
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


AMOUNTS = ["a", "b", "c", "d"]
KEYS = ["region", "sex", "education", "age"]
OF_KEYS = ("generalisation", "local_suppression", "mondrian", "record_suppression")


def survey(records: int) -> pd.DataFrame:
    """Amounts with a sum, keys, a weight, households."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a": rng.lognormal(8, 1, records), "b": rng.lognormal(7, 1, records)}).round().astype("int64")
    frame["c"] = frame["a"] + frame["b"]
    frame["d"] = (frame["c"] * rng.uniform(0.1, 0.5, records)).round().astype("int64")
    frame["region"] = rng.choice([f"R{number}" for number in range(8)], records)
    frame["sex"] = rng.choice(["m", "f"], records)
    frame["education"] = rng.choice(list("abcde"), records, p=[0.4, 0.3, 0.2, 0.07, 0.03])
    frame["age"] = rng.integers(18, 90, records)
    frame["weight"] = rng.uniform(1, 9, records).round(2)
    frame["home"] = np.sort(rng.integers(0, max(records // 2, 1), records))
    return frame


def pipeline_with(kind: str, name: str) -> dict[str, Any]:
    """A pipeline with one plugin; of '' with none but `rounding`."""
    step: dict[str, Any] = {"method": "rounding", "params": {"base": 5}, "variables": AMOUNTS}
    if kind == "method":
        method = plugins().methods[name]
        example = yaml.safe_load(method.example)
        of_amounts = "continuous" in method.claims.variable_types and name not in OF_KEYS
        step = {"method": name, "params": example["params"], "variables": AMOUNTS if of_amounts else KEYS[:3]}
        if name in OF_KEYS:
            step["variables"] = KEYS
    if kind == "partition":
        step |= {"method": "microaggregation", "params": {"k": 5, "partition": name}}
        if plugins().partitions[name].one_variable:
            step["params"]["group_size"] = 1
    alone = kind == "partition" and plugins().partitions[name].one_variable
    household = {"cluster": "home"} if name.startswith("household") else {}
    variables = {each: {"role": "quasi_identifier", "release": "as is"} for each in KEYS}
    variables |= {"weight": {"role": "weight"}, "home": {"role": "other", "type": "nominal"}}
    return {
        "maskwright": 1, "data": {"source": "data.csv", "variables": variables, **household},
        "edits": [] if alone else ["a + b == c"], "protect": [step], "measure": [name] if kind == "measure" else [],
        "output": {"data": "masked.csv"}, "seed": 1,
    }  # fmt: skip


def judge_plugins(names: list[str], sizes: list[int], seconds: float) -> bool:
    """Print a line for each plugin and size; whether any expectation is wrong."""
    found = plugins()
    kinds = {"method": found.methods, "partition": found.partitions, "measure": found.measures}
    chosen = [(kind, name) for kind, known in kinds.items() for name in sorted(known) if not names or name in names]
    base: dict[int, float] = {}
    wrong = False
    print(f"{'':<46}  records    CPU s  expected  ratio")
    for kind, name in [("", ""), *chosen]:
        own: dict[int, float] = {}
        for records in sizes:
            with tempfile.TemporaryDirectory() as folder:
                pipeline = Path(folder) / "pipeline.yaml"
                survey(records).to_csv(Path(folder) / "data.csv", index=False)
                pipeline.write_text(yaml.safe_dump(pipeline_with(kind, name)), encoding="utf-8")
                try:
                    expected = reported(pipeline, "plan", seconds)["seconds"]
                    cpu = reported(pipeline, "run", seconds)["cpu"]
                except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as error:
                    print(f"{kind:<10}{name:<36}{records:>9}  {type(error).__name__}", flush=True)
                    break
            own[records] = cpu
            wrong |= not 0.5 <= expected / cpu <= 2.0
            print(f"{kind:<10}{name:<36}{records:>9} {cpu:>8.1f} {expected:>9.1f} {expected / cpu:>6.2f}", flush=True)
        base = base or own
        print(f"{'':<10}{fitted({n: cpu - base[n] for n, cpu in own.items()})}", flush=True)
    return wrong


def fitted(seconds: dict[int, float]) -> str:
    """The cost of a plugin that took so much more than none, of four variables."""
    points = sorted((n, max(cpu, 0.0)) for n, cpu in seconds.items())
    if len(points) < 2:
        return f"about {points[0][1]:.1f} s" if points else ""
    (few, low), (many, high) = points[0], points[-1]
    pair = max(0.0, (high / many - low / few) / (4 * (many - few)))
    cell = max(0.0, high / (4 * many) - pair * many)
    return f"Cost(cell={cell * 1e6:.2g}, pair={pair * 1e9:.2g})"


def reported(pipeline: Path, what: str, seconds: float | None = None) -> dict[str, float]:
    """What a process of its own says."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, str(pipeline), what], capture_output=True, text=True, check=True, timeout=seconds
    )  # fmt: skip
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    """Print one line for each shape and format."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plugins", nargs="*", metavar="NAME", help="built-in methods, partitions and measures")
    parser.add_argument("--records", type=int, nargs="+")
    parser.add_argument("--seconds", type=float, default=100.0, help="after which a run of a plugin is ended")
    parser.add_argument("--variables", type=int, nargs="+", default=[10])
    parser.add_argument("--format", nargs="+", default=["parquet"], choices=["parquet", "csv"])
    chosen = parser.parse_args()
    if chosen.plugins is not None:
        sys.exit(judge_plugins(chosen.plugins, chosen.records or [10_000, 100_000], chosen.seconds))
    wrong = False
    print("  records  variables  format   peak MB expected  ratio    CPU s expected  ratio")
    for form in chosen.format:
        for variables in chosen.variables:
            for records in chosen.records or [100_000, 400_000]:
                with tempfile.TemporaryDirectory() as folder:
                    pipeline = write(Path(folder), records, variables, form)
                    expected, measured = reported(pipeline, "plan"), reported(pipeline, "run")
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
