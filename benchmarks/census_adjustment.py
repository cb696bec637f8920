"""What keeping the Census edits costs, by method: ``python benchmarks/census_adjustment.py``.

One equality, twelve inequalities and ``x >= 0`` for all 13 variables, k = 5. For each method: SSE and PIL with the
edits and without them, records and representatives moved, and violations in the released data. With the example plugin
installed (``pip install tests/example_plugin``) its noise is among the methods.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import maskwright as mw
from maskwright.commands.protect import mask_request
from maskwright.commands.requests import masking_request
from maskwright.plugins.registry import plugins

CENSUS = Path(__file__).resolve().parents[1] / "tests" / "reference" / "census.csv"
RULES = [
    "PTOTVAL = POTHVAL + PEARNVAL", "TAXINC <= AGI", "FEDTAX <= TAXINC", "FICA <= PEARNVAL", "PEARNVAL <= PTOTVAL",
    "POTHVAL <= PTOTVAL", "INTVAL <= PTOTVAL", "INTVAL <= AGI", "EMCONTRB <= AGI", "EMCONTRB <= PTOTVAL",
    "FEDTAX <= AGI", "FICA <= AGI", "STATETAX <= AGI",
]  # fmt: skip
METHODS = {
    "microaggregation": {"k": 5, "partition": "mdav", "group_size": "all"},
    "individual_ranking": {"k": 5, "k_guarantee": "report"},
    "fuzzy_microaggregation": {"k": 5, "group_size": "all"},
    "example_noise": {"share": 0.1},
}


def main():
    argparse.ArgumentParser(description=__doc__).parse_args()
    data = mw.read(CENSUS)
    rules = RULES + [f"{name} >= 0" for name in data.names]
    print(f"{'method':<24} {'SSE':>8} {'extra':>8} {'PIL':>8} {'extra':>8} {'moved':>12} {'violations':>10}")
    for method, params in METHODS.items():
        if method not in plugins().methods:
            continue
        done = mask_request(masking_request(data, method, edits=rules, seed=1, params=params))
        free = mask_request(masking_request(data, method, seed=1, params=params))
        after, before = (mw.measure(data, each.masked, ["sse", "pil"]) for each in (done, free))
        moved, rows = (sum(unit[key] for unit in done.adjustment) for key in ("moved", "rows"))
        violations = sum(mw.validate(done.masked, rules).counts.values())
        print(
            f"{method:<24} {after['sse'].value:8.3f} {after['sse'].value - before['sse'].value:+8.3f} "
            f"{after['pil'].value:8.3f} {after['pil'].value - before['pil'].value:+8.3f} {moved:>5} of {rows:>4} "
            f"{violations:>9}   cost of adjustment {done.cost.adjustment:+.4f}, of rounding {done.cost.rounding:+.4f}"
        )


if __name__ == "__main__":
    main()
