"""Which plugin is used: a built-in one for its own files, others where they are named, and only of allowed packages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import maskwright as mw
from maskwright import EditSet, Method, Report, RuleLanguage
from maskwright.cli.main import main
from maskwright.pipeline.file_model import DataSection, OutputSection
from maskwright.planning.model import PlanningParams
from maskwright.plugins import contract
from maskwright.plugins.registry import find_method, plugins

sys.path.insert(0, str(Path(__file__).parent))
from typing import TYPE_CHECKING

from bad_formats import CLAIMS, SHADOWED, BadPlugin, Grouped, Patterns, protect, source, write_nothing
from installing import in_folder, installed, package

if TYPE_CHECKING:
    from pydantic import BaseModel

HOOKS = {"source": "register_sources", "rule_language": "register_rule_languages", "report": "register_reports"}
PIPELINE = """maskwright: 1
data: {source: in.csv}
edits: [{yaml: rules.yaml}]
protect: [{method: microaggregation, params: {k: 4}}]
output: {data: out.csv}
seed: 1
"""


@pytest.fixture
def pipeline(tmp_path: Path) -> Path:
    (tmp_path / "in.csv").write_text("age\n" + "".join(f"{20 + 7 * row % 20}\n" for row in range(20)), encoding="utf-8")
    (tmp_path / "rules.yaml").write_text("edits: ['age in [0, 120]']", encoding="utf-8")
    (tmp_path / "p.yaml").write_text(PIPELINE, encoding="utf-8")
    return tmp_path / "p.yaml"


@pytest.mark.parametrize("bad", CLAIMS, ids=[each.name for each in CLAIMS])
def test_a_built_in_plugin_counts_for_its_own_files_and_the_conflict_is_told(
    bad: BadPlugin, pipeline: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = pipeline.parent
    file = {"aaa-csv-gz": "in.csv.gz", "aaa-data-csv": "in.data.csv"}.get(bad.name, "in.csv")
    (folder / "in.csv").rename(folder / file)
    if file.endswith(".gz"):
        import gzip

        (folder / file).write_bytes(gzip.compress((folder / file).read_bytes()))
    text = PIPELINE.replace("in.csv", file).replace("out.csv", f"out{file.removeprefix('in')}")
    if bad.kind == "rule_language" and ".sch" in bad.plugin.suffixes:
        (folder / "rules.sch").write_text(
            '<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="Record">'
            '<assert test="age &gt;= 0">age</assert></rule></pattern></schema>', encoding="utf-8"
        )  # fmt: skip
        text = text.replace("{yaml: rules.yaml}", "{schematron: rules.sch}")
    pipeline.write_text(text, encoding="utf-8")
    with installed(monkeypatch, package("greedy", **{HOOKS[bad.kind]: [bad.plugin]})):
        result = mw.run(pipeline)
        assert main(["plugins", "--json"]) == 0
        (info,) = [each for each in json.loads(capsys.readouterr().out)["plugins"] if each["name"] == "aaa"]
        assert find_all_built_in()
        if bad.kind == "rule_language":
            assert len(mw.read_edits(folder / next(iter(bad.plugin.suffixes)).replace(".", "rules."))) == 1
    used = {key.split()[1] for key in result.record["plugins"] if key.split()[0] == bad.kind}
    assert "aaa" not in used
    if bad.name != "aaa-folder":
        assert bad.message in info["conflict"]
        assert any("aaa of package greedy claims" in each["message"] for each in result.record["notices"])


def find_all_built_in() -> bool:
    """Whether every built-in ending is that of a built-in plugin."""
    registry = plugins()
    return all(
        registry.claims(kind, f"x{suffix}")[0].is_built_in
        for kind, offered in (("source", registry.sources), ("rule_language", registry.rule_languages))
        for name, each in offered.items()
        for suffix in each.suffixes
        if registry.info(kind, name).distribution == "maskwright"
    )


def test_a_plugin_that_claims_the_same_ending_is_used_where_it_is_named(
    pipeline: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = pipeline.parent
    text = PIPELINE.replace("source: in.csv", "source: in.csv, format: rows").replace(
        "{data: out.csv}", "{data: out.csv, format: rows}"
    )
    pipeline.write_text(
        text + "waive: [{doubt: written-file-not-read-twice, because: it has one reader}]\n", encoding="utf-8"
    )
    with installed(monkeypatch, package("good-rows", register_sources=[source()])):
        result = mw.run(pipeline)
    assert result.record["plugins"]["source rows"] == {"distribution": "good-rows", "version": "1.2"}
    assert result.record["plugins"]["rule_language yaml"]["distribution"] == "maskwright"
    assert (folder / "out.csv").read_text(encoding="utf-8").startswith("age\n")


def test_an_ending_that_two_packages_claim_is_not_guessed(
    pipeline: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (pipeline.parent / "in.csv").rename(pipeline.parent / "in.rows")
    pipeline.write_text(PIPELINE.replace("in.csv", "in.rows"), encoding="utf-8")
    with installed(
        monkeypatch,
        package("one", register_sources=[source("aaa")]),
        package("two", register_sources=[source("bbb")]),
    ):
        assert main(["run", str(pipeline)]) == 2
        said = " ".join(capsys.readouterr().err.split())
        assert "'in.rows' is claimed by aaa of package one and bbb of package two" in said
        assert "`format: aaa`" in said
        main(["plugins", "--json"])
        infos = json.loads(capsys.readouterr().out)["plugins"]
    assert {each["name"]: each["conflict"] for each in infos if each["conflict"]} == {
        "aaa": ".rows is claimed by bbb of two too; say `format: aaa`",
        "bbb": ".rows is claimed by aaa of one too; say `format: bbb`",
    }


@pytest.mark.parametrize("bad", SHADOWED, ids=[each.name for each in SHADOWED])
def test_names_that_the_pipeline_would_hide_are_refused(
    bad: BadPlugin, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with installed(monkeypatch, package("shadowed", **{HOOKS[bad.kind]: [bad.plugin]})):
        assert main(["plugins", "--json", "--strict"]) == 1
    (info,) = [each for each in json.loads(capsys.readouterr().out)["plugins"] if each["distribution"] == "shadowed"]
    assert info["status"] == "broken"
    assert bad.message in info["error"]


@pytest.mark.parametrize("params", [Grouped, Patterns])
def test_parameters_of_methods_that_the_planner_reads_are_refused(
    params: type[BaseModel], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = next(iter(params.model_fields))
    mine = Method(name="mine", protect=protect, params=params)
    said = f"package shadowed.* is broken: a parameter cannot be called '{name}'"
    with (
        installed(monkeypatch, package("shadowed", register_methods=[mine])),
        pytest.raises(mw.PluginError, match=said),
    ):
        find_method("mine")


def test_reserved_names_are_the_keys_of_the_pipeline() -> None:
    assert frozenset(PlanningParams.model_fields) == contract.STEP_PARAMETERS
    assert frozenset(DataSection.model_fields) == contract.DATA_KEYS
    assert frozenset(OutputSection.model_fields) - {"report"} == contract.OUTPUT_KEYS


def test_strict_listing_fails_where_a_plugin_is_broken(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plugins", "--strict"]) == 0

    def broken() -> list[Report]:
        raise ImportError("gone")

    with installed(monkeypatch, package("breaks", register_reports=broken)):
        assert main(["plugins"]) == 0
        assert main(["plugins", "--strict"]) == 1
    assert "ImportError: gone" in " ".join(capsys.readouterr().out.split())


MODULE = """
from pathlib import Path
Path({marker!r}).touch()
import maskwright as mw

CONTRACT = 2
{fault}

@mw.hookimpl
def register_measures():
    return [mw.Measure(name="zeal", compute=lambda comparison, params, rng: mw.Measurement(1.0), kind="loss")]
"""


def real_package(folder: Path, name: str, fault: str = "") -> Path:
    """Write a package as an installer does; the file that its module makes when it is imported."""
    module = name.replace("-", "_")
    marker = folder / f"{module}.imported"
    (folder / f"{module}.py").write_text(MODULE.format(marker=str(marker), fault=fault), encoding="utf-8")
    metadata = folder / f"{module}-2.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 2.0\n", encoding="utf-8")
    (metadata / "entry_points.txt").write_text(f"[maskwright]\n{module} = {module}\n", encoding="utf-8")
    return marker


Called = Callable[..., tuple[int, str, str]]


@pytest.fixture
def called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Called:
    """Function that runs a command beside the packages of the folder: exit code, output, and errors in one line."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str, allowed: str | None = None) -> tuple[int, str, str]:
        with monkeypatch.context() as patch, in_folder(monkeypatch, tmp_path):
            if allowed is None:
                patch.delenv("MASKWRIGHT_PLUGINS", raising=False)
            else:
                patch.setenv("MASKWRIGHT_PLUGINS", allowed)
            code = main(words)
        told = capsys.readouterr()
        return code, told.out, " ".join(told.err.split())

    return call


def statuses(listed: str, package: str) -> set[str]:
    return {each["status"] for each in json.loads(listed)["plugins"] if each["distribution"] == package}


@pytest.mark.parametrize(
    ("allowed", "status"), [(None, "ok"), ("", "not allowed"), ("Zeal_Package, other", "ok"), ("other", "not allowed")]
)
def test_the_environment_names_packages(tmp_path: Path, called: Called, allowed: str | None, status: str) -> None:
    marker = real_package(tmp_path, "zeal-package")
    code, out, _ = called("plugins", "--json", allowed=allowed)
    assert code == 0
    assert statuses(out, "zeal-package") == {status}
    assert marker.exists() == (status == "ok")
    if allowed and "other" in allowed:
        (other,) = [each for each in json.loads(out)["plugins"] if each["distribution"] == "other"]
        assert (other["status"], other["error"]) == (
            "broken", "MASKWRIGHT_PLUGINS names this package, and it offers no plugins here"
        )  # fmt: skip


def test_the_environment_of_a_process_names_packages(tmp_path: Path) -> None:
    marker = real_package(tmp_path, "zeal-package")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "maskwright", "plugins", "--json"], capture_output=True, text=True, cwd=tmp_path,
        check=False, timeout=200, env={**os.environ, "PYTHONPATH": path, "MASKWRIGHT_PLUGINS": "other"},
    )  # fmt: skip
    assert statuses(done.stdout, "zeal-package") == {"not allowed"}
    assert not marker.exists()


def test_a_pipeline_names_packages_and_a_name_that_they_would_have_offered_is_explained(
    pipeline: Path, tmp_path: Path, called: Called
) -> None:
    marker = real_package(tmp_path, "zeal-package")
    measured = PIPELINE + "measure: [zeal]\n"
    pipeline.write_text(measured + "plugins: {allow: []}\n", encoding="utf-8")
    code, _, said = called("run", "p.yaml")
    assert code == 2
    assert "no measure called 'zeal'" in said
    assert "package zeal-package 2.0 would have offered it: not loaded, since `plugins: {allow: [...]}`" in said
    assert not marker.exists()
    pipeline.write_text(measured + "plugins: {allow: [Zeal.Package]}\n", encoding="utf-8")
    assert called("run", "p.yaml")[0] == 0
    assert marker.exists()
    pipeline.write_text(measured + "plugins: {allow: [zeel-package]}\n", encoding="utf-8")
    code, _, said = called("run", "p.yaml")
    assert code == 2
    assert "no package with plugins called 'zeel-package'; did you mean 'zeal-package'?" in said
    pipeline.write_text(measured + "plugins: {alow: []}\n", encoding="utf-8")
    assert "did you mean 'allow'" in called("run", "p.yaml")[2]


def test_a_name_that_a_broken_package_would_have_offered_is_explained(
    pipeline: Path, tmp_path: Path, called: Called
) -> None:
    real_package(tmp_path, "zeal-package", "import no_such_module_anywhere")
    pipeline.write_text(PIPELINE + "measure: [zeal]\n", encoding="utf-8")
    code, _, said = called("run", "p.yaml")
    assert code == 2
    assert "package zeal-package 2.0 would have offered it: ModuleNotFoundError" in said


def test_what_a_pipeline_allows_is_forgotten_after_its_run(pipeline: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline.write_text(PIPELINE + "plugins: {allow: []}\n", encoding="utf-8")
    with installed(monkeypatch, package("more", register_reports=[Report(name="more", write=write_nothing)])):
        assert "more" in plugins().reports
        assert mw.run(pipeline).ok
        assert "more" in plugins().reports


def test_the_schema_knows_installed_plugins(
    pipeline: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import jsonschema

    reader = RuleLanguage(name="lines", suffixes=(".lines",), read=lambda path: EditSet())
    content = {
        "maskwright": 1, "data": {"source": "in.rows"}, "edits": [{"lines": "a.lines"}],
        "protect": [{"method": "microaggregation", "params": {"k": 4}}], "output": {"data": "out.csv", "more": "m.txt"},
    }  # fmt: skip
    more = Report(name="more", write=write_nothing, suffixes=(".txt",))
    for hooks, is_valid in (({}, False), ({"register_rule_languages": [reader], "register_reports": [more]}, True)):
        with installed(monkeypatch, package("more", **hooks)):
            assert main(["schema", "pipeline"]) == 0
        schema = json.loads(capsys.readouterr().out)
        assert jsonschema.Draft202012Validator(schema).is_valid(content) == is_valid


def test_rule_languages_come_through_the_hook() -> None:
    from maskwright.plugins import rule_languages

    languages = {each.name for each in rule_languages.register_rule_languages()}
    assert languages == {"banff", "schematron", "validate", "yaml"}
