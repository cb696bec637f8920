"""A package beside the built-in plugins, as if it were installed, and a pipeline that uses it."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from maskwright.plugins import registry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PIPELINES = {
    "method": "protect: [{method: spoiler, variables: [age, wage]}]",
    "partition": "protect: [{method: microaggregation, variables: [age, wage], params: {k: 3, partition: spoiler}}]",
    "measure": "protect: [{method: microaggregation, variables: [age, wage], params: {k: 3}}]\nmeasure: [spoiler]",
    "report": "protect: [{method: microaggregation, variables: [age, wage], params: {k: 3}}]",
}


class Distribution:
    """As much of an installed distribution as the registry reads."""

    name, version = "bad", "1.2"
    metadata = {"Name": "bad", "Version": "1.2"}  # noqa: RUF012 - as the real one has it


class InMemory(EntryPoint):
    """Entry point of a module that is in memory."""

    module: Any

    def load(self) -> Any:
        return vars(self)["module"]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Any], None]]:
    """Function that installs a module beside the built-in plugins, as package ``bad`` 1.2."""
    builtin = tuple(entry_points(group="maskwright", name="builtin"))

    def installed(module: Any) -> None:
        point = InMemory("bad", "bad", "maskwright")
        vars(point)["module"] = module
        vars(point)["dist"] = Distribution()
        monkeypatch.setattr(registry, "entry_points", lambda group: [*builtin, point])
        registry.plugins.cache_clear()

    yield installed
    registry.plugins.cache_clear()


@pytest.fixture
def pipeline(tmp_path: Path) -> Callable[[str], Path]:
    """Function that writes a pipeline that uses the plugin called ``spoiler`` of a kind, and its data of 40 records."""
    rng = np.random.default_rng(1)
    rows = [f"{18 + number},{wage},{'NSWE'[number % 4]}" for number, wage in enumerate(rng.integers(20000, 90000, 40))]
    rows[5:10] = [f"{23 + number},,N" for number in range(5)]
    (tmp_path / "data.csv").write_text("age,wage,region\n" + "\n".join(rows) + "\n", encoding="utf-8")

    def written(kind: str) -> Path:
        path = tmp_path / "pipeline.yaml"
        path.write_text(
            "maskwright: 1\n"
            "data: {source: data.csv, variables: {region: {role: other}}}\n"
            f"{PIPELINES.get(kind, PIPELINES['method'])}\n"
            "output: {data: masked.csv, record: run.json}\nseed: 1\n",
            encoding="utf-8",
        )
        return path

    return written
