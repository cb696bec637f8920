"""Numbers of steps in messages: a level is planned and masked as a file of its own, which counts its own steps."""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from maskwright.foundation.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def in_pipeline(text: str, numbers: Sequence[int]) -> str:
    """Message about steps of one level, with the numbers that they have in the pipeline.

    `numbers`: of the steps of the level in the pipeline, 1 for the first.
    """

    def number(found: re.Match[str]) -> str:
        own = int(found[1])
        return f"step {numbers[own - 1]}" if 0 < own <= len(numbers) else found[0]

    return re.sub(r"\bstep (\d+)\b", number, text)


@contextmanager
def told_by_pipeline(numbers: Sequence[int]) -> Iterator[None]:
    """Give the steps in what is refused inside the numbers that they have in the pipeline."""
    try:
        yield
    except InputError as error:
        problems = [
            replace(
                problem,
                message=in_pipeline(problem.message, numbers),
                hint=None if problem.hint is None else in_pipeline(problem.hint, numbers),
            )
            for problem in error.problems
        ]
        raise type(error)(problems) from error
