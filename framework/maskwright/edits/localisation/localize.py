"""Which fields of which records to change: error localisation for a whole file."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.data.record_chunk import RecordChunk
from maskwright.edits.evaluation.check import Checker, fires
from maskwright.edits.evaluation.check_data import CHUNK
from maskwright.edits.evaluation.domain import Domain, domain_tuples
from maskwright.edits.evaluation.outcomes import FIRST_RECORDS
from maskwright.edits.localisation.records import categories_by_frequency
from maskwright.edits.localisation.search import Localising, located
from maskwright.edits.normalisation import written_out
from maskwright.edits.reasoning.clauses import clauses_of
from maskwright.foundation.errors import EditError, Problem, refuse_problems
from maskwright.foundation.nearest_names import unknown_name
from maskwright.foundation.processes.resources import processors
from maskwright.foundation.progress import Progress, part, silent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset
    from maskwright.edits.edit import Edit
    from maskwright.edits.edit_set import EditSet
    from maskwright.edits.evaluation.outcomes import EditOutcome
    from maskwright.edits.localisation.search import Located

CHECKED = 0.05
"""Share of the work that finds the records which violate an edit."""


@dataclass(frozen=True, eq=False)
class Localisation:
    """Fields to change, by record. Confidential: it says which answers of which records are wrong.

    Attributes
    ----------
    records : int
        Records that were checked.
    numbers : ndarray of shape (m,), int64
        Numbers (1-based) of the records that violate an edit of severity error.
    found : tuple of Located, length m
        In the same order. Their `values` are confidential and stay out of every report.
    weights : mapping of name to float
    undecided : tuple of EditOutcome
        Edits whose verdict is unknown in every record: what they say of errors is not known.
    level : str or None
        Of data of several levels: what the records are, groups with all their members.

    Examples
    --------
    >>> import pandas as pd
    >>> import maskwright as mw
    >>> data = pd.DataFrame({"age": [31, 130], "wages": [5, 7], "income": [5, 7]})
    >>> found = mw.localize(data, ["age in [0, 120]", "wages == income"])
    >>> found
    Localisation(1 of 2 records violate an edit, 1 localised)
    >>> found.fields
       record variable
    0       2      age
    """

    records: int
    numbers: NDArray[np.int64]
    found: tuple[Located, ...]
    weights: Mapping[str, float] = field(default_factory=dict)
    undecided: tuple[EditOutcome, ...] = ()
    level: str | None = None

    def __repr__(self) -> str:
        """Return counts only."""
        return f"Localisation({len(self.found)} of {self.records} records violate an edit, {self.located} localised)"

    @property
    def located(self) -> int:
        """Records for which a set of fields was found."""
        return sum(each.fields is not None for each in self.found)

    @property
    def unproven(self) -> int:
        """Records whose set is not proven to be the smallest."""
        return sum(each.fields is not None and not each.proven for each in self.found)

    @property
    def counts(self) -> dict[str, int]:
        """Records in which each variable has to change, in file order."""
        counted = Counter(name for each in self.found for name in each.fields or ())
        return {name: counted[name] for name in self.weights if counted[name]}

    @property
    def obstacles(self) -> dict[str, tuple[int, tuple[int, ...]]]:
        """For records without a set: why not, with their count and the numbers of the first of them."""
        left: dict[str, list[int]] = {}
        for number, each in zip(self.numbers, self.found, strict=True):
            if each.fields is None:
                left.setdefault(each.reason, []).append(int(number))
        return {why: (len(numbers), tuple(numbers[:FIRST_RECORDS])) for why, numbers in left.items()}

    @property
    def fields(self) -> pd.DataFrame:
        """Columns ``record`` (1-based) and ``variable``, one row for each field to change."""
        import pandas as pd

        rows = [
            (int(number), name)
            for number, each in zip(self.numbers, self.found, strict=True)
            for name in each.fields or ()
        ]
        return pd.DataFrame(
            {"record": np.array([row[0] for row in rows], dtype=np.int64), "variable": [row[1] for row in rows]}
        )

    def to_json(self) -> dict[str, Any]:
        """Plain data: counts, and for each record its number and the names of its fields."""
        about = {} if self.level is None else {"level": self.level}
        return {
            **about,
            "records": self.records,
            "violating": len(self.found),
            "localised": self.located,
            "unproven": self.unproven,
            "variables": self.counts,
            "not_localised": [
                {"reason": why, "records": count, "first_records": list(first)}
                for why, (count, first) in self.obstacles.items()
            ],
            "fields": [
                {"record": int(number), "variables": list(each.fields), "proven": each.proven}
                for number, each in zip(self.numbers, self.found, strict=True)
                if each.fields is not None
            ],
        } | ({"undecided": {each.name: each.unknown_because for each in self.undecided}} if self.undecided else {})


def localize(
    data: Dataset,
    edits: EditSet,
    weights: Mapping[str, float] | None = None,
    domain: Domain | None = None,
    progress: Progress = silent,
    workers: int | None = None,
) -> Localisation:
    """Find for each record that violates edits the smallest weighted set of fields to change.

    Every edit of severity ``error`` counts: linear, range and set, product, governing, on numbers and categories.
    Answers are exact: rational arithmetic on the decimals that the file shows, and values on the published grid. A
    missing cell is free to be filled and costs nothing (Fellegi and Holt impute it anyway). Of sets that cost the same
    the one with the earlier variables is taken.
    """
    costs = _costs(data, weights or {})
    path = data.layout.details.get("record_path")
    binding = [
        edit
        for edit in written_out(edits, data.names)
        if edit.severity == "error" and fires(edit, None if path is None else tuple(path))
    ]
    _refuse_unknown(binding, data.names)
    known = domain or Domain.from_dataset(data, domain_tuples(binding))
    used = frozenset(name for edit in binding for name in edit.variables)
    read = data.without([name for name in data.names if name not in used])
    clauses = [clause for edit in binding for clause in clauses_of(edit)]
    with Checker(binding, None if path is None else tuple(path), known) as checker:
        chunks = [np.flatnonzero(_violating(data, checker, start)) + start for start in range(0, len(data), CHUNK)]
    broken = np.concatenate(chunks) if chunks else np.zeros(0, dtype=np.int64)
    progress(CHECKED)
    named = {edit.name: edit for edit in binding}
    searched = Localising(named, clauses, categories_by_frequency(read), costs, known)
    at_once = processors() if workers is None else workers
    found = tuple(located(searched, read.taken(broken), at_once, part(progress, CHECKED, 1.0)))
    progress(1.0)
    weighed = {name: float(costs[name]) for name in data.names}
    return Localisation(len(data), broken + 1, found, weighed, checker.outcome().undecided)


def _costs(data: Dataset, weights: Mapping[str, float]) -> dict[str, Fraction]:
    problems = [Problem(unknown_name("variable", name, data.names)) for name in weights if name not in data]
    problems += [
        Problem(f"the weight of {name} must be a positive number", hint="leave a variable out to give it weight 1")
        for name, weight in weights.items()
        if not (math.isfinite(weight) and weight > 0)
    ]
    refuse_problems(problems)
    return {name: Fraction(str(float(weights.get(name, 1)))) for name in data.names}


def _refuse_unknown(edits: Sequence[Edit], names: Sequence[str]) -> None:
    problems = [
        Problem(f"{unknown_name('variable', name, names)}", edit.place, edit=edit.name)
        for edit in edits
        for name in edit.variables
        if name not in names
    ]
    message = "it is about all records together, and fields are located record by record"
    together = [edit for edit in edits if edit.looks_beyond]
    problems += [Problem(message, edit.place, "Leave it out here.", edit=edit.name) for edit in together]
    if problems:
        raise EditError(problems)


def _violating(data: Dataset, checker: Checker, start: int) -> NDArray[np.bool_]:
    columns = RecordChunk.from_dataset(data, start, start + CHUNK)
    broken = np.zeros(columns.n, dtype=np.bool_)
    for verdict in checker.add(columns):
        broken |= np.logical_not(verdict.holds)
    return broken
