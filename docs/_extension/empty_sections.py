"""A section that has no page yet but its own is no mistake of the build."""

from __future__ import annotations

import logging


class EmptySections(logging.Filter):
    """Passes over Sphinx's warning on a pattern of pages that no page fits, which cannot be named in its settings."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a message is shown."""
        return getattr(record, "subtype", None) != "empty_glob"


def allow_empty_sections() -> None:
    """Let tables of contents have patterns that no page fits."""
    logging.getLogger("sphinx.sphinx.directives.other").addFilter(EmptySections())
