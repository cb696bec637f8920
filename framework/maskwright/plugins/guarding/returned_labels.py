"""What the engine demands of the labels that a partition returns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maskwright.plugins.guarding.call import broke_contract

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright.plugins.guarding.origin import Origin


def checked_labels(origin: Origin, arguments: tuple[Any, ...], labels: Any) -> NDArray[Any]:
    """Labels of a partition that keep its contract, as an array of their own."""
    import numpy as np

    block, k = arguments[0], int(arguments[1])
    if not isinstance(labels, np.ndarray):
        raise broke_contract(origin, f"returned a {type(labels).__name__}; labels are an array of whole numbers")
    if labels.shape != (block.n,) or not np.issubdtype(labels.dtype, np.integer):
        found = f"{labels.dtype} of shape {labels.shape}"
        raise broke_contract(origin, f"returned {found}; labels are one whole number for each of {block.n} records")
    own = np.array(labels, dtype=np.int64)
    if not block.n:
        return own
    if int(own.min()) < 0 or int(own.max()) >= block.n:
        raise broke_contract(origin, "returned labels that do not count clusters from 0")
    sizes = np.bincount(own)
    if not sizes.all():
        raise broke_contract(origin, f"left {int((sizes == 0).sum())} of its {len(sizes)} clusters without a record")
    if int(sizes.min()) < min(k, block.n):
        raise broke_contract(
            origin, f"made a cluster of {int(sizes.min())} record(s), where each has to have at least {k}"
        )
    return own
