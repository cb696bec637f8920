"""What a method asks of all records before it masks each of them by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from maskwright.data.variable import Variable
    from maskwright.plugins.block import Block

Gathered = Mapping[str, Any]
"""Plain data: numbers, texts, lists and mappings of them."""


@dataclass(frozen=True, kw_only=True)
class Gathering:
    """The form of a method that knows something of all records, and then masks each of them by itself.

    So it can run over parts of a file: each part says what it has, this is put together, and `Method.protect` gets it
    as `Block.gathered`. What the method draws comes from `uniform_by_record`. In memory the same is done with all
    records at once, and the masked values are the same.

    Attributes
    ----------
    partial : callable
        ``(block, params) -> facts`` of some of the records that are masked alike (of a stratum, where the method is
        masked within strata), with their missing cells: plain data, whose size does not grow with the records. A pure
        function of a module.
    merged : callable
        ``(facts, params) -> facts`` of all records: `facts` of the parts, in their order. It must not matter how the
        records are cut. A function of a module.
    notes : callable or None
        ``(facts, variables, params) -> notes``: what is to be said once of all records, as `Masked.notes`; what
        `Method.protect` notes is added up over the parts. A function of a module.
    not_with : str
        Parameters with which the method needs all records all the same (its `variant` has no gathering then), for the
        table of ``maskwright explain scale``: ``a correction``.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import Block, Gathering, Variable
    >>> def largest_of_part(block: Block, params):
    ...     return {"largest": float(np.nanmax(block.values))}
    >>> def largest(facts, params):
    ...     return {"largest": max(each["largest"] for each in facts)}
    >>> gathering = Gathering(partial=largest_of_part, merged=largest)
    >>> values = np.array([[2.0], [7.0]])
    >>> block = Block(values, np.isnan(values), (Variable("wages"),))
    >>> gathering.of(block, None)
    {'largest': 7.0}
    """

    partial: Callable[[Block, Any], Gathered]
    merged: Callable[[Sequence[Gathered], Any], Gathered]
    notes: Callable[[Gathered, Sequence[Variable], Any], Mapping[str, Any]] | None = None
    not_with: str = ""

    def of(self, block: Block, params: Any) -> Gathered:
        """What a block was told of all records, or, where it was told nothing, what its own records say.

        Parameters
        ----------
        block : Block
        params : pydantic.BaseModel
            Of the method.
        """
        return self.merged([self.partial(block, params)], params) if block.gathered is None else block.gathered
