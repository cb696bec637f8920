"""Data in parts as a pipeline names them: a folder, a pattern, or either in an object store."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from maskwright.data.parts.addresses import address_of, is_remote
from maskwright.data.parts.finding import find_parts, is_pattern, is_several
from maskwright.foundation.errors import DataError, Place, Problem
from maskwright.plugins.guarding.origin import BUILT_IN
from maskwright.plugins.parts_reading import parts_source
from maskwright.plugins.registry import find_source, plugins

if TYPE_CHECKING:
    from maskwright.plugins.source import Source


def place_in(folder: Path, name: str) -> str:
    """Absolute path of a name, relative to a folder; addresses of object stores as they are.

    `name`: as it was written; an address may have lost one of its slashes.
    """
    address = address_of(name)
    if is_remote(address) or "\0" in address:
        return address
    return str((folder / address).resolve())


def source_of(name: str, folder: Path = Path(), file_format: str | None = None, *, must_exist: bool = True) -> Source:
    """Source of a data file, or of a dataset in parts, by a stated format or the ending of its name.

    `name`: of a file or folder, a pattern, or an address. `folder`: that it is relative to. `must_exist`: whether there
    must be parts; where none are looked for, the ending of a pattern says their format.
    """
    place = place_in(folder, name)
    several = is_several(place)
    if file_format is not None:
        source = find_source(file_format)
        whole = source.content is not None or (source.reads_folders and not is_remote(place))
        return parts_source(source, place) if several and not whole else source
    if not several:
        return find_source(Path(place))
    if not must_exist and is_pattern(place):
        return parts_source(find_source(Path(place)), place)
    return _folder_reader(place) or parts_source(_source_of_parts(place), place)


def _folder_reader(place: str) -> Source | None:
    """Plugin that reads a folder as a whole, where its name ends so."""
    packages = plugins().packages("source")
    for source in plugins().sources.values():
        if source.reads_folders and place.lower().endswith(source.suffixes) and packages[source.name] != BUILT_IN:
            return source
    return None


def _source_of_parts(place: str) -> Source:
    """Source that reads every part."""
    found = find_parts(place)
    chosen: dict[str, Source] = {}
    for part in found:
        name = PurePosixPath(part.name).name
        ending = name.partition(".")[2]
        if ending not in chosen:
            chosen[ending] = find_source(Path(name))
            first = next(iter(chosen.values()))
            if chosen[ending].name != first.name:
                message = f"a {chosen[ending].name} file among {first.name} files, as {found[0].name} is one"
                hint = "The parts of one dataset are of one format; names that begin with '_' or '.' are passed over."
                raise DataError(Problem(message, Place(part.path), hint))
    return next(iter(chosen.values()))
