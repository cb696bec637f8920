"""A record as a test of XPath on records inside records sees it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class SeenRecord:
    """A record as a test sees it.

    `path`: path to it, which a step can follow; empty for the record that the test or the predicate is about.
    `absolute`: path to it from inside of a predicate; None: there is none.
    """

    level: str
    path: str = ""
    absolute: str | None = "current()/"

    def along(self, step: str, level: str) -> SeenRecord:
        """Record of a level that a step of a path leads to from here."""
        return SeenRecord(level, self.path + step, None if self.absolute is None else self.absolute + step)
