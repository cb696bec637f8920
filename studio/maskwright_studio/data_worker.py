"""The process that holds the data: reads them once, answers questions about them, and ends with the studio.

Its first line of standard input names the pipeline. Then each line is ``{"id": 1, "ask": "variables"}``, answered by
``{"id": 1, "answer": ...}`` or ``{"id": 1, "problems": [message, hint]}``, or ``{"cancel": 1}`` for a question that
nobody waits for any more. Between them it says how far it is, and how much memory it holds.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import maskwright as mw
from maskwright_studio.released_answers import ReleasedAnswers
from maskwright_studio.worker import Told, with_place

if TYPE_CHECKING:
    from collections.abc import Iterator

ARGUMENT = re.compile(r"^(argument \w+, item|rule) \d+(:\d+)?: (edit edit-\d+: )?")


def main() -> None:
    """Answer until standard input ends."""
    lines = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what plugins print is no line of ours

    def say(told: object) -> None:
        lines.write(json.dumps(told, allow_nan=False) + "\n")
        lines.flush()

    asked: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    cancelled: set[int] = set()
    threading.Thread(target=_hear, args=(asked, cancelled), daemon=True).start()
    answers = ReleasedAnswers(asked.get()["pipeline"], Told(say))
    is_needed = False
    while True:
        # Between questions: what the next page will ask.
        while is_needed and asked.empty():
            is_needed = _works_ahead(answers)
        request = asked.get()
        if request["id"] in cancelled:
            continue
        outcome = _outcome(answers, request)
        is_needed = True
        say({"memory": _memory()})
        say({"id": request["id"], **outcome})


def _works_ahead(answers: ReleasedAnswers) -> bool:
    try:
        return answers.ahead()
    except Exception:  # noqa: BLE001 - whoever asks for it is told
        return False


def _outcome(answers: ReleasedAnswers, request: dict[str, Any]) -> dict[str, object]:
    details = {name: value for name, value in request.items() if name not in {"id", "ask"}}
    try:
        return {"answer": getattr(answers, request["ask"])(**details)}
    except mw.MaskwrightError as error:
        first, *others = error.problems
        more = f" (and {len(others)} more)" if others else ""
        # Of a typed rule the place is one of ours, which is nowhere on the page.
        sentence, *excerpt = ARGUMENT.sub("", with_place(first).replace(answers.folder, "")).split("\n")
        return {"problems": ["\n".join([sentence.rstrip(".") + more, *excerpt]), first.hint or ""]}
    except MemoryError:
        hint = "Close other programs, or look at a part of the file."
        return {"problems": ["there is not enough memory for these data", hint]}
    except Exception as error:  # noqa: BLE001 - the data stay, and the page says that it is a mistake of ours
        hint = "The command line tells more: maskwright describe, validate or edits, with --traceback."
        return {"problems": [f"this is a mistake of Maskwright, not of yours ({type(error).__name__})", hint]}


def _hear(asked: queue.SimpleQueue[dict[str, Any]], cancelled: set[int]) -> None:
    """Take lines; at their end the studio is gone, and nothing here is worth keeping."""
    for line in input_lines():
        with contextlib.suppress(ValueError):
            told = json.loads(line)
            if "cancel" in told:
                cancelled.add(told["cancel"])
            else:
                asked.put(told)
    os._exit(0)


def input_lines() -> Iterator[bytes]:
    """Lines of standard input, by the system's own calls: a thread inside `sys.stdin` would keep this from ending."""
    rest = b""
    while found := os.read(0, 65536):
        *whole, rest = (rest + found).split(b"\n")
        yield from whole


def _memory() -> int:
    """Bytes that this process holds; 0 where the system does not say."""
    with contextlib.suppress(OSError, ValueError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


if __name__ == "__main__":
    main()
