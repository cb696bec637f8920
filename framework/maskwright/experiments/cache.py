"""Results kept between runs: one small file for each masked file, named by its key, readable by its owner only."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from maskwright.foundation.errors import InputError
from maskwright.foundation.whole_files import PRIVATE, write_text

if TYPE_CHECKING:
    from pathlib import Path

SEED_FILE = "seed.json"


@dataclass(frozen=True)
class Cache:
    """A folder of results.

    A result is written when its cell is done and appears whole, so that a run that is killed loses the cells it was
    working on and no others. A damaged file counts as absent.
    """

    folder: Path

    def prepare(self) -> None:
        """Make the folder, for its owner only."""
        try:
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            self.folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise InputError(f"{self.folder} cannot be made: {error.strerror}") from error

    def seed(self) -> int:
        """Seed of an experiment that declares none: drawn once, then kept, so that a killed run can go on."""
        known = self._read(SEED_FILE)
        if known is not None and isinstance(known.get("seed"), int):
            return int(known["seed"])
        seed = secrets.randbits(63)
        write_text(self.folder / SEED_FILE, json.dumps({"seed": seed}), PRIVATE)
        return seed

    def load(self, key: str) -> dict[str, Any] | None:
        """Result of a masked file; None when there is none, or it is damaged."""
        found = self._read(f"{key}.json")
        return found if found is not None and isinstance(found.get("measures"), dict) else None

    def save(self, key: str, found: dict[str, Any]) -> None:
        """Keep a result."""
        write_text(self.folder / f"{key}.json", json.dumps(found), PRIVATE)

    def _read(self, name: str) -> dict[str, Any] | None:
        try:
            found = json.loads((self.folder / name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return found if isinstance(found, dict) else None
