"""A server on a loopback port of its own, from its first request to its last."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import tempfile
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn

from maskwright_studio.application import application
from maskwright_studio.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable

HOST = "127.0.0.1"

REDIRECT = """<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer">
<title>Maskwright</title><meta http-equiv="refresh" content="0;url={address}">
"""


def serve(start: Path, *, browser: bool, say: Callable[[str], None]) -> None:
    """Serve the studio until it is interrupted.

    `start`: a folder, or a pipeline: absolute. `browser`: open the address in the browser. `say`: told the address; it
    holds the key, so it goes to the user's terminal and nowhere else.
    """
    os.umask(0o077)
    private = Path(tempfile.mkdtemp(prefix="maskwright-studio-"))
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, private, ignore_errors=True)
        # The port is open before anybody is told of it, and stays the same socket.
        listening = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
        listening.bind((HOST, 0))
        key = secrets.token_urlsafe(32)
        address = f"{HOST}:{listening.getsockname()[1]}"
        entrance = f"http://{address}/#key={key}"
        session = stack.enter_context(Session(start, private))
        app = application(session, address, key)
        listening.listen(64)
        say(f"The studio is open at\n  {entrance}\nThe address is the key to it: it is for you alone. Ctrl-C ends it.")
        if browser:
            _open(entrance, private)
        config = uvicorn.Config(
            app, log_config=None, access_log=False, server_header=False, lifespan="on", ws="none", loop="asyncio",
            timeout_graceful_shutdown=2, timeout_keep_alive=30, h11_max_incomplete_event_size=64 * 1024,
        )  # fmt: skip
        with contextlib.suppress(KeyboardInterrupt):
            uvicorn.Server(config).run(sockets=[listening])


def _open(entrance: str, private: Path) -> None:
    """Open the entrance by a file that only the user can read: an address would stand in the list of processes."""
    page = private / "open.html"
    page.touch(mode=0o600)
    page.write_text(REDIRECT.format(address=entrance), encoding="utf-8")
    with contextlib.suppress(webbrowser.Error, OSError):
        webbrowser.open(page.as_uri())
