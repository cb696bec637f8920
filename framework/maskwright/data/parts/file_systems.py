"""Object stores and other file systems, through fsspec: asked only where the user named one, and never for passwords.

Who may read is known to the file system's own configuration (environment, profile, instance), never to a pipeline.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import tempfile
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from maskwright.data.parts.addresses import STORES
from maskwright.data.parts.model import FoundPart
from maskwright.foundation.errors import DataError, InputError, Place, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator


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
    """Files in a folder of a file system, or those that a pattern matches.

    `place`, `folder`: address, and that of the folder that names are relative to.
    """
    from maskwright.data.parts.finding import hive_of

    system = file_system(place)
    protocol = place.partition("://")[0]
    with _told(place):
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
    with _told(path):
        system.invalidate_cache()
        return _stamp(system.info(path))


@contextlib.contextmanager
def on_this_machine(part: FoundPart) -> Iterator[Path]:
    """File of a part for those who read files: a copy for the time being, where it is in an object store.

    The copy lies in a private folder (0700), under the name that the part has, since endings tell formats.
    """
    if not part.is_remote:
        yield Path(part.path)
        return
    system = file_system(part.path)
    folder = Path(tempfile.mkdtemp(prefix="maskwright-"))
    try:
        copy = folder / PurePosixPath(part.name).name
        with _told(part.path), system.open(part.path, "rb") as remote, copy.open("wb") as local:
            copy.chmod(0o600)
            shutil.copyfileobj(remote, local, 1 << 20)
        yield copy
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def listed_remotely(address: str) -> list[str]:
    """Files in a folder of a file system; none where there is no such folder."""
    system = file_system(address)
    with _told(address):
        system.invalidate_cache()
        return sorted(system.find(address)) if system.exists(address) else []


def refuse_without_bucket(address: str) -> None:
    """Refuse an address in a bucket that is not there: nothing can be sent to it, hours later.

    A file system whose paths begin with ``/`` makes its folders when a file is sent, and has no buckets.
    """
    system = file_system(address)
    path = str(system._strip_protocol(address))
    bucket = path.partition("/")[0]
    with _told(address):
        if bucket and not system.exists(bucket):
            hint = "Make it with the store's own program: whose it is, and who may read it, is yours to say."
            raise InputError(Problem(f"output data: there is no bucket '{bucket}'", Place(address), hint))


def sent(file: Path, address: str) -> str:
    """Write a file to an address, and read it back: the SHA-256 of what is there."""
    system = file_system(address)
    with _told(address):
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
    with _told(address):
        if system.exists(address):
            system.rm_file(address)


@contextlib.contextmanager
def _told(place: str) -> Iterator[None]:
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
