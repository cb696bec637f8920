"""A random survey of households with missing cells, as two CSV files and as nested XML, and rules across its levels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import maskwright as mw
from maskwright.commands.levels.input_files import linked_sources
from maskwright.commands.options import ReadingOptions, pipeline_levels
from maskwright.foundation.progress import silent

if TYPE_CHECKING:
    import random
    from pathlib import Path

LEVELS = {
    "household": mw.LevelDeclaration.model_validate({"record": "Household", "key": "hhid"}),
    "person": mw.LevelDeclaration.model_validate(
        {"record": "Person", "key": "pno", "in": "household", "pointers": {"spouse": "pno", "mother": "pno"}}
    ),
}
PIPELINE = """
data:
  levels:
    household: {source: household.csv, key: hhid}
    person: {source: person.csv, key: pno, in: household, pointers: {spouse: pno, mother: pno}}
  variables: {region: {type: nominal}, sex: {type: nominal}}
"""
RULES = (
    "count(person) == size",
    "count(person) in {1, 3}",
    "count(person) + count(person where age < 18) <= size + 1",
    "count(person where age >= 18 and sex == 'F') >= 1",
    "count(person where age < 18) == 1",
    "count(person where age < 18) != 1",
    "count(person where age < 18) < size",
    "size > count(person where sex != 'M')",
    "sum(person.income) + extra == total",
    "sum(person.income where age >= 18) <= total",
    "sum(person.income) in [0.1, 3]",
    "abs(sum(person.income) - total) <= 0.2",
    "sum(person.income where sex == 'M') / 2 >= extra",
    "one(person where rel == 1)",
    "any(person where age >= 18)",
    "not any(person where age >= 60)",
    "no(person where income > household.total)",
    "all(person where age < 70 or sex == 'F')",
    "all(person where household.region == 'N' or rel in {1, 2})",
    "if extra > 0 then any(person where age < 18)",
    "if region == 'N' then all(person where income is not missing) else size > 1",
    "max(person.age) <= 60",
    "max(person.age) >= 30",
    "min(person.age where sex == 'F') <= 20",
    "min(person.age) > 10",
    "max(person.income) == total",
    "max(person.income) != extra",
    "max(person.age where rel == 1) >= 2 * size",
    "unique(person.rel)",
    "unique(person.sex)",
    "first(person.age) >= 18",
    "total >= extra",
    "income <= household.total",
    "income <= total and age >= 0",
    "if region == 'N' then income > 0.3",
    "income <= sum(person.income) / 2",
    "age >= 18 or any(person where age >= 18)",
    "mother.age - age >= 14",
    "mother.sex == 'F'",
    "spouse.spouse == pno",
    "abs(spouse.age - age) <= 20",
    "if mother.sex == 'F' then age < 50 else rel == 2",
    "mother.income is not missing",
    "previous.age >= age",
    "following.rel != rel",
    "all(person where previous.age >= age)",
)
WRITTEN_ONLY = (
    "first(person.sex) == 'F'",
    "first(person.age where rel == 1) >= 18",
    "max(person.age) <= age + 30",
    "max(person.age) >= 2 * age",
    "mother.mother.age > age",
)


def cell(chosen: random.Random, value: object) -> str:
    """Value of a cell; sometimes it has none."""
    return "" if chosen.random() < 0.12 else str(value)


def survey(chosen: random.Random, folder: Path, most: int = 14) -> mw.LinkedData:
    """Write random households as two CSV files and as nested XML; the two as linked data, by `linked.yaml`."""
    households, persons, text = [], [], []
    for number in range(1, chosen.randint(most - 4, most)):
        count = chosen.randint(1, 4)
        amounts = [chosen.choice([0, 0.1, 0.2, 0.3, 0.7, 1.1]) for _ in range(count)]
        extra = chosen.choice([0, 0.1, 0.7])
        total = round(sum(amounts) + extra, 1) if chosen.random() < 0.6 else chosen.choice([0.2, 1.1, 3])
        own = {
            "hhid": str(number), "size": cell(chosen, chosen.choice([count, 2])),
            "region": cell(chosen, chosen.choice("NS")),
            "extra": cell(chosen, extra), "total": cell(chosen, total),
        }  # fmt: skip
        households.append(own)
        members = []
        for each in range(1, count + 1):
            pointers = {name: chosen.choice([0, 0, chosen.randint(1, 4)]) for name in ("spouse", "mother")}
            members.append({
                "pno": str(each), "age": cell(chosen, chosen.choice([5, 17, 18, 40, 64])),
                "sex": cell(chosen, chosen.choice("FM")), "rel": cell(chosen, chosen.randint(1, 3)),
                "income": cell(chosen, amounts[each - 1]),
                **{name: cell(chosen, one) for name, one in pointers.items()},
            })  # fmt: skip
        persons += [{"hhid": str(number), **each} for each in members]
        inside = "".join(f"<Person>{elements(chosen, each)}</Person>" for each in members)
        text.append(f"<Household>{elements(chosen, own)}{inside}</Household>")
    (folder / "survey.xml").write_text(f"<Survey>{''.join(text)}</Survey>", encoding="utf-8")
    for name, rows in (("household", households), ("person", persons)):
        lines = [",".join(rows[0]), *(",".join(row.values()) for row in rows)]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "linked.yaml").write_text(PIPELINE, encoding="utf-8")
    levels = pipeline_levels(ReadingOptions(pipeline=folder / "linked.yaml"), ())
    assert levels is not None
    return linked_sources(levels, silent)


def elements(chosen: random.Random, cells: dict[str, str]) -> str:
    """Cells as elements; one without a value is empty, or not there."""
    return "".join(f"<{name}>{value}</{name}>" for name, value in cells.items() if value or chosen.random() < 0.5)
