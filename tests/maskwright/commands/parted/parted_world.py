"""A survey in parts: two sums, a rule that governs, missing cells, a weight, and unmasked variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import yaml

if TYPE_CHECKING:
    from pathlib import Path

GROUPS = (("wages", "tax", "gross"), ("rent", "other", "cost"), ("age", "hours", "benefit"))

EDITS = (
    {"rule": "wages + tax == gross", "name": "gross"},
    {"rule": "rent + other == cost", "name": "cost"},
    {"rule": "age in [0, 120]", "name": "age"},
    {"rule": "if sex == 'M' then benefit == 0", "name": "benefit"},
)


def survey(records: int, seed: int = 7) -> pd.DataFrame:
    """Persons; a few break the rule on benefit on arrival."""
    rng = np.random.default_rng(seed)
    wages = np.rint(rng.lognormal(8, 1, records))
    tax = np.rint(wages * rng.uniform(0.1, 0.4, records))
    rent, other = np.rint(rng.lognormal(6, 1, records)), np.rint(rng.lognormal(5, 1, records))
    sex = rng.choice(["F", "M"], records)
    is_claimed = (sex == "F") | (rng.random(records) < 0.001)
    benefit = np.where(is_claimed, np.rint(rng.lognormal(5, 1, records)) + 1, 0).astype(np.int64)
    hours = pd.array(rng.integers(0, 80, records), dtype="Int64")
    hours[rng.random(records) < 0.05] = pd.NA
    whole = {"wages": wages, "tax": tax, "gross": wages + tax, "rent": rent, "other": other, "cost": rent + other}
    frame = pd.DataFrame({name: values.astype(np.int64) for name, values in whole.items()})
    return frame.assign(
        age=rng.integers(0, 100, records), hours=hours, benefit=benefit, sex=sex,
        region=rng.choice(["north", "south", "west"], records), number=np.arange(records),
    )  # fmt: skip


def write_parts(frame: pd.DataFrame, folder: Path, parts: int) -> Path:
    """Parquet files of nearly equal size."""
    folder.mkdir(parents=True)
    for number, rows in enumerate(np.array_split(np.arange(len(frame)), parts)):
        frame.iloc[rows].to_parquet(folder / f"part-{number}.parquet", index=False)
    return folder


def read_parts(folder: Path, parts: int) -> pd.DataFrame:
    """What `write_parts` wrote, in its order."""
    return pd.concat([pd.read_parquet(folder / f"part-{number}.parquet") for number in range(parts)], ignore_index=True)


def pipeline(source: Path, target: Path, **changes: object) -> dict[str, object]:
    """Settings of a run over parts; `changes` take the place of sections."""
    settings: dict[str, object] = {
        "maskwright": 1,
        "data": {
            "source": str(source),
            "variables": {name: {"role": "other"} for name in ("number", "sex", "region")},
        },
        "edits": list(EDITS),
        "protect": [
            {
                "method": "microaggregation",
                "params": {"k": 3, "partition": "mdav"},
                "groups": [list(group) for group in GROUPS],
            }
        ],
        "measure": ["sse", "il1s", "structural_zeros", "higher_moments"],
        "output": {"data": str(target) + "/", "record": str(target) + ".json"},
        "execution": {"engine": "local", "block_size": 5_000},
        "seed": 11,
    }
    return settings | changes


def write_pipeline(path: Path, settings: dict[str, object]) -> Path:
    """The settings as a file."""
    path.write_text(yaml.safe_dump(settings), encoding="utf-8")
    return path
