"""Loss of runs over parts against the exact cut, over several surveys: in one, a few largest records decide it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scale_runs import BLOCK, CHUNK, cost_of, pipeline, survey

if TYPE_CHECKING:
    from scale_gates import Gates

SURVEYS = 8
RECORDS = 40 * CHUNK
FIRST = 5_000
"""Number of the first chunk of records: other ones than those whose time is measured."""


def losses(gates: Gates, over_parts: dict[str, object], scratch: Path | None) -> None:
    """Mean of the ratios of the squared errors of several surveys, masked over parts and in memory.

    Amounts are lognormal: which records of the far tail are masked together makes a squared error a third larger or
    smaller, so that one survey says nothing.

    Parameters
    ----------
    gates : Gates
    over_parts : dict
        Execution of runs over parts.
    scratch : Path or None
    """
    found = []
    for number in range(SURVEYS):
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            here = Path(folder)
            survey(RECORDS, here / "in", first=FIRST + number * RECORDS // CHUNK)
            parts = cost_of(pipeline(here, "parts", dict(over_parts)))
            memory = cost_of(pipeline(here, "memory", {"workers": over_parts["workers"], "block_size": BLOCK}))
        found.append(parts.sse / memory.sse - 1)
    print(f"{SURVEYS} surveys of {RECORDS:,} records: {', '.join(f'{each:+.1%}' for each in sorted(found))}")
    mean = float(np.mean(found))
    gates.judge("sse against the exact cut, mean", "<= +5 %", f"{mean:+.1%}", mean <= 0.05)
