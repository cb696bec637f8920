"""Agreement of our XPath with lxml's: random expressions of the subset on random dirty records, every verdict compared.

    python benchmarks/agreement.py [--expressions 2500] [--records 400] [--seed 1]

1,000,000 pairs by default. Texts that libxml2 reads otherwise than XPath 1.0 says are left out and declared: exponents
(``1e3`` is NaN there), integers of 19 digits and more, and decimals that it does not read as the nearest binary64
number (``1.93``); a record with such a decimal is not drawn.
"""

from __future__ import annotations

import argparse
import random
import sys
import time

import pyarrow as pa
from lxml import etree

from maskwright.data.record_chunk import RecordChunk
from maskwright.edits.evaluation.binary64 import evaluate_xpath
from maskwright.edits.languages.xpath.parser import parse_xpath

NAMES = ["V1", "V2", "V3", "V4"]
DIRTY = [
    None, "", " ", "abc", " 7 ", "7", "-0", "0", "1.5", "+5", "5", "0x10", "16", ".5", "5.", "-3", "10", "9", "1_000",
    "NaN", "INF", "- 5", "0.1", "0.3", "2.50", "1 2", "\u00a05", "--5", "1.2.3", "\uff15", "-.25", ".", "\t4\n",
]  # fmt: skip


def cell(pick: random.Random) -> str | None:
    """A cell: dirty, a whole number, or a decimal that libxml2 reads as the nearest number."""
    kind = pick.random()
    if kind < 0.5:
        return pick.choice(DIRTY)
    if kind < 0.8:
        return str(pick.choice([pick.randrange(-20, 20), pick.randrange(10**6), pick.randrange(10**12)]))
    text = f"{pick.uniform(-1000, 1000):.{pick.randrange(1, 4)}f}"
    return text if etree.XPath(f"number('{text}')")(etree.Element("a")) == float(text) else "3"


def number(pick: random.Random, depth: int) -> str:
    """Text of an expression that is a number."""
    kind = pick.randrange(7 if depth else 3)
    match kind:
        case 0:
            return pick.choice(["0", "1", "2", "7", "0.1", "0.2", ".5", "5.", "1115", "3"])
        case 1:
            return f"number({pick.choice([*NAMES, 'V99'])})"
        case 2:
            return pick.choice([*NAMES, "./V2", "child::V1", "V99"])
        case 3:
            return f"-{number(pick, depth - 1)}"
        case 4:
            return f"{pick.choice(['floor', 'ceiling', 'round', 'number'])}({anything(pick, depth - 1)})"
        case _:
            operator = pick.choice(["+", "-", "*", "div", "mod"])
            return f"({number(pick, depth - 1)} {operator} {number(pick, depth - 1)})"


def condition(pick: random.Random, depth: int) -> str:
    """Text of an expression that is a truth value."""
    if not depth:
        return pick.choice(["true()", "false()", "not(V1)", "boolean(V2)"])
    match pick.randrange(5):
        case 0:
            return f"{pick.choice(['not', 'boolean'])}({anything(pick, depth - 1)})"
        case 1:
            joint = pick.choice(["and", "or"])
            return f"({anything(pick, depth - 1)} {joint} {anything(pick, depth - 1)})"
        case _:
            relation = pick.choice(["=", "!=", "<", "<=", ">", ">="])
            return f"({anything(pick, depth - 1)} {relation} {anything(pick, depth - 1)})"


def anything(pick: random.Random, depth: int) -> str:
    """Text of any expression."""
    kind = pick.random()
    if kind < 0.6:
        return number(pick, depth)
    if kind < 0.85:
        return condition(pick, depth)
    return pick.choice(["'7'", '"abc"', "''", "'0'", "' 7 '", "string(V1)", "string(V99)", "'-0'"])


def main() -> None:
    """Compare, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--expressions", type=int, default=2500)
    parser.add_argument("--records", type=int, default=400)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    pick = random.Random(chosen.seed)
    rows = [[cell(pick) for _ in NAMES] for _ in range(chosen.records)]
    elements = []
    for row in rows:
        record = etree.Element("Record")
        for name, text in zip(NAMES, row, strict=True):
            if text is not None:
                etree.SubElement(record, name).text = text
        elements.append(record)
    texts = {name: pa.array([row[i] for row in rows], pa.string()) for i, name in enumerate(NAMES)}
    columns = RecordChunk.from_batch(pa.record_batch(texts))
    pairs = disagreements = held = 0
    start = time.process_time()
    for _ in range(chosen.expressions):
        text = (condition if pick.random() < 0.8 else anything)(pick, pick.randrange(1, 5))
        oracle = etree.XPath(f"boolean({text})")
        ours = evaluate_xpath(parse_xpath(text), columns).holds.tolist()
        theirs = [bool(oracle(element)) for element in elements]
        pairs += len(ours)
        held += sum(theirs)
        wrong = [i for i, (one, other) in enumerate(zip(ours, theirs, strict=True)) if one != other]
        disagreements += len(wrong)
        if wrong:
            print(f"{text}: {len(wrong)} records, the first {rows[wrong[0]]}")
    spent = time.process_time() - start
    print(f"{pairs:,} pairs, {held:,} of them hold, {disagreements:,} disagreements, {spent:.0f} s CPU")
    sys.exit(1 if disagreements else 0)


if __name__ == "__main__":
    main()
