"""Every test asserts something: by a statement, by what pytest or a library asserts, or by a function that does."""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

TESTS = Path(__file__).parents[1] / "tests"
ASSERTING = {"raises", "warns", "fail", "expect", "wait_for", "wait_for_url"}
"""Functions of pytest and Playwright that fail unless what they are given is so."""
OF_OTHERS = {"example_plugin"}
"""As third parties write them: what the kit collects is called, and says what is wrong by raising."""
DEEPEST = 4
"""Functions that call functions that assert."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(tree: ast.Module) -> list[Function]:
    """All functions of a module."""
    return [each for each in ast.walk(tree) if isinstance(each, Function)]


def asserts(function: Function, asserting: Collection[str]) -> bool:
    """Whether a function asserts, or takes a fixture that does."""
    if any(each.arg in asserting for each in function.args.args):
        return True
    for each in ast.walk(function):
        if isinstance(each, ast.Assert):
            return True
        if isinstance(each, ast.Call):
            called = each.func.attr if isinstance(each.func, ast.Attribute) else getattr(each.func, "id", "")
            if called in ASSERTING or called in asserting or called.startswith("assert"):
                return True
    return False


def without(path: Path) -> Iterator[str]:
    """Tests of a module that assert nothing."""
    found = functions(ast.parse(path.read_text(encoding="utf-8")))
    asserting: set[str] = set()
    for _ in range(DEEPEST):
        asserting |= {each.name for each in found if not each.name.startswith("test_") and asserts(each, asserting)}
    for each in found:
        if each.name.startswith("test_") and not asserts(each, asserting):
            yield f"{path.relative_to(TESTS.parent)}:{each.lineno}: {each.name} asserts nothing"


def main() -> int:
    """Print them; 1 where there are such."""
    paths = [each for each in sorted(TESTS.rglob("*.py")) if not OF_OTHERS & set(each.relative_to(TESTS).parts)]
    found = [line for path in paths for line in without(path)]
    print("\n".join(found) or "every test asserts something")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
