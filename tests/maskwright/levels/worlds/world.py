"""A random file of households and persons, rules across both, and its three forms."""

from __future__ import annotations

import csv
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import worlds.conditions as said
from lxml import etree
from worlds.conditions import Condition, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

Row = dict[str, str]

HOUSEHOLD_NUMBERS = ("capital", "benefit", "total", "tax", "disp", "rent", "rooms", "size", "kids")
PERSON_NUMBERS = ("wage", "pension", "income", "hours", "rate", "pay", "age")
HOUSEHOLD = ("region", "tenure", *HOUSEHOLD_NUMBERS)
PERSON = ("rel", "spouse", "mother", "sex", "status", "edu", "entry", "exit", *PERSON_NUMBERS)
REGIONS, TENURES = ("01", "02", "03"), ("owner", "tenant")
SEXES, STATUSES, EDUCATIONS = ("m", "f"), ("s1", "s2", "s3"), ("low", "mid", "high")
CODE = "-9"
NUMBERS = frozenset((*HOUSEHOLD_NUMBERS, *PERSON_NUMBERS))
MAY_BE_MISSING = ("region", "tenure", "capital", "benefit", "rent", "sex", "status", "edu", "wage", "pension", "income",
                  "hours", "rate", "age", "total")  # fmt: skip


@dataclass(frozen=True)
class Rule:
    """A rule of a level, by the name that it has in every language."""

    name: str
    level: str
    condition: Condition
    when: Condition | None = None
    severity: str = "error"

    @property
    def names(self) -> frozenset[str]:
        """Variables that it reads."""
        return self.condition.names | (frozenset() if self.when is None else self.when.names)

    def violated(self, record: said.Record) -> bool:
        """Whether a record violates it: what is unknown does not."""
        if self.when is not None and not self.when.holds(record):
            return False
        return self.condition.holds(record) is False


class World:
    """Households with their persons, as cells of text, and rules that most, or all, of them obey.

    Attributes
    ----------
    households, persons : list of dict
        Cells of text; a person has the key ``hhid`` of its household.
    rules : list of Rule
    dirty : bool
        Whether some records break some of the rules.
    codes : frozenset of str
        Variables of which a missing cell may hold a code.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.rng = rng = np.random.default_rng([20261122, seed])
        self.dirty = bool(rng.random() < 0.35)
        few = rng.random() < 0.15
        self.count = int(
            rng.integers(3, 13) if few else rng.integers(13, 61) if rng.random() < 0.3 else rng.integers(13, 31)
        )
        self.places = {name: int(rng.choice([0, 0, 1, 2])) for name in ("wage", "pension", "capital", "benefit", "tax")}
        self.places["rate"] = int(rng.integers(0, 2))
        self.pointer_to_none = "" if rng.random() < 0.5 else "0"
        self.holes = frozenset(
            str(name) for name in rng.choice(MAY_BE_MISSING, int(rng.integers(1, 5)), replace=False)
        ) if rng.random() < 0.35 else frozenset[str]()  # fmt: skip
        self.codes = frozenset(name for name in sorted(self.holes) if rng.random() < 0.5)
        self.households: list[Row] = []
        self.persons: list[Row] = []
        for number in range(self.count):
            self._household(f"H{7001 + 3 * number}")
        self.varying: set[str] = set()
        self.rules = _Rules(self).drawn()

    # -- data -------------------------------------------------------------------------------------------------------

    def _amount(self, name: str, most: int) -> Decimal:
        return Decimal(int(self.rng.integers(0, most * 10 ** self.places[name]))).scaleb(-self.places[name])

    def _household(self, key: str) -> None:
        rng = self.rng
        members = self._members(int(rng.choice([1, 1, 2, 2, 2, 3, 3, 4, 5, 6, 7])))
        income = sum((each["income"] for each in members), Decimal(0))
        capital = self._amount("capital", 400) if rng.random() < 0.6 else Decimal(0)
        kids = sum(each["age"] < 18 for each in members)
        benefit = self._amount("benefit", 90) if kids else Decimal(0)
        total = income + capital + benefit
        tax = round(total * Decimal(int(rng.integers(0, 45))) / 100, self.places["tax"])
        tenure = str(rng.choice(TENURES))
        rent = Decimal(0) if tenure == "owner" else Decimal(int(rng.integers(40, 400)))
        row: dict[str, Any] = {
            "region": str(rng.choice(REGIONS, p=[0.5, 0.3, 0.2])), "tenure": tenure, "capital": capital,
            "benefit": benefit, "total": total, "tax": tax, "disp": total - tax, "rent": rent,
            "rooms": int(rng.integers(1, 5)), "size": len(members), "kids": kids,
        }  # fmt: skip
        if self.dirty and rng.random() < 0.06:
            self._spoil(row, members)
        self.households.append({"hhid": key, **self._cells(row)})
        self.persons += [{"hhid": key, **self._cells(each)} for each in members]

    def _members(self, count: int) -> list[dict[str, Any]]:
        rng = self.rng
        numbers = [int(each) for each in rng.permutation(count) + 1]
        couple = count > 1 and rng.random() < 0.6
        members: list[dict[str, Any]] = []
        for place, number in enumerate(numbers):
            rel = 1 if place == 0 else 2 if place == 1 and couple else 3
            age = int(rng.integers(34, 80)) if rel < 3 else int(rng.integers(0, 19))
            zero = age < 16 or rng.random() < 0.2
            wage = Decimal(0) if zero else self._amount("wage", 500)
            pension = Decimal(0) if zero or rng.random() < 0.4 else self._amount("pension", 200)
            hours, rate = int(rng.integers(0, 60)), Decimal(int(rng.integers(10, 200))).scaleb(-self.places["rate"])
            start = np.datetime64("2019-01-01") + int(rng.integers(0, 700))
            members.append({
                "pno": number, "rel": rel, "spouse": None, "mother": None, "sex": str(rng.choice(SEXES)),
                "age": age, "status": str(rng.choice(STATUSES)), "edu": str(rng.choice(EDUCATIONS)),
                "wage": wage, "pension": pension, "income": wage + pension, "hours": hours, "rate": rate,
                "pay": hours * rate, "entry": str(start), "exit": str(start + int(rng.integers(0, 300))),
            })  # fmt: skip
        if couple:
            members[0]["spouse"], members[1]["spouse"] = numbers[1], numbers[0]
        for each in members[1:]:
            if each["rel"] == 3 and rng.random() < 0.7:
                each["mother"] = numbers[0]
        return members

    def _spoil(self, row: dict[str, Any], members: list[dict[str, Any]]) -> None:
        """Break something, often what a rule is about."""
        member = members[int(self.rng.integers(len(members)))]
        match int(self.rng.integers(0, 9)):
            case 0:
                row["total"] += 7
            case 1:
                row["disp"] += 1
            case 2:
                member["income"] += 3
            case 3:
                member["pay"] += 2
            case 4:
                member["rel"] = 3 if member["rel"] == 1 else 1
            case 5:
                row["size"] += 1
            case 6:
                row["kids"] += 1
            case 7:
                member["mother"] = member["pno"]
            case _:
                member["spouse"] = members[-1]["pno"]

    def _cells(self, row: dict[str, Any]) -> Row:
        cells = {}
        for name, value in row.items():
            if name in ("spouse", "mother") and value is None:
                cells[name] = self.pointer_to_none
            elif name in self.holes and self.rng.random() < 0.05:
                cells[name] = CODE if name in self.codes and self.rng.random() < 0.7 else ""
            else:
                cells[name] = f"{value:f}" if isinstance(value, Decimal) else str(value)
        return cells

    @property
    def flat(self) -> list[Row]:
        """A row for each person, with the cells of the household."""
        above = {row["hhid"]: row for row in self.households}
        return [{**above[person["hhid"]], **person} for person in self.persons]

    def pipeline_rng(self) -> np.random.Generator:
        """What its pipeline is drawn with, the same for each form."""
        return np.random.default_rng([20261122, self.seed, 1])

    # -- files ------------------------------------------------------------------------------------------------------

    def write(self, folder: Path) -> None:
        """Write the three forms."""
        self._write_flat(folder / "flat.csv")
        write_table(folder / "households.csv", self.households)
        write_table(folder / "persons.csv", self.persons)
        write_nested(folder / "nested.xml", self.households, self.persons)

    def _write_flat(self, path: Path) -> None:
        rows = self.flat_rows = self.flat
        if self.dirty and self.rng.random() < 0.3:
            row = rows[int(self.rng.integers(len(rows)))]
            row["capital"] = "17"
            self.varying.add("capital")
        write_table(path, rows)

    def data_section(self, form: str) -> dict[str, Any]:
        """``data:`` of a pipeline."""
        household: dict[str, Any] = {"key": "hhid"}
        person: dict[str, Any] = {"key": "pno", "in": "household", "pointers": {"spouse": "pno", "mother": "pno"}}
        section: dict[str, Any] = {}
        match form:
            case "flat":
                section["source"], household["variables"] = "flat.csv", list(HOUSEHOLD)
            case "linked":
                household["source"], person["source"] = "households.csv", "persons.csv"
            case _:
                section["source"], household["record"], person["record"] = "nested.xml", "Household", "Person"
        return {**section, "levels": {"household": household, "person": person}, "variables": self._variables()}

    def _variables(self) -> dict[str, dict[str, Any]]:
        categories = {"region": "nominal", "tenure": "nominal", "sex": "nominal", "status": "nominal"}
        found: dict[str, dict[str, Any]] = {name: {"type": kind, "role": "other"} for name, kind in categories.items()}
        found["edu"] = {"type": "ordinal", "categories": list(EDUCATIONS), "role": "other"}
        found |= {name: {"type": "date", "role": "other"} for name in ("entry", "exit")}
        found |= {name: {"role": "other"} for name in (*NUMBERS, "rel")}
        for name in self.codes:
            found[name]["missing"] = [CODE]
        return found

    def edits(self) -> list[dict[str, str]]:
        """The rules as they stand in a pipeline."""
        stated = []
        for rule in self.rules:
            entry = {"name": rule.name, "rule": rule.condition.text}
            if rule.severity != "error":
                entry["severity"] = rule.severity
            stated.append(entry)
        return stated

    # -- reading ----------------------------------------------------------------------------------------------------

    def read(
        self, households: Iterable[Row], persons: Iterable[Row], coarse: frozenset[str] = frozenset()
    ) -> list[dict[str, Any]]:
        """Households with their members, as rules in Python read them; not what is published as categories."""
        found = {row["hhid"]: {**self._values(row, coarse), "members": []} for row in households}
        for row in persons:
            home = found[row["hhid"]]
            home["members"].append({**self._values(row, coarse), "household": home})
        return list(found.values())

    def is_missing(self, name: str, cell: str) -> bool:
        """Whether a cell of text is missing."""
        return cell == "" or (name in self.codes and cell == CODE)

    def _values(self, row: Row, coarse: frozenset[str]) -> dict[str, Any]:
        return {
            name: None
            if name in coarse or self.is_missing(name, cell)
            else Decimal(cell)
            if name in NUMBERS or name == "rel"
            else cell
            for name, cell in row.items()
        }


def write_table(path: Path, rows: list[Row]) -> None:
    """Write cells as CSV."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def write_nested(path: Path, households: list[Row], persons: list[Row], change: Callable[[str, str], str] | None = None,
                 ) -> None:  # fmt: skip
    """Write persons inside households as XML; empty cells are left out, but those of pointers."""
    root = etree.Element("Survey")
    place = {}
    for row in households:
        place[row["hhid"]] = _record(root, "Household", row, change)
    for row in persons:
        _record(place[row["hhid"]], "Person", {name: cell for name, cell in row.items() if name != "hhid"}, change)
    etree.ElementTree(root).write(path, encoding="utf-8", xml_declaration=True)


def _record(parent: etree._Element, tag: str, row: Row, change: Callable[[str, str], str] | None) -> etree._Element:
    record = etree.SubElement(parent, tag)
    for name, cell in row.items():
        if cell != "" or name in ("spouse", "mother"):
            etree.SubElement(record, name).text = cell if change is None else change(name, cell)
    return record


class _Rules:
    """Draws rules; bounds lie where all records, or in dirty worlds nearly all, obey them."""

    def __init__(self, world: World) -> None:
        self.world, self.rng = world, world.rng
        self.data = world.read(world.households, world.persons)
        self.members = [each for home in self.data for each in home["members"]]

    def drawn(self) -> list[Rule]:
        kinds = {name.removeprefix("_rule_"): getattr(self, name) for name in dir(self) if name.startswith("_rule_")}
        wanted = int(self.rng.integers(2, 11))
        names = [str(each) for each in self.rng.choice(sorted(kinds), wanted, replace=False)]
        if self.rng.random() < 0.6:
            names = list(dict.fromkeys(["sum_of_members", *names]))
        rules: list[Rule] = []
        for name in names:
            level, condition, *rest = kinds[name]()
            rule = Rule(name.replace("_", "-"), level, condition, *rest)
            if not self.world.dirty and any(rule.violated(each) for each in self._of(level)):
                # Cells that are missing by code or chance never break a rule; a rule that these data break is left out.
                continue
            rules.append(rule)
        return rules

    def _of(self, level: str) -> list[dict[str, Any]]:
        return self.data if level == "household" else self.members

    def _bound(self, level: str, value: Value, sign: str) -> Decimal:
        """Bound that all records, or in dirty worlds nearly all, obey."""
        place = 1 if sign == "<=" else 0
        found = sorted(ends[place] for each in self._of(level) if (ends := value.ends(each)) is not None)
        found = [each for each in found if abs(each) != said.INFINITE] or [Decimal(0)]
        cut = int(0.04 * len(found)) if self.world.dirty and self.rng.random() < 0.4 else 0
        room = Decimal(int(self.rng.choice([0, 1, 20])))
        return found[-1 - cut] + room if sign == "<=" else found[cut] - room

    def _bounded(self, level: str, value: Value, sign: str | None = None) -> Condition:
        chosen = str(self.rng.choice(["<=", ">="])) if sign is None else sign
        return said.compared(value, chosen, said.constant(self._bound(level, value, chosen)))

    def _one_of(self, *names: str) -> str:
        return str(self.rng.choice(names))

    def _where(self) -> Condition:
        """A condition on members that no rule of these is about."""
        match int(self.rng.integers(0, 4)):
            case 0:
                return said.compared(said.own("age"), "<", said.constant(Decimal(int(self.rng.choice([16, 18, 40])))))
            case 1:
                return said.compared(said.category("sex"), "==", said.text("f"))
            case 2:
                return said.compared(said.category("status"), "==", said.text(self._one_of(*STATUSES)))
            case _:
                return said.compared(said.own("wage"), ">", said.constant(Decimal(int(self.rng.integers(0, 300)))))

    # -- across -----------------------------------------------------------------------------------------------------

    def _rule_sum_of_members(self) -> tuple[str, Condition]:
        parts = said.linear([(1, said.added("income")), (1, said.own("capital")), (1, said.own("benefit"))])
        return "household", said.compared(parts, "==", said.own("total"))

    def _rule_size(self) -> tuple[str, Condition]:
        return "household", said.compared(said.count(), "==", said.own("size"))

    def _rule_kids(self) -> tuple[str, Condition]:
        young = said.compared(said.own("age"), "<", said.constant(Decimal(18)))
        return "household", said.compared(said.count(young), "==", said.own("kids"))

    def _rule_reference(self) -> tuple[str, Condition]:
        return "household", said.quantified("one", said.compared(said.own("rel"), "==", said.constant(Decimal(1))))

    def _rule_adult(self) -> tuple[str, Condition]:
        return "household", said.quantified("any", said.compared(said.own("age"), ">=", said.constant(Decimal(18))))

    def _rule_all_below(self) -> tuple[str, Condition]:
        return "household", said.quantified("all", self._bounded("person", said.own(self._amount()), "<="))

    def _rule_none_above(self) -> tuple[str, Condition]:
        name = self._amount()
        bound = self._bound("person", said.own(name), "<=")
        return "household", said.quantified("no", said.compared(said.own(name), ">", said.constant(bound)))

    def _rule_somebody(self) -> tuple[str, Condition]:
        value = said.extreme("max", name := self._amount())
        bound = self._bound("household", value, ">=")
        return "household", said.quantified("any", said.compared(said.own(name), ">=", said.constant(bound)))

    def _rule_maximum(self) -> tuple[str, Condition]:
        return "household", self._bounded("household", said.extreme("max", self._amount()))

    def _rule_minimum(self) -> tuple[str, Condition]:
        return "household", self._bounded("household", said.extreme("min", self._amount()))

    def _rule_sum_bounded(self) -> tuple[str, Condition]:
        return "household", self._bounded("household", said.added(self._amount()))

    def _rule_sum_where(self) -> tuple[str, Condition]:
        return "household", self._bounded("household", said.added(self._amount(), self._where()), "<=")

    def _rule_young_earn_nothing(self) -> tuple[str, Condition]:
        young = said.compared(said.own("age"), "<", said.constant(Decimal(16)))
        name = self._one_of("wage", "pension", "income")
        return "household", said.compared(said.added(name, young), "==", said.constant(Decimal(0)))

    def _rule_count_where(self) -> tuple[str, Condition]:
        return "household", self._bounded("household", said.count(self._where()))

    def _rule_benefit_for_children(self) -> tuple[str, Condition]:
        paid = said.compared(said.own("benefit"), ">", said.constant(Decimal(0)))
        young = said.quantified("any", said.compared(said.own("age"), "<", said.constant(Decimal(18))))
        return "household", said.if_then(paid, young)

    def _rule_by_region(self) -> tuple[str, Condition]:
        here = said.compared(said.category("region"), "==", said.text(self._one_of(*REGIONS)))
        return "household", said.if_then(here, self._bounded("household", said.added(self._amount())))

    def _rule_numbers_differ(self) -> tuple[str, Condition]:
        return "household", said.different("pno")

    def _rule_share_of_sum(self) -> tuple[str, Condition]:
        value = said.linear([(1, said.own(self._one_of("tax", "capital"))), (-1, said.added("income"))])
        return "household", self._bounded("household", value, "<=")

    # -- households by themselves -----------------------------------------------------------------------------------

    def _rule_disposable(self) -> tuple[str, Condition]:
        left = said.linear([(1, said.own("total")), (-1, said.own("tax"))])
        return "household", said.compared(left, "==", said.own("disp"))

    def _rule_tax_within_total(self) -> tuple[str, Condition]:
        return "household", said.compared(said.linear([(2, said.own("tax"))]), "<=", said.own("total"))

    def _rule_owner_no_rent(self) -> tuple[str, Condition]:
        owner = said.compared(said.category("tenure"), "==", said.text("owner"))
        return "household", said.if_then(owner, said.compared(said.own("rent"), "==", said.constant(Decimal(0))))

    def _rule_household_range(self) -> tuple[str, Condition]:
        name = self._one_of("capital", "benefit", "rent", "tax")
        value = said.own(name)
        low, high = (self._bound("household", value, sign) for sign in (">=", "<="))
        return "household", said.within(value, low, high)

    def _rule_household_inequality(self) -> tuple[str, Condition]:
        a, b = self.rng.choice(["capital", "benefit", "rent", "tax"], 2, replace=False)
        return "household", self._bounded("household", said.linear([(2, said.own(str(a))), (1, said.own(str(b)))]))

    def _rule_household_domain(self) -> tuple[str, Condition]:
        return "household", self._domain("household", ("region", "tenure"))

    def _rule_rooms_domain(self) -> tuple[str, Condition]:
        return "household", self._domain("household", ("rooms", "region"))

    # -- persons ----------------------------------------------------------------------------------------------------

    def _rule_income(self) -> tuple[str, Condition]:
        left = said.linear([(1, said.own("wage")), (1, said.own("pension"))])
        return "person", said.compared(left, "==", said.own("income"))

    def _rule_pay(self) -> tuple[str, Condition]:
        return "person", said.compared(said.product(said.own("hours"), said.own("rate")), "==", said.own("pay"))

    def _rule_income_within_total(self) -> tuple[str, Condition]:
        return "person", said.compared(said.own("income"), "<=", said.of_household("total"))

    def _rule_beside_household(self) -> tuple[str, Condition]:
        other = self._one_of("capital", "rent", "tax")
        value = said.linear([(1, said.own(self._amount())), (int(self.rng.choice([1, -1])), said.of_household(other))])
        return "person", self._bounded("person", value)

    def _rule_governed_by_household(self) -> tuple[str, Condition]:
        here = said.of_household("tenure", is_number=False)
        asked = said.compared(here, "==", said.text(self._one_of(*TENURES)))
        return "person", said.if_then(asked, self._bounded("person", said.own(self._amount())))

    def _rule_governed_by_rent(self) -> tuple[str, Condition]:
        asked = said.compared(said.of_household("rent"), ">", said.constant(Decimal(int(self.rng.integers(50, 300)))))
        return "person", said.if_then(asked, self._bounded("person", said.own(self._amount())))

    def _rule_mother_older(self) -> tuple[str, Condition, Condition]:
        years = said.linear([(1, said.through("mother", "age")), (-1, said.own("age"))])
        return "person", said.compared(years, ">=", said.constant(Decimal(14))), _points("mother")

    def _rule_spouse_of_spouse(self) -> tuple[str, Condition, Condition]:
        back = said.compared(said.through("spouse", "spouse"), "==", said.own("pno"))
        # A spouse who names nobody by an empty cell leaves it unknown.
        return (
            "person",
            replace(back, xpath=f"not(string(../Person[pno = current()/spouse]/spouse)) or {back.xpath}"),
            _points("spouse"),
        )

    def _rule_spouse_ages(self) -> tuple[str, Condition, Condition, str]:
        years = said.linear([(1, said.through("spouse", "age")), (-1, said.own("age"))])
        return "person", self._bounded("person", years, "<="), _points("spouse"), "warning"

    def _rule_spouse_earns(self) -> tuple[str, Condition, Condition]:
        value = said.linear([(1, said.through("spouse", "wage")), (1, said.own("wage"))])
        return "person", self._bounded("person", value, "<="), _points("spouse")

    def _rule_person_range(self) -> tuple[str, Condition]:
        value = said.own(self._amount())
        low, high = (self._bound("person", value, sign) for sign in (">=", "<="))
        return "person", said.within(value, low, high)

    def _rule_person_inequality(self) -> tuple[str, Condition]:
        a, b = self.rng.choice(["wage", "pension", "hours", "age"], 2, replace=False)
        return "person", self._bounded("person", said.linear([(1, said.own(str(a))), (2, said.own(str(b)))]))

    def _rule_young_by_person(self) -> tuple[str, Condition]:
        young = said.compared(said.own("age"), "<", said.constant(Decimal(16)))
        return "person", said.if_then(young, said.compared(said.own("wage"), "==", said.constant(Decimal(0))))

    def _rule_by_status(self) -> tuple[str, Condition]:
        has = said.compared(said.category("status"), "==", said.text(self._one_of(*STATUSES)))
        return "person", said.if_then(has, self._bounded("person", said.own(self._amount())))

    def _rule_person_domain(self) -> tuple[str, Condition]:
        return "person", self._domain("person", ("sex", self._one_of("status", "edu")))

    def _rule_dates(self) -> tuple[str, Condition]:
        entry, left = (Value(name, None, frozenset([name]), said.own(name).ends) for name in ("entry", "exit"))
        return "person", said.compared(entry, "<=", left)

    def _amount(self) -> str:
        return self._one_of("wage", "pension", "income", "hours", "pay")

    def _domain(self, level: str, names: tuple[str, ...]) -> Condition:
        seen = {tuple(each[name] for name in names) for each in self._of(level)}
        return said.in_original(names, seen)


def _points(pointer: str) -> Condition:
    """Whether a person names another one: in the product's language a rule through a pointer says so by itself."""

    def holds(person: said.Record) -> bool:
        return person[pointer] not in (None, "0")

    return Condition("", f"number({pointer}) > 0", frozenset([pointer]), holds)
