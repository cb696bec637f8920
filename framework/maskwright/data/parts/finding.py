"""Which files are the parts of a dataset: those of a folder and the folders in it, or those that a pattern matches."""

from __future__ import annotations

import glob
import os
import re
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from maskwright.data.parts.addresses import is_remote
from maskwright.data.parts.file_systems import found_remotely
from maskwright.data.parts.model import FoundPart
from maskwright.data.parts.natural_order import natural_key
from maskwright.foundation.errors import DataError, Place, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable

MAGIC = re.compile(r"[*?\[]")
MANIFEST = "_manifest.json"
"""What lies beside the parts of a release; readers of folders pass over names that begin so."""
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
HIDDEN = (".", "_")


def is_several(place: str) -> bool:
    """Whether a name is of a dataset in parts: a folder, a pattern, or something in an object store.

    `place`: absolute path, or address of an object store.
    """
    return is_remote(place) or os.path.isdir(place) or is_pattern(place)  # noqa: PTH112 - a name that is too long is none


def is_pattern(place: str) -> bool:
    """Whether a name has `*`, `?` or `[...]` in it, and no file is called so."""
    return bool(MAGIC.search(place)) and "\0" not in place and not os.path.lexists(place)


def folder_of(place: str) -> str:
    """Folder that names of parts are relative to: that of a pattern is the last one without `*`, `?` and `[...]`."""
    if _is_file(place):
        return os.path.dirname(place)  # noqa: PTH120 - a name, as it is kept
    if not is_pattern(place):
        return place.rstrip("/") if is_remote(place) else place
    before = MAGIC.split(place, maxsplit=1)[0]
    return before.rpartition("/")[0] or ("" if is_remote(place) else "/")


def could_match(place: str, path: Path) -> bool:
    """Whether a file of this name would be one of the parts."""
    if is_remote(place):
        return False
    if not is_pattern(place):
        return path.is_relative_to(place)
    pieces = []
    for each in re.split(r"(\*\*/?|\*|\?|\[!?[^\]]*\])", place):
        if each.startswith("**"):
            pieces.append("(?:.*/)?" if each.endswith("/") else ".*")
        elif MAGIC.match(each):
            pieces.append({"*": "[^/]*", "?": "[^/]"}.get(each) or each.replace("[!", "[^"))
        else:
            pieces.append(re.escape(each))
    # A folder that is matched is taken with all that is in it.
    return re.fullmatch("".join(pieces) + "(?:/.*)?", str(path), re.DOTALL) is not None


def find_parts(place: str) -> tuple[FoundPart, ...]:
    """Files that are the parts of a dataset, in natural order of their names.

    `place`: absolute path of a folder or of one file, or a pattern (`*`, `?`, `[...]`, `**` for folders in folders), or
    the address of a folder or pattern in an object store. Names that begin with ``.`` or ``_`` are passed over.
    """
    folder = folder_of(place)
    if is_remote(place):
        listed = found_remotely(place, folder, is_pattern=is_pattern(place))
    else:
        listed = _found_here(place, folder)
    # A file that is named itself is meant, whatever it is called.
    found = listed if _is_file(place) else [each for each in listed if _is_of_data(each.name)]
    if not found:
        if is_pattern(place):
            hint = "`*` stands for anything within a name, `**` for folders in folders."
            raise DataError(Problem("no file matches the pattern", Place(place), hint))
        raise DataError(Problem("the folder holds no data files", Place(place)))
    found.sort(key=lambda each: natural_key(each.name))
    _refuse_alike(found)
    _refuse_other_keys(found)
    return tuple(found)


def hive_of(name: str) -> tuple[tuple[str, str | None], ...]:
    """Keys and values in the names of the folders of a file: ``region=12/part-0.csv`` says region and 12."""
    pairs = (folder.split("=", 1) for folder in name.split("/")[:-1] if "=" in folder)
    return tuple((unquote(key), None if value == NO_VALUE else unquote(value)) for key, value in pairs)


def stamp_of(path: str) -> str:
    """What tells whether a file of this machine is still the same."""
    status = Path(path).stat()
    return f"{status.st_size}-{status.st_mtime_ns}-{status.st_ino}"


def _found_here(place: str, folder: str) -> list[FoundPart]:
    # Path.glob would match hidden folders, too.
    matched = glob.glob(place, recursive=True) if is_pattern(place) else [place]  # noqa: PTH207
    paths = [Path(each) for each in matched]
    files = dict.fromkeys(
        file for path in paths for file in (path.rglob("*") if path.is_dir() else [path]) if file.is_file()
    )
    found = []
    for file in files:
        name = file.relative_to(folder).as_posix()
        found.append(FoundPart(name, str(file), file.stat().st_size, stamp_of(str(file)), hive_of(name)))
    return found


def _is_file(place: str) -> bool:
    return not is_remote(place) and os.path.isfile(place)  # noqa: PTH113 - no name is a mistake here


def _is_of_data(name: str) -> bool:
    return not any(each.startswith(HIDDEN) for each in name.split("/"))


def _refuse_alike(found: Iterable[FoundPart]) -> None:
    """Stop where two names would be one on a disk that does not tell upper from lower case."""
    known: dict[str, str] = {}
    for each in found:
        plain = unicodedata.normalize("NFC", each.name).casefold()
        if plain in known:
            message = f"{known[plain]} and {each.name} differ only in upper and lower case"
            hint = "Rename one of them: elsewhere they would be one file."
            raise DataError(Problem(message, Place(each.path), hint))
        known[plain] = each.name


def _refuse_other_keys(found: list[FoundPart]) -> None:
    """Stop where folders say other keys than those of other files, or one key twice."""
    expected = [key for key, _ in found[0].hive]
    for each in found:
        own = [key for key, _ in each.hive]
        if own != expected or len(set(own)) != len(own):
            hint = "Every file lies in folders of the same keys, in the same order: region=north/year=2020."
            message = f"the folders of this file say {_listed(own)}, and those of others {_listed(expected)}"
            raise DataError(Problem(message, Place(each.path), hint))


def _listed(keys: list[str]) -> str:
    return ", ".join(keys) or "nothing"
