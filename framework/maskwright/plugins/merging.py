"""How a measure is computed of a file in parts: facts of each part, which become one measurement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from maskwright.plugins.measure import Comparison
    from maskwright.plugins.measurement import Measurement

    Facts = Mapping[str, Any]


@dataclass(frozen=True)
class Further:
    """What a measure wants to know of every part before it can say what it found.

    Attributes
    ----------
    asked : mapping
        Plain data of JSON: `Merging.partial` gets it in the next round.

    Examples
    --------
    >>> from maskwright import Further
    >>> Further({"center": [3.5]}).asked["center"]
    [3.5]
    """

    asked: Facts


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
    exact: bool = True
    refused: Callable[[Any], str | None] | None = None
