"""What stops a conversion."""

from __future__ import annotations


class Inexpressible(Exception):  # noqa: N818 - the reason by its name; never leaves the conversion
    """The target language cannot say this; the message is the reason, as the end of a sentence."""
