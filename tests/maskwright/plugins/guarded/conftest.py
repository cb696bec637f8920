"""A package beside the built-in plugins, as if it were installed, and a pipeline that uses it."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from maskwright.plugins import registry

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

import bad_plugins
from bad_pipelines import write_data, write_pipeline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Distribution:
    """As much of an installed distribution as the registry reads."""

    name, version = "bad", "1.2"
    metadata = {"Name": "bad", "Version": "1.2"}  # noqa: RUF012 - as the real one has it


class InMemory(EntryPoint):
    """Entry point of a module that is in memory."""

    module: Any

    def load(self) -> Any:
        return vars(self)["module"]


@pytest.fixture(autouse=True)
def _nothing_hangs_on() -> Iterator[None]:
    """After a test, plugins that it has left behind return."""
    yield
    bad_plugins.end_what_hangs()


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
    write_data(tmp_path)
    return lambda kind: write_pipeline(tmp_path, kind)
