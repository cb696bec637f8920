"""Small synthetic blocks, tables and damaged files that plugins are tried on; no real data."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from maskwright.commands.reading import load
from maskwright.data.dataset import Column, Dataset
from maskwright.data.declaration import VariableDeclaration
from maskwright.data.variable import Variable, VariableType
from maskwright.edits.edit_set import EditSet
from maskwright.pipeline.resolved import DataInMemory
from maskwright.plugins.block import Block

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray


TYPES: tuple[VariableType, ...] = ("continuous", "integer", "ordinal", "nominal")
CATEGORIES = ("a", "b", "c", "d", "e")


def block_of(
    values: NDArray[np.float64],
    variable_type: VariableType = "continuous",
    rules: Sequence[str] = (),
    operator: str | None = None,
) -> Block:
    """Block of the given values, read-only; NaN is a missing cell.

    `values`: shape (n, p). `variable_type`: of all variables, called ``x1``, ``x2``, . `operator`: left out: ``mean``
    for numbers, ``lower_median`` for ordinal, ``mode`` for nominal variables.
    """
    values = np.array(values, dtype=np.float64)
    missing = np.isnan(values)
    numeric = variable_type in ("continuous", "integer")
    variables = tuple(
        Variable(
            f"x{position + 1}",
            variable_type,
            "confidential",
            decimals=0 if variable_type == "integer" else None,
            categories=() if numeric else CATEGORIES,
        )
        for position in range(values.shape[1])
    )
    default = {"ordinal": "lower_median", "nominal": "mode"}.get(variable_type, "mean")
    center, scale = _moments(values, missing)
    for array in (values, missing, center, scale):
        array.setflags(write=False)
    return Block(
        values,
        missing,
        variables,
        EditSet.parse(list(rules)) if rules else EditSet(),
        (operator or default,) * values.shape[1],
        center=center,
        scale=scale,
    )


def with_companions(block: Block, names: Sequence[str]) -> Block:
    """Block with categories in the companions of these names, of which a method asks for some."""
    rng = np.random.default_rng(3)
    return replace(block, companions={name: rng.integers(0, 4, block.n).astype(np.float64) for name in names})


def _moments(
    values: NDArray[np.float64], missing: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    present = np.maximum((~missing).sum(axis=0), 1)
    center = np.where(missing, 0.0, values).sum(axis=0) / present
    squares = np.where(missing, 0.0, values - center) ** 2
    scale = np.sqrt(squares.sum(axis=0) / np.maximum(present - 1, 1))
    return center, np.where(scale > 0, scale, 1.0)


def numbers(n: int, p: int, variable_type: VariableType = "continuous", seed: int = 1) -> NDArray[np.float64]:
    """Skewed, correlated positive numbers (whole ones for integers), or category codes.

    Returns shape (n, p).
    """
    rng = np.random.default_rng(seed)
    if variable_type in ("ordinal", "nominal"):
        return rng.integers(0, len(CATEGORIES), size=(n, p)).astype(np.float64)
    drawn = np.exp(rng.normal(size=(n, 1)) + 0.7 * rng.normal(size=(n, p))) * 100.0 + 50.0
    return np.round(drawn) if variable_type == "integer" else drawn


def with_holes(values: NDArray[np.float64], share: float = 0.15, seed: int = 2) -> NDArray[np.float64]:
    """Copy with some cells missing, the first record whole and the last one all missing.

    `values`: shape (n, p). `share`: of the cells that are missing, in the mean. Returns NaN where missing; shape (n,
    p).
    """
    holes = np.random.default_rng(seed).random(values.shape) < share
    holes[0] = False
    holes[-1] = True
    return np.where(holes, np.nan, values)


def dataset_of(values: NDArray[np.float64], names: Sequence[str] | None = None) -> Dataset:
    """Dataset of continuous variables; NaN is a missing cell."""
    chosen = names or [f"x{position + 1}" for position in range(values.shape[1])]
    return Dataset(
        tuple(
            Column(Variable(name), np.array(values[:, position]), np.isnan(values[:, position]))
            for position, name in enumerate(chosen)
        )
    )


RECORDS = 40
MANY_RECORDS = 70_001
"""More than are usually read in one batch, and not a multiple of that."""
TEXTS = ("north", "Zürich", "a,b;c|d", 'say "so"', "it's", "<b> & </b>", "007", "NA", "=1+1", "1e5")
AWKWARD_TEXTS = (" led by blanks", "line\nbreak", "tab\tstop", "carriage\rreturn", "ended by blanks ", "日本語")
AWKWARD_NAMES = ("the income", "größe", "x.y", "a,b", "1st")


@dataclass(frozen=True)
class Table:
    """What a file has to hold."""

    frame: pd.DataFrame
    declared: Mapping[str, VariableDeclaration] = field(default_factory=dict)

    def dataset(self) -> Dataset:
        """Return the records as the engine has them."""
        return load(DataInMemory(self.frame, self.declared), identifiers=True)


def usual_tables() -> Iterator[tuple[str, Table]]:
    """Tables that every format holds."""
    rng = np.random.default_rng(11)
    amounts = np.round(rng.normal(0.0, 5000.0, RECORDS), 2)
    amounts[:4] = (0.0, -0.25, 12_345_678.25, 1000.5)
    two = VariableDeclaration(type="continuous", decimals=2)
    whole = VariableDeclaration(type="integer")
    text = VariableDeclaration(type="nominal", role="other")
    yield "decimals", Table(pd.DataFrame({"amount": amounts}), {"amount": two})
    counts = rng.integers(-1000, 1000, RECORDS)
    counts[:3] = (0, 2_000_000_000, -2_000_000_000)
    yield "integers", Table(pd.DataFrame({"count": counts}), {"count": whole})
    yield "texts", Table(pd.DataFrame({"region": np.resize(TEXTS, RECORDS)}), {"region": text})
    holed = np.where(np.arange(RECORDS) % 3 == 1, np.nan, amounts)
    regions = pd.Series(np.resize(TEXTS, RECORDS), dtype=object)
    regions[np.arange(RECORDS) % 4 == 2] = None
    beside = pd.DataFrame({"number": np.arange(RECORDS), "amount": holed, "region": regions})
    yield "missing_cells", Table(beside, {"number": whole, "amount": two, "region": text})
    coded = np.where(np.arange(RECORDS) % 5 == 3, -9, np.abs(counts) % 90)
    coded[np.arange(RECORDS) % 7 == 4] = -8
    codes = VariableDeclaration(type="integer", missing=(("-9", "refused"), ("-8", "does not apply")))
    yield "missing_codes", Table(pd.DataFrame({"age": coded}), {"age": codes})
    days = np.datetime64("1950-01-01") + rng.integers(0, 25_000, RECORDS).astype("timedelta64[D]")
    yield (
        "dates",
        Table(pd.DataFrame({"born": np.datetime_as_string(days)}), {"born": VariableDeclaration(type="date")}),
    )
    numbers = rng.permutation(3000) + 1
    yield (
        "order",
        Table(pd.DataFrame({"number": numbers, "region": np.resize(TEXTS, 3000)}), {"number": whole, "region": text}),
    )


def awkward_tables() -> Iterator[tuple[str, Table]]:
    """Tables that a format holds, or refuses in words."""
    text = VariableDeclaration(type="nominal", role="other")
    rng = np.random.default_rng(12)
    values = rng.normal(size=RECORDS) * 10.0 ** rng.integers(-9, 9, RECORDS)
    yield "binary64", Table(pd.DataFrame({"x": values}), {"x": VariableDeclaration(type="continuous")})
    yield "awkward_texts", Table(pd.DataFrame({"region": np.resize(AWKWARD_TEXTS, RECORDS)}), {"region": text})
    empty = pd.DataFrame({"amount": [1.5, np.nan, 2.5, np.nan], "region": ["north", None, "south", None]})
    yield "empty_records", Table(empty, {"region": text})
    names = pd.DataFrame({name: np.arange(5) + place for place, name in enumerate(AWKWARD_NAMES)})
    yield "awkward_names", Table(names)
    huge = pd.DataFrame({"region": ["north", "x" * 3_000_000, "south"], "count": [1, 2, 3]})
    yield "huge_cell", Table(huge, {"region": text})


def counted_tables() -> Iterator[tuple[str, Table]]:
    """Tables of which a reader may lose records: more than a batch, equal ones, empty ones, only one."""
    whole = VariableDeclaration(type="integer")
    many = pd.DataFrame({"number": np.arange(MANY_RECORDS), "one": 1})
    yield "many_records", Table(many, {"number": whole, "one": whole})
    yield (
        "equal_records",
        Table(pd.DataFrame({"number": np.full(RECORDS, 7), "one": 1}), {"number": whole, "one": whole}),
    )
    numbers = pd.Series(np.arange(RECORDS), dtype="Int64")
    numbers[[0, 1, 20, RECORDS - 1]] = pd.NA
    yield (
        "records_without_values",
        Table(pd.DataFrame({"number": numbers, "one": numbers}), {"number": whole, "one": whole}),
    )
    yield "one_record", Table(pd.DataFrame({"number": [7], "one": [1]}), {"number": whole, "one": whole})


def recognisable_table(seed: int = 13) -> Table:
    """Numbers so large that they do not occur in texts by chance, beside a text that is not ASCII."""
    values = np.round(np.random.default_rng(seed).uniform(1e9, 9e9, RECORDS), 2)
    frame = pd.DataFrame({"amount": values, "region": np.resize(("Zürich", "Genève", "Basel"), RECORDS)})
    return Table(frame, {"region": VariableDeclaration(type="nominal", role="other")})


def damaged(content: bytes) -> Iterator[tuple[str, bytes]]:
    """Files that are hardly what their name says, made of one that is."""
    for share in (0.05, 0.3, 0.6, 0.95):
        yield f"truncated_at_{round(100 * share)}_percent", content[: int(len(content) * share)]
    yield "truncated_by_a_byte", content[:-1]
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError:
        text = ""
    if text:
        yield "wrong_encoding", text.encode("latin-1", errors="replace")
        yield "utf_16", text.encode("utf-16")
        middle = len(text) // 2
        yield "nul_characters", (text[:middle] + "\0" * 40 + text[middle:]).encode()
    noise = np.random.default_rng(14)
    yield "random_bytes", noise.bytes(5000)
    flipped = np.frombuffer(content, dtype=np.uint8).copy()
    flipped[noise.integers(0, len(flipped), max(len(flipped) // 50, 3))] ^= 0xFF
    yield "flipped_bytes", flipped.tobytes()
