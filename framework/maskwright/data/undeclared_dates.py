"""Texts that may be dates: which format fits them, and what to declare or to mend so that they are read as dates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from maskwright.data.date_texts import ISO, read_dates

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright.data.dataset import Column

FORMATS = (
    ISO, "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d",
    "%Y-%m", "%Y/%m", "%m.%Y", "%m/%Y", "%m-%Y", "%Y-Q%q", "%YQ%q",
)  # fmt: skip
"""Formats in which offices write dates, that of ISO first."""

NEARLY_ALL = 0.9
LOOKED_AT = 1000
"""Texts that tell whether all the others have to be looked at."""

DAY, MONTH = "(?:0?[1-9]|[12][0-9]|3[01])", "(?:0?[1-9]|1[0-2])"
SHORT = (
    rf"^\s*(?:(?:{DAY}[-./]{MONTH}|{MONTH}[-./]{DAY})[-./](?:[12][0-9]{{3}}|[0-9]{{2}})"
    rf"|[12][0-9]{{3}}[-./]{MONTH}[-./]{DAY})\s*$"
)
"""Dates with days and months of one digit, or years of two, which no format reads."""
MOMENT = r"^\s*[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}"


def fitting_formats(texts: Any) -> tuple[str, ...]:
    """Formats in which texts are dates, those first that fit most; only such as fit nearly all.

    `texts`: shape (n,). Returns more than one where only a person can tell which it is: 03/04/2020.
    """
    if not len(texts):
        return ()
    fits = {each: int(read_dates(texts, each).is_date.sum()) for each in FORMATS}
    most = max(fits.values())
    return tuple(each for each in FORMATS if fits[each] == most) if most >= NEARLY_ALL * len(texts) else ()


def date_remedy(name: str, categories: Sequence[str]) -> str | None:
    """What to declare or to mend, so that a variable that was read as text is a date; None: its texts are no dates."""
    if len(categories) > LOOKED_AT and date_remedy(name, categories[:LOOKED_AT]) is None:
        return None
    texts = pa.array(categories, pa.string())
    formats = fitting_formats(texts)
    if formats:
        stated = "{type: date}" if formats[0] == ISO else f'{{type: date, format: "{formats[0]}"}}'
        which = f" (you know whether they are {' or '.join(formats)})" if len(formats) > 1 else ""
        return f"Declare how its dates are written: `{name}: {stated}`{which}."
    if _nearly_all(texts, MOMENT):
        return (
            "It holds dates with a time of day in several forms, or of several time zones: write them all in one form, "
            f"of one zone, and declare `{name}: {{type: datetime}}`."
        )
    if _nearly_all(texts, SHORT):
        return (
            "If it holds dates, write them with two digits for day and month and four for the year (01.03.1970), and "
            f'declare `{name}: {{type: date, format: "%d.%m.%Y"}}`.'
        )
    return None


def _nearly_all(texts: Any, pattern: str) -> bool:
    found = pc.sum(pc.match_substring_regex(texts, pattern)).as_py() or 0
    return len(texts) > 0 and found >= NEARLY_ALL * len(texts)


def date_notes(column: Column) -> list[str]:
    """What a person should know of a column of texts that may be dates.

    `column`: of categories, whose type nobody declared.
    """
    remedy = date_remedy(column.name, column.variable.categories)
    return [] if remedy is None else [f"{column.name}: read as text, and it looks like dates. {remedy}"]
