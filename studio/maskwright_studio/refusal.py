"""What cannot be done, as a sentence for the page."""

from __future__ import annotations


class Refusal(Exception):  # noqa: N818 - nothing is wrong with the program
    """Shown on the page where something was asked for: what is the matter, and what to do.

    Parameters
    ----------
    message : str
        Never a value of a record.
    hint : str
        What to do; '' for nothing.
    """

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
