"""Rules that hold in a file, verified record by record."""

from __future__ import annotations

from typing import TYPE_CHECKING

import yaml

from maskwright.data.record_chunk import RecordChunk
from maskwright.edits.edit_set import EditSet
from maskwright.edits.evaluation.check import Checker
from maskwright.edits.reasoning.answers import Refutation, Space
from maskwright.edits.reasoning.clauses import clauses_of, negation_of
from maskwright.edits.reasoning.satisfiability import Satisfiability
from maskwright.edits.suggestions.model import WARNING, Candidate, Suggestion, Suggestions, numeric_names
from maskwright.edits.suggestions.orderings_and_ranges import orderings, ranges
from maskwright.edits.suggestions.relations import MOST_VARIABLES, equalities, exact_names, products, proportions
from maskwright.foundation.errors import InputError
from maskwright.foundation.progress import Progress, silent
from maskwright.foundation.randomness import generator

if TYPE_CHECKING:
    from maskwright.data.dataset import Dataset
    from maskwright.edits.edit import Edit

CHUNK = 65_536
MOST_CONNECTED = 60
TITLES = {
    "equality": "sums",
    "product": "products",
    "constant": "constants",
    "proportion": "one variable computed from another, and rounded",
    "ordering": "orderings",
    "range": "ranges",
    "set": "listed values",
}


def suggest(
    data: Dataset,
    stated: EditSet | None = None,
    share: float = 1.0,
    progress: Progress = silent,
    *,
    show_values: bool = False,
) -> Suggestions:
    """Search a file for rules.

    Linear equalities with small whole coefficients, products with small whole exponents, constants, proportions up to
    rounding, orderings, ranges and sets. Every rule is then checked on every record in exact arithmetic. The rules come
    from the data: publishing them discloses something.

    Parameters
    ----------
    data : Dataset
    stated : EditSet, optional
        Rules that are known; what follows from one of them is not suggested again.
    share : float, default 1
        Suggest what holds in at least this share of the records in which no cell it reads is missing.
    progress : callable, optional
    show_values : bool, default False
        Give constants, lists of values, and the smallest and largest value as bounds of ranges, instead of numbers
        rounded outwards. They are values of records: for the office only.

    Returns
    -------
    Suggestions

    Raises
    ------
    InputError
        No records, or a share outside (0, 1].
    """
    if not 0 < share <= 1:
        raise InputError(f"the share of records must be above 0 and at most 1, not {share:g}")
    if len(data) == 0:
        raise InputError("there are no records to find rules in")
    notes = [
        "bounds of ranges are values of records: confidential"
        if show_values
        else "constants and lists of values are not shown: they are values of records (--show-values, show_values=True)"
    ]
    names = exact_names(data)
    rough = [name for name in numeric_names(data) if data[name].variable.decimals is None]
    if rough:
        notes.append(f"{len(rough)} variable(s) without declared decimals are left out of sums and products")
    if len(names) > MOST_VARIABLES:
        notes.append(f"sums and products were searched among the first {MOST_VARIABLES} of {len(names)} variables")
        names = names[:MOST_VARIABLES]
    candidates: list[Candidate] = list(equalities(data, names, share, generator(0, "suggest")))
    progress(0.3)
    candidates += [*products(data, names), *proportions(data, names)]
    progress(0.5)
    ordered, apart = orderings(data, share)
    if apart:
        notes.append(f"{apart} ordering(s) of variables whose ranges do not overlap are left out")
    candidates += [*ordered, *ranges(data, exact=show_values)]
    progress(0.6)
    found = _verified(data, candidates, share)
    if stated is not None and len(stated):
        known = [each for each in found if _follows(each, stated)]
        found = [each for each in found if each not in known]
        if known:
            notes.append(f"{len(known)} rule(s) that follow from the rules given are left out")
    progress(1.0)
    return Suggestions(len(data), tuple(found), tuple(notes), show_values)


def _verified(data: Dataset, candidates: list[Candidate], share: float) -> list[Suggestion]:
    edits = EditSet.parse([candidate.rule for candidate in candidates])
    checker = Checker(edits)
    for start in range(0, len(data), CHUNK):
        checker.add(RecordChunk.from_dataset(data, start, start + CHUNK))
    found = []
    for candidate, outcome in zip(candidates, checker.outcome().edits, strict=True):
        of = outcome.fired - outcome.unknown
        held = of - outcome.violations
        if of and held >= share * of:
            found.append(Suggestion(candidate.kind, candidate.rule, held, of, candidate.follows))
    order = list(TITLES)
    return sorted(found, key=lambda each: order.index(each.kind))


def _follows(suggestion: Suggestion, stated: EditSet) -> bool:
    """Whether a suggestion follows from the rules on its variables."""
    (edit,) = EditSet.parse([suggestion.rule])
    if set(edit.parts) <= {part for each in stated for part in each.parts}:
        return True
    broken = negation_of(edit.name, edit.parts)
    if broken is None:
        return False
    near = _connected(stated, edit)
    if len(near) > MOST_CONNECTED:
        near = [each for each in stated.on(edit.variables) if not each.shadowed]
    answer = Satisfiability([*(clause for each in near for clause in clauses_of(each)), broken], Space(), {}).answer()
    return isinstance(answer, Refutation) and not answer.is_open


def _connected(stated: EditSet, edit: Edit) -> list[Edit]:
    """Rules that share a variable with an edit, directly or through others."""
    names, near = set(edit.variables), EditSet()
    while True:
        more = stated.on(sorted(names))
        if len(more) == len(near):
            return [each for each in more if not each.shadowed]
        names.update(more.variables)
        near = more


def as_yaml(found: Suggestions, source: str) -> str:
    """Suggestions as a rule file, ready to paste; those that follow from others are comments."""
    lines = [f"# Rules found in {source}, {found.records} records: suggestions, to accept or reject one by one."]
    lines += [f"# {line}" for line in _wrapped(WARNING)]
    lines += [f"# {note}." for note in found.notes]
    lines.append("edits:" if found.found else "edits: []")
    for kind, title in TITLES.items():
        chosen = [each for each in found.found if each.kind == kind]
        if chosen:
            rounded = kind == "range" and not found.shows_values
            lines.append(f"  # {title}{', rounded outwards' if rounded else ''}")
        for each in chosen:
            entry = yaml.safe_dump([each.rule], width=10**6, allow_unicode=True).strip()
            held = f"{each.records} of {each.of} records"
            if each.follows:
                lines.append(f"  # {entry}  # {held}; follows from {each.follows}")
            else:
                lines.append(f"  {entry}  # {held}")
    return "\n".join(lines) + "\n"


def _wrapped(text: str) -> list[str]:
    import textwrap

    return textwrap.wrap(text, 110)
