"""Every public name has an example in its docstring, and every example does what it shows."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

import maskwright as mw

if TYPE_CHECKING:
    from pathlib import Path

WITHOUT_EXAMPLES = {"__version__", "wording"}
"""A text, and a module of words."""

NAMES = [name for name in mw.__all__ if name not in WITHOUT_EXAMPLES]

OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def docstring(name: str) -> str:
    """Docstring of a function or class; of anything else, the text below its assignment."""
    value = getattr(mw, name)
    if inspect.isclass(value) or inspect.isfunction(value):
        return inspect.getdoc(value) or ""
    module = importlib.import_module(mw._HOME[name])
    statements = ast.parse(inspect.getsource(module)).body
    for statement, after in pairwise(statements):
        assigned = isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == name
        if assigned and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            return inspect.cleandoc(str(after.value.value))
    return ""


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_has_examples_that_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestParser().get_doctest(docstring(name), {}, name, None, None)
    assert test.examples, f"maskwright.{name} has no example in its docstring"
    said: list[str] = []
    failed = doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=said.append).failed
    assert not failed, "".join(said)
