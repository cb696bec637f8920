"""Writing a release: every file under a temporary name first, moved into place only when all is well."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
from typing import TYPE_CHECKING, Self, TypedDict

from maskwright.foundation.errors import InputError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from types import TracebackType


class Release:
    """The files of one run. Leaving the context without `publish` removes what was written.

    Parameters
    ----------
    targets : mapping of key to Path
        Final names, in the order of publication: the masked data last, so that whoever sees them sees the rest too.
    private : frozenset of str
        Keys of files that carry record values or the seed: readable by their owner only.
    """

    def __init__(self, targets: Mapping[str, Path], private: frozenset[str]) -> None:
        self._targets = dict(targets)
        self._private = private
        self._token = secrets.token_hex(4)
        self._made: list[Path] = []

    def __enter__(self) -> Self:
        for key, target in self._targets.items():
            if not target.parent.is_dir():
                self._remove()
                raise InputError(
                    Problem(
                        f"output {key}: the folder {target.parent} does not exist", hint="make it, or name another one"
                    )
                )
            temporary = self.temporary(key)
            with self._explained(key):
                mode = 0o600 if key in self._private else 0o666
                os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
            self._made.append(temporary)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def temporary(self, key: str) -> Path:
        """Name to write the file `key` under; it keeps the ending, which some formats are told by."""
        target = self._targets[key]
        return target.with_name(f".maskwright-{self._token}-{target.name}")

    def publish(self) -> None:
        """Move every file into place, the masked data last.

        Raises
        ------
        InputError
            When the disk refuses; files published before stay, the masked data are not among them.
        """
        for key in self._targets:
            temporary = self.temporary(key)
            with self._explained(key):
                descriptor = os.open(temporary, os.O_RDONLY)
                try:
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)
        for key, target in self._targets.items():
            with self._explained(key):
                self.temporary(key).replace(target)

    def _remove(self) -> None:
        for temporary in self._made:
            temporary.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _explained(self, key: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise InputError(f"output {key}: {self._targets[key]} cannot be written: {reason}") from error


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Explain what the disk refuses while `path` is written."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(f"{path.name.partition('-')[2] or path.name} cannot be written: {reason}") from error


class FileFacts(TypedDict):
    """What tells one file from another."""

    sha256: str
    bytes: int


def file_facts(path: Path) -> FileFacts:
    """SHA-256 and size of a file, read in pieces."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while piece := stream.read(1 << 20):
            digest.update(piece)
    return {"sha256": digest.hexdigest(), "bytes": path.stat().st_size}
