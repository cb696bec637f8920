"""The thesis's comparison of 215 variants, run and graded: ``python benchmarks/reproduction/thesis.py``.

The experiment runs in ``--out`` and goes on where it was stopped. Printed figures stand beside computed ones with a
grade:

* exact: PI1, every ERD-i, ICN-i and ICD-i within 0.02;
* within the stated difference: ties, and the last step of DMM, which the thesis leaves open;
* interval: random variants, the printed score inside the 99 % interval of one run, from 50;
* in the range of the runs: outside that interval, which takes the score as normal, but between the lowest and the
  highest of the 50 (Rank, p = 2: PI1 is 25.23 as printed, 8.6 to 28.2 in the runs, mean 11.6);
* not reproducible: the JPEG encoder and its scaling are not given.

Out of scope: the approximation of mu, population thresholds and dominance rules, which are about tables and whole
populations.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import time
from pathlib import Path

import pandas as pd
from grades import grade, published

from maskwright.cli.show.screen import Terminal
from maskwright.experiments.compare import compare

TESTS = Path(__file__).resolve().parents[2] / "tests"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("thesis"), help="folder to run in")
    parser.add_argument("--workers", type=int)
    chosen = parser.parse_args()
    chosen.out.mkdir(exist_ok=True)
    shutil.copy(TESTS / "reference" / "census.csv", chosen.out)
    shutil.copy(Path(__file__).with_name("thesis.yaml"), chosen.out)
    start = time.perf_counter()
    compared = compare(chosen.out / "thesis.yaml", workers=chosen.workers, reporter=Terminal())
    usage = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    cpu = sum(each.ru_utime + each.ru_stime for each in usage)
    graded = grade(compared.runs, published(TESTS / "golden" / "thesis_tables_a1_to_a5.csv"))
    pd.set_option("display.width", 200, "display.max_rows", 300, "display.max_columns", 20)
    print(graded.rows.drop(columns=["inside", "mg_inside", "exact"]).to_string(index=False))
    print(graded.by_family().to_string())
    seconds = time.perf_counter() - start
    print(f"{compared.computed} runs computed, {compared.cached} known; {seconds:.0f} s, CPU {cpu:.0f} s")


if __name__ == "__main__":
    main()
