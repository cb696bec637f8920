"""Whole-record suppression: records that are rare on the key variables are left out."""

from __future__ import annotations

import numpy as np
from pydantic import BaseModel

from maskwright import Block, InputError, Removed, Remover
from maskwright_builtin.methods.key_class_parameters import KeyNames, SmallestClass
from maskwright_builtin.methods.suppression.keys import class_size, key_codes, key_positions


class RecordSuppressionParams(BaseModel, extra="forbid", frozen=True):
    """Parameters of whole-record suppression."""

    k: SmallestClass = 3
    keys: KeyNames = ()


def remove(block: Block, params: RecordSuppressionParams, rng: np.random.Generator) -> Removed:  # noqa: ARG001 - the contract
    """Leave out every record whose class on the keys has fewer than k records.

    With f(x) the number of records with the key x, the records with f(x) >= k stay, as they are. Classes that stay
    lose nobody, so one pass reaches k. Estimates from the file are biased towards what is common, and weights are not
    changed: who is left out is not left out at random.

    `block`: an empty cell is a value of its own.

    Hundepool, A. et al. (2012): Statistical Disclosure Control. Wiley, section 3.4. Samarati, P. (2001): Protecting
    respondents' identities in microdata release. IEEE Transactions on Knowledge and Data Engineering 13(6), 1010-1027.
    """
    codes = key_codes(block, key_positions(block, params.keys))
    kept = np.flatnonzero(class_size(codes, block.households) >= params.k).astype(np.int64)
    if not len(kept):
        what = "records" if block.households is None else "households"
        raise InputError(f"no {params.k} {what} are equal on the keys, so no record would be left: use fewer keys")
    return Removed(
        kept_rows=kept,
        notes={"records_left_out": block.n - len(kept), "records_kept": len(kept)},
    )


RECORD_SUPPRESSION = Remover(
    name="record_suppression",
    remove=remove,
    params=RecordSuppressionParams,
    takes_away="records",
    preserves={"k"},
    deterministic=True,
    counts_households=True,
    reference="Samarati (2001), IEEE Trans. Knowl. Data Eng. 13(6), 1010-1027; Hundepool et al. (2012), Statistical "
    "Disclosure Control, section 3.4",
    summary="Leaves out the records that fewer than k records are equal to on the key variables.",
    example="method: record_suppression\nparams: {k: 3}\n",
)
