"""Workers as an engine gives them: guarded, and each of their receipts is the one that is due."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from maskwright.foundation.errors import MaskwrightError
from maskwright.plugins.engine import Receipt
from maskwright.plugins.guarding.call import broke_contract, engine_iterator, guarded_call
from maskwright.plugins.guarding.time_limit import time_limit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from maskwright.plugins.engine import Stage
    from maskwright.plugins.guarding.origin import Origin

_END = object()


def checked_workers(origin: Origin, found: Any) -> _GuardedWorkers:
    """Return what an engine starts: a context manager of workers."""
    if not (hasattr(found, "__enter__") and hasattr(found, "__exit__")):
        raise broke_contract(origin, f"returned a {type(found).__name__}; it has to return a context manager")
    return _GuardedWorkers(origin, found)


class _GuardedWorkers:
    """Workers, from their start to their end; an engine waits for them as long as it takes."""

    def __init__(self, origin: Origin, started: Any) -> None:
        self._origin = origin
        self._started = started
        self._workers: Any = None

    def __enter__(self) -> Self:
        self._workers = self._called(self._started.__enter__)
        if not callable(getattr(self._workers, "run", None)):
            self._called(self._started.__exit__, None, None, None)
            raise broke_contract(self._origin, f"started a {type(self._workers).__name__} without run(stage, keys)")
        return self

    def __exit__(self, *raised: object) -> None:
        if raised[0] is None:
            self._called(self._started.__exit__, *raised)
            return
        # What is raised already says more than whatever the end of the workers may raise.
        with suppress(MaskwrightError):
            self._called(self._started.__exit__, *raised)

    def run(self, stage: Stage, keys: Iterable[str]) -> Iterator[Receipt]:
        """Receipts, one for each key and in their order."""
        due: deque[str] = deque()

        def given() -> Iterator[str]:
            for key in engine_iterator(keys):
                due.append(key)
                yield key

        asked = given()
        items = self._called(iter, self._called(self._workers.run, stage, asked))
        try:
            while (item := self._called(next, items, _END)) is not _END:
                if not isinstance(item, Receipt) or not due or (item.stage, item.key) != (stage.name, due.popleft()):
                    raise broke_contract(self._origin, f"gave no receipts of stage {stage.name} in the order of keys")
                yield item
        finally:
            close = getattr(items, "close", None)
            if close is not None:
                self._called(close)
        if due or next(asked, None) is not None:
            raise broke_contract(self._origin, f"did not do all tasks of stage {stage.name}")

    def _called(self, function: Callable[..., Any], *arguments: Any) -> Any:
        with time_limit(None):
            return guarded_call(self._origin, function, *arguments)
