"""A description of microdata: what each variable looks like, in counts; values of records only when asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskwright.commands.looking import LookedFile, look_into
from maskwright.commands.options import NO_OPTIONS, ReadingOptions, data_files
from maskwright.commands.reading import dataset_of
from maskwright.commands.requests import DeclaredVariables, data_request
from maskwright.data.looking.look import Looks, look_at
from maskwright.foundation.progress import Progress, Quiet, Reporter, silent, stage

if TYPE_CHECKING:
    import pandas as pd

    from maskwright.data.dataset import Dataset
    from maskwright.data.looking.variable_look import VariableLook
    from maskwright.pipeline.resolved import DataSource

MIXED = "some cells are numbers and some are not: declare `missing: [...]`, or correct the others"


@dataclass(frozen=True)
class Description:
    """What a file or a data frame looks like.

    Attributes
    ----------
    source : str
        Name of the file; '' for data of a program.
    format : str
    records : int
    variables : tuple of VariableLook
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
    variables: tuple[VariableLook, ...]
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
    cannot be read as it is is tried with other encodings, delimiters and the decimal comma; what was found is told.

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
        Whether extremes and categories are told too: they are values of records.
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
        return described(look_into(file, silent), silent, show_values=show_values)
    dataset = dataset_of(data, declared)
    looks = look_at(dataset, household=cluster, show_values=show_values)
    return Description(
        "", dataset.layout.format, len(dataset), looks.variables, looks.household, {}, (), (), show_values
    )  # fmt: skip


def describe_file(
    path: Path, *, options: ReadingOptions = NO_OPTIONS, show_values: bool = False, reporter: Reporter | None = None
) -> Description:
    """Description of a file, as a command is told to read it."""
    (file,) = data_files((path,), options)
    shown = reporter or Quiet()
    looked = looked_at(file, shown)
    with stage(shown, "Looking at its variables") as progress:
        return described(looked, progress, show_values=show_values)


def looked_at(file: DataSource, reporter: Reporter) -> LookedFile:
    """Read a file with the options that it needs, as a stage of its own."""
    with stage(reporter, f"Looking into {file.name}") as progress:
        return look_into(file, progress)


def described(looked: LookedFile, progress: Progress, *, show_values: bool = False) -> Description:
    """Description of a file that was read."""
    looks: Looks = look_at(
        looked.data, looked.codes, progress, household=looked.file.cluster, show_values=show_values
    )  # fmt: skip
    variables = tuple(
        replace(each, unsure=(*each.unsure, MIXED)) if each.name in looked.mixed else each for each in looks.variables
    )
    return Description(
        looked.file.name, looked.file.source.name, len(looked.data), variables, looks.household, dict(looked.options),
        looked.tried, looked.unsure, show_values,
    )  # fmt: skip
