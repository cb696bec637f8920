"""Whatever a plugin does: it is named, nothing is released, and no value of a record is told."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from maskwright.cli.main import main

sys.path.insert(0, str(Path(__file__).parent))

from bad_plugins import BAD_PLUGINS, BadPlugin, module_of
from bad_rule_languages import BAD_RULE_LANGUAGES

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize("bad", BAD_PLUGINS, ids=lambda bad: f"{bad.kind}: {bad.name}")
def test_a_bad_plugin_is_refused_by_name(
    bad: BadPlugin,
    install: Callable[[Any], None],
    pipeline: Callable[[str], Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    install(module_of(bad))
    path = pipeline(bad.kind)
    settings = [word for each in bad.settings for word in ("--set", each)]
    code = main(["run", str(path), "--json", *settings])
    told = capsys.readouterr()
    assert code == bad.code, told.err
    said = " ".join(told.err.split())
    assert f"{bad.kind} 'spoiler' of package bad 1.2" in said
    assert re.search(bad.says, said), said
    assert told.out == ""
    assert "4711" not in said
    assert sorted(each.name for each in path.parent.iterdir()) == ["data.csv", "pipeline.yaml"]


@pytest.mark.parametrize("bad", BAD_RULE_LANGUAGES, ids=lambda bad: bad.name)
def test_a_bad_writer_of_rules_is_refused_by_name(
    bad: BadPlugin,
    install: Callable[[Any], None],
    pipeline: Callable[[str], Path],
    capsys: pytest.CaptureFixture[str],
) -> None:
    install(module_of(bad))
    path = pipeline(bad.kind)
    words = ["run", str(path), "--json", *(word for each in bad.settings for word in ("--set", each))]
    assert main(words) == 3
    told = capsys.readouterr()
    said = " ".join(told.err.split())
    assert f"{bad.kind.replace('_', ' ')} 'spoiler' of package bad 1.2" in said
    assert re.search(bad.says, said), said
    assert told.out == ""
    assert "4711" not in said
    left = {each.name for each in path.parent.iterdir()}
    assert left <= {"data.csv", "pipeline.yaml", "run.json"}
