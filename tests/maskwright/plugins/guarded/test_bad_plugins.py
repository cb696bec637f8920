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
