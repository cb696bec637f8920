"""A parameter that names a partition plugin."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel
from pydantic import ValidationError as InvalidParams

from maskwright import InputError, NamesPartition, Partition, find_partition


def _one_partition(partition: str | dict[str, dict[str, Any]]) -> str | dict[str, dict[str, Any]]:
    if isinstance(partition, dict) and len(partition) != 1:
        raise ValueError(f"name one partition, as in {{mdav: {{}}}}; there are {len(partition)}")
    return partition


PartitionName = Annotated[str | dict[str, dict[str, Any]], AfterValidator(_one_partition), NamesPartition()]
"""Type of the parameter: the name of a partition, or {name: {its parameters}}."""


def chosen_partition(chosen: str | dict[str, dict[str, Any]]) -> tuple[Partition, BaseModel]:
    """Return the partition plugin that a parameter names, and its parameters."""
    name, given = (chosen, {}) if isinstance(chosen, str) else next(iter(chosen.items()))
    partition = find_partition(name)
    try:
        return partition, partition.params.model_validate(given)
    except InvalidParams as error:
        said = "; ".join(
            f"{'.'.join(str(part) for part in problem['loc'])}: {problem['msg']}" for problem in error.errors()
        )
        raise InputError(f"partition {name!r}: {said}") from error
