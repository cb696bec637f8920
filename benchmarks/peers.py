"""What Maskwright is compared with in `compare.py`: the same work by it and by a peer, at growing numbers of records.

A peer is another program, the plain way in NumPy, or a limit that nobody can be faster than, such as sorting the same
columns or taking the same bytes apart. Each pair makes its data first, which is not timed; where the result is the same
thing, it is held against the peer's.
"""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import skfuzzy
from adjustment import HIGH, LOW, NAMES, RULES, by_daqp, records
from linkage import compare, file, measured, noise, scipy_seconds
from lxml import etree, isoschematron
from mdav import gaussian, plain_mdav
from validation import SCHEMA, write_data

import maskwright as mw
from maskwright.plugins.registry import find_method
from maskwright_builtin.key_counts.frequencies import count_keys
from maskwright_builtin.measures.record_linkage.distance_record_linkage import DISTANCE_RECORD_LINKAGE
from maskwright_builtin.methods.microaggregation.fuzzy_clustering import fuzzy_c_means
from maskwright_builtin.partitions.mdav.partition import mdav_labels
from maskwright_builtin.partitions.univariate.partition import univariate_labels

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

SEED = 20261121
COLUMNS = 10
CENTROIDS = 1_000
CLOSE = {"binary64": 1e-11, "binary32": 1e-3}
"""How far centroids may be apart, in standard deviations, after six steps from the same start."""
SAMPLE = 200
"""Records that a peer takes which takes them one by one."""


@dataclass(frozen=True)
class Work:
    """One size of a pair: both ways, ready to be timed, and the share of the records that the peer takes."""

    ours: Callable[[], object]
    peer: Callable[[], object] | None
    share: float = 1.0
    same: Callable[[Any, Any], bool] | None = None


@dataclass(frozen=True)
class Pair:
    """A kind of work, who else does it, and at which three sizes, each about three times the one before."""

    name: str
    peer: str
    sizes: tuple[int, ...]
    make: Callable[[int, Path], Work]
    peer_until: int = sys.maxsize


def without_progress(share: float) -> None:
    """Nobody looks."""


def mdav(n: int, folder: Path) -> Work:
    z = gaussian(n)
    return Work(lambda: mdav_labels(z, 3, without_progress), lambda: plain_mdav(z, 3), same=np.array_equal)


def univariate(n: int, folder: Path) -> Work:
    values = np.random.default_rng(SEED).standard_normal(n)
    return Work(lambda: univariate_labels(values, 3), lambda: np.argsort(values, kind="stable"))


def rank_swapping(n: int, folder: Path) -> Work:
    values = np.random.default_rng(SEED).standard_normal((n, COLUMNS))
    method = find_method("rank_swapping")
    block = mw.Block(values, np.zeros(values.shape, bool), tuple(mw.Variable(f"v{j}") for j in range(COLUMNS)),
                     center=np.zeros(COLUMNS), scale=np.ones(COLUMNS))  # fmt: skip
    return Work(
        lambda: method.protect(block, method.params(p=5), np.random.default_rng(0)),
        lambda: [np.argsort(column, kind="stable") for column in values.T],
    )


def fuzzy(precision: str) -> Callable[[int, Path], Work]:
    def make(n: int, folder: Path) -> Work:
        rng = np.random.default_rng(SEED)
        x = rng.standard_normal((n, COLUMNS))
        start = x[:CENTROIDS] + 0.1 * rng.standard_normal((CENTROIDS, COLUMNS))
        inverse = 1.0 / np.stack([((x - each) ** 2).sum(axis=1) for each in start])
        memberships = inverse / inverse.sum(axis=0)
        steps = 6
        return Work(
            lambda: fuzzy_c_means(x, start, m=2, tolerance=0, max_iterations=steps, float32=precision == "binary32"),
            lambda: skfuzzy.cluster.cmeans(x.T, CENTROIDS, 2, error=0, maxiter=steps, init=memberships),
            same=lambda ours, peer: bool(np.abs(ours.centroids - peer[0]).max() < CLOSE[precision]),
        )

    return make


def linkage(n: int, folder: Path) -> Work:
    original = file(n, COLUMNS)
    pair, masked = compare(original, noise(original)), noise(original)
    return Work(lambda: measured(DISTANCE_RECORD_LINKAGE, pair, known=COLUMNS), lambda: scipy_seconds(original, masked))


def adjustment(n: int, folder: Path) -> Work:
    x = records(n)
    scale = x.std(axis=0, ddof=1)
    edits = mw.EditSet.parse(RULES + [f"{LOW:g} <= {name} <= {HIGH:g}" for name in NAMES])
    variables = [mw.Variable(name) for name in NAMES]

    def same(ours: tuple[NDArray[np.float64], object], peer: list[float]) -> bool:
        moved = np.linalg.norm((ours[0] - x) / scale, axis=1)[: len(peer)]
        return bool(np.abs(moved - peer).max() < 1e-9)

    return Work(
        lambda: mw.project(x, variables, edits, scale),
        lambda: [by_daqp(x[number], scale) for number in range(SAMPLE)], SAMPLE / n, same,
    )  # fmt: skip


def key_counts(n: int, folder: Path) -> Work:
    rng = np.random.default_rng(SEED)
    codes = [rng.integers(0, count, n) for count in (6, 2, 19, 6, 12)]
    frame = pd.DataFrame(dict(enumerate(codes)))

    def same(ours: Any, peer: pd.Series) -> bool:
        return np.array_equal(ours.file, peer.to_numpy())

    return Work(
        lambda: count_keys(codes, "own", None),
        lambda: frame.groupby(list(frame), sort=False)[0].transform("size"), same=same,
    )  # fmt: skip


def losses(n: int, folder: Path) -> Work:
    original = file(n, COLUMNS)
    pair, masked = compare(original, noise(original)), noise(original)
    names = ("pil", "sse", "il1s")

    def plain() -> object:
        spread = original.std(axis=0, ddof=1)
        ranks = [np.argsort(values, axis=0) for values in (original, masked)]
        moved = np.abs(masked - original).mean(axis=0) / (np.sqrt(2) * spread)
        return ranks, moved, np.cov(original.T), np.cov(masked.T)

    return Work(lambda: [measured(mw.find_measure(name), pair) for name in names], plain)


def table_of(n: int) -> pa.Table:
    rng = np.random.default_rng(SEED)
    return pa.table({f"v{j}": rng.integers(0, 5000, n) for j in range(COLUMNS)} | {"area": rng.choice(["n", "s"], n)})


def csv_reading(n: int, folder: Path) -> Work:
    path = folder / "data.csv"
    table_of(n).to_pandas().to_csv(path, index=False)
    return Work(lambda: mw.read(path), lambda: pd.read_csv(path))


def parquet_reading(n: int, folder: Path) -> Work:
    path = folder / "data.parquet"
    pq.write_table(table_of(n), path)
    return Work(lambda: mw.read(path), lambda: pq.read_table(path).to_pandas())


def xml_reading(n: int, folder: Path) -> Work:
    path = folder / "data.xml"
    write_data(path, n, "plain")

    def cells() -> list[list[str | None]]:
        rows = []
        for _, element in etree.iterparse(path, tag="Record"):
            rows.append([child.text for child in element])
            element.clear()
        return rows

    return Work(lambda: mw.read(path), cells)


def validation(n: int, folder: Path) -> Work:
    data, schema = folder / "data.xml", folder / "rules.sch"
    write_data(data, n, "plain")
    schema.write_text(SCHEMA)
    from maskwright.cli.main import main

    def ours() -> int:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return int(main(["validate", str(data), "--edits", str(schema), "--json"]) or 0)

    def peer() -> int:
        checked = isoschematron.Schematron(etree.parse(schema), store_report=True)
        wrong, rows = 0, [line for line in data.read_bytes().splitlines() if line.startswith(b"<Record>")]
        for start in range(0, len(rows), 1000):
            document = b"<Records>" + b"".join(rows[start : start + 1000]) + b"</Records>"
            wrong += not checked.validate(etree.fromstring(document))
        return int(wrong > 0)

    return Work(ours, peer, same=lambda ours, peer: ours == peer)


def whole_run(n: int, folder: Path) -> Work:
    from maskwright.commands.demo.files import write_demo

    files = write_demo(folder / "demo", n)
    survey = folder / "demo" / "survey.xml"

    def copied() -> bytes:
        tree = etree.parse(survey, etree.XMLParser(huge_tree=True))
        return etree.tostring(tree)

    return Work(lambda: mw.run(files.pipeline), copied)


def start(n: int, folder: Path) -> Work:
    def process(*arguments: str) -> Callable[[], object]:
        return lambda: subprocess.run([sys.executable, *arguments], capture_output=True, check=True)

    return Work(process("-m", "maskwright", "--help"), process("-c", "pass"))


def plan(n: int, folder: Path) -> Work:
    from maskwright.commands.demo.files import write_demo

    files = write_demo(folder / "demo", n)

    def process(*arguments: str) -> Callable[[], object]:
        return lambda: subprocess.run([sys.executable, *arguments], capture_output=True, check=True)

    return Work(
        process("-m", "maskwright", "plan", str(files.pipeline)), process("-c", "import numba, pandas, lxml.etree")
    )


PAIRS = (
    Pair("exact MDAV, k = 3", "plain NumPy", (3_000, 9_000, 30_000), mdav, peer_until=9_000),
    Pair("optimal univariate groups, k = 3", "a stable sort of the column", (100_000, 300_000, 1_000_000), univariate),
    Pair("rank swapping", "a stable sort of the columns", (30_000, 100_000, 300_000), rank_swapping),
    Pair(
        "fuzzy c-means, binary64",
        "scikit-fuzzy",
        (3_000, 10_000, 30_000),
        fuzzy("binary64"),
        10_000,
    ),
    Pair(
        "fuzzy c-means, binary32",
        "scikit-fuzzy",
        (3_000, 10_000, 30_000),
        fuzzy("binary32"),
        10_000,
    ),
    Pair("record linkage, 10 variables", "SciPy cKDTree", (5_000, 15_000, 50_000), linkage, peer_until=15_000),
    Pair("adjustment to 23 edits", "DAQP, record by record", (3_000, 10_000, 30_000), adjustment),
    Pair("counts on 5 keys", "pandas groupby", (100_000, 300_000, 1_000_000), key_counts),
    Pair("pil, sse and il1s", "NumPy: ranks and covariances", (30_000, 100_000, 300_000), losses),
    Pair("reading CSV", "pandas", (30_000, 100_000, 300_000), csv_reading),
    Pair("reading Parquet", "PyArrow to pandas", (100_000, 300_000, 1_000_000), parquet_reading),
    Pair("reading XML", "lxml iterparse, texts", (5_000, 15_000, 50_000), xml_reading),
    Pair("validating XML, 5 rules", "isoschematron by 1000 records", (1_000, 3_000, 10_000), validation),
    Pair("the demo, whole run", "lxml: parse and write", (3_000, 10_000, 30_000), whole_run),
    Pair("maskwright --help", "Python alone", (1,), start),
    Pair("maskwright plan, the demo", "importing numba, pandas, lxml", (1_080,), plan),
)
"""What is compared. The name and the peer are the key of a row of the history: change one and it begins anew."""

__all__ = ["PAIRS", "Pair", "Work"]
