"""The documents say what is so: commands, options, pipelines, Python, links."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

import maskwright
import maskwright as mw
from maskwright.cli.main import main
from maskwright.experiments.experiment import read_experiment
from maskwright.pipeline.file_model import PipelineFile
from maskwright.pipeline.resolve import resolve_file
from maskwright.plugins.registry import plugins as registered

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "framework/README.md")

CONTRACT = ("demo", "run", "plan", "validate", "measure", "edits", "plugins")


def blocks(document: str, language: str) -> list[str]:
    """Code blocks of one language, without their common indent."""
    text = (ROOT / document).read_text(encoding="utf-8")
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```$", text, re.MULTILINE | re.DOTALL)
    return [re.sub(rf"^{indent}", "", body, flags=re.MULTILINE) for indent, body in found]


def command_table() -> list[tuple[str, str]]:
    """Name of each command in the README's table, and its row; what a command like advise does is part of its name."""
    rows = [line for line in README.read_text(encoding="utf-8").splitlines() if line.startswith("| `maskwright ")]
    return [(re.findall(r"`maskwright (advise \w+|\w+)", row)[0], row) for row in rows]


def help_of(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as stopped:
        main([*command.split(), "--help"])
    assert stopped.value.code == 0
    return capsys.readouterr().out


def test_the_two_commands_stand_there_exactly() -> None:
    commands = [block.strip() for block in blocks("README.md", "console")]
    assert "pip install . && maskwright demo" in commands
    assert "pip install '.[test]' && pytest" in commands
    assert "\"pip install '.[test]' && pytest\"" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_every_command_of_the_table_exists_with_the_options_it_names(capsys: pytest.CaptureFixture[str]) -> None:
    table = command_table()
    assert set(CONTRACT) <= {name for name, _ in table}
    for name, row in table:
        offered = help_of(name, capsys)
        for option in re.findall(r"--[a-z-]+", row):
            assert option in offered, f"{name} has no {option}"


def test_every_command_that_exists_is_in_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    listed = re.findall(r"^ {4}(\w+) ", capsys.readouterr().out, re.MULTILINE)
    assert listed
    assert set(listed) == {name.split()[0] for name, _ in command_table()}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_command_line_shown_is_one_the_parser_takes(document: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [line for block in blocks(document, "console") for line in block.splitlines()]
    lines += re.findall(r"`(maskwright [^`]*)`", (ROOT / document).read_text(encoding="utf-8"))
    for line in lines:
        for part in line.split("&&"):
            words = shlex.split(part)
            if words[0] != "maskwright" or len(words) == 1 or words[1].isupper():
                continue
            for option in (word for word in words if word.startswith("--")):
                command = " ".join(words[1:3] if words[1] == "advise" else words[1:2])
                assert option in help_of(command, capsys), line


def test_every_file_shown_is_a_pipeline_or_a_file_of_edits(tmp_path: Path) -> None:
    (tmp_path / "census.xml").write_text("<Records/>", encoding="utf-8")
    (tmp_path / "census.sch").write_text("<schema/>", encoding="utf-8")
    files = blocks("README.md", "yaml")
    (tmp_path / "survey.csv").write_text("wages,rent,income\n1,2,3\n", encoding="utf-8")
    pipelines = [text for text in files if "protect:" in text]
    assert 0 < len(pipelines) < len(files)
    for text in files:
        (tmp_path / "shown.yaml").write_text(text, encoding="utf-8")
        if text in pipelines:
            assert resolve_file(tmp_path / "shown.yaml", {}).seed == 42
        elif "grid:" in text:
            assert read_experiment(tmp_path / "shown.yaml").cells()
        else:
            assert len(mw.read_edits(tmp_path / "shown.yaml")) == text.count("\n  - ")


def test_every_built_in_plugin_to_choose_is_named() -> None:
    text = README.read_text(encoding="utf-8")
    for info in registered().infos:
        if info.distribution == "maskwright" and info.kind in ("method", "measure", "partition"):
            assert f"`{info.name}`" in text, f"README.md does not name the {info.kind} {info.name}"


def test_every_key_of_a_pipeline_is_explained() -> None:
    text = README.read_text(encoding="utf-8")
    for key in PipelineFile.model_fields:
        assert re.search(rf"\b{key}\b", text), key


@pytest.mark.parametrize("document", DOCUMENTS)
def test_python_compiles_and_uses_public_names_only(document: str) -> None:
    for block in blocks(document, "python"):
        compile(block, document, "exec")
        for name in re.findall(r"\bmw\.(\w+)", block):
            assert name in maskwright.__all__, name


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_somewhere(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    headings = {
        re.sub(r"[^a-z0-9 -]", "", heading.lower()).replace(" ", "-")
        for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    }
    for target in re.findall(r"\]\(([^)]+)\)", text):
        if target.startswith("#"):
            assert target[1:] in headings, target
        else:
            assert ((ROOT / document).parent / target).exists(), target


def test_the_changelog_knows_the_version() -> None:
    assert maskwright.__version__ in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_licence_is_the_whole_apache_licence() -> None:
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Apache License" in text
    assert "END OF TERMS AND CONDITIONS" in text


def test_the_folders_named_in_the_documents_exist() -> None:
    for document, base in (("framework/README.md", "framework/maskwright"), ("CONTRIBUTING.md", ".")):
        text = (ROOT / document).read_text(encoding="utf-8")
        folders = re.findall(r"^\| `([a-z_/]+/)` \|", text, re.MULTILINE)
        assert folders
        for folder in folders:
            assert (ROOT / base / folder).is_dir(), folder


# A fresh installation compiles every kernel here.
@pytest.mark.timeout(400)
def test_the_tour_can_be_walked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == 0
    screen = capsys.readouterr().out
    assert len(screen.splitlines()) <= 45
    assert max(map(len, screen.splitlines())) <= 100
    assert "Released: all 8 edits hold in 1,080 masked records" in screen
    assert "✓ Released" in Path("maskwright-demo/report.html").read_text(encoding="utf-8")
    shown = [line for block in blocks("README.md", "console") for line in block.splitlines()]
    for line in (line for line in shown if "maskwright-demo" in line):
        assert main(shlex.split(line)[1:]) == 0, line
    written = {path.name for path in (tmp_path / "maskwright-demo").iterdir()}
    assert {f"`{name}`" for name in written} <= set(re.findall(r"`[^`]*`", README.read_text(encoding="utf-8")))
    assert main(["validate", "maskwright-demo/survey.xml", "--record", "Household",
                 "--edits", "maskwright-demo/survey.sch"]) == 1  # fmt: skip
    assert "11 violations" in capsys.readouterr().out
