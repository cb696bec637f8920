"""The masked data as a file: written, and named for whoever reads it back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.data.declaration import VariableDeclaration
from maskwright.data.published import published_batches
from maskwright.pipeline.resolved import DataSource

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from maskwright.data.dataset import Dataset
    from maskwright.data.variable import Variable
    from maskwright.pipeline.resolved import Pipeline
    from maskwright.plugins.source import Source


def write_dataset(data: Dataset, path: Path, source: Source) -> None:
    """Write a dataset with a source plugin; another format than it came in drops the layout.

    Parameters
    ----------
    data : Dataset
    path : Path
        A temporary name.
    source : Source
    """
    source.write(path, published_batches(data, source.writes_text), data.variables, data.layout)


def written_file(path: Path, pipeline: Pipeline, variables: Sequence[Variable]) -> DataSource:
    """The masked file as anyone would read it, knowing only what was declared.

    Parameters
    ----------
    path : Path
    pipeline : Pipeline
    variables : sequence of Variable
        That were published.
    """
    same = pipeline.output.source.name == pipeline.data.source.name
    declared = {
        variable.name: VariableDeclaration(
            type=variable.type,
            role=variable.role,
            decimals=variable.decimals if variable.is_numeric else None,
            categories=variable.categories if variable.type == "ordinal" else (),
        )
        for variable in variables
    }
    source = pipeline.output.source
    params = pipeline.data.params if same else source.params()
    if source.params_of_written is not None:
        params = source.params_of_written(params)
    return DataSource(path, source, params, declared)
