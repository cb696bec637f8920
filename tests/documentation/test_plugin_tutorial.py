"""The plugin tutorial ends with a working plugin."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hatchling.build import build_wheel

import maskwright
from maskwright.plugins.hooks import HOOKS

TUTORIAL = Path(__file__).parents[2] / "docs" / "plugin-authors" / "first-plugin.md"
INCOMES = [100 + 7 * place % 100 for place in range(100)]


def files() -> dict[str, str]:
    """Files of the tutorial: a name alone on a line, then its content."""
    block = r"^`([^`\n]+)`\n\n(?:<!-- [^\n]* -->\n)?```\w+\n(.*?)^```$"
    return dict(re.findall(block, TUTORIAL.read_text("utf-8"), re.MULTILINE | re.DOTALL))


def python(*arguments: str, path: Path | None = None, folder: Path) -> str:
    environment = os.environ | {"PYTHONPATH": str(path) if path else "", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, *arguments],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def maskwright_command(*arguments: str, path: Path, folder: Path) -> str:
    code = "import sys; from maskwright.cli.main import main; sys.exit(main(sys.argv[1:]))"
    return python("-c", code, *arguments, path=path, folder=folder)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("topcoding")
    for name, content in files().items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    (folder / "incomes.csv").write_text("income\n" + "\n".join(map(str, INCOMES)) + "\n")
    return folder


@pytest.fixture(scope="module")
def installed(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the package as its build backend makes it; that pip installs one is seen of the example plugin."""
    target = tmp_path_factory.mktemp("installed")
    built = tmp_path_factory.mktemp("built")
    with contextlib.chdir(project):
        wheel = build_wheel(str(built))
    with zipfile.ZipFile(built / wheel) as packed:
        packed.extractall(target)
    return target


def test_the_tutorial_has_the_files_it_speaks_of() -> None:
    assert set(files()) == {
        "pyproject.toml",
        "maskwright_topcoding/topcoding.py",
        "maskwright_topcoding/__init__.py",
        "tests/test_topcoding.py",
        "pipeline.yaml",
    }


def test_its_tests_pass(project: Path, installed: Path) -> None:
    arguments = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "tests"]
    assert " passed" in python(*arguments, path=installed, folder=project)


def test_the_plugin_is_listed_and_explained(project: Path, installed: Path) -> None:
    listed = json.loads(maskwright_command("plugins", "--json", path=installed, folder=project))["plugins"]
    assert {
        "name": "top_coding",
        "kind": "method",
        "distribution": "maskwright-topcoding",
        "version": "0.1.0",
        "status": "ok",
        "error": None,
        "conflict": None,
    } in listed
    assert "share" in maskwright_command("explain", "top_coding", path=installed, folder=project)


def test_its_pipeline_runs(project: Path, installed: Path) -> None:
    maskwright_command("run", "pipeline.yaml", "--json", path=installed, folder=project)
    masked = [float(line) for line in (project / "masked.csv").read_text().split()[1:]]
    assert masked == [min(value, 179) for value in INCOMES]


def test_the_table_names_every_kind_and_hook() -> None:
    text = TUTORIAL.read_text("utf-8")
    for kind, hook in HOOKS.items():
        assert f"| {kind.replace('_', ' ')} |" in text
        assert f"`{hook}`" in text
    for name in re.findall(r"`maskwright\.(\w+)`", text):
        assert name in (*maskwright.__all__, "testing")


def test_its_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)]+)\)", TUTORIAL.read_text("utf-8")):
        assert (TUTORIAL.parent / target).exists(), target
