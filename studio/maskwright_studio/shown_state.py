"""What a page shows, and whether it is still so: another tab may have opened or changed a pipeline since.

A page names the pipeline and the text that it was made of with all that it asks for. Nothing is done for a page that
names another one, or none: it would be done to what its reader does not see.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal
from urllib.parse import quote, unquote

from maskwright_studio.folder import shown
from maskwright_studio.proposals import fingerprint
from maskwright_studio.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright_studio.session import Session

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
