"""Rule writers, plan checks, sections, actions and commands of other packages, as the page on plugins shows them."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml

import maskwright as mw
from maskwright.cli.main import main
from maskwright.testing import offered

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = Path(__file__).parents[3] / "docs" / "plugin-authors" / "plugins.md"
SHOWN = "src/maskwright_my_office/office.py"


@pytest.fixture(scope="module")
def office() -> Iterator[types.ModuleType]:
    """The module that the page on plugins shows."""
    text = PAGE.read_text(encoding="utf-8")
    found = re.search(rf"`{SHOWN}`\n\n<!-- [^\n]* -->\n```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert found is not None
    module = sys.modules["office"] = types.ModuleType("office")
    exec(compile(found[1], SHOWN, "exec"), vars(module))
    with offered([module.LINES, module.HAS_REPORT, module.COUNTS, module.TELL, module.COUNT]):
        yield module
    del sys.modules["office"]


def pipeline(folder: Path, **more: object) -> Path:
    (folder / "data.csv").write_text("wages\n" + "".join(f"{each}\n" for each in range(40)), encoding="utf-8")
    content = {
        "maskwright": 1,
        "data": {"source": "data.csv"},
        "edits": ["wages >= 0"],
        "protect": [{"method": "microaggregation", "params": {"k": 4}}],
        "output": {"data": "masked.csv", "report": "report.html"},
        "seed": 1,
        **more,
    }
    path = folder / "pipeline.yaml"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path


def test_a_command_has_its_options(
    office: types.ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "text").write_text("a\nb\n", encoding="utf-8")
    assert main(["count-lines", "--file", str(tmp_path / "text")]) == 0
    assert capsys.readouterr().out == "2 lines\n"
    with pytest.raises(SystemExit) as ended:
        main(["count-lines"])
    assert ended.value.code == 2
    assert main(["count-lines", "--file", str(tmp_path / "none")]) == 3
    said = capsys.readouterr().err
    assert "command 'count-lines'" in said
    assert "FileNotFoundError" in said


def test_a_rule_writer_is_used_by_name_and_by_ending(
    office: types.ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rules.yaml").write_text("- {rule: wages >= 0, name: sign}\n", encoding="utf-8")
    assert main(["edits", str(tmp_path / "rules.yaml"), "--to", "lines"]) == 0
    assert capsys.readouterr().out == "sign: wages >= 0\n"
    output = {"data": "masked.csv", "edits": "published.lines"}
    assert mw.run(pipeline(tmp_path, output=output)).record["ok"]
    assert (tmp_path / "published.lines").read_text(encoding="utf-8") == "edit-1: wages >= 0\n"


def test_check_section_and_action(office: types.ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    used = {"checks": ["has_report"], "sections": ["counts"], "after": ["tell"]}
    record = mw.run(pipeline(tmp_path, **used)).record
    assert record["sections"][0]["rows"] == [["records", "40"], ["edits", "1"]]
    assert {"plan_check has_report", "report_section counts", "action tell"} <= set(record["plugins"])
    assert ">Counts</h2>" in (tmp_path / "report.html").read_text(encoding="utf-8")
    (tmp_path / "masked.csv").unlink()
    assert main(["run", str(pipeline(tmp_path, **used, output={"data": "masked.csv"}))]) == 1
    assert "our office publishes a report with every file" in capsys.readouterr().err
    assert not (tmp_path / "masked.csv").exists()
