"""The edits of the two-level survey, evaluated on its flat file by pandas alone: a second opinion on every verdict.

Nothing of Maskwright is used. Cells are read as text; numbers are compared as whole units of the last decimal, so that
sums are exact. Missing cells make a condition unknown, and an unknown edit is not violated:

* a sum with a missing term is unknown; a maximum, unless a known member is above the bound;
* ``one`` is false as soon as two members are true, and when none is and none can be;
* ``any`` is false when no member is true and none can be;
* an absent pointer (missing or 0) does not fire; one that leads nowhere is unknown, and violates ``pointer: ...``;
  one that leads back violates it too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from pathlib import Path

HOUSEHOLD = (
    "region", "tenure", "size", "child_benefit", "capital", "total", "tax", "disp", "hweight", "rent", "area",
)  # fmt: skip
TEXTS = ("hhid", "region", "tenure", "status", "age_group")
AMOUNTS = (
    "child_benefit", "capital", "total", "tax", "disp", "rent", "wages", "selfe", "pens", "bene", "income",
)  # fmt: skip


@dataclass(frozen=True)
class Verdict:
    """What pandas found of one edit.

    Attributes
    ----------
    level : str
        ``household`` or ``person``: what is counted.
    violated, fired : pandas.Series of bool
        By hhid, or by the row of the flat file.
    """

    level: str
    violated: pd.Series
    fired: pd.Series

    @property
    def violations(self) -> int:
        """Records of the level that violate the edit."""
        return int(self.violated.sum())


def read_flat(path: Path) -> pd.DataFrame:
    """Cells of a flat CSV file, as text; absent ones are NaN."""
    return pd.read_csv(path, dtype=str, keep_default_na=False, na_values=[""])


def flat_of_linked(households: Path, persons: Path) -> pd.DataFrame:
    """Two linked CSV files as a flat one, in the order of the persons."""
    return read_flat(persons).merge(read_flat(households), on="hhid", how="left", validate="many_to_one")


def violations(flat: pd.DataFrame, decimals: int = 2) -> dict[str, int]:
    """Count violations of each edit.

    Parameters
    ----------
    flat : pandas.DataFrame
        Cells as text, a row a person; the variables of the two-level survey.
    decimals : int, default 2
        Digits after the point that amounts have at most.
    """
    return {name: verdict.violations for name, verdict in evaluate(flat, decimals).items()}


def evaluate(flat: pd.DataFrame, decimals: int = 2) -> dict[str, Verdict]:
    """Evaluate every edit of `edits.yaml`, and those that levels bring with them: constancy and pointers.

    Edits on a variable that the file does not have are left out.
    """
    person = _numbers(flat, decimals)
    names = [name for name in HOUSEHOLD if name in person]
    household = person.drop_duplicates("hhid").set_index("hhid")[names]
    found = {}
    for edits in (_across, _of_households, _of_persons, _of_pointers):
        found |= edits(household, person)
    return found | _constancy(flat)


def _numbers(flat: pd.DataFrame, decimals: int) -> pd.DataFrame:
    columns = {}
    for name in flat:
        if name in TEXTS:
            columns[name] = flat[name]
        else:
            columns[name] = pd.to_numeric(flat[name]).astype(np.float64)
            if name in AMOUNTS:
                columns[name] = (columns[name] * 10**decimals).round()
    return pd.DataFrame(columns)


def _across(household: pd.DataFrame, person: pd.DataFrame) -> dict[str, Verdict]:
    keys = person["hhid"]
    by_home = person.groupby("hhid", sort=False)
    every = pd.Series(True, household.index)
    found = {}

    def say(name: str, violated: pd.Series, fired: pd.Series = every) -> None:
        found[name] = Verdict("household", violated.reindex(household.index) & fired, fired)

    def counts(condition: pd.Series, known: pd.Series) -> tuple[pd.Series, pd.Series]:
        true = (condition & known).groupby(keys, sort=False).sum()
        return true, true + (~known).groupby(keys, sort=False).sum()

    say("members-counted", _differ(by_home.size(), household["size"]))
    if _has(person, "income", "total", "child_benefit", "capital"):
        income = _sum(person["income"], keys)
        say("total-sum", _differ(income + household["child_benefit"] + household["capital"], household["total"]))
    if _has(person, "rel"):
        sure, possible = counts(person["rel"] == 1, person["rel"].notna())
        say("one-reference", (sure >= 2) | (possible == 0))
    if _has(person, "age"):
        say("any-adult", counts(person["age"] >= 18, person["age"].notna())[1] == 0)
        say("oldest", by_home["age"].max() > 110)
    if _has(person, "age", "income"):
        # Of a member of unknown age it is not known whether the income counts.
        young = person["income"].where(person["age"] < 16, 0.0).mask(person["age"].isna())
        say("no-income-under-16", _differ(_sum(young, keys), pd.Series(0.0, household.index)))
    if _has(person, "age", "child_benefit"):
        paid = household["child_benefit"] > 0
        say("benefit-for-children", counts(person["age"] < 18, person["age"].notna())[1] == 0, paid)
    say("numbers-differ", person.duplicated(["hhid", "pno"]).groupby(keys, sort=False).any())
    return found


def _of_households(household: pd.DataFrame, person: pd.DataFrame) -> dict[str, Verdict]:
    every = pd.Series(True, household.index)
    found = {}
    if _has(household, "total", "tax", "disp"):
        found["disposable"] = Verdict(
            "household", _differ(household["total"] - household["tax"], household["disp"]), every
        )
    if _has(household, "total", "tax"):
        found["tax-at-most-half"] = Verdict("household", 2 * household["tax"] > household["total"], every)
    if _has(household, "tenure", "rent"):
        owners = household["tenure"] == "owner"
        found["owner-no-rent"] = Verdict("household", owners & (household["rent"].fillna(0) != 0), owners)
    signed = ("child_benefit", "capital", "tax", "rent")
    if _has(household, *signed):
        found["household-signs"] = Verdict("household", (household[list(signed)] < 0).any(axis=1), every)
    return found


def _of_persons(household: pd.DataFrame, person: pd.DataFrame) -> dict[str, Verdict]:
    every = pd.Series(True, person.index)
    parts = ["wages", "selfe", "pens", "bene"]
    found = {}
    if _has(person, *parts):
        found["person-signs"] = Verdict("person", (person[parts] < 0).any(axis=1), every)
    if _has(person, *parts, "income"):
        added = person["wages"] + person["selfe"] + person["pens"] + person["bene"]
        found["income-sum"] = Verdict("person", _differ(added, person["income"]), every)
    if _has(person, "income", "total"):
        total = person["hhid"].map(household["total"])
        found["income-within-total"] = Verdict("person", person["income"] > total, every)
    return found


def _of_pointers(household: pd.DataFrame, person: pd.DataFrame) -> dict[str, Verdict]:
    found = {}
    by_number = person.drop_duplicates(["hhid", "pno"]).set_index(["hhid", "pno"])
    for pointer in ("spouse", "mother"):
        if not _has(person, pointer):
            continue
        number = person[pointer].fillna(0)
        fired = number != 0
        target = pd.MultiIndex.from_arrays([person["hhid"], number])
        nobody = ~target.isin(by_number.index) | (number == person["pno"]).to_numpy()
        found[f"pointer: {pointer} within hhid"] = Verdict("person", fired & nobody, fired)
        pointed = by_number.reindex(target).set_index(person.index)
        if pointer == "spouse":
            found["spouse-of-spouse"] = Verdict("person", fired & _differ(pointed["spouse"], person["pno"]), fired)
        if _has(person, "age"):
            years = pointed["age"] - person["age"]
            name, wrong = ("spouse-ages", years.abs() > 40) if pointer == "spouse" else ("mother-older", years < 14)
            found[name] = Verdict("person", fired & wrong, fired)
    return found


def _constancy(flat: pd.DataFrame) -> dict[str, Verdict]:
    """A missing cell beside a known one is a difference, too."""
    found = {}
    filled = flat.fillna("\0")
    for name in (each for each in HOUSEHOLD if each in flat):
        different = filled.groupby("hhid", sort=False)[name].nunique()
        found[f"constant: {name} within hhid"] = Verdict("household", different > 1, different > 0)
    return found


def _differ(left: pd.Series, right: pd.Series) -> pd.Series:
    """Whether two numbers are known and differ."""
    return (left != right) & left.notna() & right.notna()


def _sum(values: pd.Series, keys: pd.Series) -> pd.Series:
    """Sums of households; unknown where a term is."""
    return values.groupby(keys, sort=False).sum().mask(values.isna().groupby(keys, sort=False).any())


def _has(data: pd.DataFrame, *names: str) -> bool:
    return all(name in data for name in names)
