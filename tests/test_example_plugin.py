"""A real third-party package, built and installed: it is listed, it works, and a broken one beside it does no harm."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from maskwright.cli.main import main
from maskwright.plugins import registry

if TYPE_CHECKING:
    from collections.abc import Iterator

EXAMPLE = Path(__file__).parent / "example_plugin"

USE = """
import json, sys
import numpy as np
from maskwright.pipeline.reading import resolve_file
from maskwright.testing.sample_data import block_of, dataset_of, numbers
from maskwright import Comparison
read = resolve_file(sys.argv[1])
values = numbers(100, 1)
step = read.steps[0]
masked = step.method.protect(block_of(values), step.params, np.random.default_rng(1))
request = read.measures[0]
comparison = Comparison(dataset_of(values), dataset_of(masked.values), ("x1",))
found = request.measure.compute(comparison, request.params, np.random.default_rng(1))
print(json.dumps({"share": step.params.share, "label": request.label, "value": found.value}))
"""


def python(*arguments: str, path: list[Path]) -> subprocess.CompletedProcess[str]:
    """Run Python with `path` in front of its own packages."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, path)), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, timeout=280, check=False
    )


def install(source: Path, target: Path) -> None:
    """Build and install a package without any network: what it needs is part of the test extra."""
    command = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps"]
    done = python(*command, "--no-build-isolation", "--target", str(target), str(source), path=[])
    if done.returncode != 0:
        raise RuntimeError(f"the example plugin cannot be installed:\n{done.stdout}{done.stderr}")


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the example installed in it, as a user would."""
    source = tmp_path_factory.mktemp("source") / "example_plugin"
    shutil.copytree(EXAMPLE, source, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    target = tmp_path_factory.mktemp("installed")
    install(source, target)
    return target


HOOK = "from maskwright import hookimpl\n\nCONTRACT = 2\n\n@hookimpl\ndef {}:\n    return []\n"


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """Folder with a package whose module cannot be imported, and one that breaks its promises."""
    for name, code in {
        "brokenimport": "import a_module_that_is_nowhere\n",
        "unkeptpromises": """
from maskwright import Measure, Method, hookimpl

CONTRACT = 2

@hookimpl
def register_methods():
    too_few = Method(name="too_few_arguments", protect=lambda block: None)
    return [too_few, Method(name="example_noise", protect=lambda *arguments: None)]

@hookimpl
def register_measures():
    raise ValueError("not today")

@hookimpl
def register_reports():
    return ["report"]
""",
        "brokenhook": HOOK.format("register_method()"),
        "brokenarguments": HOOK.format("register_methods(x)"),
        "brokenexit": "raise SystemExit(3)\n",
        "nohooks": "CONTRACT = 2\n",
    }.items():
        (tmp_path / f"{name}.py").write_text(code)
        info = tmp_path / f"{name}-0.1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1\n")
        (info / "entry_points.txt").write_text(f"[maskwright]\n{name} = {name}\n")
    return tmp_path


@contextlib.contextmanager
def importable(path: list[Path]) -> Iterator[None]:
    """Packages in these folders are in front of all others; what is imported from there is forgotten."""
    before = set(sys.modules)
    registry.plugins.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        for folder in reversed(path):
            patch.syspath_prepend(str(folder))
        yield
    for name in set(sys.modules) - before:
        if any(str(folder) in str(getattr(sys.modules[name], "__file__", "")) for folder in path):
            del sys.modules[name]
    registry.plugins.cache_clear()


def listed(path: list[Path]) -> list[dict[str, str]]:
    printed = io.StringIO()
    with importable(path), contextlib.redirect_stdout(printed):
        assert main(["plugins", "--json"]) == 0
    plugins: list[dict[str, str]] = json.loads(printed.getvalue())["plugins"]
    return plugins


def test_the_example_is_listed(installed: Path) -> None:
    mine = [plugin for plugin in listed([installed]) if plugin["distribution"] == "maskwright-example"]
    assert [(plugin["kind"], plugin["name"], plugin["version"], plugin["status"]) for plugin in mine] == [
        ("measure", "example_mean_shift", "1.2.3", "ok"),
        ("method", "example_noise", "1.2.3", "ok"),
    ]


def test_the_example_is_used_by_a_pipeline(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("x1\n1\n")
    pipeline = tmp_path / "pipeline.yaml"
    pipeline.write_text(
        "maskwright: 1\ndata: {source: data.csv}\noutput: {data: masked.csv}\n"
        "protect: [{method: example_noise, params: {share: 0.25}}]\n"
        "measure: [{example_mean_shift: {as: shift}}]\n"
    )
    done = python("-c", USE, str(pipeline), path=[installed])
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["share"], found["label"]) == (0.25, "shift")
    assert 0.0 < found["value"] < 10.0


def test_the_examples_own_tests_pass(installed: Path) -> None:
    tests = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, str(EXAMPLE / "tests")]
    done = python(*tests, path=[installed])
    assert done.returncode == 0, done.stdout + done.stderr


def test_broken_plugins_are_listed_and_do_no_harm(installed: Path, broken: Path) -> None:
    alone, together = listed([installed]), listed([installed, broken])
    working = [plugin for plugin in together if plugin["status"] == "ok"]
    assert working == [plugin for plugin in alone if plugin["status"] == "ok"]
    errors = {
        (plugin["distribution"], plugin["kind"], plugin["name"]): plugin["error"]
        for plugin in together
        if plugin["distribution"].startswith(("broken", "nohooks", "unkept"))
    }
    assert all(error and "\n" not in error for error in errors.values())
    for key, part in {
        ("brokenimport", "plugin", "brokenimport"): "ModuleNotFoundError: No module named 'a_module_that_is_nowhere'",
        ("unkeptpromises", "method", "too_few_arguments"): "cannot be called as protect(block, params, rng)",
        ("unkeptpromises", "method", "example_noise"): "is already offered by maskwright-example; choose another name",
        ("unkeptpromises", "measure", "unkeptpromises"): "register_measures: ValueError: not today",
        ("unkeptpromises", "report", "unkeptpromises"): "offered a str where a maskwright.Report is expected",
        ("brokenhook", "plugin", "brokenhook"): "register_method",
        ("brokenarguments", "plugin", "brokenarguments"): "register_methods",
        ("brokenexit", "plugin", "brokenexit"): "SystemExit: 3",
        ("nohooks", "plugin", "nohooks"): "no function marked with @maskwright.hookimpl",
    }.items():
        assert part in errors[key]
    # Two packages offer 'example_noise': the first by name counts, whatever the order of the path.
    reversed_path = listed([broken, installed])
    assert reversed_path == together
