"""Finding plugins: order does not matter, a broken one harms nobody, names have near ones."""

from __future__ import annotations

import itertools
import subprocess
import sys
import types
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel

from maskwright import (
    Claims,
    EditSet,
    Measure,
    MeasureClaims,
    Measurement,
    Method,
    Partition,
    PluginError,
    Report,
    RuleLanguage,
    Source,
    hookimpl,
)
from maskwright.plugins import registry
from maskwright.plugins.registry import discover, find_measure, find_method, find_rule_language, find_source, plugins

if TYPE_CHECKING:
    from collections.abc import Iterator


def protect(block, params, rng):
    raise AssertionError("not called here")


def compute(comparison, params, rng):
    return Measurement(0.0)


def _open(path, params, progress):
    raise AssertionError("not called here")


def _write(path, batches, variables, layout):
    raise AssertionError("not called here")


class Distribution:
    """As much of an installed distribution as the registry reads."""

    def __init__(self, name: str) -> None:
        self.name, self.version, self.metadata = name, "1.0", {"Name": name, "Version": "1.0"}


class Loaded(EntryPoint):
    """Entry point of something in memory."""

    def load(self) -> Any:
        offered = MODULES[self.value]
        if isinstance(offered, BaseException):
            raise offered
        return offered


MODULES: dict[str, Any] = {}


def entry(distribution: str, **hooks: Any) -> EntryPoint:
    """Entry point of a module with the given hooks: a list is returned, an exception raised, a function called."""
    module: Any = types.ModuleType(distribution)
    module.CONTRACT = 2
    for name, offered in hooks.items():

        def hook(offered=offered):
            if isinstance(offered, BaseException):
                raise offered
            return offered

        setattr(module, name, hookimpl(types.FunctionType(hook.__code__, hook.__globals__, name, hook.__defaults__)))
    return of_module(distribution, module)


def of_module(distribution: str, module: Any) -> EntryPoint:
    MODULES[distribution] = module
    point = Loaded(distribution, distribution, "maskwright")
    vars(point)["dist"] = Distribution(distribution)
    return point


def broken(found) -> dict[tuple[str, str], str]:
    return {(info.kind, info.name): info.error for info in found.infos if info.status == "broken"}


def test_the_order_of_installation_does_not_matter() -> None:
    points = [
        entry("zeta", register_methods=[Method(name="noise", protect=protect), Method(name="swap", protect=protect)]),
        entry(
            "alpha",
            register_methods=[Method(name="swap", protect=protect)],
            register_measures=[Measure(name="m", compute=compute)],
        ),
        entry("maskwright", register_methods=[Method(name="noise", protect=protect)]),
        entry("beta", register_methods=ValueError("no")),
    ]
    results = {discover(order).infos for order in itertools.permutations(points)}
    assert len(results) == 1
    found = discover(points)
    assert list(found.methods) == ["noise", "swap"]
    assert found.info("method", "noise").distribution == "maskwright"
    assert found.info("method", "swap").distribution == "alpha"
    assert broken(found) == {
        ("method", "noise"): "the method 'noise' is already built in; choose another name",
        ("method", "swap"): "the method 'swap' is already offered by alpha; choose another name",
        ("method", "beta"): "register_methods: ValueError: no",
    }


def test_built_in_rule_languages_are_listed_and_cannot_be_replaced() -> None:
    found = discover([entry("other", register_rule_languages=[RuleLanguage(name="yaml", read=lambda path: EditSet())])])
    assert list(found.rule_languages) == ["banff", "schematron", "validate", "yaml"]
    assert found.info("rule_language", "yaml").distribution == "maskwright"


class NotAModel:
    """No pydantic model."""


class AsParams(BaseModel):
    """A reserved name."""

    model_config = {"populate_by_name": True}


AsParams.model_fields["as"] = next(iter(()), None) or __import__("pydantic").Field(default=1)

WRONG = [
    ("register_methods", ["noise"], "offered a str where a maskwright.Method is expected"),
    (
        "register_methods",
        [Measure(name="m", compute=compute)],
        "offered a Measure where a maskwright.Method is expected",
    ),
    ("register_methods", [Method(name="", protect=protect)], "the name must be"),
    ("register_methods", [Method(name="two words", protect=protect)], "the name must be"),
    (
        "register_methods",
        [Method(name="m", protect=lambda block: None)],
        "cannot be called as protect(block, params, rng)",
    ),
    ("register_methods", [Method(name="m", protect=5)], "protect must be a function protect(block, params, rng)"),
    (
        "register_methods",
        [Method(name="m", protect=protect, params=NotAModel)],
        "params must be a class derived from pydantic.BaseModel",
    ),
    ("register_methods", [Method(name="m", protect=protect, scope="block")], "scope: 'block' unknown"),
    (
        "register_methods",
        [Method(name="m", protect=protect, claims=Claims(preserves={"truth"}))],
        "preserves: 'truth' unknown",
    ),
    (
        "register_methods",
        [Method(name="m", protect=protect, claims=Claims(variable_types={"text"}))],
        "variable_types: 'text' unknown",
    ),
    (
        "register_methods",
        [Method(name="m", protect=protect, claims=Claims(preserves={"k"}))],
        "PromisesK must mark the parameter",
    ),
    ("register_methods", 5, "TypeError"),
    ("register_methods", None, "TypeError"),
    ("register_methods", SystemExit("bye"), "SystemExit: bye"),
    (
        "register_measures",
        [Measure(name="m", compute=compute, kind="gain")],
        "kind: 'gain' unknown; there are loss, risk, score",
    ),
    (
        "register_measures",
        [Measure(name="m", compute=compute, direction="up")],
        "direction: 'up' unknown; there are lower, higher",
    ),
    ("register_measures", [Measure(name="m", compute=compute, range=(1.0, 0.0))], "range must be"),
    (
        "register_measures",
        [Measure(name="m", compute=compute, claims=MeasureClaims(invariant_to={"x"}))],
        "invariant_to: 'x' unknown",
    ),
    ("register_measures", [Measure(name="m", compute=compute, params=AsParams)], "cannot be called 'as'"),
    ("register_partitions", [Partition(name="p", cluster=lambda block, k: None)], "cannot be called as cluster("),
    (
        "register_sources",
        [Source(name="s", suffixes=(".S",), open=_open, write=_write)],
        "suffixes must be a tuple of lower case",
    ),
    (
        "register_sources",
        [Source(name="s", suffixes=(".s",), open=_open, write=lambda path: None)],
        "cannot be called as write(",
    ),
    ("register_reports", [Report(name="r", write=lambda: None)], "cannot be called as write(path, record)"),
]


@pytest.mark.parametrize(("hook", "offered", "error"), WRONG, ids=[error for *_, error in WRONG])
def test_a_wrong_plugin_is_listed_as_broken_and_the_rest_works(hook: str, offered: Any, error: str) -> None:
    right = entry("right", register_methods=[Method(name="fine", protect=protect)])
    found = discover([entry("wrong", **{hook: offered}), right])
    assert list(found.methods) == ["fine"]
    (said,) = broken(found).values()
    assert error in said
    assert "\n" not in said


def test_a_long_error_of_many_lines_is_one_line() -> None:
    (said,) = broken(discover([of_module("wordy", RuntimeError("word\n" * 1000))])).values()
    assert said.startswith("RuntimeError: word word")
    assert len(said) <= 300
    assert "\n" not in said


def test_damaged_metadata_stop_nobody() -> None:
    damaged, nowhere = (
        entry("damaged", register_methods=[Method(name="a", protect=protect)]),
        Loaded("n", "damaged", "maskwright"),
    )
    vars(damaged)["dist"].metadata = None
    found = discover([damaged, nowhere, entry("right", register_methods=[Method(name="fine", protect=protect)])])
    assert list(found.methods) == ["a", "fine"]
    assert found.info("method", "a").distribution == "unknown"


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    point = entry(
        "maskwright",
        register_methods=[Method(name="noise", protect=protect)],
        register_measures=[Measure(name="pil", compute=compute), "nonsense"],
        register_sources=[
            Source(name="csv", suffixes=(".csv",), open=_open, write=_write),
            Source(name="gzip", suffixes=(".csv.gz",), open=_open, write=_write),
            Source(name="any", suffixes=(".gz",), open=_open, write=_write),
        ],
    )
    monkeypatch.setattr(registry, "entry_points", lambda group: [point, of_module("bad", ImportError("gone"))])
    plugins.cache_clear()
    yield
    plugins.cache_clear()


@pytest.mark.usefixtures("installed")
def test_names_are_found_or_the_nearest_is_told() -> None:
    assert find_method("noise").name == "noise"
    with pytest.raises(PluginError, match="no method called 'noize'; did you mean 'noise'"):
        find_method("noize")
    with pytest.raises(PluginError, match="no measure called 'sse'; there are: pil"):
        find_measure("sse")
    assert find_source("csv").name == "csv"
    assert find_source(Path("data.CSV")).name == "csv"
    assert find_source("a/data.csv.gz").name == "gzip"
    assert find_rule_language("rules.SCH").name == "schematron"
    with pytest.raises(PluginError, match=r"no file format is known for 'x.sav'; endings that are: .csv, .csv.gz, .gz"):
        find_source("x.sav")
    with pytest.raises(PluginError, match="did you mean 'csv'"):
        find_source("cvs")
    with pytest.raises(PluginError, match="no rule language is known"):
        find_rule_language("rules.txt")


@pytest.mark.usefixtures("installed")
def test_a_broken_plugin_says_so_when_it_is_asked_for() -> None:
    with pytest.raises(PluginError, match=r"the measure 'maskwright' \(package maskwright\) is broken: offered a str"):
        find_measure("maskwright")
    with pytest.raises(PluginError, match="no method called"):
        plugins().info("method", "bad")


@pytest.mark.parametrize(
    ("statement", "heavy"),
    [
        ("import maskwright.plugins.registry", ("numba", "pandas", "scipy", "pyarrow", "lxml")),
        # Every command that names a plugin does this; what a plugin computes with is for when it computes.
        (
            "from maskwright.plugins.registry import plugins; assert plugins().methods",
            ("numba", "pandas", "scipy", "matplotlib", "PIL", "optuna", "sklearn", "statsmodels"),
        ),
    ],
    ids=["the registry", "all built-in plugins"],
)
def test_listing_plugins_is_light(statement: str, heavy: tuple[str, ...]) -> None:
    # The first of the project's modules that asks is named, so that it is found at once.
    code = f"""
import sys, traceback
class Watch:
    def find_spec(self, name, path=None, target=None):
        if name in {heavy}:
            askers = [frame for frame in traceback.extract_stack() if "maskwright" in frame.filename]
            # Whether a library is there is looked up, and that imports nothing.
            if askers and askers[-1].name != "what_is_missing":
                print(name, "is imported by", askers[-1].filename, "line", askers[-1].lineno)
sys.meta_path.insert(0, Watch())
{statement}
print([name for name in {heavy} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
