"""The page on shares by which the program decides: constants of its modules, with what they mean."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from _extension.markdown_text import code, one_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOMS = {
    "Reading and profiling files": ("maskwright.data",),
    "Rules that are found in data": ("maskwright.edits.suggestions",),
    "Warnings and doubts before a run": ("maskwright.planning.warnings", "maskwright.planning.levels"),
    "Masking and suppression": ("maskwright.masking",),
    "What can be inferred from a release": ("maskwright.disclosure",),
    "Methods": ("maskwright_builtin.methods",),
    "Measures": ("maskwright_builtin.measures",),
}
ROUNDING = 1e-5
"""Smaller numbers are tolerances of arithmetic."""

LEAD = (
    "Where the program decides by a share, such as that of the cells of a column which have to be dates for the "
    "column to be one, the share is a constant of one module. These are all of them. What a pipeline can set is no "
    "constant: see the keys and parameters."
)


@dataclass(frozen=True)
class Share:
    """A constant between 0 and 1, where it stands, and what it means; "" where nothing says that."""

    name: str
    module: str
    value: float
    meaning: str


def shares_of(package: str) -> Iterator[Share]:
    """Constants of the modules of a package, in the order of these."""
    (folder,) = import_module(package).__path__
    for path in sorted(Path(folder).rglob("*.py")):
        body = ast.parse(path.read_text(encoding="utf-8")).body
        module = ".".join([package, *path.relative_to(folder).with_suffix("").parts])
        for node, following in zip(body, [*body[1:], ast.Pass()], strict=True):
            match node:
                case ast.Assign([ast.Name(name)], ast.Constant(float(value))) if ROUNDING < value < 1:
                    match following:
                        case ast.Expr(ast.Constant(str(meaning))):
                            yield Share(name, module, value, meaning)
                        case _:
                            yield Share(name, module, value, "")


def threshold_page() -> Mapping[str, str]:
    """Text of the page, by the name of its file."""
    parts = ["# Shares that decide", LEAD]
    for title, packages in ROOMS.items():
        lines = ["| share | meaning | constant |", "|---|---|---|"]
        lines += [
            f"| {each.value:g} | {one_line(each.meaning)} | {code(f'{each.module}.{each.name}')} |"
            for package in packages
            for each in shares_of(package)
        ]
        parts += [f"## {title}", "\n".join(lines)]
    return {"shares.md": "\n\n".join(parts) + "\n"}
