"""Blocks of records: the unit of work of a method, facts gathered of all, and draws that belong to records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.data.dataset import many_groups
from maskwright.edits.edit_set import EditSet
from maskwright.foundation.errors import InputError
from maskwright.foundation.progress import Progress, silent
from maskwright.foundation.randomness import mixed

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from maskwright.data.cluster_aggregation import ChosenAggregation
    from maskwright.data.variable import Variable


MOST_CATEGORIES = 200
"""Of a nominal variable in distances: each takes a column of the memory of a number for every record."""


@dataclass(frozen=True, eq=False)
class Block:
    """Records and variables that are masked together. Arrays are read-only.

    Attributes
    ----------
    values : ndarray of shape (n, p), float64
        Numbers, or category codes for nominal and ordinal variables. NaN where missing.
    missing : ndarray of shape (n, p), bool
    variables : tuple of Variable, length p
    edits : EditSet
        The edits that lie inside these variables.
    operators : tuple of str or ChosenAggregation, length p
        How the plan wants each variable aggregated: ``mean``, ``geometric_mean``, ``lower_median``, ``mode``, or an
        aggregation that the step asks for. `maskwright.aggregate` takes them as they are.
    weights : ndarray of shape (n,), float64, or None
        Sampling weights, when declared.
    households : ndarray of shape (n,), int64, or None
        Household of each record, when ``data: cluster`` declares them; the same number is the same household in every
        block.
    center, scale : ndarray of shape (p,), float64
        Mean and standard deviation (ddof = 1) of each variable over the whole original file, also inside strata and
        blocks. A constant variable has scale 1, so that it contributes nothing to a distance.
    file_n : int
        Number of records of the whole file, of which the block may be a part; 0 when it is not known.
    records : ndarray of shape (n,), int64, or None
        Position of each record in the file, from 0. None: the block is the whole file.
    missing_kinds : ndarray of shape (n, p), int64, or None
        Of missing cells: 0 what suppressed cells have, 1, 2, ... other missing codes of the variable. Whoever reads the
        file can tell these apart. None: all are 0.
    companions : mapping of name to ndarray of shape (n,)
        Read-only columns outside the group that the method requested.
    companion_variables : mapping of name to Variable
        What these are.
    group_name : str
        What a household is called where messages speak of it: of data of several levels the upper one, as ``firm``.
    missing_codes : ndarray of shape (n, p), int64, or None
        For methods that draw records: which missing code each missing cell holds, as numbers that mean the same in all
        cells of a variable; -2 where there is a value. None: nothing is known of that.
    moments : Moments or None
        For methods that ask for them (`Method.others`): of all records of the file that have these cells, the block's
        own among them. None: there is no record beside the block's.
    gathered : mapping or None
        For methods that ask something of all records (`Method.gathering`): what these said. None: no one asked.
    progress : callable
        Takes the share of the work done.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import Block, Variable
    >>> values = np.array([[1.0, 4.0], [3.0, 8.0]])
    >>> block = Block(values, np.isnan(values), (Variable("wages"), Variable("pensions")),
    ...               center=values.mean(axis=0), scale=values.std(axis=0, ddof=1))
    >>> block.n, block.names
    (2, ('wages', 'pensions'))
    >>> block.standardised().round(2)
    array([[-0.71, -0.71],
           [ 0.71,  0.71]])
    """

    values: NDArray[np.float64]
    missing: NDArray[np.bool_]
    variables: tuple[Variable, ...]
    edits: EditSet = field(default_factory=EditSet)
    operators: tuple[str | ChosenAggregation, ...] = ()
    weights: NDArray[np.float64] | None = None
    households: NDArray[np.int64] | None = None
    center: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    scale: NDArray[np.float64] = field(default_factory=lambda: np.ones(0))
    file_n: int = 0
    records: NDArray[np.int64] | None = None
    missing_kinds: NDArray[np.int64] | None = None
    companions: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    companion_variables: Mapping[str, Variable] = field(default_factory=dict)
    missing_codes: NDArray[np.int64] | None = None
    moments: Moments | None = None
    gathered: Gathered | None = None
    progress: Progress = silent
    group_name: str = "household"

    @property
    def groups_said(self) -> str:
        """What k counts, in the plural: ``records`` or, where they are declared, ``households`` or ``firm records``."""
        return "records" if self.households is None else many_groups(self.group_name)

    @property
    def n(self) -> int:
        """Number of records."""
        return int(self.values.shape[0])

    @property
    def p(self) -> int:
        """Number of variables."""
        return int(self.values.shape[1])

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""
        return tuple(variable.name for variable in self.variables)

    def kinds_of(self, position: int) -> NDArray[np.int64]:
        """`missing_kinds` of one variable; shape (n,)."""
        return np.zeros(self.n, dtype=np.int64) if self.missing_kinds is None else self.missing_kinds[:, position]

    def standardised(self) -> NDArray[np.float64]:
        """Return the records as points, shape (n, q), C order; their distances are those of a partition.

        A number, or the position of an ordinal category, is ``(value - center) / scale``. A nominal variable has one
        column for each category that occurs, so that records of different categories are 1 apart, whichever they are,
        and q > p. A missing cell is the file's mean; of a nominal variable it is as far from every category.

        Raises
        ------
        InputError
            When a nominal variable has more than `MOST_CATEGORIES` categories.
        """
        result = (self.values - self.center) / self.scale
        result[self.missing] = 0.0
        if not any(variable.type == "nominal" for variable in self.variables):
            return np.ascontiguousarray(result)
        parts = [
            _corners(variable.name, self.values[:, j], self.missing[:, j])
            if variable.type == "nominal"
            else result[:, j : j + 1]
            for j, variable in enumerate(self.variables)
        ]
        return np.ascontiguousarray(np.hstack(parts))


def _corners(name: str, codes: NDArray[np.float64], missing: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Categories as points that are all 1 apart; missing ones at the origin."""
    found = np.unique(codes[~missing])
    if len(found) > MOST_CATEGORIES:
        raise InputError(
            f"{name} has {len(found)} categories; distances are made of at most {MOST_CATEGORIES}: join categories, "
            "declare the variable ordinal, or leave it out of the step"
        )
    points = np.zeros((len(codes), len(found)))
    points[~missing] = (codes[~missing, None] == found) * np.sqrt(0.5)
    return points


Gathered = Mapping[str, Any]
"""Plain data: numbers, texts, lists and mappings of them."""


@dataclass(frozen=True, kw_only=True)
class Gathering:
    """The form of a method that knows something of all records, and then masks each of them by itself.

    So it can run over parts of a file: each part says what it has, this is put together, and `Method.protect` gets it
    as `Block.gathered`. What the method draws comes from `uniform_by_record`. In memory the same is done with all
    records at once, and the masked values are the same.

    Attributes
    ----------
    partial : callable
        ``(block, params) -> facts`` of some of the records that are masked alike (of a stratum, where the method is
        masked within strata), with their missing cells: plain data, whose size does not grow with the records. A pure
        function of a module.
    merged : callable
        ``(facts, params) -> facts`` of all records: `facts` of the parts, in their order. It must not matter how the
        records are cut. A function of a module.
    notes : callable or None
        ``(facts, variables, params) -> notes``: what is to be said once of all records, as `Masked.notes`; what
        `Method.protect` notes is added up over the parts. A function of a module.
    not_with : str
        Parameters with which the method needs all records all the same (its `variant` has no gathering then), for the
        table of ``maskwright explain scale``: ``a correction``.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import Block, Gathering, Variable
    >>> def largest_of_part(block: Block, params):
    ...     return {"largest": float(np.nanmax(block.values))}
    >>> def largest(facts, params):
    ...     return {"largest": max(each["largest"] for each in facts)}
    >>> gathering = Gathering(partial=largest_of_part, merged=largest)
    >>> values = np.array([[2.0], [7.0]])
    >>> block = Block(values, np.isnan(values), (Variable("wages"),))
    >>> gathering.of(block, None)
    {'largest': 7.0}
    """

    partial: Callable[[Block, Any], Gathered]
    merged: Callable[[Sequence[Gathered], Any], Gathered]
    notes: Callable[[Gathered, Sequence[Variable], Any], Mapping[str, Any]] | None = None
    not_with: str = ""

    def of(self, block: Block, params: Any) -> Gathered:
        """What was gathered for a block from all records, or, where nothing was, what its own records say.

        Parameters
        ----------
        block : Block
        params : pydantic.BaseModel
            Of the method.
        """
        return self.merged([self.partial(block, params)], params) if block.gathered is None else block.gathered


@dataclass(frozen=True, eq=False)
class Moments:
    """Moments of records without missing cells.

    Attributes
    ----------
    n : int
        Number of records.
    mean, low, high : ndarray of shape (p,), float64
        Mean, smallest and largest value of each variable.
    covariance : ndarray of shape (p, p), float64
        With divisor n - 1; 0 for one record.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import Moments
    >>> told = Moments(3, np.array([2.0]), np.array([1.0]), np.array([3.0]), np.array([[1.0]]))
    >>> told.n, float(told.covariance[0, 0])
    (3, 1.0)
    """

    n: int
    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    covariance: NDArray[np.float64]


_BITS = 52
"""Of each number: its half is then a number in binary64, too."""


def uniform_by_record(block: Block, rng: np.random.Generator, count: int) -> NDArray[np.float64]:
    """Numbers of each record between 0 and 1, for methods with ``cut="any"``.

    They are a function of the generator and of the record's position in the file: a block of some records has the same
    numbers for them as the whole file.

    Parameters
    ----------
    block : Block
    rng : numpy.random.Generator
        What the method got; two keys of 64 bits are drawn from it for each column.
    count : int
        How many numbers each record gets.

    Returns
    -------
    ndarray of shape (n, count), float64
        Uniform, above 0 and below 1.

    References
    ----------
    Even, S. and Mansour, Y. (1997): A construction of a cipher from a single pseudorandom permutation. Journal of
    Cryptology 10, 151-161: positions are scrambled between two keys; the permutation is that of SplitMix64.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import numpy as np
    >>> from maskwright import Block, Variable, uniform_by_record
    >>> values = np.arange(4.0)[:, None]
    >>> whole = Block(values, np.isnan(values), (Variable("wages"),))
    >>> part = replace(whole, values=values[2:], missing=whole.missing[2:], records=np.array([2, 3]))
    >>> drawn = uniform_by_record(whole, np.random.default_rng(1), 1)
    >>> bool((uniform_by_record(part, np.random.default_rng(1), 1) == drawn[2:]).all())
    True
    """
    return uniform_of_records(np.arange(block.n) if block.records is None else block.records, rng, count)


def uniform_of_records(records: NDArray[np.int64], rng: np.random.Generator, count: int) -> NDArray[np.float64]:
    """Numbers between 0 and 1 of records with these positions in the file; as `uniform_by_record` has them.

    `records`: shape (n,). `count`: how many numbers each record gets. Returns shape (n, count).
    """
    keys = rng.integers(0, 2**64, size=(count, 2), dtype=np.uint64)
    words = [mixed(mixed(records.astype(np.uint64) ^ first) ^ second) for first, second in keys]
    drawn = np.stack(words, axis=1) if count else np.zeros((len(records), 0), dtype=np.uint64)
    # The middle of each of 2**52 equal parts: neither 0 nor 1, whose normal quantiles are infinite.
    return ((drawn >> np.uint64(64 - _BITS)).astype(np.float64) + 0.5) / 2.0**_BITS
