"""A file that does not look like rules may be data: no message quotes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pytest

import maskwright as mw
from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

DATA = {
    "d.csv": "name;income\nGeheim;123456\nMeier: 4;5\n",
    "d.tsv": "name\tincome\nGeheim\t123456\n",
    "d.xml": "<?xml version='1.0'?>\n<Data>\n<Record><name>Geheim</name><x>123456</x></Record>\n</Data>\n",
    "cut.xml": "<Data><Record><name>Geheim</name><x>123456</x></Rec",
    "d.yaml": "name,income\nGeheim: 123456\n  - x: [\n",
    "one.txt": "Geheim\n123456\n",
}


@pytest.mark.parametrize("language", ["yaml", "schematron", "validate", "banff"])
@pytest.mark.parametrize("name", DATA)
def test_nothing_of_a_data_file_is_quoted(
    name: str, language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(DATA[name], encoding="utf-8")
    pd.DataFrame({"x": range(20)}).to_csv(tmp_path / "x.csv", index=False)
    (tmp_path / "p.yaml").write_text(
        f"maskwright: 1\ndata: {{source: x.csv}}\nedits: [{{{language}: {name}}}]\n"
        "protect: [{method: microaggregation}]\noutput: {data: out.csv}\n",
        encoding="utf-8",
    )
    for command in (["edits", name, "--from", language], ["run", "p.yaml"], ["plan", "p.yaml"]):
        assert main(command) == 2
        said = "".join(capsys.readouterr())
        assert "Geheim" not in said
        assert "123456" not in said
        assert "does not look like a file of rules" in said
        assert f"{name}:" in said


def test_a_rule_file_with_a_mistake_is_quoted(tmp_path: Path) -> None:
    for text, name, language in (
        ("# rules\n- age <= \n", "rules.yaml", None),
        ("edits: [age in [0, 120]\n", "rules.yml", None),
        ("income >= 0\nage <- \n", "rules.txt", "validate"),
        ("a + b;", "rules.banff", None),
    ):
        (tmp_path / name).write_text(text, encoding="utf-8")
        with pytest.raises(mw.InputError) as caught:
            mw.read_edits(tmp_path / name, language)
        assert "look like" not in str(caught.value)
        assert any(problem.place is not None and problem.place.text for problem in caught.value.problems)


def test_a_pipeline_file_that_holds_data_is_not_quoted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p.yaml").write_text("name,income\nGeheim: 123456\n  - x: [\n", encoding="utf-8")
    assert main(["run", str(tmp_path / "p.yaml")]) == 2
    assert "Geheim" not in "".join(capsys.readouterr())
