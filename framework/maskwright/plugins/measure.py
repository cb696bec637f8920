"""What a measure is: original and masked data in, one number and its parts out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from maskwright.data.sketches.record_hashes import published_cells
from maskwright.edits.edit_set import EditSet
from maskwright.foundation.errors import InputError, UnpairedRecords
from maskwright.foundation.nearest_names import unknown_name
from maskwright.foundation.no_params import NoParams
from maskwright.foundation.progress import Progress, silent
from maskwright.plugins.cost import OF_MEASURES, Cost
from maskwright.plugins.legal_values import frozen_sets
from maskwright.plugins.measurement import needs_levels

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    import numpy as np
    from numpy.typing import NDArray
    from pydantic import BaseModel

    from maskwright.data.dataset import Column, Dataset
    from maskwright.data.variable import Variable
    from maskwright.plugins.legal_values import Direction, Invariance, MeasureKind
    from maskwright.plugins.measurement import ComparedLevels, Measurement, Merging


@dataclass(frozen=True, eq=False)
class Comparison:
    """Original and masked data, as a measure gets them. Read-only.

    Attributes
    ----------
    original, masked : Dataset
        `masked` is what was read back from the file that will be released.
    variables : tuple of str
        The numeric variables to compare, in file order; all are in both files.
    edits : EditSet
    origin : ndarray of shape (m,), int64, or None
        Original record of each masked record, in any order and more than once, unlike `Masked.kept_rows`; None when
        they are paired one to one in order, or not at all (see `paired`).
    weights : ndarray of shape (n,), float64, or None
        Sampling weights of the original records: the one variable of role weight. None when there is none, or several.
    households : ndarray of shape (n,), int64, or None
        Household of each original record, 0..c-1; None when none are declared.
    plan : mapping
        A plain record of the plan; empty when two files are compared without one.
    progress : callable
    categorical : tuple of str
        The categorical variables to compare, in file order; all are in both files, and published as categories.
    drawn : bool
        Whether a method drew the masked records anew, so that none comes from the original in its row; weights and
        households stay in their rows.
    levels : ComparedLevels or None
        For a measure of several levels (`Measure.of_levels`), all of them; `original` and `masked` are the records of
        the top one then. None for others.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import Column, Comparison, Dataset, Variable
    >>> def ages(*values: float) -> Dataset:
    ...     return Dataset((Column(Variable("age"), np.array(values), np.zeros(len(values), dtype=bool)),))
    >>> comparison = Comparison(ages(20, 30), ages(25, 25), ("age",))
    >>> (comparison.masked_values() - comparison.original_values()).ravel()
    array([ 5., -5.])
    """

    original: Dataset
    masked: Dataset
    variables: tuple[str, ...]
    edits: EditSet = field(default_factory=EditSet)
    origin: NDArray[np.int64] | None = None
    weights: NDArray[np.float64] | None = None
    households: NDArray[np.int64] | None = None
    plan: Mapping[str, Any] = field(default_factory=dict)
    progress: Progress = silent
    categorical: tuple[str, ...] = ()
    drawn: bool = False
    levels: ComparedLevels | None = None

    @property
    def paired(self) -> bool:
        """Whether the original of each masked record is known: by `origin`, or as both files have as many records.

        None is where records were drawn anew.
        """
        if self.drawn:
            return False
        known = self.origin is not None or self.masked.origin is not None
        return known or len(self.original) == len(self.masked)

    def require_pairs(self, needed: str) -> None:
        """Refuse files whose records are not paired.

        Parameters
        ----------
        needed : str
            What cannot do without, as the beginning of a sentence: ``sse compares each masked record with its own
            original``.

        Raises
        ------
        UnpairedRecords
        """
        if not self.paired:
            raise UnpairedRecords(needed, len(self.original), len(self.masked), drawn=self.drawn)

    def original_values(self) -> NDArray[np.float64]:
        """Values of `variables` in the originals of the masked records; shape (m, p), NaN where missing.

        Raises
        ------
        UnpairedRecords
        """
        self.require_pairs("each masked record is compared with its own original")
        values = self.original.matrix(self.variables)
        return values if self.origin is None else values[self.origin]

    def masked_values(self) -> NDArray[np.float64]:
        """Values of `variables` in the masked records; shape (m, p), NaN where missing."""
        return self.masked.matrix(self.variables)

    def masked_weights(self) -> NDArray[np.float64] | None:
        """Weights of the originals of the masked records; shape (m,).

        Raises
        ------
        UnpairedRecords
            When weights are declared and records are not paired.
        """
        if self.weights is not None and not self.drawn:
            self.require_pairs("the weights of masked records are those of their originals")
        return self.weights if self.weights is None or self.origin is None else self.weights[self.origin]

    def masked_households(self) -> NDArray[np.int64] | None:
        """Households of the originals of the masked records; shape (m,).

        Raises
        ------
        UnpairedRecords
            When households are declared and records are not paired.
        """
        if self.households is not None and not self.drawn:
            self.require_pairs("the households of masked records are those of their originals")
        return self.households if self.households is None or self.origin is None else self.households[self.origin]

    def require_levels(self, measure: str) -> ComparedLevels:
        """Levels of the data.

        Parameters
        ----------
        measure : str
            Its name, for the message.

        Raises
        ------
        InputError
            The data have one level.
        """
        if self.levels is None:
            raise InputError(needs_levels(measure))
        return self.levels

    def keys(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Any variable of both files, of any type, as codes that are equal where the values are.

        Returns
        -------
        ndarray of shape (n,), ndarray of shape (m,)
            Codes 0, 1, ... of the original and of the masked file; -1 where missing.

        Raises
        ------
        InputError
            When a file has no such variable; with the nearest name.
        """
        from maskwright.data.record_groups import shared_codes  # heavy: plugins are listed without it

        original, masked = shared_codes(self._columns(name))
        return original, masked

    def published_keys(self, name: str) -> NDArray[np.int64]:
        """Any variable of both files as codes of the masked one, which are equal where the same is published.

        Returns
        -------
        ndarray of shape (m,)
            0, 1, ...; -1 where missing. Where missing cells have several codes, these are values too, and -1 is what
            suppressed cells have.

        Raises
        ------
        InputError
            When a file has no such variable; with the nearest name.
        """
        from maskwright.data.record_groups import published_codes  # heavy: plugins are listed without it

        return published_codes(self._columns(name)[1])

    def published_cells(self, name: str) -> NDArray[np.int64]:
        """Any variable of both files as whole numbers of the masked one, equal where the same is published.

        Unlike the codes of `published_keys` they are the same in every part of a file, and cost less.

        Returns
        -------
        ndarray of shape (m,)
            -2^51 to -1 where missing, and nowhere else.

        Raises
        ------
        InputError
            When a file has no such variable; with the nearest name.
        """
        return published_cells(self._columns(name)[1])

    def _columns(self, name: str) -> tuple[Column, Column]:
        for what, data in (("original", self.original), ("masked file", self.masked)):
            if name not in data:
                raise InputError(f"the {what}: {unknown_name('variable', name, data.names)}")
        return self.original[name], self.masked[name]


@dataclass(frozen=True, eq=False)
class Measurable:
    """What a measure will be given, as far as a plan knows it: the variables, and no record.

    Attributes
    ----------
    variables : mapping of name to Variable
        Of both files, in file order, as they are published, with the roles of the original; no identifiers.
    compared : tuple of str
        The numeric ones to compare, as `Comparison.variables` will have them.
    categorical : tuple of str
        The categorical ones to compare, as `Comparison.categorical` will have them.
    levels : mapping of level name to tuple of str
        Of a measure of several levels, the names of each level's variables, the top first; empty for others.

    Examples
    --------
    >>> from maskwright import Measurable, Variable
    >>> given = Measurable({"age": Variable("age"), "sex": Variable("sex", "nominal", "quasi_identifier")}, ("age",))
    >>> given.with_role("quasi_identifier")
    ('sex',)
    """

    variables: Mapping[str, Variable]
    compared: tuple[str, ...]
    categorical: tuple[str, ...] = ()
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def with_role(self, role: str) -> tuple[str, ...]:
        """Names of the variables with a role, in file order."""
        return tuple(name for name, variable in self.variables.items() if variable.role == role)


@dataclass(frozen=True)
class MeasurePart:
    """A part of a measurement that can have a threshold: ``thresholds: {label.part: bound}``.

    Attributes
    ----------
    name : str
        As in `Measurement.parts`.
    unit : str
    direction : {"lower", "higher"}
        Which is better.
    range : tuple of two floats or None
        Smallest and largest possible value; None is unbounded.

    Examples
    --------
    >>> from maskwright import MeasurePart
    >>> MeasurePart("below_k", range=(0.0, 100.0)).direction
    'lower'
    """

    name: str
    unit: str = "percent"
    direction: Direction = "lower"
    range: tuple[float | None, float | None] = (0.0, None)


@dataclass(frozen=True, kw_only=True)
class MeasureClaims:
    """What a measure claims, and what a plan has to know of it before there is anything to measure.

    Attributes
    ----------
    invariant_to : set of str
        Claims tested by the kit: ``affine`` (a column multiplied by a positive number and shifted, in
        both files), ``records`` (permuted in both), ``columns`` (permuted in both).
    deterministic : bool, default True
        Whether it leaves `rng` alone.
    compares_unpaired : bool
        Whether it can compare files whose records are not paired, with parameters that allow it; such a measure calls
        `Comparison.require_pairs` where it cannot. Others are never given such files.
    of_one_file : bool
        Whether it looks at the masked file only. The framework then computes it on the original too, and reports both.
    counts_households : bool
        Whether it counts households (``comparison.households``) instead of records where they are declared; a
        risk measure that does not is reported with a note.
    of_levels : bool
        Whether it measures groups with all their members (``comparison.levels``): it is computed once of data of
        several levels, and refused on others. `per_record` is of the records of the top level.
    uses : callable or None
        ``(params, measurable) -> names`` of the variables that it uses with these parameters; of a risk, those
        whose values it takes the intruder to know or to seek. None: all of `Measurable.compared`.
    components : callable or None
        ``(params) -> [(measure, params), ...]`` of the measures that a score is made of; it leaves out what any of
        them does.
    check : callable or None
        ``(params, measurable) -> [(parameter, what is wrong), ...]``: mistakes that the variables show before there is
        anything to measure. Names in parameters marked `NamesVariables` have been looked up by then.
    cost : Cost
        Processor time; of a score, without that of its components.

    Examples
    --------
    >>> from maskwright import MeasureClaims
    >>> MeasureClaims(invariant_to={"records"}).deterministic
    True
    """

    invariant_to: AbstractSet[Invariance] = frozenset()
    deterministic: bool = True
    compares_unpaired: bool = False
    of_one_file: bool = False
    counts_households: bool = False
    of_levels: bool = False
    uses: Callable[[Any, Measurable], Iterable[str]] | None = None
    components: Callable[[Any], Sequence[tuple[Measure, BaseModel]]] | None = None
    check: Callable[[Any, Measurable], Iterable[tuple[str, str]]] | None = None
    cost: Cost = OF_MEASURES

    def __post_init__(self) -> None:
        """Freeze its set."""
        frozen_sets(self)


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A loss or risk measure.

    Attributes
    ----------
    name : str
    compute : callable
        ``(comparison, params, rng) -> Measurement``; a pure function.
    kind : {"loss", "risk", "score"}
    unit : str
        ``percent``, ``count``, ...
    direction : {"lower", "higher"}
        Which is better; thresholds follow it.
    range : tuple of two floats or None
        Smallest and largest possible value; None is unbounded.
    params : type of pydantic.BaseModel
    parts : callable or None
        ``(params) -> [MeasurePart, ...]``: the parts that a measurement with these parameters has and thresholds can be
        set for. None: for none.
    merging : Merging or None
        How it is computed of a file in parts; None: it needs the whole file in memory.
    claims : MeasureClaims
        What it is invariant to, what it can compare, and which variables it uses.
    reference, summary : str

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import Comparison, Measure, Measurement, NoParams
    >>> def largest_move(comparison: Comparison, params: NoParams, rng: np.random.Generator) -> Measurement:
    ...     return Measurement(float(np.abs(comparison.masked_values() - comparison.original_values()).max()))
    >>> measure = Measure(
    ...     name="largest_move", compute=largest_move, unit="units of the variable", summary="Largest change."
    ... )
    >>> measure.direction
    'lower'
    """

    name: str
    compute: Callable[[Comparison, Any, np.random.Generator], Measurement]
    kind: MeasureKind = "loss"
    unit: str = "percent"
    direction: Direction = "lower"
    range: tuple[float | None, float | None] = (0.0, None)
    params: type[BaseModel] = NoParams
    parts: Callable[[Any], Iterable[MeasurePart]] | None = None
    merging: Merging | None = None
    claims: MeasureClaims = MeasureClaims()
    reference: str = ""
    summary: str = ""
