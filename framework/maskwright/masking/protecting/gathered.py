"""What methods ask of all records before they mask each by itself: stratum by stratum, part by part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maskwright.masking.protecting.assembling import gather_notes
from maskwright.plugins.guarding.origin import in_step
from maskwright.plugins.method import Method

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from maskwright.data.variable import Variable
    from maskwright.masking.protecting.variable_group import GroupWork
    from maskwright.plugins.block import Block
    from maskwright.plugins.gathering import Gathered, Gathering


def gathering_of(work: GroupWork) -> Gathering | None:
    """What the method of a group asks of all records, if anything."""
    return work.method.gathering if isinstance(work.method, Method) else None


def facts_of_strata(work: GroupWork, blocks: Iterable[tuple[int, Block]]) -> dict[int, Gathered]:
    """What some records say, by stratum.

    `work`: of a method that asks.
    """
    gathering = gathering_of(work)
    assert gathering is not None
    with in_step(work.step):
        return {stratum: gathering.partial(block, work.params) for stratum, block in blocks}


def merged_strata(work: GroupWork, shares: Sequence[Mapping[int, Gathered]]) -> dict[int, Gathered]:
    """What all records say, by stratum.

    `shares`: of the parts, in their order.
    """
    gathering = gathering_of(work)
    assert gathering is not None
    strata = sorted({stratum for each in shares for stratum in each})
    with in_step(work.step):
        return {
            stratum: gathering.merged([each[stratum] for each in shares if stratum in each], work.params)
            for stratum in strata
        }


def notes_of_all(work: GroupWork, gathered: Mapping[int, Gathered], variables: Sequence[Variable]) -> dict[str, Any]:
    """What is to be said once of all records.

    `variables`: of the group, before it is masked.
    """
    gathering = gathering_of(work)
    notes: dict[str, Any] = {}
    if gathering is not None and gathering.notes is not None:
        with in_step(work.step):
            for stratum in sorted(gathered):
                gather_notes(notes, gathering.notes(gathered[stratum], variables, work.params))
    return notes
