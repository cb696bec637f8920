"""What a file format holds and what it cannot: each source says it of its own."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class FormatFacts:
    """What a file of a format holds, in a few words each; "" where it holds nothing of the kind.

    Attributes
    ----------
    types : str
        Of cells.
    labels : str
        What variables and their codes mean.
    missing_codes : str
        Missing codes, and what they mean.
    dates : str
    precision : str
        Of numbers.
    texts : str
        How long they may be.
    names : str
        Which variables may have.
    file_itself : str
        What a file says of itself and not of a variable, and what becomes of it.
    order : str
        Of the records.

    Examples
    --------
    >>> from maskwright import FormatFacts
    >>> FormatFacts(types="texts", dates="ISO texts").told()["labels"]
    'none'
    """

    types: str = ""
    labels: str = ""
    missing_codes: str = ""
    dates: str = ""
    precision: str = ""
    texts: str = ""
    names: str = ""
    file_itself: str = ""
    order: str = "kept"

    def told(self) -> dict[str, str]:
        """What is said of each, by its name in words."""
        return {each.name.replace("_", " "): getattr(self, each.name) or "none" for each in fields(self)}
