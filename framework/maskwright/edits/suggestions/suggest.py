"""Rules that hold in a file, verified record by record, the most useful first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.edits.edit_set import EditSet
from maskwright.edits.suggestions.acceptance import Acceptance
from maskwright.edits.suggestions.code_pairs import code_pairs
from maskwright.edits.suggestions.conditionals import conditionals
from maskwright.edits.suggestions.dates import with_days
from maskwright.edits.suggestions.limits import limits
from maskwright.edits.suggestions.model import Suggestions, numeric_names
from maskwright.edits.suggestions.orderings import orderings
from maskwright.edits.suggestions.products import computed, products
from maskwright.edits.suggestions.ranges_and_sets import ranges
from maskwright.edits.suggestions.sample import Sample
from maskwright.edits.suggestions.sums import sums
from maskwright.foundation.errors import InputError
from maskwright.foundation.progress import Progress, silent

if TYPE_CHECKING:
    from collections.abc import Iterable

    from maskwright.data.dataset import Dataset
    from maskwright.edits.suggestions.model import Candidate, Suggestion

LIMIT = 30
MOST_VARIABLES = 60
"""Variables among which sums and products are searched."""

MOST_TRIED = 300
"""Candidates of one kind that are verified, the most promising first."""


def suggest(
    data: Dataset,
    stated: EditSet | None = None,
    share: float = 1.0,
    progress: Progress = silent,
    *,
    limit: int = LIMIT,
    show_values: bool = False,
) -> Suggestions:
    """Search a file for rules.

    Sums with small whole coefficients, products, proportions up to rounding, codes that determine labels and groups,
    conditionals, orderings of what is comparable, ranges; on demand constants and listed values. Long files are
    searched in 20,000 of their records; every rule is then checked on every record in exact arithmetic. What follows
    from other suggestions is left out. The rules come from the data: publishing them discloses something.

    `stated`: rules that are known; what follows from them is not suggested again. `share`: suggest what holds in at
    least this share of the records of which it speaks. `limit`: suggestions, at most: the most useful. 0: all.
    `show_values`: give constants, lists of values, conditionals that name codes or limits, and the smallest and largest
    value as bounds of ranges, instead of numbers rounded outwards. They are values of records: for the office only.
    """
    if not 0 < share <= 1:
        raise InputError(f"the share of records must be above 0 and at most 1, not {share:g}")
    if limit < 0:
        raise InputError(f"the limit of suggestions must be at least 1, or 0 for all, not {limit}")
    if len(data) == 0:
        raise InputError("there are no records to find rules in")
    notes = [
        "bounds of ranges are values of records: confidential; so are codes and lists"
        if show_values
        else "constants and lists of values are not shown: they are values of records (--show-values, "
        "show_values=True); conditionals speak of 0 and of missing cells, not of codes"
    ]
    sample = Sample.drawn(data, share)
    exact = sample.exact
    rough = [name for name in numeric_names(data) if data[name].variable.decimals is None]
    if rough:
        notes.append(f"{len(rough)} variable(s) without declared decimals are left out of sums and products")
    if len(exact) > MOST_VARIABLES:
        notes.append(f"sums and products were searched among the first {MOST_VARIABLES} of {len(exact)} variables")
        exact = exact[:MOST_VARIABLES]
    dated, dates = with_days(data)
    ordered = Sample.drawn(dated, share, dates)
    # What others may follow from comes first.
    kinds: list[Iterable[Candidate]] = [
        sums(sample, exact), [*products(sample, exact), *computed(sample, exact)], code_pairs(sample),
        orderings(ordered), [*conditionals(sample, show_values=show_values), *(limits(sample) if show_values else ())],
        ranges(data, share, exact=show_values),
    ]  # fmt: skip
    acceptance = Acceptance(dated, data, share, EditSet() if stated is None else stated)
    found: list[Suggestion] = []
    for done, candidates in enumerate(kinds, start=1):
        tried = sorted(candidates, key=lambda each: -each.promise)
        if len(tried) > MOST_TRIED and tried[0].chance:
            notes.append(f"of {len(tried)} rules of kind {tried[0].kind} the {MOST_TRIED} most promising were tried")
            tried = tried[:MOST_TRIED]
        found += acceptance.take(tried)
        progress(done / len(kinds))
    if acceptance.known:
        notes.append(f"{acceptance.known} rule(s) that follow from the rules given are left out")
    found.sort(key=lambda each: -each.usefulness)
    if limit and len(found) > limit:
        notes.append(f"{len(found) - limit} less useful rule(s) are left out (--limit 0 and limit=0 give all)")
        found = found[:limit]
    return Suggestions(len(data), tuple(found), tuple(notes), show_values)
