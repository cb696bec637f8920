"""Sequential synthesis by classification and regression trees (CART), without replicated uniques."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import BaseModel, Field, field_validator

from maskwright import (
    Block,
    Claims,
    Classes,
    CompanionVariables,
    Completion,
    Cost,
    InputError,
    Masked,
    Method,
    NamesVariables,
    Variable,
)
from maskwright_builtin.methods.synthetic.donors import Tally
from maskwright_builtin.methods.synthetic.sequential_trees import (
    NONE,
    Growth,
    MissingCodeTrees,
    SyntheticSequence,
    default_order,
)
from maskwright_builtin.numerics.trees.tree import TreeLimits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from maskwright import Progress
    from maskwright_builtin.numerics.arrays import Booleans, Floats, Integers


@dataclass(frozen=True, eq=False)
class OriginalUniques:
    """Original records that no other equals as they would be published: in their values and their missing codes.

    `values`: NaN where missing; shape (n, p). `codes`: `NONE` where there is a value; shape (n, p).
    """

    values: Floats
    codes: Integers | None

    def repeated(self, values: Floats, codes: Integers | None) -> Booleans:
        """Records that are unique among these and equal to a unique original; shape (m,)."""
        joined = np.concatenate([self.values, values])
        columns: list[NDArray[np.generic]] = [np.where(np.isnan(each), np.nan, each) for each in joined.T]
        if self.codes is not None and codes is not None:
            columns += list(np.concatenate([self.codes, codes]).T)
        found = Classes.of(columns)
        own = found.codes[len(self.values) :]
        before = np.bincount(found.codes[: len(self.values)], minlength=len(found))
        return np.asarray((np.bincount(own, minlength=len(found))[own] == 1) & (before[own] == 1))


REDRAWS = 20
"""Times that a record is drawn again when it breaks an edit, or repeats a unique original."""


class CartSynthesisParams(BaseModel, extra="forbid", frozen=True):
    """Parameters of the sequential synthesis by trees."""

    order: Annotated[tuple[str, ...], NamesVariables()] = Field(
        default=(),
        description="Variables of the step that are synthesised first, in this order. The others follow: categories "
        "before numbers, few categories first, what an edit defines (a + b == total) after its parts, and what the "
        "condition of an edit reads before what its consequence reads.",
    )
    given: Annotated[tuple[str, ...], CompanionVariables()] = Field(
        default=(),
        description="Variables, not masked by the step, of any type, that stay as they are: everything is drawn given "
        "their values (partially synthetic data).",
    )
    min_leaf: int = Field(
        default=5,
        ge=3,
        strict=True,
        description="Least number of records of a leaf. More protects more and follows the original less closely.",
    )
    complexity: float = Field(
        default=1e-8,
        ge=0,
        le=1,
        allow_inf_nan=False,
        description="Share of the root's impurity that a split must take away for a tree to keep it.",
    )
    depth: int = Field(
        default=16, ge=1, le=60, strict=True, description="Most splits between the root of a tree and a leaf."
    )
    sample: int = Field(
        default=200_000,
        ge=100,
        strict=True,
        description="Records that each tree is grown on, at most, drawn at random; all are donors.",
    )
    repeat_uniques: bool = Field(
        default=False,
        description="Whether a synthetic record may be unique in the file and equal to a unique original in all "
        "variables of the step. false: such records are drawn again; those that remain are counted.",
    )

    @field_validator("order")
    @classmethod
    def _once(cls, order: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(order)) < len(order):
            raise ValueError("a variable is listed twice")
        return order


def protect(block: Block, params: CartSynthesisParams, rng: np.random.Generator) -> Masked:
    """Replace all variables of the block by synthetic values, variable by variable.

    Parameters
    ----------
    block : Block
        With households, the first member of each is its head.

    Returns
    -------
    Masked
        As many records as there were. The first variable is drawn from its original values; each next one from the
        original values in the leaf, of a tree on the variables before it, that the synthetic record falls into. A
        category is copied from a node of the tree only where three records have it (one that is rarer in the leaf is
        drawn again among such ones from the node above). A number is copied where three records of the leaf have it,
        or where it is heaped: one in 200 records of the file has it, at least 5 and at most 20 (zeros, usual hours),
        so that spikes keep their share; any other is drawn between its neighbours in the leaf that are not heaped.
        Cells may be missing where the record in that row had a value: rows are no longer the records they were. Of
        cells without a value the missing codes are drawn, too, from trees on all other variables.

        Donors are restricted to those with which the edits can still hold, judged by ranges, conditions, sums by their
        bounds, and combinations that occur in the original by what begins one; where a leaf has none, the node above
        it is asked, up to the root; then a number moves to the nearest that is allowed. Numbers that edits leave no
        choice are computed. A record that breaks an edit all the same is drawn again, 20 times at most; the engine
        adjusts what is left. Restricting is rejection within a leaf and tilts its distribution: the notes count it.

        Sampling weights stay in their rows, and everything is drawn given them, unless the step synthesises them too.
        With households, heads are drawn first, given the size of the household, and members given their head; sizes
        stay, and so does what all members have in common.

    Raises
    ------
    InputError
        `order` names a variable that the step does not mask, or `given` one that is not in its data.
    """
    strangers = [name for name in params.order if name not in block.names]
    if strangers:
        raise InputError(f"order: {', '.join(strangers)} are not masked by this step; they may be 'given'")
    lost = [name for name in params.given if name not in block.companions]
    if lost:
        raise InputError(f"given: {', '.join(lost)} are not in the data of this step")
    work = _Synthesis.of(block, params, rng)
    homes = _heads(block.households)
    if homes is None:
        values = work.synthesised(np.arange(block.n), {}, {}, block.progress)
    else:
        values = work.with_households(*homes)
    matrix = np.stack([values[name] for name in block.names], axis=1)
    return Masked(matrix, np.isnan(matrix), notes=work.notes(matrix), missing_codes=work.codes, doubts=work.doubts())


@dataclass(frozen=True, eq=False)
class _Synthesis:
    """What all records of a block share.

    `columns`: of the block and of its companions; NaN where missing; shape (n,). `given`: that trees split by, and
    stays: companions and weights; shape (n,). `codes`: missing codes of the synthetic records, as they are drawn;
    shape (n, p).
    """

    block: Block
    params: CartSynthesisParams
    rng: np.random.Generator
    columns: Mapping[str, Floats]
    given: Mapping[str, tuple[Variable, Floats]]
    order: tuple[Variable, ...]
    completion: Completion
    growth: Growth
    uniques: OriginalUniques
    code_trees: MissingCodeTrees | None
    codes: Integers | None
    tally: Tally

    @classmethod
    def of(cls, block: Block, params: CartSynthesisParams, rng: np.random.Generator) -> _Synthesis:
        columns = {
            name: np.where(block.missing[:, j], np.nan, block.values[:, j]) for j, name in enumerate(block.names)
        }
        own = {name: columns[name] for name in block.names}
        others = {name: block.companion_variables.get(name, Variable(name)) for name in block.companions}
        columns |= {name: np.asarray(column, dtype=np.float64) for name, column in block.companions.items()}
        given = {name: (others[name], columns[name]) for name in others}
        if _weights_stay(block):
            assert block.weights is not None
            given[" weights"] = (Variable("weights"), block.weights)
        names = default_order(block.variables, own, block.edits, params.order)
        by_name = {variable.name: variable for variable in block.variables}
        completion = Completion(block.edits, [*block.variables, *others.values()], columns)
        growth = Growth(TreeLimits(params.min_leaf, params.complexity, params.depth), params.sample)
        code_trees = MissingCodeTrees.of(block, given, completion, growth, rng)
        return cls(
            block, params, rng, columns, given, tuple(by_name[name] for name in names), completion, growth,
            OriginalUniques(np.stack([own[name] for name in block.names], axis=1), block.missing_codes), code_trees,
            None if code_trees is None else np.full(block.values.shape, NONE, dtype=np.int64), Tally(),
        )  # fmt: skip

    def with_households(self, homes: Integers, head: Integers) -> dict[str, Floats]:
        """Synthetic values of all records, heads first; `head` is the first record of each household."""
        block, names = self.block, self.block.names
        size = np.bincount(homes).astype(np.float64)
        values = {name: np.full(block.n, np.nan) for name in names}
        of_heads = self.synthesised(head, {" size": (Variable("size", "integer"), size)}, {}, _part(block, 0.0, 0.4))
        for name in names:
            values[name][head] = of_heads[name]
        members = np.setdiff1d(np.arange(block.n), head)
        if not len(members):
            return values
        own = head[homes[members]]
        original = {name: self.columns[name] for name in names}
        common = [name for name in names if np.array_equal(original[name], original[name][head[homes]], equal_nan=True)]
        extra = {
            f" head's {each.name}": (each, original[each.name][own], values[each.name][own]) for each in block.variables
        }
        for name in common:
            values[name][members] = values[name][own]
        of_members = self.synthesised(
            members,
            {" size": (Variable("size", "integer"), size[homes[members]])},
            extra,
            _part(block, 0.4, 1.0),
            {name: values[name][members] for name in common},
        )
        for name, column in of_members.items():
            values[name][members] = column
        return values

    def synthesised(
        self,
        rows: Integers,
        same: Mapping[str, tuple[Variable, Floats]],
        changed: Mapping[str, tuple[Variable, Floats, Floats]],
        progress: Progress,
        settled: Mapping[str, Floats] | None = None,
    ) -> dict[str, Floats]:
        """Synthetic values of some records.

        `rows`: shape (m,). `same`: further predictors that stay as they are; shape (m,). `changed`: further predictors:
        their original and their synthetic values; shape (m,). `settled`: variables that have their synthetic values
        already; shape (m,).
        """
        settled = settled or {}
        order = [each for each in self.order if each.name not in settled]
        if not order:
            return dict(settled)
        given = {name: (variable, column[rows]) for name, (variable, column) in self.given.items()} | dict(same)
        learnt = given | {name: (variable, before) for name, (variable, before, _) in changed.items()}
        sequence = SyntheticSequence(
            learnt, order, {each.name: self.columns[each.name][rows] for each in order},
            self.growth, self.rng, lambda share: progress(0.6 * share),
        )  # fmt: skip
        self.tally.add("trees", len(sequence.trees))
        self.tally.add("leaves", sum(int(each.tree.is_leaf.sum()) for each in sequence.trees))
        seen = {name: column for name, (_, column) in given.items()} | {
            name: after for name, (_, _, after) in changed.items()
        }
        known = {name: self.columns[name][rows] for name in self.block.companions} | dict(settled)
        return self._drawn(sequence, rows, seen, known, progress) | dict(settled)

    def _drawn(
        self,
        sequence: SyntheticSequence,
        rows: Integers,
        seen: Mapping[str, Floats],
        known: Mapping[str, Floats],
        progress: Progress,
    ) -> dict[str, Floats]:
        """Values of the sequence, drawn again where they break an edit or repeat a unique original."""
        values: dict[str, Floats] = {}
        again = np.arange(len(rows))
        broken = np.ones(len(rows), dtype=np.bool_)
        for attempt in range(REDRAWS + 1):
            report: Progress = (lambda share: progress(0.6 + 0.3 * share)) if not attempt else (lambda _: None)
            here = {name: column[again] for name, column in known.items()}
            seen_here = {name: column[again] for name, column in seen.items()}
            drawn, possible = sequence.drawn(len(again), seen_here, here, self.completion, self.rng, self.tally, report)
            for name, column in drawn.items():
                values.setdefault(name, np.full(len(rows), np.nan))[again] = column
            whole = {**known, **values}
            matrix = np.stack([whole[name] for name in self.block.names], axis=1)
            if self.code_trees is not None and self.codes is not None:
                given = {name: column[rows[again]] for name, (_, column) in self.given.items()}
                self.codes[rows[again]] = self.code_trees.drawn(matrix[again], given, self.rng)
            broken = ~possible
            if self.completion.restricted:
                broken |= self.completion.broken({**here, **drawn})
            failed = np.zeros(len(rows), dtype=np.bool_)
            failed[again] = broken
            if not self.params.repeat_uniques:
                failed |= self.uniques.repeated(matrix, None if self.codes is None else self.codes[rows])
            left = np.flatnonzero(failed)
            if not len(left) or attempt == REDRAWS:
                break
            self.tally.add("records_drawn_again", len(left))
            again = left
        self.tally.add("records_left_to_adjustment", int(broken.sum()))
        progress(1.0)
        return values

    def notes(self, matrix: Floats) -> dict[str, Any]:
        """What the run record should hold of the synthetic values; shape (n, p)."""
        repeated = self.uniques.repeated(matrix, self.codes)
        return {
            "synthesised_records": self.block.n,
            "order": [each.name for each in self.order],
            "weights": "stay in their rows; values are drawn given them" if _weights_stay(self.block) else "none stay",
            **self.tally.counts,
            "replicated_uniques": int(repeated.sum()),
        }

    def doubts(self) -> tuple[str, ...]:
        """What it could not do."""
        rare = [each.name for each in self.order if not each.is_numeric and self._all_rare(each.name)]
        return tuple(
            f"no category of {name} has three records: those of fewer are copied; recode it first" for name in rare
        )

    def _all_rare(self, name: str) -> bool:
        present = self.columns[name][~np.isnan(self.columns[name])]
        return bool(present.size) and int(np.unique(present, return_counts=True)[1].max()) < 3


def _weights_stay(block: Block) -> bool:
    """Whether there are sampling weights that are not synthesised themselves."""
    return block.weights is not None and all(variable.role != "weight" for variable in block.variables)


def _heads(households: Integers | None) -> tuple[Integers, Integers] | None:
    """Household of each record, 0..c-1, and the first record of each; None without households of several."""
    if households is None:
        return None
    _, head, homes = np.unique(households, return_index=True, return_inverse=True)
    return None if len(head) == len(households) else (homes.ravel(), head)


def _part(block: Block, low: float, high: float) -> Progress:
    return lambda share: block.progress(low + (high - low) * share)


CART_SYNTHESIS = Method(
    name="cart_synthesis",
    protect=protect,
    params=CartSynthesisParams,
    scope="all",
    claims=Claims(
        cost=Cost(cell=3.0),
        cut="none",
        within_strata=False,
        changes_few=True,
        variable_types={"continuous", "integer", "date", "datetime", "ordinal", "nominal"},
        handles_missing=True,
        draws_records=True,
        preserves={"households"},
        companions_of_edits=True,
    ),
    reference="Reiter (2005), Journal of Official Statistics 21(3), 441-462; Nowok, Raab and Dibben (2016), Journal of "
    "Statistical Software 74(11)",
    summary="Synthetic records, variable by variable from classification and regression trees; edits restrict donors.",
    example="method: cart_synthesis\nparams: {min_leaf: 5}\n",
)
"""Trees on the variables before, donors restricted by edits."""
