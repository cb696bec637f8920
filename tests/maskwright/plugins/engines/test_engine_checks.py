"""The kit: engines that come with Maskwright keep their contract, and those that do not are found."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from maskwright import Engine, PluginFailed, Receipt, perform
from maskwright.plugins.registry import plugins
from maskwright.testing import engine_checks

BUILT_IN = [engine for name, engine in plugins().engines.items() if name != "dask"]
CLUSTERS = [plugins().engines["dask"]] if find_spec("distributed") else []
pytestmark = pytest.mark.usefixtures("no_sockets_of_dask")


@pytest.mark.parametrize("check", engine_checks(BUILT_IN))
def test_built_in_engines(check):
    assert check() is None


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    "check", [each for each in engine_checks(CLUSTERS) if "errors" in each.id or "2_workers" in each.id]
)
def test_dask(check):
    assert check() is None


def example():
    """The engine of the page on plugins."""
    page = (Path(__file__).parents[4] / "docs" / "plugin-authors" / "plugins.md").read_text("utf-8")
    shown = page.partition("`src/maskwright_my_queue/my_queue.py`\n")[2]
    text = shown.partition("```python\n")[2].partition("```\n")[0]
    module = ModuleType("my_queue")
    sys.modules["my_queue"] = module
    exec(compile(text, "my_queue.py", "exec"), vars(module))
    return module.MY_QUEUE


@pytest.mark.parametrize("check", engine_checks([example()]))
def test_the_example_keeps_the_contract(check):
    assert check() is None


class OneByOne:
    """One task after the other: slow, and right."""

    def run(self, stage, keys):
        return (perform(stage, key) for key in keys)


class AsCompleted:
    """In any order."""

    def run(self, stage, keys):
        with ThreadPoolExecutor(2) as pool:
            for each in as_completed([pool.submit(perform, stage, key) for key in keys]):
                yield each.result()


class LeavesSomeOut:
    """Three tasks are enough."""

    def run(self, stage, keys):
        return (perform(stage, key) for key in list(keys)[:3])


class WorksItself:
    """Without `perform`."""

    def run(self, stage, keys):
        for key in keys:
            folder = stage.scratch / key
            folder.mkdir()
            yield Receipt(stage.name, key, {}, stage.work(folder, key))


class AsksForAll:
    """All keys, and all receipts at once."""

    def run(self, stage, keys):
        return [perform(stage, key) for key in keys]


def engine(workers):
    return Engine(name="tried", start=lambda terms, params: nullcontext(workers), summary="To be tried.")


def failing(workers):
    found = set()
    for check in engine_checks([engine(workers)]):
        try:
            check.values[0]()
        except (AssertionError, PluginFailed):
            found.add(check.id.partition("-")[2])
    return found


@pytest.mark.parametrize(
    ("workers", "expected"),
    [
        (OneByOne(), set()),
        (AsCompleted(), {"same_receipts_2_workers"}),
        (LeavesSomeOut(), {"same_receipts_1_workers", "failing_task_is_named"}),
        (WorksItself(), {"same_receipts_1_workers", "what_is_done_counts", "failing_task_is_named", "full_disk"}),
        (AsksForAll(), {"keys_are_asked_for_as_needed"}),
        (object(), {"same_receipts_1_workers", "nothing_to_do"}),
    ],
)
def test_what_the_kit_finds(workers, expected):
    found = failing(workers)
    assert expected <= found
    assert bool(expected) == bool(found)


def test_an_engine_that_starts_something_else_is_named():
    something: Any = []
    wrong = Engine(name="wrong", start=lambda terms, params: something, summary="Starts a list.")
    check = next(each for each in engine_checks([wrong]) if "nothing" in each.id)
    with pytest.raises(PluginFailed, match=r"engine 'wrong'.* returned a list; it has to return a context manager"):
        check.values[0]()
