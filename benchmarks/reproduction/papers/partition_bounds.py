"""How low the loss of microaggregation can be: MDAV, refinement and the proven bound on the reference files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from grades import OPEN
from tables import GOLDEN, HERE, REFERENCE, Cell, Paper, Table, cell

import maskwright as mw
from maskwright import Block, Variable, find_partition

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import numpy.typing as npt

SOURCE = "independent prototypes"
FILES = ("census", "eia")
LEFT_OUT = ["UTILNAME", "YEAR", "MONTH", "STATE"]
"""Of EIA; the number of the utility is a variable of the prototypes."""
TARRAGONA = next(
    (path for folder in HERE.parents if (path := folder / "shared" / "data" / "tarragona.csv").is_file()),
    REFERENCE / "tarragona.csv",
)
"""Its licence is not known: it is not part of the project, and lies beside it or is missing."""
LONG = {("census", 5), ("eia", 3)}
"""Bounds that together did not come in three minutes of the processor."""
PRECISION = 0.002
"""Relative: the bound is sharpened until it is this share below what can be proven."""


def values_of(name: str) -> npt.NDArray[np.float64]:
    table = pd.read_csv(TARRAGONA if name == "tarragona" else REFERENCE / f"{name}.csv")
    return table.drop(columns=[each for each in LEFT_OUT if each in table]).to_numpy(float)


def block_of(values: npt.NDArray[np.float64]) -> Block:
    variables = tuple(Variable(f"x{j}") for j in range(values.shape[1]))
    missing = np.zeros(values.shape, bool)
    return Block(values, missing, variables, center=values.mean(axis=0), scale=values.std(axis=0, ddof=1))


def loss(block: Block, labels: npt.NDArray[np.int64]) -> float:
    """100 times the sum of squares within groups over the total."""
    z = block.standardised()
    sizes = np.bincount(labels)
    means = np.stack([np.bincount(labels, column) / sizes for column in z.T], axis=1)
    return 100.0 * float(((z - means[labels]) ** 2).sum() / ((z - z.mean(axis=0)) ** 2).sum())


def clustered(block: Block, k: int, name: str, **params: object) -> float:
    partition = find_partition(name)
    chosen = partition.params(**params)
    return loss(block, partition.cluster(block, k, chosen, np.random.default_rng(1)))


def stated(files: tuple[str, ...], column: str) -> Iterator[tuple[str, int, str]]:
    table = pd.read_csv(GOLDEN / "refinement_stated.csv", comment="#", dtype=str).fillna("")
    for row in table[table["file"].isin(files)].to_dict("records"):
        if row[column]:
            yield row["file"], int(row["k"]), row[column]


def losses(files: tuple[str, ...]) -> Iterator[Cell]:
    for name in files:
        block = block_of(values_of(name))
        for column, partition, params in (("mdav", "mdav", {}), ("descent", "refine", {"effort": "fast"})):
            for _, k, printed in stated((name,), column):
                yield cell(f"{name}, k = {k}", column, printed, clustered(block, k, partition, **params))


def best(files: tuple[str, ...]) -> Iterator[Cell]:
    for name in files:
        block = block_of(values_of(name))
        for _, k, printed in stated((name,), "best"):
            ours = clustered(block, k, "refine", effort="thorough")
            yield cell(f"{name}, k = {k}", "", printed, ours)


def bounds(files: tuple[str, ...]) -> Iterator[Cell]:
    for name in files:
        values = values_of(name)
        data = pd.DataFrame(values, columns=[f"x{j}" for j in range(values.shape[1])])
        for _, k, printed in stated((name,), "bound"):
            if (name, k) in LONG:
                yield Cell(f"{name}, k = {k}", "", printed, OPEN)
                continue
            request = {"microaggregation_gap": {"k": k, "precision": PRECISION}}
            ours = mw.measure(data, data, [request])["microaggregation_gap"].parts["lower_bound"]
            yield cell(f"{name}, k = {k}", "", printed, ours, tolerance=PRECISION * float(printed))


def tables(suffix: str, title: str, files: tuple[str, ...], needs: Path | None) -> Iterator[Table]:
    yield Table(
        f"bounds_losses{suffix}",
        f"Loss of MDAV and of one descent, {title}",
        SOURCE,
        lambda: losses(files),
        needs=needs,
    )
    yield Table(
        f"bounds_best{suffix}", f"Lowest loss found, {title}", SOURCE, lambda: best(files), slow=True, needs=needs
    )
    yield Table(
        f"bounds_proven{suffix}", f"Proven lower bound, {title}", SOURCE, lambda: bounds(files), slow=True, needs=needs
    )


PAPER = Paper(
    "partition-bounds",
    "Refinement and bounds of partitions (prototypes)",
    (
        *tables("", "Census and EIA", FILES, None),
        *tables("_tarragona", "Tarragona", ("tarragona",), TARRAGONA),
    ),
)
