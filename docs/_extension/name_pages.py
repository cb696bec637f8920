"""Pages on the public names of Python, by what they are about, with their docstrings and tested examples."""

from __future__ import annotations

import ast
import importlib
import inspect
from itertools import pairwise
from types import ModuleType
from typing import TYPE_CHECKING, Any

import maskwright

if TYPE_CHECKING:
    from collections.abc import Mapping

SUBJECTS = {
    "commands": ("python-commands", "Python: what the commands do"),
    "experiments": ("python-experiments", "Python: experiments"),
    "pipeline": ("python-pipeline", "Python: the pipeline file"),
    "planning": ("python-planning", "Python: the plan"),
    "data": ("python-data", "Python: data"),
    "edits": ("python-edits", "Python: edits"),
    "masking": ("python-masking", "Python: masking"),
    "release": ("python-release", "Python: what a run says"),
    "plugins": ("python-plugins", "Python: plugins"),
    "foundation": ("python-foundation", "Python: errors, progress, randomness"),
}
"""File and title by the room that a name comes from; a room that is new has a page under its own name."""


def name_pages() -> Mapping[str, str]:
    """Text of each page, by the name of its file."""
    by_room: dict[str, list[str]] = {}
    for name in maskwright.__all__:
        home = maskwright._HOME.get(name)
        if home is not None:
            by_room.setdefault(home.split(".")[1], []).append(name)
    pages: dict[str, str] = {}
    for room, names in by_room.items():
        file, title = SUBJECTS.get(room, (f"python-{room}", f"Python: {room}"))
        lead = "All of `import maskwright as mw`; the examples are run by the tests."
        sections = [_section(name) for name in names]
        pages[f"{file}.md"] = "\n\n".join([f"# {title}", lead, *sections]) + "\n"
    return pages


def _section(name: str) -> str:
    value = getattr(maskwright, name)
    return f"## `{name}`\n\n````{{eval-rst}}\n{_directive(name, value)}\n````"


def _directive(name: str, value: Any) -> str:
    if isinstance(value, ModuleType):
        return f".. automodule:: {value.__name__}\n   :members:"
    if inspect.isclass(value):
        return f".. autoclass:: maskwright.{name}\n   :members:"
    if inspect.isfunction(value):
        return f".. autofunction:: maskwright.{name}"
    return _assigned(name)


def _assigned(name: str) -> str:
    """A name that is neither class nor function; its text stands below its assignment."""
    statements = ast.parse(inspect.getsource(importlib.import_module(maskwright._HOME[name]))).body
    said = ""
    for statement, after in pairwise(statements):
        is_it = isinstance(statement, ast.Assign | ast.AnnAssign) and ast.unparse(statement).startswith(f"{name} ")
        if is_it and isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
            said = inspect.cleandoc(str(after.value.value))
    lines = [f".. py:data:: maskwright.{name}", "   :no-index:", ""]
    before = ""
    for line in said.splitlines():
        if line and not line.strip("-"):
            lines[-1] = f"   .. rubric:: {before}"
            lines.append("")
        else:
            lines.append(f"   {line}")
        before = line
    return "\n".join(lines)
