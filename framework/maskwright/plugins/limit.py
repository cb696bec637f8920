"""Limits that a step sets to the values it publishes: promises that no later part of a run may undo."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limit:
    """What a method promises of every value of a variable that is published.

    Bounds are edits of the run from then on, so that adjusting, rounding and later steps keep them; multiples are
    counted in the end. A limit that is known from the parameters comes from `Method.limits`, and the plan looks whether
    edits contradict it; one that is found in the data from `Masked.limits`.

    Attributes
    ----------
    variable : str
    low, high : float or None
        Smallest and largest value that may be published; of an ordinal variable the position in the order of its
        categories, from 0. None: no bound.
    multiple_of : float or None
        Published values are its multiples.

    Examples
    --------
    >>> from maskwright import Limit
    >>> Limit("wage", high=60_000.0)
    Limit(variable='wage', low=None, high=60000.0, multiple_of=None)
    """

    variable: str
    low: float | None = None
    high: float | None = None
    multiple_of: float | None = None
