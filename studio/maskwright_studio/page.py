"""Pages: path, parts and actions, the state they show, and rendering of templates."""

from __future__ import annotations

import shlex
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import quote, unquote

from jinja2 import Environment, FileSystemLoader, StrictUndefined

import maskwright as mw
from maskwright_studio.proposals import fingerprint
from maskwright_studio.refusal import Refusal
from maskwright_studio.session import shown

if TYPE_CHECKING:
    from maskwright_studio.session import Session


Query = Mapping[str, str]
"""What stands behind the question mark of the address: it is all the state of a page, so links survive reload."""

Form = Mapping[str, object]
"""Fields of a form: text, or a list of text where a name occurs more than once."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the page does after something was done.

    `html`: put into the element that the form names; '' leaves it as it is. `go`: path of the page to show next; ''
    stays. `say`: a sentence for the line of messages, which screen readers read out. `wrong`: the sentence is about
    something that did not work. `document`: address of a document to open in a window of its own. `settled`: what was
    typed on the page is saved or discarded: the page need not keep it. `offers`: buttons beside a sentence about
    something that did not work.
    """

    html: str = ""
    go: str = ""
    say: str = ""
    wrong: bool = False
    document: str = ""
    settled: bool = False
    offers: tuple[tuple[str, str], ...] = ()

    def to_json(self) -> dict[str, object]:
        """Return what the script gets."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Page:
    """One page of the studio.

    `path`: ``/run``; the name in the address. `title`: in the navigation, and the heading. `show`: ``(session, query)
    -> html`` of everything below the heading. `parts`: ``(session, query) -> html``: fetched on its own, by
    ``data-part="/part/PAGE/NAME"``. `acts`: ``(session, form) -> Answer``: what its forms and buttons do, by
    ``data-act="/act/PAGE/NAME"``. `is_listed`: whether it stands in the navigation. `rests_on`: what has to be as the
    page shows it for one of its parts or acts, or, as ``show``, for the page to be shown in the place of another one:
    the pipeline that is open, where nothing is said. `is_of_file`: whether all that it shows comes from the pipeline on
    disk: a file that was changed outside is read again first.
    """

    path: str
    title: str
    show: Callable[[Session, Query], Awaitable[str]]
    parts: Mapping[str, Callable[[Session, Query], Awaitable[str]]] = field(default_factory=dict)
    acts: Mapping[str, Callable[[Session, Form], Awaitable[Answer]]] = field(default_factory=dict)
    rests_on: Mapping[str, RestsOn] = field(default_factory=dict)
    is_listed: bool = True
    is_of_file: bool = False

    @property
    def name(self) -> str:
        """The path without its slash."""
        return self.path.strip("/")

    def needs(self, name: str) -> RestsOn:
        """What has to be as the page shows it for one of its parts or acts, or ``show``."""
        return self.rests_on.get(name, "pipeline")


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
    """HTML of a template."""
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


RestsOn = Literal["nothing", "pipeline", "text"]
"""What has to be as the page shows it: nothing, which pipeline is open, or its text too."""

PIPELINE = "Studio-Pipeline"
"""Header: the pipeline that the page shows, relative to the folder, percent-encoded; '' where it shows none."""

TEXT = "Studio-Text"
"""Header: the fingerprint of its text."""


def shown_state(session: Session) -> dict[str, str]:
    """What a page made now shows, as the headers that it is to send."""
    pipeline = session.pipeline
    if pipeline is None:
        return {PIPELINE: "", TEXT: ""}
    return {PIPELINE: quote(shown(session.folder, pipeline.path)), TEXT: fingerprint(pipeline.text)}


def ensure_shown(session: Session, sent: Mapping[str, str], rests_on: RestsOn) -> None:
    """Refuse what is asked by a page that shows something else than is open."""
    if rests_on == "nothing":
        return
    now = shown_state(session)
    if PIPELINE not in sent or (rests_on == "text" and TEXT not in sent):
        raise Refusal("the page does not say which pipeline it shows, so nothing was done", "Reload the page.")
    seen, is_open = unquote(sent[PIPELINE]), unquote(now[PIPELINE])
    if seen != is_open:
        raise Refusal(
            f"this page shows {seen or 'no pipeline'}; {is_open or 'none'} was opened in another tab. Nothing was done",
            f"Reload the page, or open {seen} again on the page Open." if seen else "Reload the page.",
        )
    if rests_on == "text" and sent[TEXT] != now[TEXT]:
        raise Refusal(
            f"this page shows an earlier state of {seen}, which was changed since. Nothing was done",
            "Reload the page to see what it says now.",
        )
