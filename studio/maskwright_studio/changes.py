"""Changes of the pipeline that other pages propose: shown as a difference first, saved when that is accepted."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from maskwright_studio.pipeline_text import append, set_value
from maskwright_studio.refusal import Refusal
from maskwright_studio.showing import html

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright_studio.page import Form
    from maskwright_studio.session import Session


def setting(*path: str, value: object) -> dict[str, object]:
    """Change that sets one value, ``setting("data", "variables", "age", "role", value="other")``."""
    return {"set": list(path), "value": value}


def addition(*path: str, value: object) -> dict[str, object]:
    """Change that adds an element at the end of a list."""
    return {"add": list(path), "value": value}


def proposal(session: Session, change: dict[str, object], act: str) -> str:
    """HTML of a change before it is made: its difference, and the button that saves it.

    Parameters
    ----------
    session : Session
    change : dict
        A `setting` or an `addition`.
    act : str
        Address of the act that saves it, with `saved`.
    """
    pipeline = session.needed_pipeline()
    lines = pipeline.difference(_changed(pipeline.text, change))
    kinds = [(_kind(each), each) for each in lines if not each.startswith(("---", "+++"))]
    return html(
        "change.html", lines=kinds, act=act, change=json.dumps(change), seen=_fingerprint(pipeline.text),
        name=pipeline.path.name,
    )  # fmt: skip


def saved(session: Session, form: Form) -> None:
    """Make the change that was shown.

    Raises
    ------
    Refusal
        The pipeline is another than the one of the difference.
    """
    pipeline = session.needed_pipeline()
    if form.get("seen") != _fingerprint(pipeline.text):
        raise Refusal(f"{pipeline.path.name} was changed since this was shown", "Look at the change again.")
    pipeline.save(_changed(pipeline.text, json.loads(str(form.get("change")))), pipeline.text)


def _changed(text: str, change: dict[str, Any]) -> str:
    way: Sequence[str] = tuple(change.get("set") or change["add"])
    edited = (set_value if "set" in change else append)(text, way, change["value"])
    if edited == text:
        raise Refusal("that is what the pipeline says already")
    return edited


def _kind(line: str) -> str:
    return {"+": "added", "-": "removed", "@": "soft"}.get(line[:1], "")


def _fingerprint(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
