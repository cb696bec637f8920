"""The pages that are made from the program, written before Sphinx looks for pages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from _extension.command_page import command_page
from _extension.doubt_page import doubt_page
from _extension.key_pages import key_pages
from _extension.name_pages import name_pages
from _extension.plugin_pages import plugin_pages
from _extension.speed_page import speed_page
from _extension.threshold_page import threshold_page
from _extension.topic_page import topic_page

if TYPE_CHECKING:
    from sphinx.application import Sphinx

FOLDER = Path("reference", "generated")


def write_pages(app: Sphinx) -> None:
    """Write each page whose text is another than before, so that only those are built again; remove old ones."""
    folder = Path(app.srcdir) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    pages = all_pages()
    for path in folder.glob("*.md"):
        if path.name not in pages:
            path.unlink()
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def all_pages() -> dict[str, str]:
    """Text of every page, by the name of its file."""
    return {
        **command_page(), **key_pages(), **plugin_pages(), **doubt_page(), **topic_page(), **name_pages(),
        **speed_page(), **threshold_page(),
    }  # fmt: skip
