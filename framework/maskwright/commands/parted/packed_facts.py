"""What tasks told, held as text: a fifth of the room that numbers, names and lists take, for thousands of tasks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any


class PackedFacts(Mapping[str, Any]):
    """Facts that are read from their text each time that they are asked for."""

    __slots__ = ("_text",)

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self._text = json.dumps(dict(facts)).encode()

    def unpacked(self) -> dict[str, Any]:
        """All of them."""
        facts: dict[str, Any] = json.loads(self._text)
        return facts

    def __getitem__(self, name: str) -> Any:
        return self.unpacked()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.unpacked())

    def __len__(self) -> int:
        return len(self.unpacked())
