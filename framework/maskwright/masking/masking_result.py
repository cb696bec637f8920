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

    Attributes
    ----------
    masked : Dataset
        Identifiers dropped; record order and missing cells as in the original.
    adjusted : mapping of edit name to int
        Records whose masked values were moved because of the edit.
    infeasible : mapping of edit name to int
        Records that violate the edit after adjustment.
    adjustment : tuple of mappings
        One for each unit with edits, as in `run.json`.
    moved : tuple of mappings
        Rows that adjusting moved, each counted once however many units it is in, as in `run.json`.
    k : mapping
        As in `run.json`.
    notes : tuple of mappings
        What methods said, by step and group.
    zeros : tuple of mappings
        Share of zeros before and after, for variables with structural zeros.
    notices : tuple of str
        What methods and adjustment did that a person should know.
    out_of_range : tuple of str
        Which of the notices count masked values beyond the range of the original.
    doubts : tuple of Doubt
        What masking may not have protected.
    keepers : tuple of Keeper
        Of the limits that methods found in the data; the plan has those of the other edits.
    cost : Cost
        Of masking, adjusting and rounding.
    removal : Removal
        What the last steps took away.
    terms : PublishedTerms or None
        In which the edits on recoded variables are said; None: no variable is recoded.
    drift : Drift or None
        How far adjustment and rounding moved means and covariances of the masked numeric variables.
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
