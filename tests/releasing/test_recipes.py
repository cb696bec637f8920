"""The conda recipe and the Dockerfile ask for what pyproject.toml says, and for nothing that is not there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import jinja2
import pytest
import yaml

import maskwright

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CONDA_NAMES = {"matplotlib": "matplotlib-base", "duckdb": "python-duckdb", "psycopg": "psycopg"}
ONLY_BY_PIP = {"saxonche"}
FOR_WORK_ON_MASKWRIGHT = {"test", "dev", "benchmark", "docs"}


def requirement(text: str) -> tuple[str, str]:
    """Name and bound: ``psycopg[binary]>=3.2`` is ``psycopg`` and ``>=3.2``."""
    found = re.fullmatch(r"([A-Za-z0-9_.-]+)(?:\[.*\])?(>=[\w.]+)", text.replace(" ", ""))
    assert found is not None, text
    return found[1].lower(), found[2]


@pytest.fixture(scope="module")
def recipe() -> dict[str, Any]:
    text = (ROOT / "packaging" / "conda" / "meta.yaml").read_text(encoding="utf-8")
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False)
    return yaml.safe_load(environment.from_string(text).render(PYTHON="python"))


def test_the_recipe_has_the_version(recipe: dict[str, Any]) -> None:
    assert recipe["package"] == {"name": "maskwright", "version": maskwright.__version__}


def test_the_recipe_asks_for_the_same_packages(recipe: dict[str, Any]) -> None:
    run = dict(requirement(each) for each in recipe["requirements"]["run"])
    assert run.pop("python") == PROJECT["requires-python"]
    assert run == dict(requirement(each) for each in PROJECT["dependencies"])


def test_the_recipe_bounds_what_the_extras_bring(recipe: dict[str, Any]) -> None:
    wanted = {
        requirement(each)
        for extra, requirements in PROJECT["optional-dependencies"].items()
        if extra not in FOR_WORK_ON_MASKWRIGHT
        for each in requirements
    }
    expected = {(CONDA_NAMES.get(name, name), bound) for name, bound in wanted if name not in ONLY_BY_PIP}
    assert {requirement(each) for each in recipe["requirements"]["run_constrained"]} == expected


def test_the_recipe_says_what_a_linter_of_recipes_asks_for(recipe: dict[str, Any]) -> None:
    assert {"home", "summary", "license", "license_file"} <= set(recipe["about"])
    assert recipe["about"]["license"] == PROJECT["license"]
    assert (ROOT / recipe["about"]["license_file"]).is_file()
    assert recipe["extra"]["recipe-maintainers"]
    (script,) = PROJECT["scripts"].items()
    assert recipe["build"]["entry_points"] == [" = ".join(script)]
    assert recipe["build"]["noarch"] == "python"
    assert "pip check" in recipe["test"]["commands"]
    backend = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]
    host = [each for each in recipe["requirements"]["host"] if each.startswith("hatchling")]
    assert [requirement(each) for each in host] == [requirement(each) for each in backend]


def test_every_extra_but_those_of_work_on_maskwright_is_tested() -> None:
    """What an extra brings is in the extra `test`, so that its tests do not all skip."""
    tested = {requirement(each)[0] for each in PROJECT["optional-dependencies"]["test"]}
    assert {"matplotlib", "pillow"} <= tested
    assert not {"matplotlib", "pillow"} & {requirement(each)[0] for each in PROJECT["dependencies"]}


def instructions() -> list[tuple[str, str]]:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    text = re.sub(r"(?m)^#.*\n", "", text).replace("\\\n", " ")
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line.strip()]


def test_the_container_does_not_run_as_root() -> None:
    last_stage = instructions()[max(n for n, (name, _) in enumerate(instructions()) if name == "FROM") :]
    users = [value for name, value in last_stage if name == "USER"]
    assert users
    assert users[-1].isdigit()
    assert int(users[-1]) > 0
    assert last_stage.index(("USER", users[-1])) > max(n for n, (name, _) in enumerate(last_stage) if name == "RUN")


def test_the_container_runs_the_program_without_a_shell() -> None:
    said = dict(instructions())
    assert said["ENTRYPOINT"] == '["maskwright"]'
    assert said["CMD"] == '["--help"]'


def test_what_the_build_needs_is_let_in_and_nothing_else() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    said = [line for line in lines if line and not line.startswith("#")]
    assert said[0] == "*"
    let_in = {line[1:] for line in said if line.startswith("!")}
    assert all((ROOT / path).exists() for path in let_in)
    used = set(re.findall(r"/source/([\w/.]+)", (ROOT / "Dockerfile").read_text(encoding="utf-8")))
    assert used
    assert all(path in let_in or path.partition("/")[0] in let_in for path in used)
    hatch = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
    packages = hatch["targets"]["wheel"]["packages"]
    assert {path.partition("/")[0] for path in packages} | {"pyproject.toml", "README.md", "LICENSE"} <= let_in


def test_kernels_are_compiled_and_used_for_the_same_processor() -> None:
    """Else each container would compile them anew."""
    stages = [value for name, value in instructions() if name == "ENV"]
    for setting in (r"NUMBA_CPU_NAME=(\S+)", r"NUMBA_CACHE_DIR=(\S+)"):
        found = [re.findall(setting, stage) for stage in stages]
        assert len(found) == 2
        assert found[0] == found[1] != []


@pytest.mark.parametrize("name", ["publish.yml", "checks.yml", "slow.yml"])
def test_workflows_may_do_no_more_than_they_need(name: str) -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / name).read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    granted = {job: each["permissions"] for job, each in workflow["jobs"].items() if "permissions" in each}
    assert granted == ({"publish": {"id-token": "write"}} if name == "publish.yml" else {})


def test_what_is_published_is_what_was_tried() -> None:
    """The job that may publish builds nothing and checks out nothing."""
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "publish.yml").read_text(encoding="utf-8"))["jobs"]
    assert jobs["publish"]["needs"] == "build"
    assert jobs["publish"]["environment"]
    assert [each["uses"].partition("@")[0] for each in jobs["publish"]["steps"]] == [
        "actions/download-artifact",
        "pypa/gh-action-pypi-publish",
    ]
    scripts = [str(each["run"]).split()[0] for each in jobs["build"]["steps"] if "run" in each]
    assert scripts == ["python", ".ci/run", ".ci/air_gapped.sh"]
    assert all((ROOT / script).is_file() for script in scripts[1:])
