"""What the build of the documentation adds to Sphinx, one subject a module."""

from __future__ import annotations

from typing import TYPE_CHECKING

from _extension.accessible_html import complete_pages
from _extension.empty_sections import allow_empty_sections
from _extension.generated_pages import write_pages
from _extension.math_in_html import add_math
from _extension.picture_directive import MaskwrightPicture
from _extension.repository_links import RepositoryLinks

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register all of it; Sphinx calls this."""
    app.connect("builder-inited", write_pages)
    app.connect("build-finished", complete_pages)
    add_math(app)
    allow_empty_sections()
    app.add_directive("maskwright-picture", MaskwrightPicture)
    app.add_transform(RepositoryLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
