"""Reasons for which a run on a random world may be refused, and why that is right."""

from __future__ import annotations

import re
from collections import Counter

JUSTIFIED = {
    r"1 edit _ does not hold in": "no values were found: what would have to move is not masked, promises k, is held at "
    "zero, or the factors of a product have no grid point; nothing is released",
    r"1 records of the original violate edits of which no step masks": "structure, or what no step masks, is broken on "
    "arrival: no mask can mend it, `drop` leaves the households out",
    r"1 records of the original violate edits \(": "`on_input_violation: fail` was drawn",
    r"2 every household violates": "`drop` would leave nobody",
    r"2 step # \(\) works on the values that are published": "the order of steps breaks what one promises; "
    "the message says which order works",
    r"2 step # \(\) promises k = # and step # \(\) takes away": "two steps contradict each other; the message says "
    "what works",
    r"2 step # promises k = # but edit": "an edit across groups of variables moves single records, which breaks k: "
    "`k_guarantee: report` says so",
    r"2 step # promises k = # but to keep edit": "the records of a household have to move together, which breaks k",
    r"2 step # \(?\)?:? ?k = # is larger|2 step #: k = # is larger": "fewer records than k",
    r"no step masks anything else that edit": "nothing can move onto a total that is to stand",
    r"counts k in single records": "the method does not count households: it is for the upper level",
    r"totals: a household is masked with its members": "a household that is one record is masked with its totals: "
    "none of them stands",
    r"with its members as one record": "what takes away cannot mask whole households as one record",
    r"needs all records at once": "whole households are masked composition by composition",
    r"household records have a composition": "rare compositions, and `rare: fail` was drawn",
    r"every composition has fewer than k": "rare compositions, and none would be left",
    r"reads other records of the group|is the number of person records|counting rows": "a cell would be given "
    "back by what cannot be emptied",
    r"takes no missing cells, and masks records": "too few records with the same cells missing for the method",
    r"records are masked together and at least": "too few records for the method: original values would come back",
    r"lower limit of _ is not below the upper one": "a variable of few values cannot be coded at both ends",
    r"no household would be left|no record would be left|equal on the keys": "removal would leave nobody",
    r"records are taken away on two levels": "one step draws households",
    r"has a single value": "a variable of one value cannot be swapped or spread",
    r"constant|single value|no variance|zero variance|singular": "a variable without variation cannot be modelled",
    r"masks each level by itself, and step": "two ways of masking households in one pipeline: what one keeps the other "
    "would undo",
    r"no levels of the keys fulfil the criteria": "the hierarchies are too fine for so small a file; the message says "
    "how many cells would have to go",
    r"bands are found in the whole file": "whole households are masked composition by composition: each would find "
    "bands of its own",
    r"fewer records than that have a value of some variables": "no average of k values exists",
    r"less than one rank": "the range of ranks holds no other record; the message says what does",
    r"is no total that steps mask": "nothing becomes of a total that no rule gives, or that no step masks",
    r"release_edits": "an edit cannot be said of the published categories, and was not let go",
}  # fmt: skip


def counted_reasons(refused: Counter[str]) -> Counter[str]:
    """Refusals by what justifies them; those that nothing does by their own text."""
    found: Counter[str] = Counter()
    for said, count in refused.items():
        found[why(said) or f"NOT JUSTIFIED: {said}"] += count
    return found


def why(said: str) -> str | None:
    """What justifies a refusal; None where nothing does."""
    return next((reason for pattern, reason in JUSTIFIED.items() if re.search(pattern, said)), None)
