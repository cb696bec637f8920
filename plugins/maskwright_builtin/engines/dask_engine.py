"""The Dask engine: tasks on a cluster, or on workers of this machine; of Dask, futures alone are used.

The scheduler sees names of stages and keys. What a stage does travels in a file of the scratch folder, and what it
reads and writes is there too. A task never raises inside of Dask, which would write its arguments into logs: it returns
what it would raise.
"""

from __future__ import annotations

import functools
import os
import pickle
import uuid
from collections import deque
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from maskwright import (
    Engine,
    EngineLost,
    EngineTerms,
    InputError,
    MaskwrightError,
    Problem,
    Receipt,
    Stage,
    TaskFailed,
    perform,
    several_tries,
)  # fmt: skip
from maskwright_builtin.engines.dask_cluster import (
    DaskParams,
    Packages,
    address_of,
    check_processors,
    check_workers,
    difference_here,
    kind_of_processor,
    security_here,
    security_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Client: TypeAlias = Any
Future: TypeAlias = Any

AHEAD = 4
"""Tasks that are given out ahead of the receipt that is waited for, for each worker."""

SECONDS_TO_CLOSE = 3

RECONNECTIONS = 3
"""How often a scheduler may be lost in one run."""

OWN_SETTINGS = {
    "distributed.scheduler.worker-saturation": 1.0,  # a worker that dies is blamed on the task that it was at
    "distributed.scheduler.work-stealing": False,
    "distributed.scheduler.allowed-failures": 2,
    "distributed.worker.memory.spill": False,  # there is nothing to spill: what counts is in files
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.pause": False,
}


_GONE = (OSError, TimeoutError, RuntimeError)
"""What Dask raises when there is no connection any more: the last one when its client has given up."""


class _Cluster:
    """Workers behind a scheduler."""

    def __init__(self, terms: EngineTerms, params: DaskParams, address: str | None, exits: ExitStack) -> None:
        self._terms = terms
        self._params = params
        self._address = address
        self._exits = exits
        self._where = address or "on this machine"
        self._reconnections = 0
        # Workers of our own have the processor of this process.
        self._kind = "" if address is None or params.other_processors else kind_of_processor()
        self._run = uuid.uuid4().hex  # two runs on one cluster must not take each other's results
        self._client = self._connected()

    def run(self, stage: Stage, keys: Iterable[str]) -> Iterator[Receipt]:
        """Have a task done for each key."""
        file = self._sent(stage)
        ahead = AHEAD * max(self._terms.workers, len(self._client.nthreads()))
        waiting: deque[_Task] = deque()
        try:
            for key in keys:
                waiting.append(_Task(stage.name, key, file))
                waiting[-1].submit(self)
                if len(waiting) > ahead:
                    yield self._done(waiting)
            while waiting:
                yield self._done(waiting)
        finally:
            for task in waiting:
                task.cancel()

    def submit(self, name: str, file: str, key: str) -> Future:
        """Give out a task; what is in its name and its arguments is all that Dask sees."""
        packages = tuple(self._terms.packages.items())
        return self._client.submit(_attempt, file, key, packages, self._kind, key=name, pure=False)

    def named(self, task: str) -> str:
        """Name for Dask of one try of a task."""
        return f"{task}-{self._run}-{uuid.uuid4().hex[:8]}"

    def _done(self, waiting: deque[_Task]) -> Receipt:
        """Receipt of the first task that is waited for; a scheduler that was started again is given all anew."""
        from distributed import CancelledError
        from distributed.comm.core import CommClosedError

        while True:
            try:
                receipt = several_tries(lambda: waiting[0].result(self))
            except _PoisonedError as poisoned:
                raise TaskFailed(poisoned.problems) from None
            except (CommClosedError, CancelledError, *_GONE):
                self._reconnect()
                for task in waiting:
                    task.submit(self)
            else:
                waiting.popleft()
                return receipt

    def _sent(self, stage: Stage) -> str:
        """File, for the owner only, with what a stage does."""
        path = self._terms.scratch / f".{stage.name}-{uuid.uuid4().hex}.stage"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            pickle.dump(stage, file, protocol=5)
        self._exits.callback(path.unlink, missing_ok=True)
        return str(path)

    def _connected(self) -> Client:
        """A client of the scheduler, or of one that is started, whose workers are fit."""
        from distributed import Client as DaskClient

        where: Any = self._address or self._own_cluster()
        security = security_of(self._params) if self._address else where.security
        seconds = self._params.connect_seconds
        try:
            client = DaskClient(where, security=security, timeout=seconds, set_as_default=False)
        except (OSError, TimeoutError, TypeError, ValueError, RuntimeError) as error:
            hint = "Does the scheduler run, is its address right, and are the keys those that it knows?"
            message = f"no Dask scheduler answers at {self._where} ({type(error).__name__})"
            raise InputError(Problem(message, hint=hint)) from None
        self._exits.callback(_close, client)
        try:
            client.wait_for_workers(1, timeout=seconds)
        except TimeoutError:
            message = f"no worker came to the Dask scheduler {self._where} in {seconds:g} seconds"
            hint = "Start some with `dask worker`, or take `engine: processes`."
            raise InputError(Problem(message, hint=hint)) from None
        check_workers(client, self._terms.packages, self._terms.scratch)
        if self._kind:
            check_processors(client)
        return client

    def _own_cluster(self) -> Any:
        """Workers on this machine, with one thread for tasks each, which end with this process."""
        import logging

        from dask import config
        from distributed import LocalCluster

        folder = self._terms.scratch / ".dask"
        folder.mkdir(mode=0o700, exist_ok=True)
        environment = {"distributed.nanny.pre-spawn-environ": self._terms.environment}
        with config.set({**OWN_SETTINGS, **environment}):
            cluster = LocalCluster(
                n_workers=self._terms.workers, threads_per_worker=1, processes=True, host="127.0.0.1",
                dashboard_address=None,  # pyright: ignore[reportArgumentType] - None is no dashboard
                security=security_here(), silence_logs=logging.CRITICAL,
                memory_limit=self._params.memory_limit or "auto", local_directory=str(folder),
            )  # fmt: skip
        self._exits.callback(cluster.close)
        return cluster

    def _reconnect(self) -> None:
        """Look for a scheduler that was started again at the same address."""
        self._reconnections += 1
        _close(self._client)
        lost = f"the Dask scheduler {self._where} was lost"
        if self._address is None or self._reconnections > RECONNECTIONS:
            raise EngineLost(Problem(lost, hint="What is finished is kept: --resume goes on from there."))
        try:
            self._client = self._connected()
        except InputError as error:
            hint = f"What is finished is kept: --resume goes on from there. {error.problems[0].sentence}"
            raise EngineLost(Problem(lost, hint=hint)) from None


def _close(client: Client) -> None:
    """Close a client, without waiting for a scheduler that is gone."""
    with suppress(*_GONE):
        client.close(timeout=SECONDS_TO_CLOSE)


class _Task:
    """One task, given out to the cluster as often as need be."""

    def __init__(self, stage: str, key: str, file: str) -> None:
        self._stage, self._key, self._file = stage, key, file
        self._future: Future | None = None

    def submit(self, cluster: _Cluster) -> None:
        """Give it out."""
        self._future = cluster.submit(cluster.named(f"{self._stage}-{self._key}"), self._file, self._key)

    def cancel(self) -> None:
        """No one waits for it any more."""
        if self._future is not None:
            with suppress(*_GONE):
                self._future.cancel()

    def result(self, cluster: _Cluster) -> Receipt:
        """Wait for the receipt; a task that was requested before is given out again."""
        from distributed import KilledWorker

        if self._future is None:
            self.submit(cluster)
        future, self._future = self._future, None
        assert future is not None
        try:
            found = future.result()
        except KilledWorker as killed:
            message = f"stage {self._stage}, task {self._key}: {killed.allowed_failures + 1} workers ended over it"
            hint = "Was there enough memory? What is finished is kept: --resume goes on from there."
            raise _PoisonedError(Problem(message, hint=hint)) from None
        except ModuleNotFoundError as error:
            raise InputError(
                Problem(f"a worker cannot import {error.name}", hint="Install there what is installed here.")
            ) from None
        if isinstance(found, MaskwrightError):
            raise found
        receipt: Receipt = found
        return receipt


class _PoisonedError(MaskwrightError):
    """What `TaskFailed` will say, of a task that Dask has tried several times itself."""


def _attempt(file: str, key: str, packages: Packages, processor: str) -> Receipt | MaskwrightError:
    """Do a task on a worker; `processor` is the kind that it must have, or empty."""
    problem = difference_here(packages)
    if problem is not None:
        return InputError(f"a worker that joined late {problem}")
    if processor and processor != kind_of_processor():
        hint = "Results may differ in their last digits; execution: {other_processors: true} takes it all the same."
        return InputError(Problem("a worker that joined late has a processor with other instructions", hint=hint))
    _take_one_thread()
    try:
        return perform(_stage(file), key)
    except MaskwrightError as error:
        return error


@functools.lru_cache(maxsize=16)
def _stage(file: str) -> Stage:
    # Of the folder that only the owner of this process can write into.
    stage: Stage = pickle.loads(Path(file).read_bytes())  # noqa: S301
    return stage


def _take_one_thread() -> None:
    """Use one thread for a task, where no one has said how many: as many tasks as threads are done at once."""
    if os.environ.setdefault("MASKWRIGHT_THREADS", "1") == "1":
        import numba

        numba.set_num_threads(1)


@contextmanager
def start(terms: EngineTerms, params: DaskParams) -> Iterator[_Cluster]:
    """Connect to the cluster, or start one."""
    try:
        import_module("distributed")
    except ImportError:
        hint = "pip install 'maskwright[dask]'; or take `engine: processes`."
        raise InputError(Problem("the engine dask needs the package distributed", hint=hint)) from None
    address = address_of(params)
    with ExitStack() as exits:
        yield _Cluster(terms, params, address, exits)


DASK = Engine(
    name="dask",
    start=start,
    params=DaskParams,
    summary="The tasks of a large run on a Dask cluster that runs, or on workers that are started on this machine.",
)
