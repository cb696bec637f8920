"""The documents say what is so: commands, options, pipelines, links, names of plugins and keys.

Blocks of code on the pages under ``docs/`` are run by `test_pages`, and their links followed where the site is built;
those of the README are run and followed here.
"""

from __future__ import annotations

import re
import runpy
import shlex
from pathlib import Path

import pytest

import maskwright
from maskwright.cli.further_commands import commands as further_commands
from maskwright.cli.main import main
from maskwright.pipeline.file_model import PipelineFile
from maskwright.plugins.registry import plugins as registered

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
OF_THE_ROOT = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "framework/README.md", "plugins/README.md")
PAGES = tuple(
    path.relative_to(ROOT).as_posix()
    for path in sorted(DOCS.rglob("*.md"))
    if not {"_build", "generated", "_extension", "_static"} & set(path.relative_to(DOCS).parts)
)
MOST_LINES = 150

CONTRACT = ("demo", "run", "plan", "validate", "measure", "edits", "plugins")


def text_of(document: str) -> str:
    return (ROOT / document).read_text(encoding="utf-8")


def blocks(document: str, language: str) -> list[str]:
    """Code blocks of one language, without their common indent."""
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```$", text_of(document), re.MULTILINE | re.DOTALL)
    return [re.sub(rf"^{indent}", "", body, flags=re.MULTILINE) for indent, body in found]


def command_table() -> list[tuple[str, str]]:
    """Name of each command in the table, and its row; what a command like advise does is part of its name."""
    rows = [line for line in text_of("docs/reference/commands.md").splitlines() if line.startswith("| `maskwright ")]
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
    assert "\"pip install '.[test]' && pytest\"" in text_of(".ci/run")


def test_the_readme_is_short() -> None:
    assert len(text_of("README.md").splitlines()) <= MOST_LINES


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
    assert {*listed, *further_commands()} == {name.split()[0] for name, _ in command_table()}


@pytest.mark.parametrize("document", [*OF_THE_ROOT, *PAGES])
def test_every_command_line_shown_is_one_the_parser_takes(document: str, capsys: pytest.CaptureFixture[str]) -> None:
    lines: list[str] = []
    if document in OF_THE_ROOT:
        lines += [line for block in blocks(document, "console") for line in block.splitlines()]
    outside = re.sub(r"^ *```.*?^ *```$", "", text_of(document), flags=re.MULTILINE | re.DOTALL)
    lines += [re.sub(r"\s+", " ", each) for each in re.findall(r"`(maskwright [^`]*)`", outside)]
    for line in (each for each in lines if "maskwright " in each):
        for part in re.split(r"&&|\|", line):
            words = shlex.split(part, comments=True)
            if len(words) < 2 or words[0] != "maskwright" or words[1].isupper() or words[1].startswith("-"):
                continue
            if words[1].startswith("my_"):  # a command of a plugin that the page makes
                continue
            for option in (word for word in words if word.startswith("--")):
                command = " ".join(words[1:3] if words[1] == "advise" else words[1:2])
                assert option.partition("=")[0] in help_of(command, capsys), line


def test_every_built_in_plugin_to_choose_is_named() -> None:
    pages = {"method": "methods", "partition": "methods", "measure": "measures"}
    for info in registered().infos:
        if info.distribution == "maskwright" and info.kind in pages:
            page = f"docs/reference/choosing-{pages[info.kind]}-table.md"
            assert f"`{info.name}`" in text_of(page), f"{page} does not name the {info.kind} {info.name}"


def test_every_key_of_a_pipeline_is_explained() -> None:
    text = text_of("docs/reference/pipeline-file.md")
    for key in PipelineFile.model_fields:
        assert re.search(rf"^\| `{key}` \|", text, re.MULTILINE), key


@pytest.mark.parametrize("document", OF_THE_ROOT)
def test_python_compiles_and_uses_public_names_only(document: str) -> None:
    for block in blocks(document, "python"):
        compile(block, document, "exec")
        for name in re.findall(r"\bmw\.(\w+)", block):
            assert name in maskwright.__all__, name


def headings(document: str) -> set[str]:
    """Anchors of a document."""
    found = re.findall(r"^#+ (.*)$", text_of(document), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in found}


@pytest.mark.parametrize("document", OF_THE_ROOT)
def test_links_lead_somewhere(document: str) -> None:
    outside = re.sub(r"^ *```.*?^ *```$", "", text_of(document), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`]*`", "", outside)):
        if target.startswith("https://"):
            continue
        name, _, anchor = target.partition("#")
        path = (ROOT / document).parent.joinpath(name).resolve() if name else ROOT / document
        if is_of_a_section_elsewhere(path):
            continue
        assert path.exists(), target
        if anchor and path.suffix == ".md":
            assert anchor in headings(path.relative_to(ROOT).as_posix()), target


def is_of_a_section_elsewhere(path: Path) -> bool:
    """Whether a page is of a section that this copy of the documentation does not have."""
    if not path.is_relative_to(DOCS):
        return False
    section = DOCS / path.relative_to(DOCS).parts[0]
    return section.suffix == "" and not (section / "index.md").exists() and section.name != "pictures"


def test_the_changelog_knows_the_version() -> None:
    assert maskwright.__version__ in text_of("CHANGELOG.md")


def test_the_licence_is_the_whole_apache_licence() -> None:
    assert "Apache License" in text_of("LICENSE")
    assert "END OF TERMS AND CONDITIONS" in text_of("LICENSE")


def test_the_folders_named_in_the_documents_exist() -> None:
    packages = ("framework/maskwright", "plugins/maskwright_builtin")
    for document, bases in (("framework/README.md", packages), ("CONTRIBUTING.md", (".",))):
        rows = re.findall(r"^\| ((?:`[a-z_/]+/`(?:, )?)+) \|", text_of(document), re.MULTILINE)
        folders = [folder for row in rows for folder in re.findall(r"`([a-z_/]+)`", row)]
        assert folders
        for folder in folders:
            assert any((ROOT / base / folder).is_dir() for base in bases), folder


def test_the_map_names_each_folder_of_more_than_a_thousand_lines() -> None:
    page = text_of("framework/README.md")
    for package in ("framework/maskwright", "plugins/maskwright_builtin"):
        for folder in (ROOT / package).rglob("*"):
            lines = sum(len(file.read_text("utf-8").splitlines()) for file in folder.glob("*.py"))
            assert lines <= 1000 or f"{folder.name}/`" in page, folder


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
    walked = [line for line in shown if "maskwright-demo" in line]
    assert [line.split()[1] for line in walked] == ["plan", "run", "validate"]
    for line in walked:
        assert main(shlex.split(line)[1:]) == 0, line
    written = {path.name for path in (tmp_path / "maskwright-demo").iterdir()}
    assert {f"`{name}`" for name in written} <= set(re.findall(r"`[^`]*`", text_of("README.md")))
    assert main(["validate", "maskwright-demo/survey.xml", "--record", "Household",
                 "--edits", "maskwright-demo/survey.sch"]) == 1  # fmt: skip
    assert "11 violations" in capsys.readouterr().out


def test_the_pipeline_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (pipeline,) = blocks("README.md", "yaml")
    assert len(pipeline.splitlines()) == 10
    rows = "".join(
        f"{20 + n % 60},{700 + 31 * n},{5 * n},{700 + 36 * n}\n" for n in (7 * row % 60 for row in range(60))
    )
    Path("people.csv").write_text(f"age,wages,pensions,income\n{rows}", encoding="utf-8")
    Path("pipeline.yaml").write_text(pipeline, encoding="utf-8")
    assert main(["plan", "pipeline.yaml"]) == 0
    assert main(["run", "pipeline.yaml"]) == 0
    assert Path("masked.csv").exists()
    assert Path("report.html").exists()


def test_every_block_of_the_readme_is_run_by_some_test() -> None:
    assert re.findall(r"^ *```(\w+)$", text_of("README.md"), re.MULTILINE) == [
        "console", "console", "yaml", "console", "console", "console",
    ]  # fmt: skip


@pytest.mark.slow
def test_the_picture_is_what_the_benchmark_draws() -> None:
    """One way of masking more or less, or another figure, changes a line of the picture."""
    script = runpy.run_path(str(ROOT / "benchmarks" / "risk_utility_map.py"))
    assert script["PICTURE"].read_text(encoding="utf-8") == script["drawn"](script["compared"]())
