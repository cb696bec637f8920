"""Writing a release: every file in a private folder first, then moved into place or sent as a set."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import tempfile
from dataclasses import replace
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Self

from maskwright.data.parts.part_files import (
    MANIFEST,
    address_of,
    is_remote,
    listed_remotely,
    refuse_without_bucket,
    removed_remotely,
    sent,
)
from maskwright.foundation.errors import DataError, InputError, Place, Problem
from maskwright.foundation.files import (
    PRIVATE,
    PUBLIC,
    file_identity,
    masked_mode,
    refuse_to_overwrite,
    sync_file,
    sync_folder,
)
from maskwright.foundation.processes.signals import uninterrupted
from maskwright.foundation.release_outcomes import note_release, note_unsettled
from maskwright.release.atomic_replacement import Entry, complete, end_journal, sweep, undo, write_journal
from maskwright.release.data_file import FileFacts, file_facts
from maskwright.release.work_folders import Staging, make_staging

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import TracebackType
    from typing import IO

    from maskwright.foundation.findings import Notice


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
        """Folder that the files are written into, which no one else can look into."""
        found = Path(tempfile.mkdtemp(prefix=PREFIX, dir=self.parent)) / PurePosixPath(self.address).name
        found.mkdir(mode=0o700)
        return found

    def send(self, sealed: FileFacts) -> None:
        """Send every file, the manifest last."""
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
        message = "the file is not the same after sending; nothing was released"
        raise InputError(Problem(message, Place(target), "Try again."))


FOLDER = 0o777
"""Before the user's mask."""


class Release:
    """The files of one run. Leaving the context without `publish` removes what was written.

    `targets`: final names, in the order of publication: the masked data last, so that whoever sees them sees the rest
    too. `private`: keys of files that carry record values or the seed: readable by their owner only. `folders`: keys of
    folders of parts: each is moved as a whole, and replaces one only that a manifest of ours lists. One in an object
    store is sent before the other files are moved, and taken back where these cannot be. `notices`: what was done about
    earlier runs that were cut off.
    """

    def __init__(
        self, targets: Mapping[str, Path], private: frozenset[str], folders: frozenset[str] = frozenset()
    ) -> None:
        self._addresses = {key: address_of(str(each)) for key, each in targets.items() if is_remote(str(each))}
        here = {key: each for key, each in targets.items() if key not in self._addresses}
        self._targets = {key: Path(os.path.realpath(target)) for key, target in here.items()}
        self._is_published = False
        self._remote = {key: RemoteFolder(address) for key, address in self._addresses.items()}
        self._private = private
        self._folders = folders
        self._stagings: dict[object, Staging] = {}
        self._sealed: dict[str, FileFacts] = {}
        self._is_unsettled = False
        self.notices: tuple[Notice, ...] = ()

    def __enter__(self) -> Self:
        refuse_to_overwrite({f"output {key}": target for key, target in self._targets.items()})
        token = secrets.token_hex(4)
        try:
            with uninterrupted():
                for key, target in self._targets.items():
                    self._stage(key, target, token)
                for staging in self._stagings.values():
                    names = {each.name for key, each in self._targets.items() if self._staging(key) == staging}
                    try:
                        self.notices += sweep(staging, names)
                    except OSError as error:
                        folder, reason = staging.path.parent, error.strerror or type(error).__name__
                        raise InputError(f"what earlier runs left in {folder} cannot be ended: {reason}") from error
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leave()

    def temporary(self, key: str) -> Path:
        """Name to write the file `key` under: its own, in a private folder."""
        if key in self._remote:
            return self._remote[key].path
        return self._staging(key).new / self._targets[key].name

    def keep_in(self, folder: Path) -> None:
        """Have what goes to an object store written in this folder until it is sent."""
        for remote in self._remote.values():
            remote.parent = folder

    def sealed(self, key: str) -> FileFacts:
        """Hash and size of a file that is finished: what is published is compared with them."""
        if key not in self._sealed:
            with self._explained(key):
                self._sealed[key] = file_facts(self.temporary(key))
        return self._sealed[key]

    def publish(self) -> None:
        """Move every file into place, the masked data last; signals that end the process wait meanwhile."""
        try:
            for key, remote in self._remote.items():
                remote.send(self.sealed(key))
            self._publish_here()
        except BaseException:
            for remote in () if self._is_published else self._remote.values():
                remote.take_back()
            raise

    def _publish_here(self) -> None:
        """Move the files of this machine into place."""
        with uninterrupted():
            entries = [self._entry(key) for key in self._targets]
            for key, entry in zip(self._targets, entries, strict=True):
                with self._explained(key):
                    for file in entry.new.rglob("*") if entry.new.is_dir() else [entry.new]:
                        sync_folder(file) if file.is_dir() else sync_file(file)
                    if not entry.is_staged():
                        raise InputError(
                            f"output {key}: the file was changed by another program while it was checked; "
                            "nothing was released"
                        )
            try:
                for staging in self._stagings.values():
                    sync_folder(staging.new)
                    sync_folder(staging.path.parent)
                if entries:
                    write_journal(entries, entries[-1].staging)
                complete(entries)
                self._is_published = True
            except OSError as error:
                self._undo(entries, error)
            note_release([*self._targets.values(), *self._addresses.values()])
            # Should this fail, the next run finds a set that is complete.
            with contextlib.suppress(OSError):
                if entries:
                    end_journal(entries[-1].staging)

    def _stage(self, key: str, target: Path, token: str) -> None:
        if not target.parent.is_dir():
            raise InputError(
                Problem(f"output {key}: the folder {target.parent} does not exist", hint="make it, or name another one")
            )
        is_folder = key in self._folders
        if target.exists() and not (target.is_dir() if is_folder else target.is_file()):
            raise InputError(f"output {key}: {target} is no {'folder' if is_folder else 'regular file'}")
        from maskwright.data.parts.manifest import foreign_file  # of parts

        foreign = foreign_file(target) if is_folder and target.exists() else None
        if foreign is not None:
            hint = "Only a folder is replaced in which each file is listed in its _manifest.json: name another one."
            raise InputError(Problem(f"output {key}: Maskwright did not write {foreign} in {target}", hint=hint))
        with self._explained(key):
            folder = file_identity(target.parent)
            if folder not in self._stagings:
                self._stagings[folder] = make_staging(target.parent, token)
            if is_folder:
                self.temporary(key).mkdir(mode=0o700)
            else:
                os.close(os.open(self.temporary(key), os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE))

    def _staging(self, key: str) -> Staging:
        return self._stagings[file_identity(self._targets[key].parent)]

    def _entry(self, key: str) -> Entry:
        mode = PRIVATE if key in self._private else masked_mode(FOLDER if key in self._folders else PUBLIC)
        return Entry(self._staging(key).path, self._targets[key].name, **self.sealed(key), mode=mode)

    def _undo(self, entries: list[Entry], error: OSError) -> None:
        """Put back what was there before, and raise."""
        reason = error.strerror or type(error).__name__
        try:
            undo(entries)
            end_journal(entries[-1].staging)
        except OSError as second:
            self._is_unsettled = True
            note_unsettled(self._targets.values())
            more = second.strerror or type(second).__name__
            raise InputError(
                Problem(
                    f"the outputs cannot be put in place ({reason}), nor can those be put back that they replaced "
                    f"({more}): {', '.join(str(target) for target in self._targets.values())} may be of two releases",
                    hint="The next run over them completes them, or puts the earlier ones back.",
                )
            ) from error
        raise InputError(
            Problem(
                f"the outputs cannot be put in place: {reason}; nothing was released, what was there before is kept"
            )
        ) from error

    def _leave(self) -> None:
        for remote in self._remote.values():
            remote.remove()
        with uninterrupted():
            for staging in self._stagings.values():
                if self._is_unsettled:
                    staging.let_go()
                else:
                    staging.remove()
            self._stagings.clear()

    @contextlib.contextmanager
    def _explained(self, key: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            reason = error.strerror or type(error).__name__
            target = self._addresses.get(key) or self._targets[key]
            raise InputError(f"output {key}: {target} cannot be written: {reason}") from error


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Explain what the disk refuses while `path` is written; errors name the file, and no private folder."""
    try:
        yield
    except DataError as error:
        private = [each.place is not None and each.place.file == str(path) for each in error.problems]
        named = [
            replace(each, place=Place(path.name)) if is_private else each
            for each, is_private in zip(error.problems, private, strict=True)
        ]
        raise type(error)(named) from error
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(f"{path.name} cannot be written: {reason}") from error


@contextlib.contextmanager
def output_stream(release: Release, key: str, *, is_wanted: bool) -> Iterator[IO[bytes] | None]:
    """Stream into the file `key` of a release; None where it is not requested."""
    if not is_wanted:
        yield None
        return
    with writing(release.temporary(key)), release.temporary(key).open("wb") as stream:
        yield stream
