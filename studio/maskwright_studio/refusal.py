"""What cannot be done, as a sentence for the page."""

from __future__ import annotations


class Refusal(Exception):  # noqa: N818 - nothing is wrong with the program
    """Shown on the page where something was requested: what is the matter, and what to do.

    `message`: never a value of a record. `hint`: what to do; '' for nothing. `offers`: buttons that do it in place.
    """

    def __init__(self, message: str, hint: str = "", offers: tuple[tuple[str, str], ...] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.offers = offers


def changed_outside(name: str) -> Refusal:
    """Refusal to work on a pipeline that someone else has changed; it is read again in place."""
    return Refusal(
        f"{name} was changed outside this page, or is no longer there",
        "Nothing is saved over it. Read it again, then do this once more; what you typed stays.",
        (("Read it again", "/act/open/read_again"),),
    )
