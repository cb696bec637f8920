"""Microdata described: the options with which a file is read are found, and its variables profiled in counts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskwright.commands.options import NO_OPTIONS, ReadingOptions, data_files, pipeline_levels
from maskwright.commands.profiled_file import ProfiledFile, is_nested, levels_inside, profile_file, read_profiled
from maskwright.commands.reading import dataset_of
from maskwright.commands.requests import DeclaredVariables, data_request
from maskwright.data.profiling.profile import FileProfile, profile_columns
from maskwright.foundation.progress import Progress, Quiet, Reporter, silent, stage
from maskwright.pipeline.data_section import source_of
from maskwright.pipeline.variable_names import names_in

if TYPE_CHECKING:
    import pandas as pd

    from maskwright.data.dataset import Dataset
    from maskwright.data.profiling.column_profile import ColumnProfile
    from maskwright.pipeline.resolved import DataSource


@dataclass(frozen=True)
class Description:
    """What a file or a data frame looks like.

    Attributes
    ----------
    source : str
        Name of the file; '' for data of a program.
    format : str
    records : int
    variables : tuple of ColumnProfile
    household : str or None
        Variable that names the household, declared or likely.
    options : dict
        Options of the file format that were found to be needed.
    tried : tuple of str
        Why these options.
    unsure : tuple of str
        What a person should decide about the file; each variable has its own.
    shows_values : bool
        Whether extremes and categories are in it: confidential then.

    Examples
    --------
    >>> import pandas as pd
    >>> import maskwright as mw
    >>> found = mw.describe(pd.DataFrame({"age": range(20, 60), "sex": ["f", "m"] * 20}))
    >>> [(each.name, each.type, each.role, each.distinct) for each in found.variables]
    [('age', 'integer', 'quasi_identifier', 40), ('sex', 'nominal', 'quasi_identifier', 2)]
    """

    source: str
    format: str
    records: int
    variables: tuple[ColumnProfile, ...]
    household: str | None
    options: dict[str, object]
    tried: tuple[str, ...]
    unsure: tuple[str, ...]
    shows_values: bool

    def to_json(self) -> dict[str, Any]:
        """Plain data: what ``maskwright describe --json`` prints."""
        return {
            "source": self.source,
            "format": self.format,
            "records": self.records,
            "options": dict(self.options),
            "tried": list(self.tried),
            "unsure": list(self.unsure),
            "household": self.household,
            "shows_values": self.shows_values,
            "variables": [each.to_json() for each in self.variables],
        }


def describe(
    data: str | Path | Dataset | pd.DataFrame,
    *,
    declared: DeclaredVariables | None = None,
    codebook: str | Path | None = None,
    file_format: str | None = None,
    cluster: str | None = None,
    show_values: bool = False,
    **options: object,
) -> Description:
    r"""Look at microdata before anything is declared.

    Type, likely role, missing cells and codes, different values and decimals of each variable, in counts. A file that
    cannot be read as it is is tried with other encodings, delimiters and the decimal comma; what was found is reported.

    Parameters
    ----------
    data : str, Path, Dataset or pandas.DataFrame
    declared : mapping of name to declaration, optional
        What is known already.
    codebook : str or Path, optional
        Of a file: a table (.csv) or DDI Codebook (.xml) in which more is declared.
    file_format : str, optional
        Name of the source plugin, when the ending does not tell.
    cluster : str, optional
        Variable that names the household; otherwise a likely one is looked for.
    show_values : bool, default False
        Whether extremes and categories are reported too: they are values of records.
    **options
        Of the file format.

    Returns
    -------
    Description

    Raises
    ------
    InputError
        An option or a declaration that cannot be.
    DataError
        The file cannot be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> import maskwright as mw
    >>> rows = [f"{place};{place * 7 % 13},5;{'NA' if place % 9 == 0 else place * 31 % 40}" for place in range(40)]
    >>> _ = Path("office.csv").write_text("\n".join(["id;income;years", *rows]), encoding="utf-8")
    >>> found = mw.describe("office.csv")
    >>> found.options, found.variables[2].missing_codes, found.variables[0].role
    ({'decimal': ','}, {'NA': 5}, 'identifier')
    """
    if isinstance(data, (str, Path)):
        file = data_request(
            data, variables=declared, codebook=codebook, file_format=file_format, cluster=cluster, options=options
        )  # fmt: skip
        return described(profile_file(file, silent), silent, show_values=show_values)
    dataset = dataset_of(data, declared)
    profile = profile_columns(dataset, household=cluster, show_values=show_values)
    return Description(
        "", dataset.layout.format, len(dataset), profile.variables, profile.household, {}, (), (), show_values
    )  # fmt: skip


def describe_file(
    path: Path, *, options: ReadingOptions = NO_OPTIONS, show_values: bool = False, reporter: Reporter | None = None
) -> tuple[Description, ...]:
    """Description of a file, as the options of a command have it read; of each level of nested ones."""
    shown = reporter or Quiet()
    files = _described_files(path, options)
    first, *others = files.values()
    if not others and is_nested(first):
        inside = levels_inside(first, shown)
        names = [f"{path.name}, <{record}>" for record in inside.records]
        looked, of_groups = dict(zip(names, (inside.upper, inside.lower), strict=True)), {names[1]: inside.key}
    else:
        looked, of_groups = {name: read_profiled(file, shown) for name, file in files.items()}, {}
    found = []
    for name, profiled in looked.items():
        with stage(shown, "Profiling its variables") as progress:
            own = described(profiled, progress, show_values=show_values)
        # The key of the groups is read with their members, and is not written inside them.
        variables = tuple(each for each in own.variables if each.name != of_groups.get(name))
        found.append(replace(own, source=name, variables=variables))
    return tuple(found)


def _described_files(path: Path, options: ReadingOptions) -> dict[str, DataSource]:
    """A file, or each of the levels that it holds inside each other, as a pipeline says, by what it is called."""
    if options.pipeline is not None and source_of(str(path), file_format=options.file_format).nested is not None:
        levels = pipeline_levels(options, (path,))
        if levels is not None and levels.form == "nested":
            return {f"{path.name}, level {name}": _of_its_own(file) for name, file in levels.sources.items()}
    (file,) = data_files((path,), options)
    return {file.name: file}


def _of_its_own(file: DataSource) -> DataSource:
    """One level of a file, with what is declared of its variables and not of those of other levels."""
    names = names_in(file) or ()
    return replace(file, variables={name: each for name, each in file.variables.items() if name in names})


def described(looked: ProfiledFile, progress: Progress, *, show_values: bool = False) -> Description:
    """Description of a file that was read."""
    profile: FileProfile = profile_columns(
        looked.data, looked.codes, progress, household=looked.file.cluster, show_values=show_values, mixed=looked.mixed
    )  # fmt: skip
    return Description(
        looked.file.name, looked.file.source.name, len(looked.data), profile.variables, profile.household,
        dict(looked.options), looked.tried, looked.unsure, show_values,
    )  # fmt: skip
