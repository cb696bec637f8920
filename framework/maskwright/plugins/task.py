"""Tasks of a stage: done whole or not at all, with a receipt, in several tries, in the order of the keys."""

from __future__ import annotations

import errno
import hashlib
import json
import platform
import re
import shutil
import uuid
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskwright.foundation.errors import MaskwrightError, Problem
from maskwright.foundation.files import PRIVATE
from maskwright.plugins.engine import TRIES, MemoryFull, Receipt, ScratchFull, TaskFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from concurrent.futures import Executor, Future

    from maskwright.plugins.engine import Stage


RECEIPT = "receipt.json"
PRIVATE_FOLDER = 0o700

_NO_ROOM = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))
_TAKEN = (errno.ENOTEMPTY, errno.EEXIST, errno.EACCES, errno.EPERM)
"""What systems say when a folder is to be moved to where another one is."""


def perform(stage: Stage, key: str) -> Receipt:
    """Do one task, unless it is done; what every engine calls, in whatever process or machine.

    It is worked on in a temporary folder, which is moved into place as a whole with the receipt in it. Of two attempts
    at once the first one counts, and both return it. A damaged result is done again.

    Parameters
    ----------
    stage : Stage
    key : str
        Of the task: letters, digits, ``.``, ``_`` and ``-``; no value of a record.

    Raises
    ------
    ScratchFull
        Names the machine.
    MemoryFull
    TaskFailed
        The work raised something that is no error of Maskwright's; its message may hold values, and is left out.
    MaskwrightError
        That the work raised.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from maskwright import Stage, perform
    >>> def count(folder, key):
    ...     (folder / "letters.txt").write_text(key)
    ...     return {"letters": len(key)}
    >>> with tempfile.TemporaryDirectory() as scratch:
    ...     receipt = perform(Stage("count", count, Path(scratch), identity="letters of keys"), "abc")
    >>> receipt.facts["letters"], sorted(receipt.files)
    (3, ['letters.txt'])
    """
    place = stage.folder(key)
    try:
        done = receipt_of(stage, key)
        if done is not None:
            return done
        place.parent.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
        attempt = temporary_folder(place)
        try:
            return _in_place(stage, place, attempt, _worked(stage, key, attempt))
        finally:
            shutil.rmtree(attempt, ignore_errors=True)
    except MaskwrightError:
        raise
    except MemoryError:
        raise not_enough_memory(stage, key) from None
    except OSError as error:
        if error.errno in _NO_ROOM:
            hint = "Free some, and --resume uses what is done; or name another folder: `execution: {scratch: DIR}`."
            message = f"stage {stage.name}, task {key}: no room is left on {platform.node()} in {stage.scratch}"
            raise ScratchFull(Problem(message, hint=hint)) from None
        raise _failed(stage, key, error) from None
    except Exception as error:  # noqa: BLE001 - the work may fail in any way, and its message may hold values
        raise _failed(stage, key, error) from None


def not_enough_memory(stage: Stage, key: str) -> MemoryFull:
    """Error of a task that needs more memory than there is."""
    hint = (
        "Take fewer workers, a larger memory_limit, parts of fewer records, or a smaller block_size; after the first "
        "two, --resume uses what is done."
    )
    return MemoryFull(Problem(f"stage {stage.name}, task {key}: there is not enough memory for it", hint=hint))


def receipt_of(stage: Stage, key: str) -> Receipt | None:
    """Receipt of a task that is done, and whose files are all there as they were written; None otherwise.

    Parameters
    ----------
    stage : Stage
    key : str

    Examples
    --------
    >>> from pathlib import Path
    >>> from maskwright import Stage, receipt_of
    >>> receipt_of(Stage("nothing", print, Path.cwd()), "abc") is None
    True
    """
    place = stage.folder(key)
    try:
        said: Any = json.loads((place / RECEIPT).read_bytes())
        body = said["body"]
        if said["sha256"] != _sha256_of(json.dumps(body)) or (body["stage"], body["key"]) != (stage.fingerprint, key):
            return None
        if _hashes(place) != body["files"]:
            return None
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return Receipt(stage.name, key, body["files"], body["facts"])


def temporary_folder(place: Path) -> Path:
    """Make a folder beside another one, for the owner only, whose name says who works in it."""
    host = re.sub(r"[^A-Za-z0-9-]", "_", platform.node())[:40]
    made = place.with_name(f".{place.name}-{host}-{uuid.uuid4().hex}")
    made.mkdir(mode=PRIVATE_FOLDER)
    return made


def _worked(stage: Stage, key: str, attempt: Path) -> Receipt:
    """Work, and write the receipt last."""
    facts = stage.work(attempt, key)
    files = _hashes(attempt)
    # As it will be read: a receipt is the same whether the task was done now or before.
    text = json.dumps({"stage": stage.fingerprint, "key": key, "files": files, "facts": dict(facts)})
    body = json.loads(text)
    (attempt / RECEIPT).write_text(f'{{"sha256": "{_sha256_of(text)}", "body": {text}}}', encoding="utf-8")
    for each in attempt.rglob("*"):
        each.chmod(PRIVATE_FOLDER if each.is_dir() else PRIVATE)
    return Receipt(stage.name, key, body["files"], body["facts"])


def _in_place(stage: Stage, place: Path, attempt: Path, receipt: Receipt) -> Receipt:
    """Move a finished attempt into place, or leave it where another one was first."""
    while True:
        try:
            attempt.rename(place)
        except OSError as error:
            if error.errno not in _TAKEN or not place.exists():
                raise
        else:
            return receipt
        other = receipt_of(stage, place.name)
        if other is not None:
            return other
        damaged = temporary_folder(place)
        with suppress(FileNotFoundError):
            place.rename(damaged / "damaged")
        shutil.rmtree(damaged, ignore_errors=True)


def _hashes(folder: Path) -> dict[str, str]:
    """SHA-256 of each file but the receipt, by its name relative to the folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if name != RECEIPT and path.is_file():
            with path.open("rb") as file:
                found[name] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def _sha256_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _failed(stage: Stage, key: str, error: Exception) -> TaskFailed:
    """Where it was raised and what, without the message, which may hold values."""
    step, where = error.__traceback__, ""
    while step is not None:
        where = f" at {Path(step.tb_frame.f_code.co_filename).name}:{step.tb_lineno}"
        step = step.tb_next
    said = f"stage {stage.name}, task {key}: {type(error).__name__}{where}"
    if isinstance(error, OSError) and error.strerror:
        said += f" ({error.strerror})"
    return TaskFailed(said)


AHEAD = 8
"""Tasks that are given out ahead of the receipt that is waited for, for each worker: a slow one holds no one up."""


def in_order(
    executor: Executor, task: Callable[[str], Receipt], keys: Iterable[str], workers: int
) -> Iterator[Receipt]:
    """Receipts in the order of the keys; few are held at a time, and none is begun after one has failed.

    `task`: what is done for a key. `workers`: tasks that are done at once.
    """
    waiting: deque[Future[Receipt]] = deque()
    try:
        for key in keys:
            waiting.append(executor.submit(task, key))
            if len(waiting) > AHEAD * workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        for each in waiting:
            each.cancel()


def several_tries(attempt: Callable[[], Receipt]) -> Receipt:
    """Receipt of a task that may fail, and end its worker, but not each time.

    Parameters
    ----------
    attempt : callable
        Raises TaskFailed.

    Raises
    ------
    TaskFailed
        Each attempt did; it says of the last one what happened.

    Examples
    --------
    >>> from maskwright import Receipt, several_tries
    >>> several_tries(lambda: Receipt("count", "abc", {}, {})).key
    'abc'
    """
    for _ in range(TRIES - 1):
        try:
            return attempt()
        except TaskFailed:
            continue
    try:
        return attempt()
    except TaskFailed as failed:
        last = failed.problems[0]
        hint = f"{last.hint or 'Nothing is released.'} What is finished is kept: --resume goes on from there."
        raise TaskFailed(Problem(f"{last.sentence}; it was tried {TRIES} times", hint=hint)) from None
