"""People of a population file, by the key variables of a block."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright import InputError, read

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from maskwright import Column, Variable


@dataclass(frozen=True, eq=False)
class Population:
    """Keys of people, coded as those of the records of a block.

    `variables`: the keys of the block; categories that only people have follow its own. `columns`: NaN where missing;
    shape (people,).
    """

    variables: tuple[Variable, ...]
    columns: tuple[NDArray[np.float64], ...]

    def __len__(self) -> int:
        return len(self.columns[0])

    def with_records(self, place: int, values: NDArray[np.float64]) -> tuple[Variable, NDArray[np.float64]]:
        """A key of the records, and after them of the people."""
        return self.variables[place], np.concatenate([values, self.columns[place]])


def read_population(path: Path, keys: Sequence[Variable]) -> Population:
    """Read the keys of a population file, as they are declared for the file that is masked."""
    found = read(path, variables={key.name: _as_declared(key) for key in keys})
    for key in keys:
        if key.name not in found:
            near = difflib.get_close_matches(key.name, found.names, 1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; it has {', '.join(found.names[:8])}"
            raise InputError(f"population: the file {path.name} has no variable {key.name!r}{hint}")
    coded = [_coded(key, found[key.name]) for key in keys]
    return Population(tuple(variable for variable, _ in coded), tuple(values for _, values in coded))


def _as_declared(key: Variable) -> dict[str, object]:
    """What is said of a key to read it in another file: categories by their texts, whatever their order."""
    said: dict[str, object] = {"type": key.type if key.is_numeric else "nominal"}
    if key.date_format is not None:
        said["format"] = key.date_format
    return said | ({"missing": list(key.missing_codes)} if key.missing_codes else {})


def _coded(key: Variable, column: Column) -> tuple[Variable, NDArray[np.float64]]:
    values = np.where(column.missing, np.nan, column.values.astype(np.float64))
    if not key.is_numeric:
        strange = [text for text in column.variable.categories if text not in set(key.categories)]
        key = replace(key, categories=(*key.categories, *strange))
        codes = {text: float(code) for code, text in enumerate(key.categories)}
        table = np.array([*(codes[text] for text in column.variable.categories), np.nan])
        values = table[np.where(column.missing, -1, column.values)]
    if key.hierarchy is not None and key.hierarchy.height:
        try:
            key.hierarchy.codes(key, values[~column.missing], 1)
        except InputError as error:
            raise InputError(f"population: {error}: complete the hierarchy of {key.name}") from None
    return key, values
