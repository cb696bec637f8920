"""Pipelines that use the plugin called ``spoiler`` of each kind, and their data of 40 records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

WITHOUT = "protect: [{method: microaggregation, variables: [age, wage], params: {k: 3}}]"
PIPELINES = {
    "method": "protect: [{method: spoiler, variables: [age, wage]}]",
    "partition": "protect: [{method: microaggregation, variables: [age, wage], params: {k: 3, partition: spoiler}}]",
    "measure": f"{WITHOUT}\nmeasure: [spoiler]",
}
"""By kind; of all others what the pipeline says further is said with each plugin."""


def write_data(folder: Path) -> None:
    """Write ``data.csv``."""
    rng = np.random.default_rng(1)
    ages = [18 + number * 7 % 40 for number in range(40)]
    rows = [f"{age},{wage},{'NSWE'[age % 4]}" for age, wage in zip(ages, rng.integers(20000, 90000, 40), strict=True)]
    rows[5:10] = [f"{age},,N" for age in ages[5:10]]
    (folder / "data.csv").write_text("age,wage,region\n" + "\n".join(rows) + "\n", encoding="utf-8")


def write_pipeline(folder: Path, kind: str) -> Path:
    """Write ``pipeline.yaml``."""
    path = folder / "pipeline.yaml"
    path.write_text(
        "maskwright: 1\n"
        "data: {source: data.csv, variables: {region: {role: other}}}\n"
        f"{PIPELINES.get(kind, WITHOUT)}\n"
        "output: {data: masked.csv, record: run.json}\nseed: 1\n",
        encoding="utf-8",
    )
    return path
