"""Edits of which nobody knows whether they hold: unknown in every record that they are for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.foundation.doubts import Doubt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maskwright.edits.evaluation.check import Outcome


def undecided_doubts(outcome: Outcome, arrival: Outcome | None = None) -> Iterator[Doubt]:
    """Doubts about edits that are unknown in every record.

    `outcome`: on the original, or on the masked file. `arrival`: on the original, where `outcome` is on the masked
    file: what was in doubt there is not said again.
    """
    known = set() if arrival is None else {each.name for each in arrival.undecided}
    which = "original" if arrival is None else "masked"
    for each in outcome.undecided:
        if each.name not in known:
            why = "; ".join(each.unknown_because)
            message = f"its verdict is unknown in all {each.fired} {which} records that it is for ({why})"
            yield Doubt("edit-unknown", each.name, message, each.unknown, each.fired)
