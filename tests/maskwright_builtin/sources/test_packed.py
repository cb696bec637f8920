"""Compressed text files: both ways, the same bytes every time, and damage, bombs and archives of several refused."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tracemalloc
import zipfile
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

import maskwright as mw
from maskwright_builtin.sources import files

if TYPE_CHECKING:
    from pathlib import Path

ROWS = "".join(f"{200 + (7919 * i) % 1000};{i % 9 + 0.5};{('north', 'söuth')[i % 2]};00{i % 5}\r\n" for i in range(300))
TEXT = "income;hours;region;code\r\n" + ROWS
XML = (
    "<People>"
    + "".join(f"<P><income>{100 + (7919 * i) % 1000}</income><code>0{i % 5}</code></P>" for i in range(200))
    + "</People>"
)
PIPELINE = """
maskwright: 1
data:
  source: {source}
  variables:
    hours: {{release: as is}}
    region: {{role: other, release: as is}}
    code: {{role: other, release: as is}}
protect: [{{method: microaggregation, variables: [income], params: {{k: 3}}}}]
output: {{data: {output}}}
seed: 1
"""


def pack(text: bytes, ending: str, member: str = "people.csv") -> bytes:
    """As other programs compress."""
    if ending == ".gz":
        return gzip.compress(text)
    buffer = io.BytesIO()
    if ending == ".zip":
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(member, text)
        return buffer.getvalue()
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(text)
    return sink.getvalue().to_pybytes()


def unpack(path: Path) -> bytes:
    """As other programs unpack."""
    if path.suffix == ".gz":
        return gzip.decompress(path.read_bytes())
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            assert archive.namelist() == [path.stem]
            assert archive.infolist()[0].date_time == (1980, 1, 1, 0, 0, 0)
            return archive.read(path.stem)
    if path.suffix == ".zst":
        return pa.input_stream(str(path), compression="zstd").read()
    return path.read_bytes()


def run(folder: Path, source: str, output: str) -> Path:
    (folder / "p.yaml").write_text(PIPELINE.format(source=source, output=output), encoding="utf-8")
    assert mw.run(folder / "p.yaml").ok
    return folder / output


@pytest.mark.parametrize("ending", [".gz", ".zip", ".zst"])
def test_one_column_is_masked_and_the_rest_is_as_it_was(ending: str, tmp_path: Path) -> None:
    (tmp_path / f"people.csv{ending}").write_bytes(pack(TEXT.encode(), ending))
    (tmp_path / "people.csv").write_text(TEXT, encoding="utf-8", newline="")
    masked = run(tmp_path, f"people.csv{ending}", f"masked.csv{ending}")
    plain = run(tmp_path, "people.csv", "plain.csv").read_bytes()
    assert unpack(masked) == plain
    before, after = (text.decode().split("\r\n") for text in (TEXT.encode(), plain))
    assert [line.split(";")[1:] for line in before] == [line.split(";")[1:] for line in after]
    assert [line.split(";")[0] for line in before] != [line.split(";")[0] for line in after]
    first = masked.read_bytes()
    assert run(tmp_path, f"people.csv{ending}", f"masked.csv{ending}").read_bytes() == first


@pytest.mark.parametrize(
    ("source", "output"), [("a.csv.gz", "b.csv"), ("a.csv", "b.csv.zip"), ("a.csv.zip", "b.csv.zst")]
)
def test_the_name_of_the_output_decides(source: str, output: str, tmp_path: Path) -> None:
    path = tmp_path / source
    path.write_bytes(TEXT.encode() if path.suffix == ".csv" else pack(TEXT.encode(), path.suffix))
    assert unpack(run(tmp_path, source, output)).startswith(b"income;hours;region;code\r\n")


@pytest.mark.parametrize("ending", [".gz", ".zip", ".zst"])
def test_xml_is_unpacked_too(ending: str, tmp_path: Path) -> None:
    (tmp_path / f"people.xml{ending}").write_bytes(pack(XML.encode(), ending))
    data = mw.read(tmp_path / f"people.xml{ending}")
    assert (len(data), data.names) == (200, ("income", "code"))
    text = PIPELINE.replace("    hours: {{release: as is}}\n    region: {{role: other, release: as is}}\n", "")
    (tmp_path / "p.yaml").write_text(text.format(source=f"people.xml{ending}", output=f"out.xml{ending}"))
    assert mw.run(tmp_path / "p.yaml").ok
    assert unpack(tmp_path / f"out.xml{ending}").count(b"<code>00</code>") == 40


def refused(path: Path, content: bytes, **options: object) -> str:
    path.write_bytes(content)
    with pytest.raises(mw.DataError) as caught:
        mw.read(path, **options)
    assert path.name in str(caught.value)
    assert "north" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("ending", [".gz", ".zip", ".zst"])
def test_files_cut_short_or_damaged_are_refused(ending: str, tmp_path: Path) -> None:
    path, whole = tmp_path / f"people.csv{ending}", pack(TEXT.encode(), ending)
    assert "cut short" in refused(path, whole[: len(whole) // 2])
    assert "cut short" in refused(path, whole[:-3])
    spoiled = bytearray(whole)
    spoiled[len(whole) // 3 : len(whole) // 3 + 40] = b"\xff" * 40
    if ending != ".zst":  # it has no checksum unless whoever packs asks for one: the rows are what tells
        assert "damaged" in refused(path, bytes(spoiled))
    plain = refused(path, TEXT.encode())
    assert "it is text that is not compressed" in plain
    assert "Rename it: people.csv." in plain
    assert "empty" in refused(path, pack(b"", ending))
    assert "the file is empty" in refused(path, b"")


@pytest.mark.parametrize("ending", [".gz", ".zip", ".zst"])
def test_what_unpacks_beyond_proportion_is_refused_in_little_memory(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "UNSUSPICIOUS", 5_000_000)
    path, bomb = tmp_path / f"people.csv{ending}", pack(b"a,b\n" + b"1,2\n" * 10_000_000, ending)
    tracemalloc.start()
    assert "unpacks to more than" in refused(path, bomb)
    assert tracemalloc.get_traced_memory()[1] < 20_000_000
    tracemalloc.stop()
    assert "more than 9000 bytes" in refused(path, pack(TEXT.encode() * 3, ending), max_file_size=9000)
    path.write_bytes(pack(TEXT.encode(), ending))
    assert len(mw.read(path, max_file_size=100_000)) == 300


def test_archives_of_several_files_and_encrypted_ones_are_refused(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("a.csv", TEXT)
        archive.writestr("notes.txt", "north")
    assert "has 2 files, and one was expected" in refused(tmp_path / "two.csv.zip", buffer.getvalue())
    whole = bytearray(pack(TEXT.encode(), ".zip"))
    whole[6] |= 1
    whole[whole.index(b"PK\x01\x02") + 8] |= 1
    assert "encrypted" in refused(tmp_path / "secret.csv.zip", bytes(whole))


@pytest.mark.parametrize("ending", [".gz", ".zip", ".zst"])
def test_files_of_another_kind_are_named(ending: str, tmp_path: Path) -> None:
    """What it is instead, and what to do; no place in bytes, which helps nobody there."""
    path = tmp_path / f"people.csv{ending}"
    for other in {".gz", ".zip", ".zst"} - {ending}:
        said = refused(path, pack(TEXT.encode(), other))
        assert f"Rename it: people.csv{other}." in said
        assert f"though its name ends with {ending}" in said
    assert "it begins as bzip2 files do" in refused(path, bz2.compress(TEXT.encode()))
    assert "Unpack it, and read the file that comes out." in refused(path, lzma.compress(TEXT.encode()))
    assert "it begins with other bytes, or is encrypted" in refused(path, bytes(range(256)))
    assert "byte 0" not in refused(path, pack(TEXT.encode(), ending)[:11])


def test_bytes_behind_the_end_of_a_gzip_file_are_refused(tmp_path: Path) -> None:
    """Several members, one behind the other, are one text; anything else behind them is not read in silence."""
    whole, path = pack(TEXT.encode(), ".gz"), tmp_path / "people.csv.gz"
    path.write_bytes(whole + pack(ROWS.encode(), ".gz"))
    assert len(mw.read(path)) == 600
    assert "has bytes behind its end that are no gzip" in refused(path, whole + b"north;1")


def test_a_part_of_a_split_zip_archive_is_refused(tmp_path: Path) -> None:
    said = refused(tmp_path / "people.csv.zip", pack(TEXT.encode(), ".zip")[:200])
    assert "cut short, or is one part of several" in said


def test_nothing_is_written_when_the_file_is_cut_short(tmp_path: Path) -> None:
    (tmp_path / "people.csv.gz").write_bytes(pack(TEXT.encode(), ".gz")[:-10])
    with pytest.raises(mw.InputError, match="cut short"):
        run(tmp_path, "people.csv.gz", "masked.csv.gz")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["p.yaml", "people.csv.gz"]


@pytest.mark.parametrize("name", ["people.csv", "people.xml"])
def test_files_that_are_packed_and_not_called_so_are_named(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    for ending in (".gz", ".zip", ".zst"):
        said = refused(path, pack(TEXT.encode(), ending))
        assert f"the file is no text, though its name ends with {path.suffix}: it begins as" in said
        assert f"Rename it: {name}{ending}." in said
    assert f"Rename it: {path.stem}.parquet." in refused(path, b"PAR1" + bytes(range(256)))
