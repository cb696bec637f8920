"""Names of files that are made from the name of another: the bare name, and the ending it came with."""

from __future__ import annotations

PACKINGS = (".gz", ".zip", ".zst")
"""Endings of compressed text files, which stand after the ending of the format: ``survey.csv.gz``."""


def split_name(name: str) -> tuple[str, str]:
    """Name of a file without its ending, and the ending; that of a compression belongs to it.

    Other points stay in the name: what distinguishes two files keeps distinguishing what is named after them.

    Parameters
    ----------
    name : str
        Without folders.

    Returns
    -------
    tuple of str
        Together they are `name`; the ending is empty where there is none.

    Examples
    --------
    >>> split_name("survey.flat.csv.gz")
    ('survey.flat', '.csv.gz')
    >>> split_name("masked")
    ('masked', '')
    """
    packing = next((each for each in PACKINGS if name.lower().endswith(each)), "")
    plain = name[: len(name) - len(packing)]
    at = plain.rfind(".")
    # A name that begins with its only point is one of a hidden file, and no ending.
    at = at if at > 0 else len(plain)
    return (plain[:at], name[at:]) if plain else (name, "")
