"""Pipelines and files go wrong in thousands of ways: a release is refused, or what must not leave has not left.

The judge reads the released file with `csv`, lxml and pyarrow, as text, and compares it with a truth that neither the
file nor the pipeline can change: no column of the release may hold a secret column, under whatever name, in more than
half of the cells that have a value and are not zero.

200 mutations in the tests, 2 000 with ``pytest -m slow``, more by hand::

    python tests/properties/test_wrong_releases.py --mutations 10000 [--first 0]
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from lxml import etree

import maskwright as mw

sys.path.insert(0, str(Path(__file__).parent))
from office_files import AMOUNTS, SECRET, Office, mutated, office

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Cells = Mapping[str, Sequence[str]]

MOST_EQUAL = 0.5


@dataclass
class Tally:
    """What became of the mutations."""

    released: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def number(cell: str) -> float | None:
    """Number that a person sees in a cell: signs, blanks, currencies and decimal commas do not hide it."""
    kept = "".join(sign for sign in cell.replace("\u2212", "-") if sign.isdigit() or sign in ".,-+eE")
    kept = kept.strip("eE")
    if "," in kept and "." in kept:
        kept = kept.replace("," if kept.rfind(".") > kept.rfind(",") else ".", "")
    try:
        return float(kept.replace(",", "."))
    except ValueError:
        return None


def released_columns(path: Path, delimiters: str = ";,\t|") -> dict[str, list[str]]:
    """Columns of a released file as text, read by other means than Maskwright's."""
    if path.suffix == ".parquet":
        table = pq.read_table(path)
        return {
            f"{name}-{place}": ["" if cell is None else str(cell) for cell in table.column(place).to_pylist()]
            for place, name in enumerate(table.column_names)
        }
    if path.suffix == ".xml":
        records = [[(cell.tag, cell.text or "") for cell in record] for record in etree.parse(path).getroot()]
        names = list(dict.fromkeys(name for record in records for name, _ in record))
        return {name: [dict(record).get(name, "") for record in records] for name in names}
    text = path.read_bytes().decode("utf-8-sig", "replace")
    tables = [list(csv.reader(text.splitlines(), delimiter=delimiter)) for delimiter in delimiters]
    header, *rows = max((table for table in tables if len(set(map(len, table))) == 1), key=lambda table: len(table[0]))
    return {f"{name}-{place}": [row[place] for row in rows] for place, name in enumerate(header)}


def complaints(truth: Cells, shown: Cells, promised: int | None) -> list[str]:
    """What is wrong with a release."""
    found: list[str] = []
    for name, column in shown.items():
        for secret in SECRET:
            share = equal_share(truth[secret], column)
            if share > MOST_EQUAL:
                found.append(f"{name} shows {secret} in {share:.0%} of its cells")
        if any(person in name for person in truth["person"]):
            found.append(f"the name of column {name} is a person")
    found += _inferable(truth, shown)
    found += _broken_promise(shown, promised)
    return found


def equal_share(secret: Sequence[str], column: Sequence[str]) -> float:
    """Share of the cells with a value other than 0 of which the release shows the value."""
    if len(secret) != len(column):
        return 0.0
    pairs = [(number(true) if true[:1] != "P" else None, true, cell) for true, cell in zip(secret, column, strict=True)]
    telling = [(value, true, cell) for value, true, cell in pairs if true and value != 0]
    equal = sum(true in cell if value is None else number(cell) == value for value, true, cell in telling)
    return equal / max(len(telling), 1)


def _inferable(truth: Cells, shown: Cells) -> list[str]:
    """Suppressed codes whose label is published: at least three other records with the label show one code."""
    codes = next((column for name, column in shown.items() if name.startswith("sector")), None)
    if codes is None or len(codes) != len(truth["sector"]):
        return []
    labels = next((each for each in shown.values() if list(each) == list(truth["branch"])), None)
    suppressed = [row for row, code in enumerate(codes) if not code]
    if labels is None or not suppressed:
        return []
    seen: dict[str, Counter[str]] = {}
    for label, code in zip(labels, codes, strict=True):
        if code:
            seen.setdefault(label, Counter())[code] += 1
    away = [row for row in suppressed if len(seen.get(labels[row], ())) == 1 and seen[labels[row]].total() >= 3]
    return [f"{len(away)} suppressed codes are told by their labels"] if away else []


def _broken_promise(shown: Cells, promised: int | None) -> list[str]:
    """Classes of the jointly aggregated variables that are smaller than k."""
    names = [name for name in shown if name.partition("-")[0] in ("age", *AMOUNTS)]
    if promised is None or len(names) < 4:
        return []
    sizes = Counter(zip(*(shown[name] for name in names), strict=True))
    small = sum(1 for size in sizes.values() if size < promised)
    return [f"{small} classes are smaller than k = {promised}"] if small else []


def _promised(made: Office) -> int | None:
    """Smallest class that the pipeline's first step promises for all numbers together, whatever comes after it."""
    for step in made.pipeline["protect"]:
        if step["method"] == "microaggregation" and set(step.get("variables", ())) >= {"age", *AMOUNTS}:
            return int(step["params"]["k"])
    return None


def judged(made: Office, folder: Path, tally: Tally) -> None:
    """Run a pipeline and judge what it released."""
    pipeline = made.write(folder)
    output = folder / str(made.pipeline["output"]["data"])
    try:
        mw.run(pipeline)
    except mw.MaskwrightError as error:
        tally.refused[f"{type(error).__name__}: {error.problems[0].message.partition(':')[0][:60]}"] += 1
        if output.exists():
            tally.wrong.append(f"{made.done}: refused, and {output.name} is there")
        return
    tally.released += 1
    found = complaints(made.truth, released_columns(output), _promised(made))
    tally.wrong.extend(f"{made.done}: {each}" for each in found)


def tallied(mutations: range) -> Tally:
    """Judge these mutations."""
    tally = Tally()
    for seed in mutations:
        with TemporaryDirectory() as folder:
            before = len(tally.wrong)
            judged(mutated(seed), Path(folder), tally)
            tally.wrong[before:] = [f"{seed} {each}" for each in tally.wrong[before:]]
    return tally


def test_what_is_right_is_released(tmp_path: Path) -> None:
    """Without a waiver; and the judge has nothing to say."""
    tally = Tally()
    for seed in range(12):
        folder = tmp_path / str(seed)
        folder.mkdir()
        judged(office(seed), folder, tally)
    assert tally.wrong == []
    assert tally.released == 12, tally.refused


def test_the_judge_sees_what_leaves() -> None:
    """A release that is the original is wrong in every column, also in another notation."""
    truth = office(0).truth
    assert len(complaints(truth, truth, None)) >= len(SECRET)
    shown = {"x": [f"EUR {cell.replace('.', ',')}" for cell in truth["wage"]]}
    assert complaints(truth, shown, None) == ["x shows wage in 100% of its cells"]
    assert complaints(truth, {name: truth[name] for name in ("region", "sector", "started")}, None) == []
    hidden = [code if row % 4 else "" for row, code in enumerate(truth["sector"])]
    assert "told by their labels" in complaints(truth, {"sector": hidden, "branch": truth["branch"]}, None)[0]


def test_nothing_leaves_because_something_went_wrong() -> None:
    tally = tallied(range(50))
    assert tally.wrong == []
    assert tally.released >= 5


@pytest.mark.slow
def test_nothing_leaves_because_something_went_wrong_in_many_ways() -> None:
    tally = tallied(range(100, 2100))
    assert tally.wrong == []


def main() -> None:
    """Count by hand."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutations", type=int, default=10000)
    parser.add_argument("--first", type=int, default=0)
    chosen = parser.parse_args()
    tally = tallied(range(chosen.first, chosen.first + chosen.mutations))
    print(f"released {tally.released}, refused {tally.refused.total()}, wrong {len(tally.wrong)}")
    for reason, times in tally.refused.most_common(40):
        print(f"{times:6} {reason}")
    for each in tally.wrong:
        print(each)


if __name__ == "__main__":
    main()
