"""What a page is: a path, what it shows, the parts of it that change by themselves, and what can be done on it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from maskwright_studio.session import Session
    from maskwright_studio.shown_state import RestsOn

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
