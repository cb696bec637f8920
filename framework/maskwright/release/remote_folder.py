"""Masked data that go to an object store: written and checked in a private folder here, and sent when all is well.

A store moves nothing: each file is sent under its name, read back and compared, and the manifest is sent last. A folder
without a manifest is no release; what was sent of one is taken back.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from maskwright.data.parts.file_systems import listed_remotely, refuse_without_bucket, removed_remotely, sent
from maskwright.data.parts.finding import MANIFEST
from maskwright.foundation.errors import InputError, Place, Problem
from maskwright.release.facts import file_facts

if TYPE_CHECKING:
    from maskwright.release.facts import FileFacts

PREFIX = ".maskwright-to-send-"


class RemoteFolder:
    """A folder of parts on its way to an object store.

    `parent`: folder in which the files are kept until they are sent; None: that of the system for temporary files.
    """

    def __init__(self, address: str) -> None:
        self.address = address.rstrip("/")
        self.parent: Path | None = None
        self._sent: list[str] = []
        refuse_without_bucket(self.address)
        self._refuse_filled()

    @cached_property
    def path(self) -> Path:
        """Folder that the files are written into, which nobody else can look into."""
        found = Path(tempfile.mkdtemp(prefix=PREFIX, dir=self.parent)) / PurePosixPath(self.address).name
        found.mkdir(mode=0o700)
        return found

    def send(self, sealed: FileFacts) -> None:
        """Send every file, the manifest last.

        `sealed`: of the folder when it was checked.
        """
        if file_facts(self.path) != sealed:
            raise InputError(
                "output data: a file was changed by another program while it was checked; nothing was released"
            )
        self._refuse_filled()
        files = sorted(each for each in self.path.rglob("*") if each.is_file())
        try:
            for file in sorted(files, key=lambda each: each == self.path / MANIFEST):
                target = f"{self.address}/{file.relative_to(self.path).as_posix()}"
                self._sent.append(target)
                _send(file, target)
        except BaseException:
            self.take_back()
            raise

    def take_back(self) -> None:
        """Remove what was sent, the manifest first."""
        for target in reversed(self._sent):
            # What the store does not let go of has no manifest, and the next run names it.
            with contextlib.suppress(InputError):
                removed_remotely(target)
        self._sent.clear()

    def remove(self) -> None:
        """Remove the private folder, where there is one."""
        if "path" in self.__dict__:
            shutil.rmtree(self.path.parent, ignore_errors=True)

    def _refuse_filled(self) -> None:
        there = listed_remotely(self.address)
        if there:
            hint = "Name another folder, or remove what is there: an object store replaces no folder as a whole."
            raise InputError(Problem(f"output data: there are {len(there)} files already", Place(self.address), hint))


def _send(file: Path, target: str) -> None:
    if sent(file, target) != file_facts(file)["sha256"]:
        message = "the file did not arrive as it was sent; nothing was released"
        raise InputError(Problem(message, Place(target), "Try again."))
