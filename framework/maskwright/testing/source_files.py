"""Made-up tables that formats have to hold, and damaged files that they have to refuse; no real data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from maskwright.commands.reading import load
from maskwright.data.declaration import VariableDeclaration
from maskwright.pipeline.resolved import DataInMemory

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from maskwright.data.dataset import Dataset

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


def telling_table(seed: int = 13) -> Table:
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
