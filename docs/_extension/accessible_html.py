"""What the theme leaves out for those who use a keyboard or hear the page, added to the pages that are written."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

REPLACED = {
    # What scrolls sideways must be reached with the keyboard.
    r"<pre>": r'<pre tabindex="0">',
    r'<(figure|div) class="(maskwright-picture|table-wrapper)': r'<\1 tabindex="0" class="\2',
    # Two parts of a page of one kind are distinguished by their names.
    r'<aside class="sidebar-drawer">': r'<aside class="sidebar-drawer" aria-label="Pages">',
    r'<aside class="(toc-drawer[^"]*)">': r'<aside class="\1" aria-label="On this page">',
    r'(?<!</h1>)<div id="search-results">': r'<h1>Search</h1><div id="search-results">',
}
"""Each is found once: what it is replaced by is not found again."""


def complete_pages(app: Sphinx, error: Exception | None) -> None:
    """Replace it in every page, also in those that an earlier build has written."""
    if error is not None:
        return
    for path in Path(app.outdir).rglob("*.html"):
        before = path.read_text(encoding="utf-8")
        after = before
        for left_out, said in REPLACED.items():
            after = re.sub(left_out, said, after)
        if after != before:
            path.write_text(after, encoding="utf-8")
