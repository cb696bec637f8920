"""How fast synthetic data are made: ``python benchmarks/synthetic.py [--records 1000000]``.

Prints the machine; for Gaussian mixtures of 13 variables, 9 dependent and 4 independent: wall and processor seconds,
peak memory and growth from a tenth of the records; the ratio to one least-squares fit of the same regression.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import time

import numpy as np

from maskwright import Block, Variable
from maskwright.plugins.registry import find_method

SEED = 20261121
DEPENDENTS, INDEPENDENTS = 9, 4
METHODS = [
    ("ipso", {}),
    ("muralidhar_sarathy", {"alpha": 0.5}),
    ("fuzzy_c_regression", {"c": 10}),
]
BLOCK = 50_000


def block_of(n):
    rng = np.random.default_rng(SEED)
    values = rng.standard_normal((n, DEPENDENTS + INDEPENDENTS)) @ rng.standard_normal((13, 13))
    dependents = np.ascontiguousarray(values[:, :DEPENDENTS])
    companions = {f"x{at}": np.ascontiguousarray(values[:, DEPENDENTS + at]) for at in range(INDEPENDENTS)}
    return Block(
        dependents, np.zeros(dependents.shape, bool), tuple(Variable(f"y{at}") for at in range(DEPENDENTS)),
        center=dependents.mean(axis=0), scale=dependents.std(axis=0, ddof=1), companions=companions,
    )  # fmt: skip


def timed(work):
    start, cpu = time.perf_counter(), time.process_time()
    result = work()
    return time.perf_counter() - start, time.process_time() - cpu, result


def least_squares(block):
    design = np.column_stack([np.ones(block.n), *block.companions.values()])
    return np.linalg.lstsq(design, block.values, rcond=None)


def hybrid(block, k=50):
    """MicroHybrid in blocks cut by the engine, as ``execution: {block_size: ...}`` does."""
    from maskwright.masking.protecting.variable_group import kd_blocks

    method = find_method("micro_hybrid")
    params = method.params(k=k, independent=tuple(block.companions))
    blocks = kd_blocks(block.standardised(), BLOCK)
    for number in range(int(blocks.max()) + 1):
        records = np.flatnonzero(blocks == number)
        part = Block(
            block.values[records], block.missing[records], block.variables, center=block.center, scale=block.scale,
            companions={name: column[records] for name, column in block.companions.items()},
        )  # fmt: skip
        method.protect(part, params, np.random.default_rng(number))


def main():
    parser = argparse.ArgumentParser(description="Benchmark of synthetic data.")
    parser.add_argument("--records", type=int, default=1_000_000)
    largest = parser.parse_args().records
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    print(f"{os.cpu_count()} cores, load {load}; {platform.platform()}; python {platform.python_version()}")
    small = block_of(2000)
    for name, params in METHODS:
        method = find_method(name)
        method.protect(small, method.params(independent=tuple(small.companions), **params), np.random.default_rng(0))
    hybrid(small)
    print(f"{'method':<22}{'n':>10}{'wall s':>9}{'CPU s':>9}{'/ lstsq':>9}{'peak MB':>9}{'growth':>8}")
    before: dict[str, float] = {}
    for n in (largest // 10, largest):
        block = block_of(n)
        plain = min(timed(lambda block=block: least_squares(block))[1] for _ in range(3))
        for name, params in [*METHODS, ("micro_hybrid", {"k": 50})]:
            method = find_method(name)
            if name == "micro_hybrid":
                wall, cpu, _ = timed(lambda block=block: hybrid(block))
            else:
                given = method.params(independent=tuple(block.companions), **params)
                wall, cpu, _ = timed(
                    lambda block=block, method=method, given=given: method.protect(
                        block, given, np.random.default_rng(0)
                    )
                )
            growth = f"{np.log10(cpu / before[name]):.2f}" if name in before else ""
            before[name] = cpu
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(f"{name:<22}{n:>10,}{wall:9.2f}{cpu:9.2f}{cpu / plain:9.1f}{peak:9.0f}{growth:>8}", flush=True)


if __name__ == "__main__":
    main()
