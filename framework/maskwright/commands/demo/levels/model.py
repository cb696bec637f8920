"""A statistical model of a survey of two levels: households, and the persons who live in them.

No person and no real file is behind the numbers. Amounts are whole euros a year, so that sums are exact in decimals and
in binary64; `hweight` and `weight` have two decimals and take part in no equality.

==============  =======================================================================================
of a household  model
==============  =======================================================================================
hhid            identifier, `H` and the household's number
region          one of six, with unequal shares; each has a level of wages, of rents, and a sampling rate
tenure          owner, tenant, social; owners are older
size            number of members
child_benefit   a log-normal rate times the members under 18
capital         income from capital: log-normal, in 55 of 100 households
total           the members' income + child_benefit + capital
tax             a rising share of the total, at most 45 percent, rounded down
disp            total - tax, what can be spent
hweight         grossing-up weight: regional rate times a gamma variate (mean 1, shape 25)
rent            area times a log-normal rate of the region, half of it in social housing; 0 for owners
area            square metres: log-normal in size and region
==============  =======================================================================================

The reference person's age is 18 + 77 times a beta(1.9, 2.2) variate. He or she lives with a partner with probability
0.2 before 25, 0.62 before 80 and 0.45 after; of 25 to 57 years with a Poisson number of children (1.15 with a partner,
0.35 without, at most 6); and with a Poisson number of others (0.14 and 0.06). One household of every 5,000 has 15 to 60
others. Members stand in the order reference person, spouse, children, others.

==============  =======================================================================================
of a person     model
==============  =======================================================================================
pno             1, 2, ... within the household
rel             1 reference person, 2 spouse, 3 child, 4 other
sex             1 man, 2 woman; the two of a couple differ, and who lives alone with children is a woman
age             a spouse's is normal(0, 4) around the reference person's; a child is normal(29, 5), at least
                16, years younger than the younger parent; others are 18 to 85
age_group       the age, in bands
spouse          pno of the spouse, 0 without
mother          pno of a child's mother, 0 without
status          child (under 16), work, no work, retired; by age
wages           log-normal in age (concave) and region, for who works and is not in business alone
selfe           from self-employment: one in eight who work; log-normal
pens            pensions of the retired: log-normal
bene            benefits: of 9 in 10 without work, and of few who work; log-normal
income          wages + selfe + pens + bene
weight          the household's
==============  =======================================================================================

Every hundredth household arrives with an error of one of the kinds in `ERRORS`, in turn, so that each breaks exactly
one edit. Two kinds cannot be planted everywhere: a benefit that no child explains needs a household without members
under 18, a spouse who points to nobody needs a couple. Other households whose turn it is for them stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from maskwright.commands.demo.files import CHUNK, REGIONS, RENT_LEVEL, SAMPLING_RATE, SEED, SHARES, WAGE_LEVEL
from maskwright.foundation.randomness import generator

if TYPE_CHECKING:
    from collections.abc import Iterator

AGE_BORDERS = np.array([16, 25, 45, 65, 80])

CATEGORIES = {
    "region": REGIONS,
    "tenure": ("owner", "tenant", "social"),
    "status": ("child", "work", "no work", "retired"),
    "age_group": ("0-15", "16-24", "25-44", "45-64", "65-79", "80+"),
}
"""Texts of the variables whose arrays hold codes: 0 is the first."""

DECIMALS = {"hweight": 2, "weight": 2}
"""Digits after the point, of the variables that have any."""

HOUSEHOLD = (
    "hhid", "region", "tenure", "size", "child_benefit", "capital", "total", "tax", "disp", "hweight", "rent", "area",
)  # fmt: skip
PERSON = (
    "pno", "rel", "sex", "age", "age_group", "spouse", "mother", "status", "wages", "selfe", "pens", "bene", "income",
    "weight",
)  # fmt: skip

ERRORS = ("size", "total", "income", "reference", "disp", "benefit", "spouse")
"""Kinds of errors, in the order in which they take turns."""

HOUSEHOLDS_PER_ERROR = 100
HOUSEHOLDS_PER_LARGE_ONE = 5_000
SLIP = 900
"""Euros by which an amount is wrong."""
OWNER, SOCIAL = 0, 2
CHILD, WORK, NO_WORK, RETIRED = range(4)

Numbers = NDArray[np.float64] | NDArray[np.int64]


@dataclass(frozen=True)
class Households:
    """Households and their members, an array a variable.

    `household`: variables `HOUSEHOLD`, int64 or float64; `hhid` is the household's number, from 1; codes of
    `CATEGORIES`; shape (h,). `person`: variables `PERSON`, likewise; members of a household stand together, in the
    order of the households; shape (n,). `starts`: members of household i are persons ``starts[i]`` to ``starts[i + 1] -
    1``; shape (h + 1,).
    """

    household: dict[str, Numbers]
    person: dict[str, Numbers]
    starts: NDArray[np.int64]


@dataclass(frozen=True)
class _Members:
    """Who lives in each household: arrays of shape (h,), and `home`, `pno`, `rel` of shape (n,)."""

    reference_age: NDArray[np.int64]
    has_partner: NDArray[np.bool_]
    children: NDArray[np.int64]
    size: NDArray[np.int64]
    starts: NDArray[np.int64]
    home: NDArray[np.int64]
    pno: NDArray[np.int64]
    rel: NDArray[np.int64]


def survey(households: int, seed: int = SEED) -> Iterator[Households]:
    """Yield a survey of so many households, at most 10,000 at a time; the first n are always the same."""
    for first in range(0, households, CHUNK):
        yield _first_of(_chunk(first, seed), min(CHUNK, households - first))


def _first_of(drawn: Households, count: int) -> Households:
    persons = int(drawn.starts[count])
    return Households(
        {name: drawn.household[name][:count] for name in HOUSEHOLD},
        {name: drawn.person[name][:persons] for name in PERSON},
        drawn.starts[: count + 1],
    )


def _chunk(first: int, seed: int) -> Households:
    rng = generator(seed, "demo", "levels", first // CHUNK)
    region = rng.choice(len(REGIONS), size=CHUNK, p=SHARES)
    members = _members(rng)
    person = _persons(rng, members)
    person |= _incomes(rng, person, region[members.home])
    household: dict[str, Numbers] = {"hhid": np.arange(first + 1, first + CHUNK + 1), "region": region}
    household |= _dwelling(rng, members, region)
    household |= _household_incomes(rng, person, members)
    household["size"] = members.size
    household["hweight"] = np.rint(100 * SAMPLING_RATE[region] * rng.gamma(25.0, 1 / 25.0, CHUNK)) / 100
    person["weight"] = household["hweight"][members.home]
    _spoil(household, person, members, first)
    return Households(household, person, members.starts)


def _members(rng: np.random.Generator) -> _Members:
    age = np.floor(18 + 77 * rng.beta(1.9, 2.2, CHUNK)).astype(np.int64)
    has_partner = rng.random(CHUNK) < np.select([age < 25, age < 80], [0.2, 0.62], 0.45)
    may_have_children = (age >= 25) & (age <= 57)
    children = np.minimum(rng.poisson(np.where(has_partner, 1.15, 0.35)), 6) * may_have_children
    others = rng.poisson(np.where(has_partner, 0.14, 0.06))
    firsts = np.arange(0, CHUNK, HOUSEHOLDS_PER_LARGE_ONE)
    large = firsts + rng.integers(0, HOUSEHOLDS_PER_LARGE_ONE, len(firsts))
    others[large] = rng.integers(15, 61, len(large))
    size = 1 + has_partner + children + others
    starts = np.concatenate([[0], np.cumsum(size)])
    home = np.repeat(np.arange(CHUNK), size)
    pno = np.arange(len(home)) - starts[home] + 1
    last_adult = (1 + has_partner)[home]
    rel = np.select([pno == 1, pno <= last_adult, pno <= last_adult + children[home]], [1, 2, 3], 4)
    return _Members(age, has_partner, children, size, starts, home, pno, rel)


def _persons(rng: np.random.Generator, members: _Members) -> dict[str, Numbers]:
    home, pno, rel, first = members.home, members.pno, members.rel, members.starts[:-1]
    age = np.empty(len(home), dtype=np.int64)
    age[first] = younger = members.reference_age
    spouses = np.flatnonzero(rel == 2)
    around = np.rint(rng.normal(younger[home[spouses]], 4)).astype(np.int64)
    age[spouses] = np.maximum(around, 18)
    younger = younger.copy()
    younger[home[spouses]] = np.minimum(younger[home[spouses]], age[spouses])
    children = np.flatnonzero(rel == 3)
    distance = np.maximum(np.rint(rng.normal(29, 5, len(children))), 16).astype(np.int64)
    age[children] = np.maximum(younger[home[children]] - distance, 0)
    others = rel == 4
    age[others] = rng.integers(18, 86, int(others.sum()))
    sex = rng.integers(1, 3, len(home))
    alone = ~members.has_partner
    # The pointer of a child leads to a woman: the woman of the couple, or the one who lives alone with children.
    woman = rng.random(len(first)) < np.where(alone, 0.58, 0.4)
    sex[first] = 1 + (woman | (alone & (members.children > 0)))
    sex[spouses] = 3 - sex[first][home[spouses]]
    mother = np.where(sex[first] == 2, 1, 2)
    in_couple = (rel <= 2) & members.has_partner[home]
    return {
        "pno": pno,
        "rel": rel,
        "sex": sex,
        "age": age,
        "age_group": np.searchsorted(AGE_BORDERS, age, side="right"),
        "spouse": np.where(in_couple, 3 - pno, 0),
        "mother": np.where(rel == 3, mother[home], 0),
    }


def _incomes(rng: np.random.Generator, person: dict[str, Numbers], region: NDArray[np.int64]) -> dict[str, Numbers]:
    age, count = person["age"], len(region)
    drawn = rng.random(count)
    share_in_work = np.select([age < 25, age < 60, age < 65], [0.45, 0.82, 0.5], 0.05)
    status = np.select([age < 16, drawn < share_in_work, (age >= 65) & (drawn < 0.97)], [CHILD, WORK, RETIRED], NO_WORK)
    working, retired = np.flatnonzero(status == WORK), np.flatnonzero(status == RETIRED)
    in_business = rng.random(len(working)) < 0.125
    alone = in_business & (rng.random(len(working)) < 0.5)
    career = 1 - ((np.minimum(age[working], 65) - 50) / 55) ** 2
    level = 27_000 * career * WAGE_LEVEL[region[working]]
    wages, selfe, pens, bene = (np.zeros(count) for _ in range(4))
    wages[working] = np.where(alone, 0.0, level * rng.lognormal(0.0, 0.45, len(working)))
    selfe[working] = np.where(in_business, rng.lognormal(np.log(12_500), 0.8, len(working)), 0.0)
    pens[retired] = rng.lognormal(np.log(16_800), 0.4, len(retired))
    helped = rng.random(count) < np.select([status == NO_WORK, status == WORK], [0.9, 0.08], 0.0)
    bene[helped] = rng.lognormal(np.log(6_500), 0.5, int(helped.sum()))
    parts = {"wages": wages, "selfe": selfe, "pens": pens, "bene": bene}
    found: dict[str, Numbers] = {name: np.rint(part).astype(np.int64) for name, part in parts.items()}
    income = sum(found.values(), np.zeros(count, dtype=np.int64))
    return found | {"status": status, "income": income}


def _household_incomes(rng: np.random.Generator, person: dict[str, Numbers], members: _Members) -> dict[str, Numbers]:
    first = members.starts[:-1]
    minors = np.add.reduceat((person["age"] < 18).astype(np.int64), first)
    child_benefit = np.rint(minors * rng.lognormal(np.log(2_400), 0.15, CHUNK)).astype(np.int64)
    has_capital = rng.random(CHUNK) < 0.55
    capital = np.rint(np.where(has_capital, rng.lognormal(np.log(620), 1.1, CHUNK), 0.0)).astype(np.int64)
    total = np.add.reduceat(person["income"], first) + child_benefit + capital
    share = 0.45 * (1 - np.exp(-total / 60_000)) * rng.uniform(0.7, 1.0, CHUNK)
    tax = np.floor(total * share).astype(np.int64)
    return {"child_benefit": child_benefit, "capital": capital, "total": total, "tax": tax, "disp": total - tax}


def _dwelling(rng: np.random.Generator, members: _Members, region: NDArray[np.int64]) -> dict[str, Numbers]:
    owners = 0.25 + 0.45 * np.clip((members.reference_age - 25) / 40, 0, 1)
    drawn = rng.random(CHUNK)
    tenure = np.select([drawn < owners, drawn < 0.9], [OWNER, 1], SOCIAL)
    level = RENT_LEVEL[region]
    metres = 58 * np.minimum(members.size, 12) ** 0.36 * (150 / level) ** 0.25 * rng.lognormal(0.0, 0.24, CHUNK)
    area = np.maximum(np.rint(metres), 18).astype(np.int64)
    rate = level * np.where(tenure == SOCIAL, 0.5, 1.0) * rng.lognormal(0.0, 0.18, CHUNK)
    rent = np.where(tenure == OWNER, 0.0, np.rint(area * rate)).astype(np.int64)
    return {"tenure": tenure, "area": area, "rent": rent}


def _spoil(household: dict[str, Numbers], person: dict[str, Numbers], members: _Members, first: int) -> None:
    """Spoil every hundredth household, in place; each kind of error takes its turn over the whole file."""
    rows = np.arange(HOUSEHOLDS_PER_ERROR - 1, CHUNK, HOUSEHOLDS_PER_ERROR)
    turns = (first + rows) // HOUSEHOLDS_PER_ERROR % len(ERRORS)
    chosen = {kind: rows[turns == turn] for turn, kind in enumerate(ERRORS)}
    has_minor = np.logical_or.reduceat(person["age"] < 18, members.starts[:-1])
    childless = chosen["benefit"][~has_minor[chosen["benefit"]]]
    couples = chosen["spouse"][members.has_partner[chosen["spouse"]]]
    # What is calculated from a wrong amount follows it: the error breaks one edit, not all that read the amount.
    household["size"][chosen["size"]] += 1
    household["child_benefit"][childless] += SLIP
    for rows_of_kind in (chosen["total"], childless):
        household["total"][rows_of_kind] += SLIP
        household["disp"][rows_of_kind] += SLIP
    household["disp"][chosen["disp"]] += SLIP
    person["wages"][members.starts[chosen["income"]]] += SLIP
    person["rel"][members.starts[chosen["reference"]]] = 4
    person["spouse"][members.starts[couples] + 1] = 0
