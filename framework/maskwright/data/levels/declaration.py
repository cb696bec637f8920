"""What is declared of one level, ``data: levels:``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright.foundation.errors import Place

Name = Annotated[str, Field(min_length=1)]

LARGEST_GROUP = 100
"""Members up to which the numbers of a group are adjusted together, where nothing else is declared."""


class LevelDeclaration(BaseModel):
    """One level of data: records with a key, and the level above that they belong to.

    Examples
    --------
    >>> from maskwright import LevelDeclaration
    >>> LevelDeclaration.model_validate({"key": "pno", "in": "household", "pointers": {"spouse": "pno"}}).above
    'household'
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    key: Name = Field(
        description="Variable that tells the records of this level apart; of a lower level within their group."
    )
    above: Name | None = Field(
        default=None, alias="in", description="Level whose records are the groups of these records; the top has none."
    )
    variables: tuple[Name, ...] | None = Field(
        default=None,
        description="Variables of this level in one flat file: each is the same in all rows of a group; [] where it "
        "has its key alone. Left out: those that no other level names.",
    )
    source: Name | None = Field(default=None, description="File of this level, where each level has its own.")
    record: Name | None = Field(
        default=None, description="Element of a record of this level, where one XML file holds them inside each other."
    )
    pointers: dict[Name, Name] = Field(
        default_factory=dict,
        description="Variables that name another record of the same group by its key: {spouse: pno, mother: pno}. "
        "A missing cell or 0 names none; no record names itself.",
    )
    order: tuple[Name, ...] | None = Field(
        default=None, min_length=1, description="Variables that say which of the records of a group comes first."
    )
    members: Literal["optional", "required"] = Field(
        default="optional", description="Whether a record of this level must have records of the level below."
    )
    incomplete: Name | None = Field(
        default=None,
        description="Condition of groups that are known to lack members: what all members say together is unknown.",
    )
    largest_group: int = Field(
        default=LARGEST_GROUP,
        ge=2,
        description="Members up to which the numbers of a group are adjusted together; in larger ones totals are "
        "derived.",
    )
    keep_key: bool = Field(default=False, description="Whether the old keys are published, instead of new random ones.")
    keep_order: bool = Field(default=False, description="Whether records keep their order, instead of a random one.")

    @property
    def stated_names(self) -> tuple[str, ...]:
        """Variables of the level that the declaration names."""
        return (self.key, *self.pointers, *(self.variables or ()), *(self.order or ()))


@dataclass(frozen=True)
class LevelPlaces:
    """Where a pipeline says what it declares of a level.

    `names`: of the variables that it names. `targets`: of the key that each pointer, by its name, is said to point to.
    """

    names: Mapping[str, Place] = field(default_factory=dict)
    targets: Mapping[str, Place] = field(default_factory=dict)


NO_PLACES = LevelPlaces()
