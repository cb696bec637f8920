"""Files of a dataset found by folder, pattern or address, here or in object stores, in natural order."""

from __future__ import annotations

import contextlib
import glob
import hashlib
import os
import re
import shutil
import tempfile
import unicodedata
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from maskwright.data.parts.model import FoundPart
from maskwright.foundation.errors import DataError, InputError, Place, Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


STORES = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "abfs": "adlfs", "abfss": "adlfs", "az": "adlfs",
          "hdfs": "pyarrow", "memory": ""}  # fmt: skip
"""Protocols, and the package that knows each."""
ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]+):(//?)(.*)", re.DOTALL)
USER = re.compile(r"[^/]*@")
OPTION = re.compile(r"\?[^/]*=")
"""Behind an address: what a signed one ends with."""


def is_remote(place: str) -> bool:
    """Whether a name is an address of a file system that is asked: ``s3://bucket/census/*.parquet``."""
    found = ADDRESS.match(place)
    return found is not None and found[1].lower() in STORES


def address_of(place: str) -> str:
    """Address with both slashes, of which a path keeps one; of ``file://``, the path."""
    found = ADDRESS.match(place)
    if found is not None and found[1].lower() == "file":
        return "/" + found[3].lstrip("/")
    return place if found is None or not is_remote(place) else f"{found[1].lower()}://{found[3].lstrip('/')}"


def refuse_address(place: str) -> Problem | None:
    """What is wrong with an address; None: nothing, as far as it tells."""
    found = ADDRESS.match(place)
    if found is None:
        return None
    if found[1].lower() in ("http", "https", "ftp", "sftp", "ssh"):
        hint = "Download the files, or name an object store: s3://, gs://, abfs://."
        return Problem("nothing is read from web addresses", hint=hint)
    names_user = USER.match(found[3]) and not found[1].lower().startswith("abfs")  # which names a container so
    if is_remote(place) and (names_user or OPTION.search(found[3])):
        hint = "Its key stands in the configuration of the object store (environment, profile), never in an address."
        return Problem("an address of an object store holds no user, password or option", hint=hint)
    return None


def file_system(place: str) -> Any:
    """File system of an address."""
    protocol = place.partition("://")[0]
    try:
        import fsspec
    except ImportError:
        hint = "pip install 'maskwright[remote]'"
        raise InputError(Problem(f"{protocol}:// needs the package fsspec", hint=hint)) from None
    try:
        return fsspec.filesystem(protocol)
    except ImportError:
        package = STORES.get(protocol) or "of the file system"
        hint = f"pip install 'maskwright[remote]' {STORES.get(protocol, '')}".rstrip()
        raise InputError(Problem(f"{protocol}:// needs the package {package}", hint=hint)) from None
    except Exception as error:  # noqa: BLE001 - each package has errors of its own
        raise _unreachable(place, error) from None


def found_remotely(place: str, folder: str, *, is_pattern: bool) -> list[FoundPart]:
    """Files in a folder of a file system, or those that a pattern matches."""
    system = file_system(place)
    protocol = place.partition("://")[0]
    with _errors_explained(place):
        if is_pattern:
            listed = system.glob(place, detail=True)
            folders = [path for path, each in listed.items() if each["type"] == "directory"]
            files = {path: each for path, each in listed.items() if each["type"] == "file"}
            for each in folders:
                files |= system.find(each, detail=True)
        else:
            files = system.find(place, detail=True)
        base = str(system._strip_protocol(folder)).rstrip("/")
        single = not is_pattern and list(files) == [base]
        found = []
        for path, facts in files.items():
            name = PurePosixPath(path).name if single else path.removeprefix(base).lstrip("/")
            stamp = _stamp(facts)
            found.append(FoundPart(name, f"{protocol}://{path.lstrip('/')}", int(facts["size"]), stamp, hive_of(name)))
        return found


def _stamp(facts: dict[str, Any]) -> str:
    """What a file system says of a file that changes when it does, alike in its listings and of the file alone."""
    keys = ("ETag", "etag", "md5Hash", "generation", "mtime", "LastModified", "last_modified", "updated", "created")
    values = (facts[key] for key in ("size", *keys) if facts.get(key) is not None)
    return "-".join(f"{each.timestamp():.6f}" if isinstance(each, datetime) else _text(each) for each in values)


def _text(value: object) -> str:
    return f"{value:.6f}" if isinstance(value, float) else str(value)


def remote_stamp(path: str) -> str:
    """What tells whether a file of an object store is still the same."""
    system = file_system(path)
    with _errors_explained(path):
        system.invalidate_cache()
        return _stamp(system.info(path))


@contextlib.contextmanager
def on_this_machine(part: FoundPart) -> Iterator[Path]:
    """File of a part, or a private copy (0700) under its own name while it is needed, from an object store."""
    if not part.is_remote:
        yield Path(part.path)
        return
    system = file_system(part.path)
    folder = Path(tempfile.mkdtemp(prefix="maskwright-"))
    try:
        copy = folder / PurePosixPath(part.name).name
        with _errors_explained(part.path), system.open(part.path, "rb") as remote, copy.open("wb") as local:
            copy.chmod(0o600)
            shutil.copyfileobj(remote, local, 1 << 20)
        yield copy
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def listed_remotely(address: str) -> list[str]:
    """Files in a folder of a file system; none where there is no such folder."""
    system = file_system(address)
    with _errors_explained(address):
        system.invalidate_cache()
        return sorted(system.find(address)) if system.exists(address) else []


def refuse_without_bucket(address: str) -> None:
    """Refuse an address in a bucket that does not exist; file systems whose paths begin with ``/`` have no buckets."""
    system = file_system(address)
    path = str(system._strip_protocol(address))
    bucket = path.partition("/")[0]
    with _errors_explained(address):
        if bucket and not system.exists(bucket):
            hint = "Make it with the store's own program: whose it is, and who may read it, is yours to say."
            raise InputError(Problem(f"output data: there is no bucket '{bucket}'", Place(address), hint))


def sent(file: Path, address: str) -> str:
    """Write a file to an address, and read it back: the SHA-256 of what is there."""
    system = file_system(address)
    with _errors_explained(address):
        with file.open("rb") as local, system.open(address, "wb") as remote:
            shutil.copyfileobj(local, remote, 1 << 20)
        digest = hashlib.sha256()
        with system.open(address, "rb") as remote:
            for piece in iter(lambda: remote.read(1 << 20), b""):
                digest.update(piece)
        return digest.hexdigest()


def removed_remotely(address: str) -> None:
    """Remove a file of a file system, where it is there."""
    system = file_system(address)
    with _errors_explained(address):
        if system.exists(address):
            system.rm_file(address)


@contextlib.contextmanager
def _errors_explained(place: str) -> Iterator[None]:
    """What a file system says in our words: its own may repeat keys and addresses that were signed."""
    try:
        yield
    except FileNotFoundError:
        raise DataError(Problem("there is no such file", Place(place))) from None
    except InputError:
        raise
    except Exception as error:  # noqa: BLE001 - each package has errors of its own
        raise _unreachable(place, error) from None


def _unreachable(place: str, error: Exception) -> InputError:
    hint = "Its address, network and permissions are its own: look whether its own program can read it."
    return InputError(Problem(f"the file system cannot be asked ({type(error).__name__})", Place(place), hint))


NUMBER = re.compile(r"([0-9]+)")

NaturalKey = tuple[tuple[str | int, ...], ...]


def natural_key(name: str) -> tuple[NaturalKey, str]:
    """Key that sorts names of files, folder by folder: digits by the number they write, all else by its signs.

    Where numbers and texts are the same (part-1 and part-01) the names themselves decide.

    >>> sorted(["part-10.csv", "part-2.csv", "a/part-3.csv"], key=natural_key)
    ['a/part-3.csv', 'part-2.csv', 'part-10.csv']
    """
    # Texts and digits take turns, beginning with a text: no number is ever compared with a text.
    folders = (NUMBER.split(each) for each in name.split("/"))
    return tuple(tuple(int(each) if at % 2 else each for at, each in enumerate(pieces)) for pieces in folders), name


MAGIC = re.compile(r"[*?\[]")
MANIFEST = "_manifest.json"
"""What lies beside the parts of a release; readers of folders pass over names that begin so."""
NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
HIDDEN = (".", "_")


def is_several(place: str) -> bool:
    """Whether a name is of a dataset in parts: a folder, a pattern, or something in an object store."""
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
    """Files that are the parts of a dataset, in natural order of their names."""
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
    _refuse_similar(found)
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


def _refuse_similar(found: Iterable[FoundPart]) -> None:
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
