"""What protection methods have in common: a name, parameters, and what these mean to the planner."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from maskwright.plugins.legal_values import frozen_sets
from maskwright.plugins.parameter_markers import (
    CompanionVariables,
    DependentVariables,
    IndependentVariables,
    KeyVariables,
    NamesPartition,
    PromisesK,
    UsesWeights,
    marked_field,
    marked_names,
    marked_value,
)
from maskwright.plugins.partition import NoParams

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet

    from pydantic import BaseModel

    from maskwright.plugins.legal_values import Preserved
    from maskwright.plugins.parameter_markers import ParameterMarker


@dataclass(frozen=True, kw_only=True)
class ProtectionMethod:
    """What `Method` and `Remover` have in common.

    `name`: what the pipeline calls it. `params`: the one source of truth of the parameters: validates the YAML, feeds
    ``explain``, the docs and the JSON Schema. Markers on its fields say which of them promises k (`PromisesK`), names
    variables (`KeyVariables`, `DependentVariables`, `IndependentVariables`, `CompanionVariables`) or a partition
    (`NamesPartition`), or asks for weights (`UsesWeights`). `preserves`: claims, tested by the kit and by every run:
    kinds of edit that hold in its output when they hold in each record of its input and all their variables are in one
    block. ``combinations``: each record comes out with the values that one record of the block had together, missing
    cells included, with equal companions, so that every edit holds; ``households``: what is the same within a household
    stays so; ``equals``: records that are equal in all variables of a block stay so, because the new values of a record
    depend on its old ones alone (a method that does not claim it undoes k where it follows a step that promises k).
    `deterministic`: whether it leaves `rng` alone. `counts_households`: whether a promised k is counted in households
    (``block.households``) where they are declared. A method that promises k and cannot do so is refused then.
    `variant`: ``(params) -> `` the record as it is with these parameters, where what it preserves (of a method: also
    its scope) depends on them. Defined at the top of a module. `libraries`: libraries that it needs and its package
    does not always install, by the name under which they are imported: what installs each (``{"PIL": "pip install
    'maskwright[compression]'"}``). Where one is missing, the method is listed as unavailable, and whoever names it is
    told what to install. `summary`: one sentence for ``maskwright plugins``. `example`: a YAML step that runs.
    """

    name: str
    params: type[BaseModel] = NoParams
    preserves: AbstractSet[Preserved] = frozenset()
    deterministic: bool = False
    counts_households: bool = False
    variant: Callable[[Any], Self] | None = None
    libraries: Mapping[str, str] = field(default_factory=dict)
    reference: str = ""
    summary: str = ""
    example: str = ""

    def __post_init__(self) -> None:
        """Freeze its sets."""
        frozen_sets(self)

    def parameter(self, marker: type[ParameterMarker]) -> str | None:
        """Name of the parameter that bears a marker; None where none does."""
        return marked_field(self.params, marker)

    @property
    def has_keys(self) -> bool:
        """Whether it looks at key variables, so that a promised k is of classes of equal keys and not of clusters."""
        return self.parameter(KeyVariables) is not None

    @property
    def promises_clusters(self) -> bool:
        """Whether one of its parameters promises a smallest cluster."""
        return self.parameter(PromisesK) is not None and not self.has_keys

    def promised_k(self, params: BaseModel) -> int | None:
        """Smallest cluster, or smallest class of equal keys, promised with `params`; None when none is promised."""
        k = marked_value(params, PromisesK)
        given_up = self.variant is not None and self.has_keys and "k" not in self.variant(params).preserves
        return k if isinstance(k, int) and not given_up else None

    def smallest_cluster(self, params: BaseModel) -> int | None:
        """Smallest cluster promised with `params`; None when it makes no clusters or promises none."""
        return None if self.has_keys else self.promised_k(params)

    def key_variables(self, params: BaseModel) -> tuple[str, ...]:
        """Key variables that `params` list; empty when they list none."""
        return _listed(marked_value(params, KeyVariables))

    def dependent_variables(self, params: BaseModel) -> tuple[str, ...]:
        """Variables to mask that `params` list; empty when they list none."""
        return marked_names(params, DependentVariables)

    def independent_variables(self, params: BaseModel) -> tuple[str, ...]:
        """Numeric variables that it reads with `params` and leaves as they are."""
        return _listed(marked_value(params, IndependentVariables))

    def companion_variables(self, params: BaseModel) -> tuple[str, ...]:
        """Variables of any type that it reads with `params` and leaves as they are."""
        return marked_names(params, CompanionVariables)

    def with_params(self, params: BaseModel) -> Self:
        """Return what the method is with `params`."""
        return self if self.variant is None else self.variant(params)

    def uses_weights(self, params: BaseModel) -> bool:
        """Whether representatives are made with sampling weights."""
        return marked_value(params, UsesWeights) is True

    def partition(self, params: BaseModel) -> object:
        """Partition that `params` name, as they name it: ``mdav``, or ``{mdav: {its parameters}}``; None: none."""
        return marked_value(params, NamesPartition)


def _listed(names: object) -> tuple[str, ...]:
    return tuple(names) if isinstance(names, (tuple, list, Mapping)) else ()
