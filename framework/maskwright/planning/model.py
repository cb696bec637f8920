"""What the planner speaks of: parameters, steps, variable groups, adjustment units, keepers of edits."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, Field

from maskwright.data.cluster_aggregation import AGGREGATIONS, ChosenAggregation
from maskwright.data.dependencies import CERTAINTY
from maskwright.foundation.errors import InputError, Place, Problem
from maskwright.foundation.nearest_names import unknown_name
from maskwright.foundation.yaml_document import from_python
from maskwright.foundation.yaml_models import read_model

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from maskwright.data.variable import Variable
    from maskwright.planning.strata import Criterion, Strata
    from maskwright.plugins.method import Method
    from maskwright.plugins.partition import Partition


class ReleaseEdits(BaseModel, extra="forbid", frozen=True):
    """What may become of edits on recoded variables that cannot be said of the categories with the same meaning."""

    weaken: tuple[str, ...] = Field(
        default=(),
        description="Variables that the step publishes as coarser categories: an edit that reads no other recoded "
        "variable may be weakened to what is true of every true record.",
    )
    drop: tuple[str, ...] = Field(
        default=(),
        description="Variables that the step publishes as coarser categories: an edit that reads one of them, and is "
        "neither translated nor weakened, is dropped.",
    )


class DisclosureSettings(BaseModel, extra="forbid", frozen=True):
    """What is taken to be known of cells that are not shown, and which cells are suppressed for it."""

    certainty: float = Field(
        default=CERTAINTY,
        gt=0.5,
        lt=1,
        description="Share of the cells that rules name rightly from which an intruder is taken to know them: cells go "
        "as complementary suppression for rules that published cells show to be so.",
    )
    attacks: tuple[str, ...] = Field(
        default=(),
        description="Attacks on what is to be released, besides what suppression examines by itself: what is certain "
        "by them is a doubt. Names of `maskwright plugins`.",
    )
    importance: dict[Annotated[str, Field(min_length=1)], float] = Field(
        default_factory=dict,
        description="Where one of several variables can lose cells so that others cannot be inferred, the one of least "
        "importance does; 1 where nothing is said.",
    )


class PlanningParams(BaseModel, extra="forbid", frozen=True):
    """How variables are grouped and what is promised; accepted in the ``params`` of every step."""

    group_size: Annotated[int, Field(ge=1)] | Literal["all"] = Field(
        default=3,
        description="Variables per group among those that no edit binds together: an integer >= 1 (the last group "
        "takes the remainder), or 'all' for one group of all variables of the step.",
    )
    grouping: Literal["all_edits", "equalities"] = Field(
        default="all_edits",
        description="'all_edits': every edit binds its variables into one group. 'equalities': only equalities, "
        "products and governing edits do; inequalities are left to adjustment.",
    )
    aggregation: str | dict[str, dict[str, Any]] | None = Field(
        default=None,
        description="How clusters become representatives, instead of by means: the name of an aggregation (median), or "
        "{name: {its parameters}}. Of numeric variables whose edits it keeps; others keep the operator of the plan, "
        "which `maskwright plan` shows. Left out: the operator that keeps the edits.",
    )
    k_guarantee: Literal["require", "report"] = Field(
        default="require",
        description="'require': a plan that cannot keep k in every group is refused. 'report': it is run, and the "
        "smallest class is reported.",
    )
    allow_original_values: bool = Field(
        default=False,
        description="Allow a domain edit on a continuous variable to republish values of single original records.",
    )
    structural_zeros: tuple[str, ...] = Field(
        default=(),
        description="Variables whose zeros mean that there is nothing (no farm income): zeros stay 0, and nothing else "
        "becomes 0. Records with and without a zero are clustered, swapped or drawn apart; patterns that fewer than k "
        "records share (10, where none is promised) join the nearest, and a cluster gets the zeros of the record most "
        "like the others: as few change as can be, and a notice gives their number. A method that masks all records "
        "together, as noise does, does not see zeros. The share of zeros is reported before and after.",
    )
    missing: Literal["own_pattern", "available_cases", "refuse"] = Field(
        default="own_pattern",
        description="Missing cells: 'own_pattern' clusters records with the same cells missing apart, so that k and "
        "means hold among them (patterns shared by fewer than k records join the nearest); 'available_cases' clusters "
        "such records as if the cell held the file's mean and aggregates the values present; 'refuse' stops. A missing "
        "cell stays missing in the masked file. A method that takes no missing cells (`maskwright explain NAME` says "
        "so) masks each pattern on the cells it has, and knows only 'own_pattern' and 'refuse'.",
    )
    release_edits: ReleaseEdits = Field(
        default=ReleaseEdits(),
        description="For steps that publish coarser categories (recoding, generalisation). An edit on a recoded "
        "variable is translated where each category lies on one side of its conditions: 'if age < 16' with a border at "
        "16. One that is not stops the run, unless {weaken: [variables]} lets it be weakened, or {drop: [variables]} "
        "lets it go; each with a notice.",
    )
    small_strata: Literal["merge", "keep"] = Field(
        default="merge",
        description="Strata of `within` with fewer than k records (10, where no k is promised): 'merge' joins each "
        "with the nearest one, 'keep' masks them by themselves, for methods that make no groups of records and draw "
        "none. Their number is said.",
    )
    adjustment_weights: dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]] = Field(
        default_factory=dict,
        description="How much a move of a variable counts when values are brought onto the edits, {variable: weight}, "
        "1 by default: with {V1: 100} others move before V1 does. Of a product with a tolerance, the variable of the "
        "smallest weight is computed from the others.",
    )
    totals: dict[str, Literal["derive", "adjust"]] = Field(
        default_factory=dict,
        description="Totals that an edit gives as a sum over the members of a group, {total: derive | adjust}. "
        "'derive', the default: computed from the masked parts. 'adjust': masked with k, and the members "
        "of each group are moved onto it, which needs 'k_guarantee: report'.",
    )
    rare: Literal["fail", "drop"] = Field(
        default="fail",
        description="For steps with `unit`: groups of whose composition (number of members, and what edits ask of "
        "them) there are fewer than k. 'fail' stops; 'drop' leaves these groups out.",
    )


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
    members as one record. `within`: variables by whose values the records are masked apart. `number`: in the pipeline,
    1 for the first; a plan of one level has some of its steps only. `zeros_apart`: variables by whose zeros records
    are clustered apart where k allows, without a promise that the zeros stay. `keys_above`: of levels above, on which k
    is promised together with the keys of the level of the step.
    """

    method: Method
    params: BaseModel
    planning: PlanningParams = field(default_factory=PlanningParams)
    variables: tuple[str, ...] | None = None
    groups: tuple[tuple[str, ...], ...] = ()
    partition: PartitionChoice | None = None
    place: Place | None = None
    unit: str | None = None
    within: tuple[str, ...] = ()
    number: int = 1
    zeros_apart: tuple[str, ...] = ()
    keys_above: tuple[str, ...] = ()

    @property
    def is_deterministic(self) -> bool:
        """Whether neither its method nor its partition draws random numbers."""
        return self.method.claims.deterministic and (self.partition is None or self.partition.partition.deterministic)

    def __str__(self) -> str:
        return f"step {self.number} ({self.method.name})"

    @contextmanager
    def placed(self, number: int | None = None, method: str | None = None) -> Iterator[None]:
        """Give the place of the step, and what names it, to problems that have no place."""
        try:
            yield
        except InputError as error:
            found = [
                each if each.place is not None else replace(each, place=self.place, step=number, method=method)
                for each in error.problems
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
        return bool(self.method.claims.removes & {"records", "cells"})

    @property
    def keeps_detail(self) -> bool:
        """Whether it takes records or cells away and publishes what is left in full detail."""
        return self.only_removes and "detail" not in self.method.claims.removes

    @property
    def moves_records(self) -> bool:
        """Whether whole records move or are drawn, and what belongs together with them."""
        return "combinations" in self.method.claims.preserves or self.method.claims.draws_records

    @property
    def holds_zeros(self) -> bool:
        """Whether structural zeros are kept from the method cell by cell: it sees all records at once, without them."""
        return not (self.method.claims.within_strata or self.moves_records)

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """Key variables that the method's own parameter lists; empty when it lists none."""
        return self.method.key_variables(self.params)

    def group_records(self, n: int) -> int | None:
        """Smallest size of its groups of n records or, without a promise, mean size; None when it makes no groups."""
        expected = (
            None
            if self.method.claims.mean_cluster_size is None
            else self.method.claims.mean_cluster_size(self.params, n)
        )
        return max((each for each in (self.k, expected) if each is not None), default=None)

    def smallest_stratum(self, n: int, p: int) -> int:
        """Records that a stratum of a file of n must have, for groups of p variables."""
        needed = 1 if self.method.claims.fewest_records is None else self.method.claims.fewest_records(self.params, p)
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
                    *self.within, *planning.structural_zeros, *planning.adjustment_weights,
                    *planning.release_edits.weaken, *planning.release_edits.drop,
                ]
            )
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Group:
    """Variables that one step masks together.

    `step`: place of the step among those of the plan, 1 for the first. `computed`: variables computed from masked ones,
    for product edits. `edits`: names of the edits inside the group. `strata`: none when planned without data.
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


def with_steps(groups: Iterable[Group], steps: Sequence[Step]) -> Iterator[tuple[Group, Step]]:
    """Variable groups, each with the step that masks it."""
    return ((group, steps[group.step - 1]) for group in groups)


def key_names(step: Step, variables: Sequence[Variable]) -> tuple[str, ...]:
    """Keys among the variables of a step: those it lists, else its quasi-identifiers, else all; none without keys."""
    if not step.method.has_keys:
        return ()
    quasi = tuple(variable.name for variable in variables if variable.role == "quasi_identifier")
    return step.keys or quasi or tuple(variable.name for variable in variables)


def size_compared_with(names: Collection[str], asked: Iterable[tuple[Collection[str], int]], otherwise: int) -> int:
    """Size that classes on variables are compared with: the k that is required of all of them, else of some.

    `asked`: variables, and the size of their classes. `otherwise`: where no step requires a k of any.
    """
    pairs = [(set(variables), size) for variables, size in asked]
    covering = [size for variables, size in pairs if variables.issuperset(names)]
    touching = [size for variables, size in pairs if not variables.isdisjoint(names)]
    return max(covering or touching, default=otherwise)


def read_aggregation(written: object, place: Place | None = None) -> ChosenAggregation:
    """Aggregation that a step names, ``median`` or ``{trimmed_mean: {share: 0.1}}``."""
    name, given = (written, {}) if isinstance(written, str) else next(iter(_entries(written)))
    if name not in AGGREGATIONS:
        raise InputError(Problem(unknown_name("aggregation", name, AGGREGATIONS), place))
    aggregation = AGGREGATIONS[name]
    problems: list[Problem] = []
    params = read_model(aggregation.params, from_python(given, place or Place()), problems, f"parameter of {name}")
    if params is None:
        raise InputError([replace(each, place=each.place or place) for each in problems])
    return ChosenAggregation(aggregation, params)


def _entries(written: object) -> Iterator[tuple[str, object]]:
    if not isinstance(written, dict) or len(written) != 1:
        raise InputError("aggregation: expected one name, or {name: {parameters}}")
    yield from written.items()


def refuse_aggregation(step: Step, chosen: ChosenAggregation) -> None:
    """Stop where a step cannot use the aggregation that it asks for."""
    if not step.method.makes_clusters:
        message = f"{step.method.name} makes no representatives of clusters, so it has no use for 'aggregation'"
        raise InputError(Problem(message, hint="Leave 'aggregation' out, or take a method such as microaggregation."))
    if step.method.uses_weights(step.params):
        raise InputError(f"the aggregation {str(chosen)!r} does not weigh records, and the step asks for weights")
