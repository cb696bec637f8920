"""The page on plugins of all kinds shows what `maskwright init --plugin` writes, which is tested with it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from maskwright.commands.new_plugin.package import TEMPLATE_KINDS, package_files, plugin_names
from maskwright.plugins.hooks import HOOKS

PAGE = Path(__file__).parents[2] / "docs" / "plugin-authors" / "plugins.md"
NAMES = {
    "method": "maskwright-my-noise",
    "measure": "maskwright-my-shift",
    "attack": "maskwright-my-guess",
    "partition": "maskwright-my-order",
    "source": "maskwright-my-lines",
    "rule_language": "maskwright-my-rules",
    "report": "maskwright-my-outcome",
}


def shown() -> dict[str, str]:
    """Files of the page: a name alone on a line, then its content."""
    block = r"^`([^`\n]+)`\n\n<!-- [^\n]* -->\n```python\n(.*?)^```$"
    return dict(re.findall(block, PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL))


@pytest.mark.parametrize("kind", TEMPLATE_KINDS)
def test_each_example_is_what_is_written(kind: str) -> None:
    names = plugin_names(NAMES[kind], kind)
    for file in (f"src/{names.package}/{names.plugin}.py", f"tests/test_{names.plugin}.py"):
        assert shown()[file] == package_files(names)[file]


def test_the_other_files_of_the_page_are_written_too() -> None:
    of_method = package_files(plugin_names(NAMES["method"], "method"))
    page = shown()
    assert page["src/maskwright_my_noise/__init__.py"] == of_method["src/maskwright_my_noise/__init__.py"]
    assert len(page) == 2 * len(TEMPLATE_KINDS) + 2


def test_the_table_names_every_kind_and_hook() -> None:
    text = PAGE.read_text("utf-8")
    for kind, hook in HOOKS.items():
        assert f"| {kind.replace('_', ' ')} |" in text
        assert f"`{hook}`" in text
        assert f"`{kind}_checks`" in text
        assert kind in {*TEMPLATE_KINDS, "engine"}
