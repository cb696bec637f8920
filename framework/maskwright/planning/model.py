"""What the planner speaks of: steps, variable groups, adjustment units, keepers of edits."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from maskwright.foundation.errors import InputError, Place, Problem
from maskwright.planning.aggregations import read_aggregation, refuse_aggregation
from maskwright.planning.params import PlanningParams

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pydantic import BaseModel

    from maskwright.data.variable import Variable
    from maskwright.planning.criteria import Criterion
    from maskwright.planning.strata import Strata
    from maskwright.plugins.aggregation import ChosenAggregation
    from maskwright.plugins.partition import Partition
    from maskwright.plugins.remover import AnyMethod

KeptBy = Literal["construction", "derivation", "adjustment", "checked"]


@dataclass(frozen=True)
class PartitionChoice:
    """Partition that a step asks for, with its own parameters."""

    partition: Partition
    params: BaseModel


@dataclass(frozen=True)
class Step:
    """One step of a pipeline, as the planner needs it.

    `variables`: None: the numeric variables with role quasi_identifier or confidential. `partition`: for methods that
    name a partition. `place`: in a pipeline file, for messages. `unit`: level whose records are masked with all their
    members as one record.
    """

    method: AnyMethod
    params: BaseModel
    planning: PlanningParams = field(default_factory=PlanningParams)
    variables: tuple[str, ...] | None = None
    groups: tuple[tuple[str, ...], ...] = ()
    partition: PartitionChoice | None = None
    place: Place | None = None
    unit: str | None = None

    @property
    def is_deterministic(self) -> bool:
        """Whether neither its method nor its partition draws random numbers."""
        return self.method.deterministic and (self.partition is None or self.partition.partition.deterministic)

    @contextmanager
    def placed(self, lead: str = "") -> Iterator[None]:
        """Give the place of the step to problems that have none, and begin their sentences with `lead`."""
        try:
            yield
        except InputError as error:
            found = [
                problem
                if problem.place is not None
                else replace(problem, message=_led(problem, lead), place=self.place)
                for problem in error.problems
            ]
            raise type(error)(found) from error

    @cached_property
    def promised(self) -> int | None:
        """Smallest cluster, or smallest class of equal keys, that the step promises; None when it promises none."""
        return self.method.promised_k(self.params)

    @cached_property
    def k(self) -> int | None:
        """Smallest cluster that the step promises; None when it makes no clusters or promises none."""
        return self.method.smallest_cluster(self.params)

    @cached_property
    def makes_groups(self) -> bool:
        """Whether it puts a representative in the place of each group of records."""
        return self.method.makes_clusters

    @cached_property
    def aggregation(self) -> ChosenAggregation | None:
        """How it makes representatives, where it asks for that."""
        if self.planning.aggregation is None:
            return None
        chosen = read_aggregation(self.planning.aggregation, self.place)
        refuse_aggregation(self, chosen)
        return chosen

    @property
    def only_removes(self) -> bool:
        """Whether it takes records or cells away and leaves every other value as it is."""
        return bool(self.method.removes & {"records", "cells"})

    @property
    def changes_cells(self) -> bool:
        """Whether it masks anything: a step that takes whole records away leaves every cell of the others as it is."""
        return self.method.changes_cells

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """Key variables that the method's own parameter lists; empty when it lists none."""
        return self.method.key_variables(self.params)

    def group_records(self, n: int) -> int | None:
        """Smallest size of its groups of n records or, without a promise, mean size; None when it makes no groups."""
        expected = None if self.method.mean_cluster_size is None else self.method.mean_cluster_size(self.params, n)
        return max((each for each in (self.k, expected) if each is not None), default=None)

    def smallest_stratum(self, n: int, p: int) -> int:
        """Records that a stratum of a file of n must have, for groups of p variables."""
        needed = 1 if self.method.fewest_records is None else self.method.fewest_records(self.params, p)
        # A file that is too small as a whole is the method's to refuse: it knows the limit of these very data.
        return max(self.group_records(n) or 1, min(needed, n))

    @cached_property
    def dependents(self) -> tuple[str, ...]:
        """Variables to mask that the method's own parameter lists; empty when it lists none."""
        return self.method.dependent_variables(self.params)

    @cached_property
    def independents(self) -> tuple[str, ...]:
        """Numeric variables that the method reads and leaves as they are."""
        return self.method.independent_variables(self.params)

    @cached_property
    def companions(self) -> tuple[str, ...]:
        """All variables that the method reads and leaves as they are."""
        return tuple(dict.fromkeys([*self.independents, *self.method.companion_variables(self.params)]))

    @property
    def named(self) -> tuple[str, ...]:
        """Every variable that the step names: to mask, to read, as a key, in a group or in the planner's parameters."""
        planning = self.planning
        return tuple(
            dict.fromkeys(
                [
                    *(self.variables or ()), *self.dependents, *self.companions, *self.keys,
                    *(name for group in self.groups for name in group),
                    *planning.structural_zeros, *planning.adjustment_weights, *planning.release_edits.weaken,
                    *planning.release_edits.drop,
                ]
            )
        )  # fmt: skip


def _led(problem: Problem, lead: str) -> str:
    return problem.message if problem.message.startswith("step ") else lead + problem.message


@dataclass(frozen=True, eq=False)
class Group:
    """Variables that one step masks together.

    `step`: 1-based. `computed`: variables computed from masked ones, for product edits. `edits`: names of the edits
    inside the group. `strata`: none when planned without data.
    """

    step: int
    variables: tuple[str, ...]
    operators: tuple[str, ...]
    computed: tuple[str, ...]
    edits: tuple[str, ...]
    cut_by: tuple[Criterion, ...]
    strata: Strata | None


@dataclass(frozen=True)
class AdjustmentUnit:
    """Variables that are adjusted together: those that edits join.

    `variables`: masked numeric variables, in file order. `group`: position of the group whose representatives are
    adjusted; None: records are adjusted, k may be lost.
    """

    variables: tuple[str, ...]
    edits: tuple[str, ...]
    computed: tuple[str, ...]
    group: int | None


@dataclass(frozen=True)
class Keeper:
    """Who keeps an edit, and how."""

    edit: str
    kept_by: KeptBy
    how: str


def key_names(step: Step, variables: Sequence[Variable]) -> tuple[str, ...]:
    """Keys among the variables of a step: those it lists, else its quasi-identifiers, else all; none without keys."""
    if not step.method.has_keys:
        return ()
    quasi = tuple(variable.name for variable in variables if variable.role == "quasi_identifier")
    return step.keys or quasi or tuple(variable.name for variable in variables)
