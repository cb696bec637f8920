"""What masking gives: the masked data, and what was done to make them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from maskwright.data.dataset import Column, Dataset
from maskwright.edits.evaluation.domain import Domain, domain_tuples
from maskwright.masking.adjusting.cost import Cost

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright.edits.edit_set import EditSet
    from maskwright.foundation.doubts import Doubt
    from maskwright.masking.adjusting.drift import Drift
    from maskwright.masking.published_edits import PublishedTerms
    from maskwright.masking.suppressing.steps import Removal
    from maskwright.planning.model import Keeper


@dataclass(frozen=True, eq=False)
class MaskingResult:
    """A masked dataset and what was done to make it.

    `masked`: identifiers dropped; record order and missing cells as in the original. `adjusted`: records whose masked
    values were moved because of the edit. `infeasible`: records that violate the edit after adjustment. `adjustment`:
    one for each unit with edits, as in `run.json`. `moved`: rows that adjusting moved, each counted once however many
    units it is in, as in `run.json`. `notes`: what methods said, by step and group. `zeros`: share of zeros before and
    after, for variables with structural zeros. `notices`: what methods and adjustment did that a person should know.
    `out_of_range`: which of the notices count masked values beyond the range of the original. `doubts`: what masking
    may not have protected. `keepers`: of the limits that methods found in the data; the plan has those of the other
    edits. `cost`: of masking, adjusting and rounding. `removal`: what the last steps took away. `terms`: in which the
    edits on recoded variables are said; None: no variable is recoded. `drift`: how far adjustment and rounding moved
    means and covariances of the masked numeric variables.
    """

    masked: Dataset
    adjusted: Mapping[str, int]
    infeasible: Mapping[str, int]
    adjustment: tuple[Mapping[str, Any], ...]
    moved: tuple[Mapping[str, Any], ...]
    k: Mapping[str, Any]
    notes: tuple[Mapping[str, Any], ...]
    zeros: tuple[Mapping[str, Any], ...] = ()
    notices: tuple[str, ...] = ()
    out_of_range: tuple[str, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    keepers: tuple[Keeper, ...] = ()
    cost: Cost = field(default_factory=Cost)
    drift: Drift | None = None
    removal: Removal | None = None
    terms: PublishedTerms | None = None

    @property
    def edits(self) -> EditSet:
        """Edits that hold in `masked`: when everything they read is there, where cells were suppressed."""
        assert self.removal is not None
        return self.removal.edits

    def domain(self, original: Dataset) -> Domain:
        """Combinations that domain edits of `masked` refer to: of the original, recoded alike."""
        return Domain.from_dataset(self.reference(original), domain_tuples(self.edits))

    def reference(self, original: Dataset) -> Dataset:
        """The original, with the categories that are published in the place of the values of recoded variables."""
        return original if self.terms is None else self.terms.reference

    def published_as(self, masked: Dataset, edits: EditSet) -> MaskingResult:
        """Copy with the masked data in the form of the release, and the edits that hold in it."""
        removal = None if self.removal is None else replace(self.removal, edits=edits)
        return replace(self, masked=masked, removal=removal)

    def without_data(self) -> MaskingResult:
        """Copy without the records, once they are written: measuring needs the memory."""
        masked, removal = _without_records(self.masked), self.removal
        if removal is not None:
            removal = replace(removal, data=masked, shown=_without_records(removal.shown))
        return replace(self, masked=masked, removal=removal)


def _without_records(data: Dataset) -> Dataset:
    columns = (Column(each.variable, each.values[:0].copy(), each.missing[:0].copy()) for each in data)
    return replace(data, columns=tuple(columns))
