"""A file with records inside records in documents of whole records of the upper level."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class NestedElements:
    """Names of the elements of a file with records inside records, as it writes them.

    Attributes
    ----------
    path : tuple of str
        Elements around the records of the upper level, outermost first.
    group, member : str
        Elements of the records of the upper level, and of the lower.

    Examples
    --------
    >>> import maskwright as mw
    >>> mw.NestedElements(("Survey",), "Household", "Person").member
    'Person'
    """

    path: tuple[str, ...]
    group: str
    member: str


@dataclass(frozen=True)
class NestedDocument:
    """Whole records of the upper level, as a document.

    Attributes
    ----------
    text : str
        XML, without a declaration.
    sizes : tuple of int
        Members of each record of the upper level.

    Examples
    --------
    >>> import maskwright as mw
    >>> mw.NestedDocument("<S><H><P/><P/></H></S>", (2,)).sizes
    (2,)
    """

    text: str
    sizes: tuple[int, ...]
