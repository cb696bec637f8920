"""What an attack is: a release in, what can be inferred about its cells out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.edits.edit_set import EditSet
from maskwright.foundation.errors import InputError
from maskwright.foundation.nearest_names import unknown_name
from maskwright.foundation.no_params import NoParams

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray
    from pydantic import BaseModel

    from maskwright.data.dataset import Dataset


@dataclass(frozen=True, eq=False)
class Published:
    """A release as anybody holds it. Read-only.

    Attributes
    ----------
    data : Dataset
        What was released, in its order; suppressed cells are missing.
    targets : tuple of str
        Variables whose cells are to be inferred; all are in `data`.
    edits : EditSet
        Rules that were published with it.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import Column, Dataset, Published, Variable
    >>> age = Column(Variable("age"), np.array([20.0, 30.0, 0.0]), np.array([False, False, True]))
    >>> Published(Dataset((age,)), ("age",)).values("age")
    array([20., 30., nan])
    """

    data: Dataset
    targets: tuple[str, ...]
    edits: EditSet = field(default_factory=EditSet)

    def values(self, name: str) -> NDArray[np.float64]:
        """Cells of a variable.

        Returns
        -------
        ndarray of shape (n,)
            Numbers, or positions in the categories of the variable; NaN where a cell is empty.

        Raises
        ------
        InputError
            The release has no such variable; with the nearest name.
        """
        if name not in self.data:
            raise InputError(unknown_name("variable", name, self.data.names))
        column = self.data[name]
        return np.where(column.missing, np.nan, column.values.astype(np.float64))


@dataclass(frozen=True, eq=False)
class Inference:
    """What one family of rules says of the cells of one variable.

    Attributes
    ----------
    variable : str
    rule : str
        The rules in words that follow "by": ``records that agree in region``. One family has one name.
    values : ndarray of shape (n,), float64
        In the terms of `Published.values`: what the rules say of each cell, NaN where they say nothing. What is said of
        a published cell must not use that cell: how often it is right is how anybody sees what the rules are worth.
    exact : bool
        Whether the rules leave no other value, as an edit does.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import Inference
    >>> Inference("age", "the mean of all", np.array([25.0, 25.0, 25.0])).exact
    False
    """

    variable: str
    rule: str
    values: NDArray[np.float64]
    exact: bool = False


@dataclass(frozen=True, kw_only=True)
class Attack:
    """A way to infer cells of a release.

    Attributes
    ----------
    name : str
        What ``maskwright attack --attack NAME`` calls it.
    infer : callable
        ``(published, params) -> iterable of Inference``: of any of `Published.targets`, as many families of rules as
        there are. It sees the release only; the office counts how often it is right.
    params : type of pydantic.BaseModel
        Parameter model; its docstring and field descriptions are the documentation.
    reference : str
        Paper, section.
    summary : str
        One sentence for `maskwright plugins`.

    Examples
    --------
    >>> from collections.abc import Iterator
    >>> import numpy as np
    >>> from maskwright import Attack, Inference, NoParams, Published
    >>> def most_frequent(published: Published, params: NoParams) -> Iterator[Inference]:
    ...     for name in published.targets:
    ...         values, counts = np.unique(published.values(name), return_counts=True)
    ...         everywhere = np.full(len(published.data), values[np.argmax(counts)])
    ...         yield Inference(name, "the value that most records have", everywhere)
    >>> attack = Attack(name="most_frequent", infer=most_frequent, summary="What most records have.")
    >>> attack.params is NoParams
    True
    """

    name: str
    infer: Callable[[Published, Any], Iterable[Inference]]
    params: type[BaseModel] = NoParams
    reference: str = ""
    summary: str = ""
