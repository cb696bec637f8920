"""The application: an empty page, its script, and answers that need the key."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.staticfiles import StaticFiles

from maskwright_studio.data_process import NotYet
from maskwright_studio.documents import SANDBOX
from maskwright_studio.guard import Door, Guard
from maskwright_studio.page import Answer
from maskwright_studio.pages import PAGES
from maskwright_studio.pages.pipeline import prepared
from maskwright_studio.refusal import Refusal
from maskwright_studio.showing import ended, html, sentence
from maskwright_studio.shown_state import PIPELINE, ensure_shown, shown_state

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.requests import Request

    from maskwright_studio.page import Page
    from maskwright_studio.session import Session
    from maskwright_studio.shown_state import RestsOn

STATIC = Path(__file__).parent / "static"


def application(session: Session, address: str, key: str) -> Guard:
    """Return the guarded application.

    `address`: ``127.0.0.1:PORT``. `key`: that every answer with data asks for.
    """

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        preparing = asyncio.create_task(prepared(session))
        preparing.add_done_callback(lambda done: done.cancelled() or done.exception())
        yield
        await session.close()

    shells = {"/", *(page.path for page in PAGES)}
    routes = [
        *(Route(path, _shell) for path in sorted(shells)),
        *(Route(f"/view{page.path}", partial(_view, session, page)) for page in PAGES),
        *(Route(f"/part/{page.name}/{name}", partial(_part, session, work, page.needs(name)))
          for page in PAGES for name, work in page.parts.items()),
        *(Route(f"/act/{page.name}/{name}", partial(_act, session, work, page.needs(name)), methods=["POST"])
          for page in PAGES for name, work in page.acts.items()),
        Route("/document/{key}", partial(_document, session)),
    ]  # fmt: skip
    app = Starlette(routes=routes, lifespan=lifespan)
    app.mount("/static", StaticFiles(directory=STATIC))
    door = Door(is_shell=lambda path: path in shells, is_open=lambda path: path.startswith(("/static/", "/document/")))
    return Guard(app, address, key, door)


async def _shell(_: Request) -> Response:
    return HTMLResponse(html("shell.html", pages=PAGES))


async def _view(session: Session, page: Page, request: Request) -> Response:
    if PIPELINE in request.headers:  # a page that is loaded shows nothing yet
        try:
            ensure_shown(session, request.headers, page.needs("show"))
        except Refusal as refusal:
            return _refused_as_stale(refusal)
    pipeline, state = session.pipeline, shown_state(session)
    undo, redo = ("", "") if pipeline is None else (pipeline.undoes, pipeline.redoes)
    is_changed = pipeline is not None and pipeline.changed_outside()
    body = html("changed_outside.html", name=pipeline.path.name) if pipeline is not None and is_changed else ""
    try:
        body += "" if is_changed and page.is_of_file else await page.show(session, request.query_params)
    except Refusal as refusal:
        body += html("refusal.html", refusal=refusal)
    return JSONResponse(
        {
            "title": page.title,
            "html": body,
            "pipeline": "" if pipeline is None else pipeline.path.name,
            "time": datetime.now().astimezone().strftime("%Y-%m-%d %H:%M"),
            "undo": undo,
            "redo": redo,
            "shown": state,
        }
    )


async def _part(session: Session, work: Any, rests_on: RestsOn, request: Request) -> Response:
    try:
        ensure_shown(session, request.headers, rests_on)
    except Refusal as refusal:
        return _refused_as_stale(refusal)
    try:
        return HTMLResponse(await work(session, request.query_params))
    except Refusal as refusal:
        return HTMLResponse(html("refusal.html", refusal=refusal))
    except NotYet as waiting:
        return HTMLResponse(html("reading.html", waiting=waiting))


async def _act(session: Session, work: Any, rests_on: RestsOn, request: Request) -> Response:
    form = await request.json()
    if not isinstance(form, dict):
        return PlainTextResponse("a form is a mapping", 400)
    try:
        ensure_shown(session, request.headers, rests_on)
    except Refusal as refusal:
        return _refused_as_stale(refusal)
    before = session.pipeline
    try:
        answer: Answer = await work(session, form)
    except Refusal as refusal:
        answer = _refused(refusal)
    return JSONResponse(answer.to_json() | {"opened": session.pipeline is not before})


def _refused(refusal: Refusal) -> Answer:
    said = " ".join(filter(None, (ended(refusal.message), refusal.hint)))
    return Answer(say=sentence(said), wrong=True, offers=refusal.offers)


def _refused_as_stale(refusal: Refusal) -> Response:
    """Answer to a page that shows something else than is open: it stays as it is, and says so."""
    return JSONResponse(_refused(refusal).to_json(), 409)


async def _document(session: Session, request: Request) -> Response:
    path, download = session.documents.take(request.path_params["key"]) or (None, False)
    if path is None or not path.is_file():
        return PlainTextResponse("This document was looked at already: open it again from its page.", 404)
    headers = {"content-security-policy": SANDBOX, "x-frame-options": "SAMEORIGIN"}
    if download:
        return FileResponse(path, headers=headers, media_type="application/octet-stream", filename=path.name)
    return FileResponse(path, headers=headers, media_type="text/html" if path.suffix == ".html" else "text/plain")
