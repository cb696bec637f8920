"""Time, memory and growth of the loss measures, and of the six fast measures that a million records need together.

    python benchmarks/information_loss.py [--records N] [--variables P] [--quick]

Times are process CPU seconds and elapsed seconds, the least of three runs (one for pMSE); growth is the exponent from a
quarter of the records; memory is what a measure allocates above the two files (the traced peak at a quarter of the
records, in bytes per value). Input is generated as in measures.py.
"""

from __future__ import annotations

import argparse
import math
import time
import tracemalloc

from measures import compare, compute, file, noise

from maskwright_builtin.measures import MEASURES as OFFERED

MEASURES = tuple(each.record() for each in OFFERED)

TOGETHER = (
    ("sse", {}), ("pil", {}), ("il1s", {}), ("pi", {}),
    ("interval_disclosure", {"by": "rank"}), ("interval_disclosure", {"by": "sd"}),
)  # fmt: skip


def least(action, runs=3):
    """Return the least CPU seconds and elapsed seconds of some runs."""
    spent, elapsed = math.inf, math.inf
    for _ in range(runs):
        start, clock = time.process_time(), time.perf_counter()
        action()
        spent = min(spent, time.process_time() - start)
        elapsed = min(elapsed, time.perf_counter() - clock)
    return spent, elapsed


def traced(action):
    """Return the bytes that a call allocates at its peak."""
    tracemalloc.start()
    action()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--variables", type=int, default=10)
    parser.add_argument("--quick", action="store_true", help="skip growth and memory")
    options = parser.parse_args()
    n, p = options.records, options.variables
    original = file(n, p)
    masked = noise(original, 0.3)
    whole, part = compare(original, masked), compare(original[: n // 4], masked[: n // 4])
    by_name = {measure.name: measure for measure in MEASURES}
    others = [
        (measure.name, {})
        for measure in MEASURES
        if measure.kind == "loss" and (measure.name, {}) not in TOGETHER and measure.name != "propensity"
    ]
    print(f"{n} records x {p} variables, noise 0.3")

    def line(name, params, runs=3):
        measure = by_name[name]
        spent, elapsed = least(lambda: compute(measure, whole, **params), runs)
        shown = " ".join([name, *map(str, params.values())])
        text = f"  {shown:26s} CPU {spent:7.3f} s  elapsed {elapsed:7.3f} s"
        if not options.quick:
            before, _ = least(lambda: compute(measure, part, **params), runs)
            memory = traced(lambda: compute(measure, part, **params)) / (n // 4 * p)
            text += f"  growth {math.log(spent / before) / math.log(4):5.2f}  memory {memory:5.1f} bytes per value"
        print(text, flush=True)
        return spent, elapsed

    found = [line(name, params) for name, params in TOGETHER]
    print(f"  {'these six together':26s} CPU {sum(each[0] for each in found):7.3f} s", end="")
    print(f"  elapsed {sum(each[1] for each in found):7.3f} s")
    for name, params in others:
        line(name, params)
    line("propensity", {}, 1)


if __name__ == "__main__":
    main()
