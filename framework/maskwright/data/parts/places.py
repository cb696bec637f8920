"""Records of messages, told by the part that they are in."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maskwright.data.parts.model import Parts
    from maskwright.foundation.errors import Problem

RECORD = re.compile(r"\brecords? ([0-9]+)\b")


def in_its_part(problem: Problem, parts: Parts) -> Problem:
    """Mistake in a record of the dataset, with the file that the first record it names is in, and its row there.

    Parameters
    ----------
    problem : Problem
        Records are counted through all parts, from 1.
    parts : Parts
    """
    found = RECORD.search(problem.message)
    if found is None or not 1 <= int(found[1]) <= parts.records:
        return problem
    name, row = parts.place_of(int(found[1]) - 1)
    return replace(problem, message=f"{problem.message} (record {found[1]} is row {row + 1} of {name})")
