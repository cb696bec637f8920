"""``maskwright studio``: serve the page on a loopback address, and open the browser on it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field

from maskwright import Command, InputError, Positional, Problem


class StudioParams(BaseModel, extra="forbid", frozen=True):
    """Options of the command."""

    start: Annotated[Path, Positional()] = Field(
        default=Path(), description="A folder, or a pipeline; nothing outside its folder can be opened."
    )
    browser: bool = Field(default=True, description="Open the page in the browser.")


def open_studio(params: StudioParams) -> str:
    """Serve the page until it is interrupted."""
    start = params.start.resolve()
    if not start.exists():
        raise InputError([Problem(f"{params.start}: no such folder or pipeline")])
    if any(importlib.util.find_spec(name) is None for name in ("starlette", "uvicorn")):
        raise InputError(
            [Problem("the studio needs two more packages", hint="Install them: pip install 'maskwright[studio]'")]
        )
    from maskwright_studio.server import serve

    serve(start, browser=params.browser, say=_say)
    return "The studio has ended."


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


STUDIO = Command(
    name="studio",
    work=open_studio,
    params=StudioParams,
    summary="Open the studio: the whole job in a browser, on this machine only.",
)
