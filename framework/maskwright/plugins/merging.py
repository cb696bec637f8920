"""How a measure is computed of a file in parts: facts of each part, which become one measurement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from maskwright.plugins.measure import Comparison
    from maskwright.plugins.measurement import Measurement

    Facts = Mapping[str, Any]
    Rows = Mapping[str, NDArray[np.generic]]


@dataclass(frozen=True)
class Further:
    """What a measure wants to know of every part before it can say what it found.

    Attributes
    ----------
    asked : mapping
        Plain data of JSON: `Merging.partial` gets it in the next round.
    rows_to : {"tasks", "parts"} or None
        Who gets the rows that `Merging.rows` takes from each part; None: no rows are taken. ``tasks``: each row goes to
        one of several tasks, and `Merging.merged` is given what `Merging.counted` says in each. ``parts``: all of them
        are known as ``rows`` of what is asked; `Merging.merged` is given no facts then, and says what is asked next.

    Examples
    --------
    >>> from maskwright import Further
    >>> Further({"center": [3.5]}).asked["center"]
    [3.5]
    """

    asked: Facts
    rows_to: Literal["tasks", "parts"] | None = None


@dataclass(frozen=True)
class PartOfFile:
    """Where the part that rows are taken from lies in its file.

    Attributes
    ----------
    first : int
        Number of its first record, 0-based.
    records : int
        Of the whole file.
    tasks : int
        That rows may go to.

    Examples
    --------
    >>> from maskwright import PartOfFile
    >>> PartOfFile(5_000, 20_000, 1).first
    5000
    """

    first: int
    records: int
    tasks: int


@dataclass(frozen=True, kw_only=True)
class Merging:
    """The form of a measure in which parts of a file are measured one by one, on different machines.

    Attributes
    ----------
    partial : callable
        ``(comparison, params, asked) -> facts`` of one part: plain data of JSON, whose size does not grow with the
        records. `asked` is None in the first round, and then what `Further` said. A pure function of a module.
    merged : callable
        ``(facts, params, asked) -> Measurement or Further``: `facts` of all parts, in their order. A function of a
        module.
    exact : bool
        Whether the result is that of the file in memory, but for the rounding of sums.
    condensed : callable or None
        ``(facts, params, asked) -> facts``: of some neighbouring parts, in their order, fewer facts in less room that
        `merged` finds the same in; they are never sent and may hold arrays. It is called now and then as facts come, so
        that those of thousands of parts are never held together. None: they are small.
    sampled : bool
        Whether it looks at a sample of a large file; the measurement then has the interval of sampling.
    rows : callable or None
        ``(comparison, params, asked, part) -> (columns, tasks)`` where `Further` asks for rows of each part, a
        `PartOfFile`: columns of equal length by name, and the task, 0 .. part.tasks - 1, that each row goes to.
    counted : callable or None
        ``(columns, params, asked) -> facts`` of the rows that one task got, those of the parts in their order.
    refused : callable or None
        ``(params) -> str or None``: why these parameters cannot be had over parts; None: they can.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import Comparison, Measurement, Merging
    >>> def largest_of_part(comparison: Comparison, params, asked):
    ...     return {"largest": float(np.abs(comparison.masked_values() - comparison.original_values()).max())}
    >>> def largest(facts, params, asked):
    ...     return Measurement(max(each["largest"] for each in facts))
    >>> Merging(partial=largest_of_part, merged=largest).merged([{"largest": 2.0}, {"largest": 7.0}], None, None).value
    7.0
    """

    partial: Callable[[Comparison, Any, Facts | None], Facts]
    merged: Callable[[Sequence[Facts], Any, Facts | None], Measurement | Further]
    condensed: Callable[[Sequence[Facts], Any, Facts | None], Sequence[Facts]] | None = None
    exact: bool = True
    sampled: bool = False
    rows: Callable[[Comparison, Any, Facts | None, PartOfFile], tuple[Rows, NDArray[np.int64]]] | None = None
    counted: Callable[[Rows, Any, Facts | None], Facts] | None = None
    refused: Callable[[Any], str | None] | None = None

    @property
    def result(self) -> Literal["exact", "approximate", "sampled"]:
        """What the result is against that of the file in memory."""
        if self.sampled:
            return "sampled"
        return "exact" if self.exact else "approximate"
