"""Methods run in processes of their own, and notices that code is being compiled."""

from __future__ import annotations

import pickle
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from maskwright.foundation.errors import Problem, refuse_problems
from maskwright.foundation.processes.resources import share_of_each
from maskwright.foundation.progress import Progress, Reporter, silent
from maskwright.plugins.guarding.call import seconds_allowed, time_limit, took_too_long
from maskwright.plugins.guarding.frozen import frozen
from maskwright.plugins.guarding.origin import in_step, origin_of
from maskwright.plugins.method import Masked, Method
from maskwright.plugins.registry import plugins

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np
    from pydantic import BaseModel

    from maskwright.foundation.processes.function_pool import FunctionWorkers
    from maskwright.masking.context import Execution
    from maskwright.planning.model import Step
    from maskwright.plugins.block import Block


SECONDS_TO_SAY_SO = 60.0
"""How much longer a process has to start, and to say itself that a call took too long; code that keeps the
interpreter's lock lets it say nothing."""


@contextmanager
def worker_processes(execution: Execution) -> Iterator[FunctionWorkers | None]:
    """Processes to run methods in, where they are requested; they are ended with what is inside."""
    if not execution.processes:
        yield None
        return
    from maskwright.foundation.processes import function_pool

    with function_pool.FunctionWorkers(share_of_each(execution.workers)) as workers:
        yield workers


def refuse_unsendable(steps: Sequence[Step]) -> None:
    """Refuse steps whose methods cannot be sent to another process, before anything is masked."""
    problems = []
    for step in steps:
        why = _unsendable(step.method, step.params) if isinstance(step.method, Method) else None
        if why is not None:
            found = plugins().info("method", step.method.name)
            package = f"package {found.distribution} {found.version}"
            message = f"method {step.method.name!r} of {package} cannot be run in processes: {why}"
            hint = "Or leave 'processes' out: threads give the same result."
            problems.append(Problem(message, step.place, hint, step=step.number))
    refuse_problems(problems)


def _unsendable(method: Method, params: BaseModel) -> str | None:
    """Say why a method cannot be run in another process, or return None."""
    if "__main__" in (method.protect.__module__, type(params).__module__):
        return "it is defined in the program that runs; put it into a module that can be imported"
    try:
        pickle.dumps((method.protect, params))
    except Exception as error:  # noqa: BLE001 - what a plugin holds may fail in any way
        return f"it cannot be pickled ({type(error).__name__}): define function and parameters at the top of a module"
    return None


def in_worker(
    workers: FunctionWorkers, step: int, method: Method
) -> Callable[[Block, BaseModel, np.random.Generator], Masked]:
    """The function of a method, called in another process."""
    from maskwright.foundation.processes.child_process import ProcessEndedError, WorkerEnded

    def protect(block: Block, params: BaseModel, rng: np.random.Generator) -> Masked:
        sent, seconds = replace(block, progress=silent), seconds_allowed()
        try:
            masked: Masked = workers.call(
                _protect, step, seconds, method.protect, sent, params, rng, progress=block.progress,
                seconds=None if seconds is None else seconds + SECONDS_TO_SAY_SO,
            )  # fmt: skip
        except TimeoutError:
            assert seconds is not None
            raise took_too_long(origin_of(method.protect, "method", method.name), seconds) from None
        except ProcessEndedError as ended:
            raise WorkerEnded(
                Problem(
                    f"a process that masked a block {ended}, and nothing is released",
                    hint="Was there enough memory? Take fewer workers, or smaller blocks.",
                    step=step,
                    method=method.name,
                )
            ) from None
        return masked

    return protect


def _protect(
    progress: Progress,
    step: int,
    seconds: float | None,
    protect: Callable[[Block, BaseModel, np.random.Generator], Masked],
    block: Block,
    params: BaseModel,
    rng: np.random.Generator,
) -> Masked:
    """Call a method as it is called without processes: guarded, and what it gets is read-only."""
    with in_step(step), time_limit(seconds):
        return protect(replace(frozen(block), progress=progress), params, rng)


_reported: list[bool] = []
"""Once in a process is enough."""

NOTICE = "Compiling numeric kernels that have not been used before, up to a minute; their machine code is kept."


def has_compiled() -> bool:
    """Whether this process compiled kernels of a run."""
    return bool(_reported)


@contextmanager
def report_compilation(reporter: Reporter) -> Iterator[None]:
    """Send one notice when Numba starts to compile inside; loading compiled code from the cache is not compiling."""
    from numba.core.event import Listener, install_listener

    class FirstCompilation(Listener):
        def on_start(self, event: Any) -> None:  # noqa: ARG002 - the signature is Numba's
            if not _reported:
                _reported.append(True)
                reporter.notice(NOTICE)

        def on_end(self, event: Any) -> None:
            """Nothing to say."""

    with install_listener("numba:compile", FirstCompilation()):
        yield
