"""What the build of the documentation adds to Sphinx, one subject a module."""

from __future__ import annotations

from typing import TYPE_CHECKING

from _extension.generated_pages import write_pages
from _extension.repository_links import RepositoryLinks

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.util.typing import ExtensionMetadata


def setup(app: Sphinx) -> ExtensionMetadata:
    """Register all of it; Sphinx calls this."""
    app.connect("builder-inited", write_pages)
    app.add_transform(RepositoryLinks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
