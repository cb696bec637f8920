"""What is wrong with a release of a random world: judged from the written files, by pandas and plain Python."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pandas as pd
from lxml import etree
from lxml.isoschematron import Schematron
from worlds.conditions import HUNDREDTHS
from worlds.world import HOUSEHOLD, NUMBERS, PERSON, Row, Rule, World, write_nested

from maskwright.plugins.registry import plugins

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

SCHEMATRON = "http://purl.oclc.org/dsdl/schematron"


@dataclass(frozen=True)
class Tables:
    """A file of levels as cells of text.

    Attributes
    ----------
    households, persons : list of dict
        A person has the key ``hhid`` of its household.
    varying : list of str
        Variables of households in which rows of one household differ.
    """

    households: list[Row]
    persons: list[Row]
    varying: tuple[str, ...] = ()


def tables_of(folder: Path, form: str, files: Any) -> Tables:
    """Read the files of one form."""
    match form:
        case "flat":
            return _of_flat(_cells(folder / files))
        case "linked":
            above, below = (_cells(folder / files[name]) for name in ("household", "person"))
            return Tables(above.to_dict("records"), below.to_dict("records"))
        case _:
            return _of_nested(folder / files)


def _cells(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def _of_flat(flat: pd.DataFrame) -> Tables:
    own = [name for name in HOUSEHOLD if name in flat]
    counted = flat.groupby("hhid", sort=False)[own].nunique()
    varying = tuple(name for name in own if (counted[name] > 1).any())
    above = flat.drop_duplicates("hhid")[["hhid", *own]]
    return Tables(above.to_dict("records"), flat.drop(columns=own).to_dict("records"), varying)


def _of_nested(path: Path) -> Tables:
    households, persons = [], []
    for home in etree.parse(path).getroot().iter("Household"):
        row = {"hhid": home.findtext("hhid"), **{name: home.findtext(name) or "" for name in HOUSEHOLD}}
        households.append(row)
        persons += [
            {"hhid": row["hhid"], "pno": each.findtext("pno"), **{name: each.findtext(name) or "" for name in PERSON}}
            for each in home.iter("Person")
        ]
    return Tables(households, persons)


def violations(world: World, tables: Tables, without: Iterable[str] = ()) -> dict[str, int]:
    """Records that violate each rule that reads none of some variables."""
    left_out = frozenset(without)
    homes = world.read(tables.households, tables.persons, left_out)
    members = [each for home in homes for each in home["members"]]
    return {
        rule.name: sum(map(rule.violated, homes if rule.level == "household" else members))
        for rule in world.rules
        if not rule.names & left_out
    }


def schematron_violations(world: World, tables: Tables, folder: Path, without: Iterable[str] = ()) -> dict[str, int]:
    """The same by lxml.isoschematron on a nested document, of rules that it can say and whose cells are all there."""
    empty = {
        name for rows in (tables.households, tables.persons) for row in rows for name, cell in row.items()
        if world.is_missing(name, cell) and name not in ("spouse", "mother")
    } | set(without)  # fmt: skip
    rules = [rule for rule in world.rules if rule.condition.xpath is not None and not rule.names & empty]
    if not rules:
        return {}
    path = folder / "judged.xml"
    write_nested(path, tables.households, tables.persons, _in_hundredths)
    processor = Schematron(_schema(rules), store_report=True)
    processor.validate(etree.parse(path))
    found = {rule.name: 0 for rule in rules}
    for failed in processor.validation_report.iter("{*}failed-assert"):
        found[failed.findtext("{*}text").strip()] += 1
    return found


def _schema(rules: Iterable[Rule]) -> etree._ElementTree:
    schema = etree.Element(f"{{{SCHEMATRON}}}schema", nsmap={None: SCHEMATRON})
    for rule in rules:
        context = rule.level.capitalize() + (f"[{rule.when.xpath}]" if rule.when is not None else "")
        pattern = etree.SubElement(schema, f"{{{SCHEMATRON}}}pattern")
        stated = etree.SubElement(pattern, f"{{{SCHEMATRON}}}rule", context=context)
        etree.SubElement(stated, f"{{{SCHEMATRON}}}assert", test=rule.condition.xpath).text = rule.name
    return etree.ElementTree(schema)


def _in_hundredths(name: str, cell: str) -> str:
    try:
        return f"{Decimal(cell) * HUNDREDTHS:f}" if name in NUMBERS or name == "rel" else cell
    except ArithmeticError:
        return cell


@dataclass(frozen=True)
class Release:
    """A release beside the world that it is of, in one form."""

    world: World
    folder: Path
    form: str
    settings: Mapping[str, Any]
    before: Tables
    after: Tables
    keys: pd.DataFrame
    record: Mapping[str, Any]

    @classmethod
    def of(cls, world: World, folder: Path, form: str, settings: Mapping[str, Any], source: Any) -> Release:
        """Read what a run has written."""
        return cls(
            world, folder, form, settings, tables_of(folder, form, source),
            tables_of(folder, form, settings["output"]["data"]), _cells(folder / "keys.csv"),
            json.loads((folder / "run.json").read_text(encoding="utf-8")),
        )  # fmt: skip

    def wrong(self) -> list[str]:
        """Everything that is wrong, in words."""
        return [
            *self._edits(),
            *self._structure(),
            *self._untouched(),
            *self._cells_taken(),
            *self._grids(),
            *self._classes(),
        ]

    # -- what the pipeline said -------------------------------------------------------------------------------------

    def _masked_by(self) -> dict[str, list[str]]:
        found = defaultdict(list)
        for step in self.settings["protect"]:
            for name in step["variables"]:
                found[name].append(step["method"])
        return found

    def _removed(self, what: str) -> set[str]:
        """Variables of which some step takes away cells, or detail."""
        return {
            name for name, names in self._masked_by().items()
            if any(what in plugins().methods[each].claims.removes for each in names)
        }  # fmt: skip

    # -- checks -----------------------------------------------------------------------------------------------------

    def _edits(self) -> Iterator[str]:
        coarse = self._removed("detail")
        severe = {rule.name for rule in self.world.rules if rule.severity == "error"}
        for evaluator, found in (
            ("pandas", violations(self.world, self.after, coarse)),
            ("schematron", schematron_violations(self.world, self.after, self.folder, coarse)),
        ):
            for name, count in found.items():
                if count and name in severe:
                    rule = next(each for each in self.world.rules if each.name == name)
                    yield f"{evaluator}: {count} violate {name}: {rule.condition.text}"
        if self.after.varying:
            yield f"not constant within households: {', '.join(self.after.varying)}"

    def _pairs(self) -> Iterator[tuple[str, Row, Row]]:
        """Level, record before and record after, by the map of keys."""
        old_homes = {row["hhid"]: row for row in self.before.households}
        old_persons = {(row["hhid"], row["pno"]): row for row in self.before.persons}
        home, person = self._new_to_old()
        for row in self.after.households:
            yield "household", old_homes[home[row["hhid"]]], row
        for row in self.after.persons:
            yield "person", old_persons[person[row["hhid"], row["pno"]]], row

    def _new_to_old(self) -> tuple[dict[str, str], dict[tuple[str, str], tuple[str, str]]]:
        keys = self.keys.to_dict("records")
        return (
            {row["new hhid"]: row["hhid"] for row in keys},
            {(row["new hhid"], row["new pno"]): (row["hhid"], row["pno"]) for row in keys},
        )

    def _structure(self) -> Iterator[str]:
        homes, persons = self._new_to_old()
        old = {row["hhid"] for row in self.before.households}
        new = [row["hhid"] for row in self.after.households]
        of_persons = {row["hhid"] for row in self.after.persons}
        told = {
            "old keys are published": set(new) & old,
            "a key occurs twice": len(set(new)) < len(new) or len(set(homes.values())) < len(homes),
            "households are not those of the persons, or of the map": set(new) != of_persons or set(new) != set(homes),
            "persons are not those of the map": {(row["hhid"], row["pno"]) for row in self.after.persons}
            != set(persons),
        }
        yield from (said for said, wrong in told.items() if wrong)
        before = Counter(row["hhid"] for row in self.before.persons)
        after = Counter(row["hhid"] for row in self.after.persons)
        takes = any("records" in plugins().methods[step["method"]].claims.removes for step in self.settings["protect"])
        if any(before[homes[key]] != count for key, count in after.items()):
            yield "a household lacks members"
        rare = any(step.get("unit") for step in self.settings["protect"])
        gone = old - set(homes.values())
        if gone and not takes and not rare and gone != self._violating():
            yield f"{len(gone)} households are gone, {len(self._violating())} violate an edit"
        yield from self._pointers(persons)

    def _pointers(self, persons: Mapping[tuple[str, str], tuple[str, str]]) -> Iterator[str]:
        for level, was, now in self._pairs():
            for pointer in ("spouse", "mother") if level == "person" else ():
                named = persons.get((now["hhid"], now[pointer]))
                if named is None:
                    same = now[pointer] == was[pointer] or not self._leads(was, pointer)
                else:
                    same = named == (was["hhid"], was[pointer])
                if not same:
                    yield f"{pointer} does not follow"

    def _leads(self, person: Row, pointer: str) -> bool:
        return any(each["hhid"] == person["hhid"] and each["pno"] == person[pointer] for each in self.before.persons)

    def _violating(self) -> set[str]:
        """Households that break an edit on arrival, where these are dropped."""
        if self.settings["on_input_violation"] != "drop":
            return set()
        flat = pd.DataFrame(self.world.flat_rows if self.form == "flat" else [])
        found = set()
        if len(flat):
            varies = flat.groupby("hhid")[list(HOUSEHOLD)].nunique().max(axis=1) > 1
            found |= set(varies.index[varies])
        for home in self.world.read(self.before.households, self.before.persons):
            numbers = {each["pno"] for each in home["members"]}
            for rule in self.world.rules:
                records = [home] if rule.level == "household" else home["members"]
                if rule.severity == "error" and any(map(rule.violated, records)):
                    found.add(home["hhid"])
            if any(
                each[name] not in (None, "0", *(numbers - {each["pno"]}))
                for each in home["members"] for name in ("spouse", "mother")
            ):  # fmt: skip
                found.add(home["hhid"])
        return found

    def _untouched(self) -> Iterator[str]:
        masked = self._masked_by()
        known = {"household": HOUSEHOLD, "person": PERSON}
        bad = Counter[str]()
        varied = self.before.varying if self.form == "flat" else ()
        for level, was, now in self._pairs():
            for name in known[level]:
                if name in ("spouse", "mother") or name in masked or name in varied:
                    continue
                emptied = self.world.is_missing(name, now[name]) and not self.world.is_missing(name, was[name])
                bad[name] += was[name] != now[name] and not emptied
        yield from (f"{count} cells of {name} changed, which no step masks" for name, count in bad.items() if count)

    def _cells_taken(self) -> Iterator[str]:
        emptied, filled = Counter[str](), Counter[str]()
        known = {"household": HOUSEHOLD, "person": PERSON}
        for level, was, now in self._pairs():
            for name in known[level]:
                if name in ("spouse", "mother"):
                    continue
                lost, had = self.world.is_missing(name, now[name]), not self.world.is_missing(name, was[name])
                emptied[name] += lost and had
                filled[name] += not lost and not had
        said = Counter[str]()
        for each in self.record["suppressed"]:
            said[each["variable"]] += each["cells"]
        told = " ".join(each["message"] for each in self.record["notices"])
        synthetic = {name for name, names in self._masked_by().items() if "cart_synthesis" in names}
        # A masked number that is a code for "no value" too, as the pipeline accepts.
        read_as_codes = {
            each["subject"] for each in self.record["doubts"] if each["doubt"] == "value-is-a-missing-code"
        }
        for name, count in emptied.items():
            if (
                count
                and name not in synthetic
                and name not in read_as_codes
                and count > said[name]
                and f"{name}: {count:,} cells that had a value" not in told
            ):
                yield f"{count} cells of {name} are empty that were not, and no notice says so"
        for name, count in filled.items():
            if count and name not in synthetic and name not in self.before.varying:
                yield f"{count} cells of {name} are filled that were empty"

    def _classes(self) -> Iterator[str]:
        """What the record says of k, counted again in the release: persons in households, households in rows."""
        for group in self.record["k"]["groups"]:
            names = group["variables"]
            of_persons = set(names) <= set(self.after.persons[0])
            rows = self.after.persons if of_persons else self.after.households
            if not set(names) <= set(rows[0]):
                continue
            alike = defaultdict(list)
            for row in rows:
                alike[tuple(_comparable(row[name]) for name in names)].append(row["hhid"])
            below = sum(len(each) for each in alike.values() if len(set(each)) < group["expected"])
            if below != group["below"]:
                yield f"{below} records are below k on {', '.join(names)}, and {group['below']} are said to be"

    def _grids(self) -> Iterator[str]:
        coarse = self._removed("detail")
        for rows, old in ((self.after.households, self.before.households), (self.after.persons, self.before.persons)):
            for name in NUMBERS & set(rows[0]) - coarse:
                if _decimals(rows, name, self.world) > _decimals(old, name, self.world):
                    yield f"{name} has more decimals than it had"


def _comparable(cell: str | None) -> object:
    """A number as such, however it is written."""
    try:
        return Decimal(cell or "")
    except ArithmeticError:
        return cell


def _decimals(rows: Iterable[Row], name: str, world: World) -> int:
    cells = [row[name] for row in rows if not world.is_missing(name, row[name])]
    return max((len(cell.partition(".")[2]) for cell in cells), default=0)
