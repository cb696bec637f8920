"""Docstrings are at most 15 % of the product's lines, and only those of public names have sections."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
ROOMS = ("framework", "plugins", "studio")
LARGEST_SHARE = 0.15
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
SECTION = re.compile(r"^(Parameters|Attributes|Returns|Raises|Yields)\n-{3,}$", re.MULTILINE)


def public_names() -> set[str]:
    """Names that a user or an author of plugins imports, and those of plugins, which `maskwright explain` shows."""
    import maskwright
    import maskwright.testing
    from maskwright.plugins.registry import plugins

    registry = plugins()
    shown = {*maskwright.__all__, *maskwright.testing.__all__}
    classes = [value for name in maskwright.__all__ if isinstance(value := getattr(maskwright, name), type)]
    shown |= {base.__name__ for each in classes for base in each.__mro__}
    for kind in (registry.sources, registry.partitions, registry.methods, registry.measures, registry.reports):
        for plugin in kind.values():
            shown |= {value.__name__ for value in vars(plugin).values() if hasattr(value, "__name__")}
    return shown


def main() -> int:
    """Print what is wrong; 1 when something is."""
    public = public_names()
    lines = documentation = 0
    wrong: list[str] = []
    for path in sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        lines += text.count("\n")
        inside_public = {
            child for node in ast.walk(tree) if getattr(node, "name", "") in public for child in ast.walk(node)
        }
        for node in ast.walk(tree):
            if not isinstance(node, DOCUMENTED) or not (docstring := ast.get_docstring(node)):
                continue
            documentation += (node.body[0].end_lineno or 0) - node.body[0].lineno + 1
            if node not in inside_public and SECTION.search(docstring) and ">>>" not in docstring:
                name = getattr(node, "name", "the module")
                wrong.append(f"{path.relative_to(ROOT)}: {name} is not public: one line, and what its signature lacks")
    share = documentation / lines
    if share > LARGEST_SHARE:
        wrong.append(f"docstrings are {share:.1%} of {lines} lines, more than {LARGEST_SHARE:.0%}")
    print("\n".join(wrong) or f"docstrings are {share:.1%} of {lines} lines")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
