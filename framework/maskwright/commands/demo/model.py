"""A statistical model of a household survey: who lives where, earns what, pays how much.

No person and no real file is behind the numbers. Amounts are in whole euros a year, so that sums and products are
exact; `weight` and `energy` have two decimals and take part in no equality.

=================  ====================================================================================
variable           model
=================  ====================================================================================
id                 identifier, `H` and the record's number
weight             grossing-up weight: regional rate times a gamma variate (mean 1, shape 25)
region             one of six, with unequal shares; each has a level of wages and of rents
size               1 + a Poisson number of further members, fewer in young and old households; 1 to 8
age                of the head, 18 to 95: 18 + 77 times a beta(1.8, 2.2) variate
employed           members in work: binomial over the adults, rare after 65
wages              log-normal in number employed, age (concave) and region; 0 when nobody is employed
self_employment    one household in eight with somebody in work; log-normal
pensions           nearly all heads over 64, few others; log-normal
other_income       child benefit, income support where nothing else comes in, and income from capital
gross              wages + self_employment + pensions + other_income
tax                three rates above an allowance for each member, times 0.85 to 1 for deductions
net                gross - tax
floor_area         square metres: log-normal in size and region
rent_m2            euros per square metre and year (imputed for owners): log-normal around the region's level
rent               floor_area * rent_m2
energy             euros per year, two decimals: log-normal around floor area and size
=================  ====================================================================================

One record in every hundred arrives with a keying error of one of the kinds in `ERRORS`, in turn, so that each breaks
exactly one edit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from maskwright.data.number_text import write_numbers
from maskwright.foundation.randomness import generator

if TYPE_CHECKING:
    from collections.abc import Iterator

REGIONS = ("Capital", "Coast", "Hills", "Lakes", "North", "Plain")
SHARES = (0.24, 0.19, 0.11, 0.10, 0.21, 0.15)
WAGE_LEVEL = (1.22, 1.02, 0.88, 0.93, 1.05, 0.90)
RENT_LEVEL = (228.0, 156.0, 96.0, 108.0, 132.0, 102.0)
SAMPLING_RATE = (28.0, 22.0, 15.0, 14.0, 24.0, 19.0)

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
    """Yield records of the survey, as published text, in batches of at most 10,000.

    Deterministic: the first n records are the same however many are asked for.

    `records`: how many, >= 1. Returns string columns `NAMES`, no nulls.
    """
    for first in range(0, records, CHUNK):
        columns = _chunk(first)
        yield pa.RecordBatch.from_pydict(columns).slice(0, min(CHUNK, records - first))


def _chunk(first: int) -> dict[str, pa.Array]:
    rng = generator(SEED, "demo", first // CHUNK)
    region = rng.choice(len(REGIONS), size=CHUNK, p=SHARES)
    numbers = {"weight": np.array(SAMPLING_RATE)[region] * rng.gamma(25.0, 1 / 25.0, CHUNK)}
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
        in_work, 27_500 * employed**0.85 * career * np.array(WAGE_LEVEL)[region] * rng.lognormal(0.0, 0.42, CHUNK), 0.0
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
    size, level = known["size"], np.array(RENT_LEVEL)[region]
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
