"""`maskwright init --plugin` writes packages that are green at once, and nothing where it cannot."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from maskwright.cli.main import main
from maskwright.commands.new_plugin.package import TEMPLATE_KINDS, plugin_names, write_plugin_package
from maskwright.foundation.errors import InputError

NAMES = {
    "method": "maskwright-my-noise",
    "measure": "maskwright-my-shift",
    "attack": "maskwright-my-guess",
    "partition": "maskwright-my-order",
    "source": "maskwright-my-lines",
    "rule_language": "maskwright-my-rules",
    "report": "maskwright-my-outcome",
}


def python(*arguments: str, path: list[Path], folder: Path, seconds: int = 280) -> subprocess.CompletedProcess[str]:
    """Run Python with `path` in front of its own packages."""
    own = os.environ.get("PYTHONPATH", "")
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([*map(str, path), *filter(None, [own])]),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return subprocess.run(
        [sys.executable, *arguments],
        env=environment, cwd=folder, capture_output=True, text=True, timeout=seconds, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with a package of each kind."""
    folder = tmp_path_factory.mktemp("packages")
    for kind, name in NAMES.items():
        assert main(["init", str(folder), "--plugin", name, "--kind", kind]) == 0
    return folder


@pytest.fixture(scope="module")
def installed(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with all of them as an installer leaves them, by what their pyproject.toml says."""
    target = tmp_path_factory.mktemp("installed")
    for name in NAMES.values():
        project = tomllib.loads((packages / name / "pyproject.toml").read_text("utf-8"))
        for package in project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]:
            shutil.copytree(packages / name / package, target / Path(package).name)
        said = project["project"]
        info = target / f"{said['name'].replace('-', '_')}-{said['version']}.dist-info"
        info.mkdir()
        metadata = f"Metadata-Version: 2.1\nName: {said['name']}\nVersion: {said['version']}\n"
        (info / "METADATA").write_text(metadata, encoding="utf-8")
        points = "".join(f"{key} = {value}\n" for key, value in said["entry-points"]["maskwright"].items())
        (info / "entry_points.txt").write_text(f"[maskwright]\n{points}", encoding="utf-8")
    return target


@pytest.mark.parametrize("kind", TEMPLATE_KINDS)
def test_a_new_package_is_whole(packages: Path, kind: str) -> None:
    folder = packages / NAMES[kind]
    names = plugin_names(NAMES[kind], kind)
    assert sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()) == [
        ".github/workflows/tests.yml",
        ".gitignore",
        "README.md",
        "pyproject.toml",
        f"src/{names.package}/__init__.py",
        f"src/{names.package}/{names.plugin}.py",
        f"src/{names.package}/py.typed",
        f"tests/test_{names.plugin}.py",
    ]
    assert not any("@@" in path.read_text("utf-8") for path in folder.rglob("*") if path.is_file())
    settings = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))
    assert settings["tool"]["mypy"]["overrides"] == [{"module": ["pyarrow.*"], "ignore_missing_imports": True}]
    project = settings["project"]
    assert (project["name"], project["entry-points"]["maskwright"]) == (NAMES[kind], {names.plugin: names.package})
    assert yaml.safe_load((folder / ".github/workflows/tests.yml").read_text("utf-8"))["jobs"]["tests"]["steps"]


def test_their_own_tests_pass(packages: Path) -> None:
    """All in one process: what a package asks of pytest is the same in each."""
    folders = [packages / name for name in NAMES.values()]
    settings = [tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))["tool"]["pytest"] for folder in folders]
    assert settings == [settings[0]] * len(NAMES)
    done = python(
        "-m", "pytest", "-v", "-p", "no:cacheprovider", "-c", str(folders[0] / "pyproject.toml"),
        *(str(folder / "tests") for folder in folders), path=[folder / "src" for folder in folders], folder=packages,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    for kind, name in NAMES.items():
        assert f"test_{plugin_names(name, kind).plugin}.py" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("kind", TEMPLATE_KINDS)
def test_its_own_tests_pass(packages: Path, kind: str) -> None:
    folder = packages / NAMES[kind]
    done = python("-m", "pytest", "-q", "-p", "no:cacheprovider", path=[folder / "src"], folder=folder)
    assert done.returncode == 0, done.stdout + done.stderr


PIPELINE = """\
maskwright: 1
data: {source: people.my_lines}
edits: [{my_rules: people.my_rules}]
protect:
  - {method: my_noise, variables: [income]}
  - {method: microaggregation, variables: [age], params: {k: 4, partition: my_order}}
measure: [my_shift]
output: {data: masked.my_lines, my_outcome: outcome.txt, edits: published.my_rules}
waive: [{doubt: written-file-not-read-twice, because: it is a test}]
seed: 1
"""


def test_a_pipeline_runs_with_one_of_each_kind(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "pipeline.yaml").write_text(PIPELINE, encoding="utf-8")
    (tmp_path / "people.my_rules").write_text("# people\nage <= 120\n", encoding="utf-8")
    records = "".join(
        f'{{"age": {20 + place * 7 % 40}, "income": {1000 + place * 70 % 400}.5}}\n' for place in range(40)
    )
    (tmp_path / "people.my_lines").write_text(records, encoding="utf-8")
    command = (
        "import sys; from maskwright.cli.main import main; main(['plugins', '--json']); sys.stdout.flush(); "
        "sys.exit(main(['run', 'pipeline.yaml', '--quiet']))"
    )
    done = python("-c", command, path=[installed], folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    infos = [each for each in json.loads(done.stdout)["plugins"] if each["distribution"] in NAMES.values()]
    assert {(each["kind"], each["distribution"], each["status"]) for each in infos} == {
        (kind, name, "ok") for kind, name in NAMES.items()
    }
    assert (tmp_path / "outcome.txt").read_text("utf-8").startswith("40 records, released\nedit edit-1: 0 violations")
    ages = [json.loads(line)["age"] for line in (tmp_path / "masked.my_lines").read_text("utf-8").splitlines()]
    assert len(set(ages)) == 10
    assert (tmp_path / "published.my_rules").read_text("utf-8") == "age <= 120  # edit-1\n"


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_types_are_strict(packages: Path) -> None:
    pytest.importorskip("mypy", reason="part of the dev extra")
    folders = [packages / name for name in NAMES.values()]
    (packages / "mypy.ini").write_text(
        "[mypy]\nstrict = true\n[mypy-pyarrow.*]\nignore_missing_imports = true\n", encoding="utf-8"
    )
    files = [str(path) for folder in folders for path in sorted(folder.rglob("*.py"))]
    done = python(
        "-m", "mypy", "--config-file", "mypy.ini", *files,
        path=[folder / "src" for folder in folders], folder=packages, seconds=1100,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("name", "kind", "said", "hint"),
    [
        ("top coding!", "method", "is no name of a package", "Try 'maskwright-top-coding'."),
        ("-noise", "method", "is no name of a package", "Try 'maskwright-noise'."),
        ("", "method", "is no name of a package", "Try 'maskwright-plugin'."),
        ("3d-noise", "method", "must begin with a letter", "Try 'maskwright-d-noise'."),
        ("class", "method", "be no keyword", "Try 'maskwright-my-class'."),
        ("maskwright-lambda", "method", "is a word of Python", "Try 'maskwright-my-lambda'."),
        ("json", "report", "there is a package called 'json' already", "Try 'maskwright-json'."),
        ("maskwright", "method", "there is a package called 'maskwright' already", "Try 'maskwright-"),
        ("maskwright-pram", "method", "there is a method 'pram' already", "Try 'maskwright-my-pram'."),
        ("maskwright-csv", "source", "there is a source 'csv' already", "Try 'maskwright-my-csv'."),
        ("maskwright-noise", "metod", "no kind of plugin called 'metod'; did you mean 'method'?", ""),
    ],
)
def test_a_name_that_cannot_be_is_refused(tmp_path: Path, name: str, kind: str, said: str, hint: str) -> None:
    with pytest.raises(InputError) as refused:
        write_plugin_package(tmp_path, name, kind)
    assert said in str(refused.value)
    assert hint in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_there_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "maskwright-mine").mkdir()
    assert main(["init", str(tmp_path), "--plugin", "Maskwright_Mine"]) == 2
    assert "exists; it was left alone" in capsys.readouterr().err
    assert [path.name for path in tmp_path.rglob("*")] == ["maskwright-mine"]


def test_nothing_is_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "rename", full)
    with pytest.raises(InputError, match="cannot be written: No space left on device"):
        write_plugin_package(tmp_path, "maskwright-mine")
    assert list(tmp_path.iterdir()) == []


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init", str(tmp_path), "--plugin", "maskwright-mine", "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["folder"] == str(tmp_path / "maskwright-mine")
    assert all((tmp_path / "maskwright-mine" / name).is_file() for name in made["files"])
    assert main(["init", str(tmp_path), "--kind", "method"]) == 2
    assert "--plugin NAME --kind KIND" in capsys.readouterr().err
    assert main(["init", str(tmp_path), "--plugin", "maskwright-other", "--force"]) == 2
    assert "only --kind" in capsys.readouterr().err
