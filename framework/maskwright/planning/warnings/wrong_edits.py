"""Doubts about edits that the original violates more often than errors explain, with what may have been meant."""

from __future__ import annotations

import math
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.edit import RangePart
from maskwright.foundation.doubts import Doubt

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset
    from maskwright.edits.edit import Edit
    from maskwright.edits.edit_set import EditSet
    from maskwright.edits.evaluation.outcomes import EditOutcome
    from maskwright.edits.suggestions.slips import Meant

USUAL_ERRORS = 0.05
"""Share of the records that errors are expected to explain, in a file of which nothing else is known."""

FEW_ERRORS = 0.01
"""Share of the records that violate an edit which distorts, up to which nothing speaks against the edit itself."""

SOFT = 0.5
"""The same for an edit of severity warning, which a good record may violate."""

MOST_ERRORS = 0.25
"""Share up to which the other edits of a dirty file excuse one that is violated at a like rate."""

OF_OTHERS = 2.0
"""A rate is like that of other edits up to so many times theirs."""

FEWEST = 3
"""Records that violate an edit, at least, where it may be wrong."""

FEWEST_IN_TAIL = 10
"""Values beyond a bound from which it is seen whether it cuts a tail."""

BEFORE = 4
"""Values before the bound that are looked at, for each beyond it."""

SHARE_OF_TAIL = 0.2
"""Of the values before the bound in the half next to it: 0.31 in an exponential tail that goes on, 0.23 in a heavy one
(Pareto, 2), below 0.15 where the values end there."""

FEWEST_STEPS = 4
"""Different values before a bound in which a tail is seen: of a count or a scale there are fewer."""

HEAPED = 3.0
"""Times as many records as each value before it has that lie on a bound where it is one: a cap, full hours, 100 %."""

CHANCE = 0.2
"""Chance, at most, of so many violations where errors are as frequent as the limit."""

ALIKE = 4.0
"""Rates of all edits of a file are alike where the largest is not more than so many times the smallest."""


def wrong_edit_doubts(
    outcomes: Iterable[EditOutcome], edits: EditSet, data: Dataset, leaving_out: Collection[str] = ()
) -> Iterator[Doubt]:
    """A doubt for each edit that is violated by more of the records it is for than errors explain.

    `data`: the original, or a sample of it, in which rules that may have been meant are looked up. `leaving_out`: edits
    of which other doubts speak.
    """
    own = [each for each in outcomes if each.name not in leaving_out]
    rates = _rates(own)
    stated = {edit.name: edit for edit in edits}
    found = {
        each.name: limit for each in own if each.violations and each.name in stated
        for limit in [_limit(each, rates)] if is_beyond(*rates[each.name], limit)
    }  # fmt: skip
    dirty = _dirty(found, rates)
    for name, limit in found.items():
        violations, of = rates[name]
        why = f"more than data errors explain (up to {100 * limit:.2g} %)"
        yield _doubt(stated[name], violations, of, why, edits, data, dirty)
    for each in own:
        violations, of = rates.get(each.name, (0, 0))
        is_open = each.severity == "error" and each.name in stated and each.name not in found
        if is_open and violations > FEW_ERRORS * of and cuts_a_tail(stated[each.name], data):
            why = "and the values go on beyond the bound as they do before it"
            yield _doubt(stated[each.name], violations, of, why, edits, data, "")


def cuts_a_tail(edit: Edit, data: Dataset) -> bool:
    """Whether values go on beyond the bound of a range as they do before it: of any range that an edit is made of.

    A distribution is thin where it ends: a bound with many values just before it lies in its midst, unless they are
    heaped on it. Of ``if … then`` the records count for which the condition holds. `data` may be a sample.
    """
    from maskwright.edits.suggestions.part_verdicts import governed_parts  # only where an edit is violated

    return any(
        _cuts_a_tail(part, data[part.variable].values[rows & ~data[part.variable].missing].astype(np.float64))
        for part, rows, _ in governed_parts(edit, edit.parts, data)
        if isinstance(part, RangePart) and not (part.numbers or part.texts)
        and part.variable in data and data[part.variable].variable.is_numeric
    )  # fmt: skip


def _cuts_a_tail(part: RangePart, values: NDArray[np.float64]) -> bool:
    for bound, sign in ((part.high, 1), (part.low, -1)):
        if bound is None:
            continue
        beyond = sign * (values - float(bound))
        outside, inside = beyond[beyond > 0], np.sort(-beyond[beyond <= 0])
        count = BEFORE * len(outside)
        if len(outside) >= max(FEWEST_IN_TAIL, FEW_ERRORS * len(values)) and count <= len(inside) / 2:
            width = inside[count - 1]
            on, distinct = np.count_nonzero(inside == 0.0), len(np.unique(inside[:count]))
            if distinct < FEWEST_STEPS or (on >= FEWEST and on * distinct > HEAPED * count):
                continue
            near = np.count_nonzero(inside[:count] <= width / 2)
            # As many beyond as a tail has there, half or some less: errors lie farther away.
            if near >= SHARE_OF_TAIL * count and np.median(outside) <= width:
                return True
    return False


def violated_by_errors(outcomes: Iterable[EditOutcome]) -> list[str]:
    """Edits that some records violate, and no more than errors explain."""
    own = [*outcomes]
    rates = _rates(own)
    return [
        each.name for each in own if each.violations and not is_beyond(*rates[each.name], _limit(each, rates))
    ]  # fmt: skip


def distorting_edit_doubts(
    doing_most: Mapping[str, float], outcomes: Iterable[EditOutcome], edits: EditSet, data: Dataset,
    known: Iterable[Doubt],
) -> Iterator[Doubt]:  # fmt: skip
    """A doubt for each edit that does most of what adjusting distorts, if some of the original violates it too.

    `doing_most`: such edits, with their share of what moved a variable. `known`: doubts from before masking.
    """
    doubted = {each.subject for each in known if each.kind == "edit-may-be-wrong"}
    own = [*outcomes] if doing_most else []
    rates = _rates(own)
    for each in own:
        violations, of = _rate(each)
        if each.name not in doing_most or each.name in doubted:
            continue
        if is_beyond(violations, of, _limit(each, rates, FEW_ERRORS)):
            why = f"and keeping it did {100 * doing_most[each.name]:.0f} % of what moved a variable too far"
            yield _doubt(next(edit for edit in edits if edit.name == each.name), violations, of, why, edits, data, "")


def is_beyond(violations: int, of: int, limit: float) -> bool:
    """Whether so many violations are hardly chance where errors are as frequent as the limit.

    The chance is bounded from above (Chernoff), so that small files give a doubt only where it is plain.

    >>> is_beyond(3, 20, 0.05), is_beyond(5, 20, 0.05), is_beyond(3, 3, 0.05), is_beyond(60, 1000, 0.05)
    (False, True, True, False)
    """
    if violations < FEWEST or violations <= limit * of:
        return False
    share = violations / of
    apart = share * math.log(share / limit)
    if share < 1:
        apart += (1 - share) * math.log((1 - share) / (1 - limit))
    return of * apart >= -math.log(CHANCE)


def _rate(each: EditOutcome) -> tuple[int, int]:
    """Violations, and the records that the edit is for and whose verdict is known."""
    return each.violations, max(each.fired - each.unknown, each.violations)


def _rates(outcomes: Iterable[EditOutcome]) -> dict[str, tuple[int, int]]:
    """Of the edits that speak of any record."""
    return {each.name: rate for each in outcomes for rate in [_rate(each)] if rate[1]}


def _limit(edit: EditOutcome, rates: Mapping[str, tuple[int, int]], usual: float = USUAL_ERRORS) -> float:
    """Share that errors explain: that of the other edits of the file, where it is a dirty one."""
    others = [violations / of for name, (violations, of) in rates.items() if name != edit.name]
    like = OF_OTHERS * median(others) if others else 0.0
    return max(usual if edit.severity == "error" else SOFT, min(like, MOST_ERRORS))


def _dirty(found: Collection[str], rates: Mapping[str, tuple[int, int]]) -> str:
    """What is said where all edits of a file are violated at a like rate; '' where they are not."""
    shares = [violations / of for violations, of in rates.values()]
    if len(shares) < FEWEST or not found or min(shares) * ALIKE < max(shares) or min(shares) < USUAL_ERRORS:
        return ""
    return (
        f"; all {len(shares)} edits are violated at a like rate ({100 * min(shares):.2g} to "
        f"{100 * max(shares):.3g} %): rather a file with many errors, or one that "
        "is read otherwise than it is meant, than wrong edits"
    )


def _doubt(edit: Edit, violations: int, of: int, why: str, edits: EditSet, data: Dataset, dirty: str) -> Doubt:
    from maskwright.edits.suggestions.slips import meant_instead  # only where an edit is in doubt

    meant = "" if dirty else _said(meant_instead(edit, data, edits))
    share = f"{100 * violations / of:.3g} %"
    message = f"{violations:,} of the {of:,} records to which it applies violate it ({share}), {why}{dirty}{meant}"
    return Doubt("edit-may-be-wrong", edit.name, message, violations, of, edit.place)


def _said(found: tuple[Meant, ...]) -> str:
    if found and found[0].halves:
        which = "all" if found[0].by_rounding else "most"
        return (
            f"; in {which} of these the value to round ends in a half, which the edit rounds up and the data round "
            f"{found[0].halves}: write `{found[0].rule}`, which holds in {_most(found[0], 'the records')}"
        )
    if found and found[0].by_rounding:
        return f"; all of these are within what rounding explains: `{found[0].rule}` holds in all records"
    rules = [f"`{each.rule}`" + f", as edit {each.stated!r} says," * bool(each.stated) + f" holds in {_most(each)}"
             for each in found]  # fmt: skip
    return f"; {', or '.join(rules)}: did you mean that?" if rules else ""


def _most(each: Meant, them: str = "them") -> str:
    return "all records" if each.held == each.of else f"{math.floor(1000 * each.held / each.of) / 10:g} % of {them}"
