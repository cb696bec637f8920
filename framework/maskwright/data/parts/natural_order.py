"""The order of names in which part-2 comes before part-10."""

from __future__ import annotations

import re

NUMBER = re.compile(r"([0-9]+)")

NaturalKey = tuple[tuple[str | int, ...], ...]


def natural_key(name: str) -> tuple[NaturalKey, str]:
    """Key that sorts names of files, folder by folder: runs of digits by the number they write, all else by its signs.

    Where numbers and texts are the same (part-1 and part-01) the names themselves decide.

    Parameters
    ----------
    name : str
        With ``/`` between folders.

    Examples
    --------
    >>> from maskwright.data.parts.natural_order import natural_key
    >>> sorted(["part-10.csv", "part-2.csv", "a/part-3.csv"], key=natural_key)
    ['a/part-3.csv', 'part-2.csv', 'part-10.csv']
    """
    # Texts and digits take turns, beginning with a text: no number is ever compared with a text.
    folders = (NUMBER.split(each) for each in name.split("/"))
    return tuple(tuple(int(each) if at % 2 else each for at, each in enumerate(pieces)) for pieces in folders), name
