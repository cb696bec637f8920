"""Passes over all records on several threads, with results in the order of the records."""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

from maskwright import InputError, processors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future

Result = TypeVar("Result")


def in_order(task: Callable[[slice], Result], chunks: Sequence[slice], threads: int | None = None) -> Iterator[Result]:
    """Results of the chunks in their order; only a few are held at a time."""
    count = processors() if threads is None else threads
    if count < 1:
        raise InputError(f"threads must be at least 1, not {count}")
    if count == 1 or len(chunks) == 1:
        yield from map(task, chunks)
        return
    with ThreadPoolExecutor(min(count, len(chunks))) as pool:
        waiting: deque[Future[Result]] = deque()
        for chunk in chunks:
            waiting.append(pool.submit(task, chunk))
            if len(waiting) > 2 * count:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
