"""Templates become HTML: everything that is put into them is escaped."""

from __future__ import annotations

import shlex
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

import maskwright as mw

TEMPLATES = Path(__file__).parent / "templates"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["plural"] = mw.wording.plural
    environment.filters["thousands"] = lambda number: f"{number:,}"
    environment.filters["sentence"] = sentence
    environment.filters["ended"] = ended
    environment.filters["share_of"] = share_of
    environment.filters["duration"] = duration
    environment.filters["quoted"] = shlex.quote
    return environment


def html(template: str, **values: object) -> str:
    """HTML of a template.

    `template`: name of a file in ``templates/``.
    """
    return _environment().get_template(template).render(**values)


def duration(seconds: float | None) -> str:
    """Seconds as people say them; '' for None."""
    if seconds is None:
        return ""
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def sentence(text: str) -> str:
    """A sentence with a capital letter, unless it begins with the name of a file."""
    return text[:1].upper() + text[1:] if text.split(" ", 1)[0].isalpha() else text


def ended(text: str) -> str:
    """A text with the full stop that it lacks: a question has its mark."""
    return text if text.endswith((".", "?", "!", ":")) else f"{text}."


def share_of(part: int, whole: int) -> str:
    """Percent, so that what is there is not said to be nothing."""
    percent = 100 * part / whole if whole else 0.0
    return "< 0.1 %" if 0 < percent < 0.1 else f"{percent:.1f} %"
