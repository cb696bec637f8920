"""What an engine is: whoever has the tasks of a large run done, in threads, processes or on other machines.

A stage of the run is one function, and its tasks are keys: names of parts or blocks, no data. Each task writes files
into a folder of its own, and a receipt that says which they are. What has a receipt is not done again, neither when a
task is tried twice nor when a run is resumed, so that an engine can lose whatever it likes: the plan fixes the keys,
and each result depends on its key alone.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pickle
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from maskwright.foundation.errors import InputError, MaskwrightError
from maskwright.foundation.exit_codes import EXIT_BUG
from maskwright.foundation.no_params import NoParams
from maskwright.foundation.processes.resources import share_of_each

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from pydantic import BaseModel

TRIES = 3
"""How often a task is tried that fails, or whose worker dies, before the run stops."""

KEPT = {"MALLOC_MMAP_THRESHOLD_": 32 << 20, "MALLOC_TRIM_THRESHOLD_": 64 << 20}
"""Bytes up to which the C library of Linux keeps what a worker has let go."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class TaskFailed(MaskwrightError):  # noqa: N818 - the state by its name
    """A task of a stage fails, or ends its worker, each time that it is tried; nothing is released (exit code 3).

    What is finished is kept for ``maskwright run --resume``.

    Examples
    --------
    >>> from maskwright import TaskFailed
    >>> TaskFailed("stage protect, task block-0003: ValueError at noise.py:21").exit_code
    3
    """

    exit_code = EXIT_BUG


class EngineLost(MaskwrightError):  # noqa: N818 - the state by its name
    """The workers of an engine, or the way to them, are gone in the middle of a run (exit code 3).

    What is finished is kept for ``maskwright run --resume``.

    Examples
    --------
    >>> from maskwright import EngineLost
    >>> EngineLost("the scheduler tls://node1:8786 does not answer any more").exit_code
    3
    """

    exit_code = EXIT_BUG


class ScratchFull(InputError):  # noqa: N818 - the state by its name
    """There is no room left for the temporary files of a run on some machine; nothing is released (exit code 2).

    What is finished is kept for ``maskwright run --resume``.

    Examples
    --------
    >>> from maskwright import ScratchFull
    >>> ScratchFull("stage shuffle, task part-07: no room on node3").exit_code
    2
    """


class MemoryFull(InputError):  # noqa: N818 - the state by its name
    """A task needs more memory than its worker may have; nothing is released (exit code 2).

    What is finished is kept for ``maskwright run --resume``.

    Examples
    --------
    >>> from maskwright import MemoryFull
    >>> MemoryFull("stage mask, task 7: there is not enough memory").exit_code
    2
    """


@dataclass(frozen=True)
class Stage:
    """One stage of a large run: what is done for each of its keys, and where it is put.

    Attributes
    ----------
    name : str
        Letters, digits, ``.``, ``_`` and ``-``: a folder is called so.
    work : callable
        ``(folder, key) -> facts``: writes files into `folder` and nothing else, and returns what is to be known about
        them as plain data of JSON, little of it. A function of a module, or a `functools.partial` of one: it is sent
        to other processes. What it does depends on `key` and its own arguments alone.
    scratch : Path
        Absolute; a folder for the owner only that all workers see.
    identity : str
        Whatever else the results depend on: the pipeline, hashes of inputs, the seed. Receipts of another identity do
        not count. Left out, it is made of `work` and its arguments; they should then not hold sets, whose order
        differs from process to process.

    Examples
    --------
    >>> from pathlib import Path
    >>> from maskwright import Stage
    >>> def count(folder, key):
    ...     (folder / "letters.txt").write_text(key)
    ...     return {"letters": len(key)}
    >>> stage = Stage("count", count, Path.cwd(), identity="letters of keys")
    >>> stage.folder("abc").name
    'abc'
    """

    name: str
    work: Callable[[Path, str], Mapping[str, object]] = field(repr=False)
    scratch: Path
    identity: str = field(default="", repr=False)

    def __post_init__(self) -> None:
        _check_name("stage", self.name)
        if not self.identity:
            made_of = hashlib.sha256(pickle.dumps(self.work, protocol=5)).hexdigest()
            object.__setattr__(self, "identity", made_of)

    def folder(self, key: str) -> Path:
        """Where the files of a task are once it is done.

        Parameters
        ----------
        key : str
        """
        _check_name("task", key)
        return self.scratch / self.name / key

    @functools.cached_property
    def fingerprint(self) -> str:
        """What a receipt must say to be one of this stage, of this function, and of this version of Maskwright."""
        from maskwright import __version__

        function: Any = self.work
        while isinstance(function, functools.partial):
            function = function.func
        where = f"{getattr(function, '__module__', '')}.{getattr(function, '__qualname__', '')}"
        return hashlib.sha256("\0".join((__version__, self.name, where, self.identity)).encode()).hexdigest()


@dataclass(frozen=True)
class Receipt:
    """That a task is done, and what came of it.

    Attributes
    ----------
    stage, key : str
    files : mapping of str to str
        SHA-256 by name; the names are relative to the task's folder, with ``/``.
    facts : mapping
        What the work returned, as JSON holds it.

    Examples
    --------
    >>> from maskwright import Receipt
    >>> Receipt("count", "abc", {}, {"letters": 3}).facts["letters"]
    3
    """

    stage: str
    key: str
    files: Mapping[str, str]
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class EngineTerms:
    """What every engine gets when it starts.

    Attributes
    ----------
    workers : int
        Tasks that may be done at the same time.
    scratch : Path
        Absolute; all workers must see it.
    packages : mapping of str to str
        Version by distribution: what each worker must have, to the digit, for the results to be the same.
    prepare : callable or None
        A function of a module, without arguments, that imports what tasks will need: for engines that copy their
        workers from one process, which calls it; the others need not.

    Examples
    --------
    >>> from pathlib import Path
    >>> from maskwright import EngineTerms
    >>> EngineTerms(2, Path.cwd()).packages
    {}
    """

    workers: int
    scratch: Path
    packages: Mapping[str, str] = field(default_factory=dict)
    prepare: Callable[[], object] | None = None

    @property
    def environment(self) -> dict[str, str]:
        """Variables for so many processes here: no more threads than there are processors, and little memory."""
        # Arrow's own pool keeps what was read long ago: 30 MB of each process. The C library of Linux gives each column
        # that is let go back to the system, and gets it anew for the next: a tenth of all time.
        return {
            **share_of_each(self.workers),
            "ARROW_DEFAULT_MEMORY_POOL": "system",
            **{name: os.environ.get(name, str(size)) for name, size in KEPT.items()},
        }


class Workers(Protocol):
    """An engine that has started.

    Examples
    --------
    >>> from maskwright import Workers, perform
    >>> class OneByOne:
    ...     def run(self, stage, keys):
    ...         return (perform(stage, key) for key in keys)
    >>> workers: Workers = OneByOne()
    """

    def run(self, stage: Stage, keys: Iterable[str]) -> Iterator[Receipt]:
        """Have a task done for each key, with `perform`; receipts come in the order of the keys.

        Parameters
        ----------
        stage : Stage
        keys : iterable of str
            Asked for a little ahead of what is done, never all at once.

        Raises
        ------
        TaskFailed
            Names the task that fails each time.
        ScratchFull
        MemoryFull
        EngineLost
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Engine:
    """Whoever has the tasks of a large run done.

    It chooses where and when, and nothing else: results are the same bytes for every engine, any number of workers and
    any order in which they finish.

    Attributes
    ----------
    name : str
        What ``execution: {engine: NAME}`` says.
    start : callable
        ``(terms, params) -> context manager`` of the workers: an object with ``run(stage, keys)``, which yields a
        `Receipt` for each key, in their order. Workers call `perform`, which gives an error of Maskwright's or a
        receipt. Whatever is wrong with the workers, such as another version of a package, is refused on entering; they
        end on leaving.
    params : type of pydantic.BaseModel
        Further keys of ``execution:``; every field with a description.
    summary : str

    Examples
    --------
    >>> from contextlib import nullcontext
    >>> from maskwright import Engine, perform
    >>> class OneByOne:
    ...     def run(self, stage, keys):
    ...         return (perform(stage, key) for key in keys)
    >>> engine = Engine(name="one_by_one", start=lambda terms, params: nullcontext(OneByOne()), summary="In turn.")
    >>> engine.name
    'one_by_one'
    """

    name: str
    start: Callable[[EngineTerms, Any], AbstractContextManager[Workers]]
    params: type[BaseModel] = NoParams
    summary: str = ""


def _check_name(what: str, name: str) -> None:
    if not _NAME.fullmatch(name):
        raise ValueError(f"the name of a {what} is letters, digits, '.', '_' and '-', at most 100, and not {name!r}")
