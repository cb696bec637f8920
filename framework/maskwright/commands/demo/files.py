"""The example: a statistical model of a household survey, and the files of data, edits and pipeline made of it."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files as package_files
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from maskwright.data.number_text import cell_bytes, write_numbers
from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.files import write_text, write_whole
from maskwright.foundation.progress import Progress, silent
from maskwright.foundation.randomness import generator

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path


def foreign_files(folder: Path, begins: Mapping[str, bytes], texts: Mapping[str, Collection[str]]) -> list[Path]:
    """Make the folder of an example, and find the files in it that would be overwritten and are not the example's."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        foreign = [folder / name for name, start in begins.items() if not _begins(folder / name, start)]
        return foreign + [folder / name for name, own in texts.items() if not _is_one_of(folder / name, own)]
    except OSError as error:
        raise InputError(f"the example cannot be written to {folder}: {error.strerror}") from error


def refuse_size(size: int, fewest: int, most: int, what: str) -> None:
    """Refuse an example of fewer or more records, or households, than it can have."""
    if size < fewest:
        raise InputError(f"the example needs at least {fewest} {what}; asked for {size}")
    if size > most:
        raise InputError(f"the example has at most {most:,} {what}; asked for {size:,}")


def left_alone(path: Path, hint: str) -> Problem:
    """What is said of a file that is not the example's own."""
    return Problem(f"{path} is not as the example writes it; it was left alone", hint=hint)


def _begins(path: Path, start: bytes) -> bool:
    if not path.exists():
        return True
    with path.open("rb") as stream:
        return stream.read(len(start)) == start


def _is_one_of(path: Path, own: Collection[str]) -> bool:
    return not path.exists() or path.read_bytes().decode("utf-8", "replace") in own


REGIONS = ("Capital", "Coast", "Hills", "Lakes", "North", "Plain")
SHARES = (0.24, 0.19, 0.11, 0.10, 0.21, 0.15)
WAGE_LEVEL = np.array((1.22, 1.02, 0.88, 0.93, 1.05, 0.90))
RENT_LEVEL = np.array((228.0, 156.0, 96.0, 108.0, 132.0, 102.0))
SAMPLING_RATE = np.array((28.0, 22.0, 15.0, 14.0, 24.0, 19.0))

NAMES = (
    "id", "weight", "region", "size", "age", "employed", "wages", "self_employment", "pensions", "other_income",
    "gross", "tax", "net", "floor_area", "rent_m2", "rent", "energy",
)  # fmt: skip

ERRORS = ("wages", "age", "tax", "employed", "rent_m2")
"""The variable that is miskeyed in each kind of erroneous record, in the order in which the kinds take turns."""

RECORDS_PER_ERROR = 100
CHUNK = 10_000
SEED = 20

Floats = NDArray[np.float64]


def survey(records: int) -> Iterator[pa.RecordBatch]:
    """Yield records of the survey, as published text, at most 10,000 at a time; the first n are always the same."""
    for first in range(0, records, CHUNK):
        columns = _chunk(first)
        yield pa.RecordBatch.from_pydict(columns).slice(0, min(CHUNK, records - first))


def _chunk(first: int) -> dict[str, pa.Array]:
    rng = generator(SEED, "demo", first // CHUNK)
    region = rng.choice(len(REGIONS), size=CHUNK, p=SHARES)
    numbers = {"weight": SAMPLING_RATE[region] * rng.gamma(25.0, 1 / 25.0, CHUNK)}
    numbers |= _people(rng)
    numbers |= _incomes(rng, numbers, region)
    numbers |= _dwelling(rng, numbers, region)
    _miskey(rng, numbers, first)
    present = np.zeros(CHUNK, dtype=np.bool_)
    texts = {
        name: write_numbers(values, present, 2 if name in ("weight", "energy") else 0)
        for name, values in numbers.items()
    }
    texts["id"] = pa.array([f"H{first + row:07d}" for row in range(1, CHUNK + 1)], pa.string())
    texts["region"] = pa.array(REGIONS, pa.string()).take(pa.array(region))
    return {name: texts[name] for name in NAMES}


def _people(rng: np.random.Generator) -> dict[str, Floats]:
    age = np.floor(18 + 77 * rng.beta(1.8, 2.2, CHUNK))
    further = np.select([age < 28, age < 55, age < 70], [0.7, 1.9, 0.9], 0.5)
    size = np.minimum(1 + rng.poisson(further), 8)
    adults = np.minimum(size, np.where(age >= 48, 3, 2))
    share_in_work = np.select([age < 24, age < 60, age < 65], [0.62, 0.86, 0.55], 0.05)
    employed = rng.binomial(adults, share_in_work)
    return {"size": size.astype(np.float64), "age": age, "employed": employed.astype(np.float64)}


def _incomes(rng: np.random.Generator, people: dict[str, Floats], region: NDArray[np.int64]) -> dict[str, Floats]:
    size, age, employed = people["size"], people["age"], people["employed"]
    career = 1 - ((np.minimum(age, 65) - 50) / 55) ** 2
    in_work = employed > 0
    wages = np.where(
        in_work, 27_500 * employed**0.85 * career * WAGE_LEVEL[region] * rng.lognormal(0.0, 0.42, CHUNK), 0.0
    )
    own_business = in_work & (rng.random(CHUNK) < 0.125)
    self_employment = np.where(own_business, rng.lognormal(np.log(11_500), 0.8, CHUNK), 0.0)
    retired = rng.random(CHUNK) < np.where(age >= 65, 0.97, 0.05)
    pensions = np.where(retired, rng.lognormal(np.log(16_800), 0.38, CHUNK) * (1 + 0.45 * (size > 1)), 0.0)
    children = np.maximum(size - 2, 0) * (age < 60)
    support = np.where(in_work | retired, 0.0, rng.lognormal(np.log(9_800), 0.22, CHUNK) * size**0.4)
    capital = np.where(rng.random(CHUNK) < 0.55, rng.lognormal(np.log(620), 1.1, CHUNK), 0.0)
    other = 2_640 * children + support + capital
    wages, self_employment, pensions, other = (np.rint(part) for part in (wages, self_employment, pensions, other))
    gross = wages + self_employment + pensions + other
    taxable = np.maximum(gross - 9_600 - 2_400 * (size - 1), 0)
    due = 0.15 * np.minimum(taxable, 20_000) + 0.27 * np.clip(taxable - 20_000, 0, 40_000)
    due += 0.39 * np.maximum(taxable - 60_000, 0)
    tax = np.rint(due * rng.uniform(0.85, 1.0, CHUNK))
    return {
        "wages": wages,
        "self_employment": self_employment,
        "pensions": pensions,
        "other_income": other,
        "gross": gross,
        "tax": tax,
        "net": gross - tax,
    }


def _dwelling(rng: np.random.Generator, known: dict[str, Floats], region: NDArray[np.int64]) -> dict[str, Floats]:
    size, level = known["size"], RENT_LEVEL[region]
    area = np.maximum(np.rint(58 * size**0.36 * (150 / level) ** 0.25 * rng.lognormal(0.0, 0.24, CHUNK)), 18)
    rent_m2 = np.maximum(np.rint(level * (60 / area) ** 0.12 * rng.lognormal(0.0, 0.18, CHUNK)), 30)
    energy = (8.5 * area + 240 * size) * rng.lognormal(0.0, 0.2, CHUNK)
    return {"floor_area": area, "rent_m2": rent_m2, "rent": area * rent_m2, "energy": energy}


def _miskey(rng: np.random.Generator, numbers: dict[str, Floats], first: int) -> None:
    """Spoil one record of every hundred, in place; each kind of error takes its turn over the whole file."""
    starts = np.arange(0, CHUNK, RECORDS_PER_ERROR)
    kinds = (first + starts) // RECORDS_PER_ERROR % len(ERRORS)
    drawn = starts + rng.integers(0, RECORDS_PER_ERROR, len(starts))
    # Where nobody is employed there are no wages to contradict: the next household with wages is taken.
    with_wages = np.flatnonzero(numbers["wages"] > 0)
    rows = with_wages[np.minimum(np.searchsorted(with_wages, drawn), len(with_wages) - 1)]
    for kind, name in enumerate(ERRORS):
        chosen = rows[kinds == kind]
        if name == "employed":
            numbers[name][chosen] = 0
        elif name == "age":
            numbers[name][chosen] += 110
        else:
            numbers[name][chosen] += 900


HEADER = b'<?xml version="1.0" encoding="UTF-8"?>\n<HouseholdSurvey>\n'
FOOTER = b"</HouseholdSurvey>\n"
RECORD = "Household"

FEWEST_RECORDS = 10
MOST_RECORDS = 20_000_000
BLOCKS_ABOVE = 100_000

BLOCKS = f"""
# Clusters are looked for inside blocks of neighbouring records: quick, and a little more loss than without blocks.
# Written above {BLOCKS_ABOVE} records; the report names the mode. k and the edits hold either way.
execution: {{block_size: 50000}}
"""


@dataclass(frozen=True)
class DemoFiles:
    """Where the example was written, and how many records it has."""

    data: Path
    edits: Path
    pipeline: Path
    records: int


def write_demo(folder: Path, records: int = 1080, progress: Progress = silent) -> DemoFiles:
    """Write the example: `survey.xml`, `survey.sch` and `pipeline.yaml`; as many records give the same bytes."""
    refuse_size(records, FEWEST_RECORDS, MOST_RECORDS, "records")
    texts = {"survey.sch": _text("survey.sch"), "pipeline.yaml": pipeline_text(records)}
    own = {
        "survey.sch": {texts["survey.sch"]},
        "pipeline.yaml": {_text("pipeline.yaml"), _text("pipeline.yaml") + BLOCKS},
    }
    target = DemoFiles(folder / "survey.xml", folder / "survey.sch", folder / "pipeline.yaml", records)
    _refuse_to_overwrite(target, own)
    write_whole(target.data, lambda path: _write_data(path, records, progress))
    for name, text in texts.items():
        write_text(folder / name, text)
    return target


def pipeline_text(records: int) -> str:
    """Text of the example's pipeline for a survey of that many records."""
    return _text("pipeline.yaml") + (BLOCKS if records > BLOCKS_ABOVE else "")


def _text(name: str) -> str:
    return (package_files("maskwright.commands.demo") / name).read_text(encoding="utf-8")


def _refuse_to_overwrite(target: DemoFiles, own: dict[str, set[str]]) -> None:
    foreign = foreign_files(target.data.parent, {target.data.name: HEADER}, own)
    if not foreign:
        return
    hint = "Choose another folder: maskwright demo DIR"
    if target.pipeline in foreign and target.data not in foreign:
        hint += f"; to run the pipeline as it is now: maskwright run {target.pipeline}"
    raise InputError([left_alone(path, hint) for path in foreign])


def _write_data(path: Path, records: int, progress: Progress) -> None:
    done = 0
    with path.open("wb") as stream:
        stream.write(HEADER)
        for batch in survey(records):
            cells = {name: batch.column(name) for name in NAMES}
            lines = pc.binary_join_element_wise(f"  <{RECORD}>", *xml_elements(cells, NAMES), f"</{RECORD}>\n", "")
            stream.write(cell_bytes(lines))
            done += batch.num_rows
            progress(done / records)
        stream.write(FOOTER)


def xml_elements(cells: Mapping[str, pa.Array], names: Iterable[str]) -> Iterator[pa.Array | str]:
    """Cells between the tags of their variables."""
    for name in names:
        yield from (f"<{name}>", cells[name], f"</{name}>")
