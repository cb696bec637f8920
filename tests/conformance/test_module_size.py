"""A module has one subject, and is short enough to be read at one sitting."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import maskwright
import maskwright_builtin

if TYPE_CHECKING:
    from types import ModuleType

MOST_LINES = 400


@pytest.mark.parametrize("package", [maskwright, maskwright_builtin], ids=lambda package: package.__name__)
def test_no_module_is_longer_than_a_reader_can_hold(package: ModuleType) -> None:
    folder = Path(str(package.__file__)).parent
    lines = {file.relative_to(folder): len(file.read_text("utf-8").splitlines()) for file in folder.rglob("*.py")}
    assert lines
    assert {file: count for file, count in lines.items() if count > MOST_LINES} == {}
