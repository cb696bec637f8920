"""Built-in plugins, and the example of one, use nothing of the framework but its public names."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import maskwright
import maskwright_builtin

if TYPE_CHECKING:
    from collections.abc import Iterator

BUILT_IN = Path(maskwright_builtin.__file__).parent
EXAMPLE = Path(__file__).parents[1] / "example_plugin" / "src"


def private_imports(source: str) -> Iterator[str]:
    """Imports of something that is not public, also those that only type checkers see or that a function does."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            # `import maskwright` would hide which names are used.
            yield from (f"{node.lineno}: {each.name}" for each in node.names if each.name.split(".")[0] == "maskwright")
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            package, _, inner = node.module.partition(".")
            if package == "maskwright":
                names = [each.name for each in node.names]
                wrong = names if inner else sorted(set(names) - set(maskwright.__all__))
                yield from (f"{node.lineno}: {node.module}.{name}" for name in wrong)


@pytest.mark.parametrize("folder", [BUILT_IN, EXAMPLE], ids=["built-in plugins", "example"])
def test_plugins_use_public_names_only(folder: Path) -> None:
    files = sorted(folder.rglob("*.py"))
    assert files
    found = [
        f"{file.relative_to(folder)}:{each}" for file in files for each in private_imports(file.read_text("utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from maskwright import Block, Method", []),
        ("from maskwright_builtin.numerics import laws", []),
        ("from maskwright import Block, no_such_name", ["1: maskwright.no_such_name"]),
        ("if TYPE_CHECKING:\n    from maskwright.data.dataset import Dataset", ["2: maskwright.data.dataset.Dataset"]),
        ("def f():\n    from maskwright.release import wording", ["2: maskwright.release.wording"]),
        ("import maskwright.edits as edits", ["1: maskwright.edits"]),
        ("import maskwright", ["1: maskwright"]),
    ],
)
def test_a_private_import_is_found(source: str, found: list[str]) -> None:
    assert list(private_imports(source)) == found
