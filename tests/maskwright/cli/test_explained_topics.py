"""What ``maskwright explain`` says alone, and of experiments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml

from maskwright.cli.main import main
from maskwright.experiments.experiment import experiment_of
from maskwright.plugins.registry import plugins

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def test_explain_alone_lists_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for name in ("experiment", "hierarchies", "local_suppression", "k_anonymity", "W302 suppressed-cells-follow"):
        assert name in shown


def test_a_kind_lists_its_plugins_with_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "attacks"]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines() if line and not line.startswith(" ")]
    assert listed[:-1] == list(plugins().attacks)
    assert main(["explain", "rule languages"]) == 0
    assert "schematron" in capsys.readouterr().out


def test_the_page_of_experiments_shows_a_chain_that_is_one(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["explain", "experiment"]) == 0
    page = capsys.readouterr().out
    for key in ("family", "protect", "vary", "edit_sets", "--choose", "--all"):
        assert key in page
    example = page.partition("Example\n")[2].partition("\n\n")[0]
    (tmp_path / "people.csv").write_text("region,age\nN,30\n", encoding="utf-8")
    text = "\n".join(line[2:] for line in example.splitlines())
    assert yaml.safe_load(text)["maskwright"] == 1
    cells = experiment_of(tmp_path / "experiment.yaml", text).cells()
    assert len(list(cells)) == 2 + 2 * 3
