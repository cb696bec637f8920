"""What a plugin costs: processor time by records and variables."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Cost:
    """Processor time that a plugin takes, about, of one processor of three gigahertz.

    Plans add up what a run takes from it. ``benchmarks/costs.py NAME`` measures a plugin and prints its cost; within a
    factor of two is good enough.

    Attributes
    ----------
    seconds : float, default 0.0
        Whatever the data are.
    cell : float, default 0.3
        Microseconds for each record and each variable that it masks, measures or reads.
    pair : float, default 0.0
        Nanoseconds for each pair of records that it sees at once, and each variable: work that grows with the square of
        the records.

    Examples
    --------
    >>> from maskwright import Cost
    >>> Cost(cell=2.0).of(1_000_000, 4)
    8.0
    >>> quadratic = Cost(cell=0.0, pair=0.5)
    >>> quadratic.of(100_000, 2), quadratic.of(100_000, 2, at_once=5_000)
    (10.0, 0.5)
    """

    seconds: float = 0.0
    cell: float = 0.3
    pair: float = 0.0

    def of(self, records: int, variables: int, at_once: int | None = None) -> float:
        """Seconds for so many records and variables.

        Parameters
        ----------
        records, variables : int
        at_once : int, optional
            Records of a block, where it does not see all at once.

        Returns
        -------
        float
        """
        seen = records if at_once is None else min(records, at_once)
        return self.seconds + records * variables * (self.cell * 1e-6 + self.pair * 1e-9 * seen)


USUAL = Cost()
"""Of a plugin that goes over the records a few times."""

OF_MEASURES = Cost(cell=0.06)
"""Of a measure that counts or adds up."""
