"""Bounds on sensitive variables in classes of equal keys, as they are stated: l-diversity and t-closeness."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, Field, model_validator

from maskwright_builtin.methods.generalisation.criteria import Sensitive, sensitive
from maskwright_builtin.methods.generalisation.kinds_of_bound import DISTINCT, ENTROPY, EQUAL, ORDERED, RECURSIVE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from maskwright import Block


class Diversity(BaseModel, extra="forbid", frozen=True):
    """Least diversity of a sensitive variable in every class, counted in one of three ways."""

    distinct: Annotated[int, Field(ge=2)] | None = Field(default=None, description="Different values.")
    entropy: Annotated[float, Field(gt=1)] | None = Field(
        default=None, description="exp of their entropy: as many values, were they equally frequent."
    )
    recursive: Annotated[int, Field(ge=2)] | None = Field(
        default=None,
        description="Recursive (c, l): the most frequent value is less frequent than c times all from the l-th on.",
    )
    c: Annotated[float, Field(gt=0)] = Field(default=2.0, description="Of recursive diversity.")

    @model_validator(mode="after")
    def _is_one(self) -> Diversity:
        if sum(each is not None for each in (self.distinct, self.entropy, self.recursive)) != 1:
            raise ValueError("give one of distinct, entropy and recursive")
        return self


class Closeness(BaseModel, extra="forbid", frozen=True):
    """Largest distance between the values of a sensitive variable in a class and in the file."""

    most: Annotated[float, Field(ge=0, le=1)] = Field(description="The largest distance.")
    distance: Literal["equal", "ordered"] | None = Field(
        default=None,
        description="'equal': half the sum of the differences of shares. 'ordered': of the cumulative shares, over the "
        "number of values less one. Left out: ordered for numbers, dates and ordinal categories.",
    )


def bounds_of(
    block: Block,
    diversity: Mapping[str, int | Diversity],
    closeness: Mapping[str, float | Closeness],
    of_record: NDArray[np.int32],
) -> Iterator[Sensitive]:
    """Bounds on sensitive variables.

    `block`: the sensitive variables are among its companions. `of_record`: leaf row of each record; shape (n,).
    """
    for name, least in diversity.items():
        asked = Diversity(distinct=least) if isinstance(least, int) else least
        if asked.distinct is not None:
            kind, bound = DISTINCT, float(asked.distinct)
        elif asked.entropy is not None:
            kind, bound = ENTROPY, asked.entropy
        else:
            kind, bound = RECURSIVE, float(asked.recursive or 0)
        yield sensitive(name, kind, bound, asked.c, block.companions[name], of_record)
    for name, most in closeness.items():
        wanted = Closeness(most=most) if isinstance(most, float | int) else most
        nominal = block.companion_variables[name].type == "nominal"
        distance = wanted.distance or ("equal" if nominal else "ordered")
        kind = EQUAL if distance == "equal" else ORDERED
        yield sensitive(name, kind, wanted.most, 0.0, block.companions[name], of_record)
