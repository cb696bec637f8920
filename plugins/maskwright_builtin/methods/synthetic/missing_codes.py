"""Why cells of synthetic records are missing: codes drawn from trees on the other variables, like values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright import Variable
from maskwright_builtin.methods.synthetic.donor_search import Tally
from maskwright_builtin.methods.synthetic.sequence import Growth, SyntheticSequence

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from maskwright import Block, Completion

NONE = -2
"""Where there is a value."""

_CODE = " code"


def drawn_missing_codes(
    block: Block,
    values: NDArray[np.float64],
    given: Mapping[str, tuple[Variable, NDArray[np.float64]]],
    completion: Completion,
    growth: Growth,
    rng: np.random.Generator,
) -> NDArray[np.int64] | None:
    """Draw the missing code of each synthetic cell without a value; None where nothing is known of codes.

    Each variable's code has a tree on all other variables and the codes before it, grown on the original records
    without a value.

    `values`: Synthetic; NaN where missing; shape (n, p). `given`: further predictors, which stay as they are; shape
    (n,). Returns shape (n, p).
    """
    if block.missing_codes is None:
        return None
    original = np.where(block.missing, np.nan, block.values)
    gone = np.isnan(values)
    found = np.full(values.shape, NONE, dtype=np.int64)
    learnt, seen = dict(given), {name: column for name, (_, column) in given.items()}
    for j, variable in enumerate(block.variables):
        learnt[variable.name], seen[variable.name] = (variable, original[:, j]), values[:, j]
    for j, name in enumerate(block.names):
        rows, wanted = np.flatnonzero(block.missing[:, j]), np.flatnonzero(gone[:, j])
        if not len(wanted):
            continue
        kinds, codes = np.unique(block.missing_codes[rows, j], return_inverse=True)
        variable = Variable(f"{_CODE} of {name}", "nominal", categories=tuple(map(str, kinds.tolist())))
        drawn = np.zeros(len(wanted))
        if len(kinds) > 1:
            sequence = SyntheticSequence(
                {each: (kind, column[rows]) for each, (kind, column) in learnt.items() if each != name},
                [variable], {variable.name: codes.astype(np.float64)}, growth, rng, lambda _: None,
            )  # fmt: skip
            here = {each: column[wanted] for each, column in seen.items() if each != name}
            drawn = sequence.drawn(len(wanted), here, {}, completion, rng, Tally(), lambda _: None)[0][variable.name]
        found[wanted, j] = kinds[drawn.astype(np.int64)]
        known, now = np.full(block.n, np.nan), np.full(block.n, np.nan)
        known[rows], now[wanted] = codes, drawn
        learnt[variable.name], seen[variable.name] = (variable, known), now
    return found
