"""Files of sources: checks, encodings, compression (gzip, Zstandard, zip), errors of full disks."""

from __future__ import annotations

import codecs
import contextlib
import difflib
import gzip
import importlib
import io
import os
import zipfile
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from encodings.aliases import aliases
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa

from maskwright import DataError, Place, Problem, WrittenBatch
from maskwright_builtin.sources.file_kinds import BEGINNING, COPY, kind_of, of_other_kind, refuse_other_kinds

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Mapping
    from contextlib import AbstractContextManager


PIECE = 1 << 20
"""Bytes unpacked at a time."""
ROWS = 65_536
"""Records of a batch of typed columns."""
EXACT = 2.0**53
"""Every integer below is a binary64 number of its own."""
UNSUSPICIOUS = 100_000_000
"""Bytes that a file may unpack to, however small it is."""
LARGEST_RATIO = 200
"""Bytes for each compressed one beyond that: text of microdata packs to a fifth or a tenth, hardly ever further."""
OLDEST = (1980, 1, 1, 0, 0, 0)
"""Time stamp of a zip member: the time of writing would make other bytes every time."""

RAISE = "If the file is right, raise `max_file_size` in the pipeline's data section, or with --option."


@dataclass(frozen=True)
class Packing:
    """A kind of compression; `unpacked` and `packed` open a file for reading and seeking, and for writing."""

    name: str
    unpacked: Callable[[Path, BinaryIO], AbstractContextManager[BinaryIO]]
    packed: Callable[[Path, BinaryIO], AbstractContextManager[BinaryIO]]


def refuse_large(path: Path, size: int, largest: int | None, packed: int | None = None) -> None:
    """Stop at a file that is larger than allowed, or (`largest` None) packed beyond all proportion; sizes unpacked."""
    unpacked = "" if packed is None else "unpacked, "
    if largest is not None and size > largest:
        message = f"{unpacked}the file has {'more' if packed else f'{size} bytes'}"
        message = f"{message} than {largest} bytes" if packed else f"{message}, and at most {largest} are allowed"
        raise DataError(Problem(message, Place(str(path)), RAISE))
    if largest is None and packed is not None and size > max(UNSUSPICIOUS, LARGEST_RATIO * packed):
        message = f"the file has {packed} bytes and unpacks to more than {max(UNSUSPICIOUS, LARGEST_RATIO * packed)}"
        raise DataError(Problem(message, Place(str(path)), RAISE))


def unpacked_size(path: Path, packing: Packing, file: BinaryIO, largest: int | None) -> int:
    """Bytes of a compressed file once it is unpacked, which it is from end to end, and kept nowhere."""
    on_disk, size = path.stat().st_size, 0
    with packing.unpacked(path, file) as text:
        while piece := text.read(PIECE):
            size += len(piece)
            refuse_large(path, size, largest, on_disk)
    if size == 0:
        raise DataError(Problem("the file is empty once it is unpacked", Place(str(path))))
    return size


class _Rewindable(io.RawIOBase):
    """What comes out of a decompressor; seeking back starts it anew."""

    def __init__(self, path: Path, kind: str, start: Callable[[], Any]) -> None:
        super().__init__()
        self._path, self._kind, self._start = path, kind, start
        self._stream, self._done = start(), 0

    def readable(self) -> bool:
        """Say that this is a file to read."""
        return True

    def seekable(self) -> bool:
        """Say that there is a way back, if a slow one."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Unpack the next bytes."""
        try:
            piece = self._stream.read(len(buffer))
        except EOFError:
            raise self._damaged("is cut short") from None
        except gzip.BadGzipFile as error:
            # Members may follow each other, and zeros the last: other bytes are none of it.
            is_behind = str(error).startswith("Not a gzipped file")
            how = "has bytes behind its end that are no gzip" if is_behind else "is damaged"
            raise self._damaged(how) from None
        except (zlib.error, zipfile.BadZipFile, pa.ArrowException):
            raise self._damaged("is damaged") from None
        except OSError as error:
            # Arrow reports what it cannot unpack as trouble with the disk, without an error number.
            if error.errno is not None:
                raise
            raise self._damaged("is damaged or cut short") from None
        buffer[: len(piece)] = piece
        self._done += len(piece)
        return len(piece)

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Go to a place counted from the beginning."""
        if whence == io.SEEK_CUR:
            offset += self._done
        if offset < self._done:
            self._stream, self._done = self._start(), 0
        while self._done < offset and self.readinto(bytearray(min(PIECE, offset - self._done))):
            pass
        return self._done

    def _damaged(self, how: str) -> DataError:
        where = f", behind byte {self._done} of what it unpacks to" if self._done else ""
        message = f"the {self._kind} file {how}{where}"
        return DataError(Problem(message, Place(str(self._path)), COPY))


@contextmanager
def _from_gzip(path: Path, file: BinaryIO) -> Iterator[BinaryIO]:
    def start() -> BinaryIO:
        file.seek(0)
        return gzip.GzipFile(fileobj=file, mode="rb")  # type: ignore[return-value]

    refuse_other_kinds(path, "gzip", file)
    yield io.BufferedReader(_Rewindable(path, "gzip", start), PIECE)


@contextmanager
def _to_gzip(path: Path, file: BinaryIO) -> Iterator[BinaryIO]:
    del path  # its name would be part of the header, and the time of writing
    with gzip.GzipFile(filename="", fileobj=file, mode="wb", compresslevel=6, mtime=0) as packed:
        yield packed  # type: ignore[misc]


@contextmanager
def _from_zstd(path: Path, file: BinaryIO) -> Iterator[BinaryIO]:
    def start() -> Any:
        file.seek(0)
        return pa.CompressedInputStream(pa.PythonFile(file, "r"), "zstd")

    refuse_other_kinds(path, "Zstandard", file)
    yield io.BufferedReader(_Rewindable(path, "Zstandard", start), PIECE)


@contextmanager
def _to_zstd(path: Path, file: BinaryIO) -> Iterator[BinaryIO]:
    del path
    with pa.CompressedOutputStream(pa.PythonFile(file, "w"), "zstd") as packed:
        yield packed


@contextmanager
def _from_zip(path: Path, file: BinaryIO) -> Iterator[BinaryIO]:
    place = Place(str(path))
    refuse_other_kinds(path, "zip", file)
    try:
        archive = zipfile.ZipFile(file)
        members = [member for member in archive.infolist() if not member.is_dir()]
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        message = "the zip archive is cut short, or is one part of several: the list of its files is not at its end"
        raise DataError(Problem(message, place, COPY)) from None
    if len(members) != 1:
        hint = "Pack the one file of microdata by itself."
        message = f"the zip archive has {len(members)} files, and one was expected"
        raise DataError(Problem(message, place, hint))
    if members[0].flag_bits & 1:
        hint = "Unpack it with its password, and read the file that comes out."
        raise DataError(Problem("the zip archive is encrypted", place, hint))

    def start() -> Any:
        try:
            return archive.open(members[0])
        except NotImplementedError:
            hint = "Pack it anew with the usual method (deflate)."
            raise DataError(Problem("the zip archive is packed in a way that is not read", place, hint)) from None
        except zipfile.BadZipFile:
            raise DataError(Problem("the zip archive is damaged", place, COPY)) from None

    yield io.BufferedReader(_Rewindable(path, "zip", start), PIECE)


def zip_member(name: str) -> zipfile.ZipInfo:
    """Member of a zip archive whose bytes depend neither on the time of writing nor on the system."""
    member = zipfile.ZipInfo(name, OLDEST)
    member.compress_type = zipfile.ZIP_DEFLATED
    member.external_attr = 0o600 << 16
    member.create_system = 3
    return member


@contextmanager
def _to_zip(path: Path, file: BinaryIO) -> Iterator[BinaryIO]:
    member = zip_member(path.name[: -len(".zip")])
    with zipfile.ZipFile(file, "w") as archive, archive.open(member, "w", force_zip64=True) as packed:
        yield packed  # type: ignore[misc]


PACKINGS: Mapping[str, Packing] = {
    ".gz": Packing("gzip", _from_gzip, _to_gzip),
    ".zip": Packing("zip", _from_zip, _to_zip),
    ".zst": Packing("Zstandard", _from_zstd, _to_zstd),
}
"""Kinds of compression by the last ending of a file name."""


def optional_library(module: str, what: str, extra: str, path: Path | None = None) -> Any:
    """Module of a package that is installed with an extra of Maskwright; `what` is done with it."""
    try:
        return importlib.import_module(module)
    except ImportError:
        place = None if path is None else Place(str(path))
        hint = f"Install it: pip install 'maskwright[{extra}]'."
        raise DataError(Problem(f"{what} with {module}, which is not installed", place, hint)) from None


BLOCK = 2 * 1024 * 1024
"""Bytes read at a time: large enough that work for each block does not count, small enough to stay in memory."""


class WrittenReading:
    """Reading whose records come with their cells as the file holds them."""

    def written_batches(self) -> Generator[WrittenBatch]:
        """Yield the records, and the cells of columns that are written in another form."""
        raise NotImplementedError

    def batches(self) -> Generator[pa.RecordBatch]:
        """Yield the records alone."""
        with contextlib.closing(self.written_batches()) as batches:
            for batch in batches:
                yield batch.cells


def with_packed(*suffixes: str) -> tuple[str, ...]:
    """File name endings of a text format, plain and compressed: ``.csv``, ``.csv.gz``, ``.csv.zip``, ``.csv.zst``."""
    return tuple(suffix + packing for suffix in suffixes for packing in ("", *PACKINGS))


def _packing(path: Path) -> Packing | None:
    return PACKINGS.get(path.suffix.lower())


def readable_size(path: Path, largest: int | None = None, *, of_text: bool = False) -> int:
    """Size of a data file in bytes, of a compressed one unpacked; `largest` None is no limit.

    `of_text`: a file of text may be compressed, and has an ending that says so.
    """
    place = Place(str(path))
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            start = file.read(BEGINNING) if of_text and _packing(path) is None else b""
    except FileNotFoundError:
        there = sorted(other.name for other in path.parent.iterdir()) if path.parent.is_dir() else None
        raise DataError(Problem("there is no such file", place, _neighbour(path, there))) from None
    except IsADirectoryError:
        raise DataError(Problem("this is a directory, and one data file was expected", place)) from None
    except OSError as error:
        raise DataError(Problem(f"the file cannot be read: {error.strerror}", place)) from error
    if not path.is_file():
        hint = "Data files are read twice, so a pipe or device will not do: save it to a file first."
        raise DataError(Problem("this is not a regular file", place, hint))
    if status.st_size == 0:
        raise DataError(Problem("the file is empty", place))
    packing, found = _packing(path), kind_of(start)
    if found is not None:
        stem = path.stem if found[0] == "Parquet" else path.name
        raise of_other_kind(path, f"the file is no text, though its name ends with {path.suffix}", stem, *found)
    if packing is None:
        refuse_large(path, status.st_size, largest)
        return status.st_size
    with reading(path, packed=True) as packed:
        return unpacked_size(path, packing, packed, largest)


def _neighbour(path: Path, there: list[str] | None) -> str | None:
    if there is None:
        return f"There is no folder {str(path.parent)!r} either."
    same = [name for name in there if name.lower() == path.name.lower() or Path(name).stem == path.stem]
    return f"Did you mean {same[0]!r}?" if same else None


@contextmanager
def reading(path: Path, *, packed: bool = False) -> Iterator[BinaryIO]:
    """File opened for reading, unpacked unless `packed`; trouble with the disk on the way is a `DataError`."""
    packing = None if packed else _packing(path)
    try:
        with path.open("rb") as file:
            if packing is None:
                yield file
            else:
                with packing.unpacked(path, file) as text:
                    yield text
    except OSError as error:
        raise DataError(Problem(f"the file cannot be read: {error.strerror or error}", Place(str(path)))) from error


@contextmanager
def disk_trouble(path: Path) -> Iterator[None]:
    """Turn an error of the operating system while `path` is written into a `DataError` that says what to do."""
    try:
        yield
    except OSError as error:
        hint = "Free some space, check the permissions of the folder, or choose another output folder."
        problem = Problem(f"the file cannot be written: {error.strerror or error}", Place(str(path)), hint)
        raise DataError(problem) from error


@contextmanager
def writing(path: Path) -> Iterator[BinaryIO]:
    """File opened for writing, packed as its name says; closing it is part of what may fail on a full disk."""
    packing = _packing(path)
    with disk_trouble(path), path.open("wb") as file:
        if packing is None:
            yield file
        else:
            with packing.packed(path, file) as text:
                yield text


NO_FILES = ("idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape")
"""Encodings of names and of program text, in which no data file is written."""

LISTED = (
    "utf-8, utf-16, utf-32, ascii, latin-1, iso8859-2 to iso8859-16, cp1250 to cp1258 (Windows), cp437, cp737, cp775, "
    "cp850, cp852, cp855, cp857, cp858, cp860 to cp866, cp869 (DOS), mac-roman, koi8-r, koi8-u, cp500 (EBCDIC), big5, "
    "gb18030, euc-jp, shift-jis, euc-kr"
)


def text_encoding(name: str) -> str:
    """Python's name of a text encoding, whichever of its names is given; `ValueError` for what encodes no texts.

    >>> text_encoding("IBM850")
    'cp850'
    """
    try:
        found = codecs.lookup(name)
        # `rot13` and `base64` are codecs, too; only those of texts take part in this.
        "a".encode(name)
    except (LookupError, UnicodeError, ValueError):
        raise ValueError(_no_encoding(name)) from None
    if found.name.replace("_", "-") in NO_FILES or found.incrementaldecoder is None:
        raise ValueError(_no_encoding(name))
    return found.name


def _no_encoding(name: str) -> str:
    texts = {alias: own for alias, own in aliases.items() if not own.endswith("_codec") and own != "rot_13"}
    known = [*texts, *texts.values()]
    near = difflib.get_close_matches(name.lower().replace("-", "_"), known, n=1, cutoff=0.75)
    meant = f"; did you mean {aliases.get(near[0], near[0])!r}?" if near else "."
    return f"no encoding of texts called {name!r}{meant} Those that Python reads do: {LISTED}"
