"""The process of the explorer: is given points, makes one iteration of a method for each line that asks for one.

``{"do": "begin", ...}`` is answered by ``{}``, ``{"do": "step"}`` by what the method has come to, with the measures of
it, or ``{"problem": [message, hint]}``.
"""

from __future__ import annotations

import queue
import threading
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import maskwright as mw
from maskwright_studio.worker import line_writer, read_requests

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

SCORE = {
    "pil": 0.5, "distance_record_linkage": 0.125, "probabilistic_record_linkage": 0.125, "interval_disclosure": 0.25,
    "linkage": "numeric",
}  # fmt: skip
"""Mean of PIL and DR = 0.5 (DBRL + PRL) / 2 + 0.5 ID, as in Cano (2008), section 2.4."""

NUMBER = {"type": "continuous", "role": "confidential"}
"""What every column is."""

MEASURES = {
    "pil": "pil", "dbrl": "distance_record_linkage", "prl": "probabilistic_record_linkage", "id": "interval_disclosure"
}  # fmt: skip


class Exploring:
    """A method at work on points."""

    def __init__(self) -> None:
        self._states: Iterator[mw.Iteration] = iter(())
        self._data = pd.DataFrame()
        self._independent: list[str] = []
        self._dependent: list[str] = []
        self._masked: list[str] = []
        self._iteration = 0

    def begin(
        self,
        method: str,
        columns: Mapping[str, Sequence[float]],
        independent: Sequence[str],
        dependent: Sequence[str],
        c: int,
        m: float,
        tolerance: float,
        max_iterations: int,
        seed: int,
        line: Sequence[float] | None,
    ) -> dict[str, Any]:
        """Begin anew; the line is a, b, c of ``a x + b y = c`` in the plane of the picture."""
        self._independent, self._dependent = list(independent), list(dependent)
        self._data = pd.DataFrame(columns, dtype=np.float64)
        common = {"c": c, "tolerance": tolerance, "max_iterations": max_iterations}
        if method == "fuzzy_c_regression":
            own: dict[str, object] = {"m": m, "independent": self._independent, "dependent": self._dependent}
            self._masked = self._dependent
            variables, rules = None, list[str]()
        else:
            own = {"m1": m}
            self._masked = variables = [*self._independent, *self._dependent]
            x, y = independent[0], dependent[0]
            rules = [] if line is None else [f"{line[0]!r} * `{x}` + {line[1]!r} * `{y}` == {line[2]!r}"]
        self._states = mw.iterations(
            self._data, method, params={**common, **own}, variables=variables, edits=rules, seed=seed,
            declared=dict.fromkeys(columns, NUMBER),
        )  # fmt: skip
        self._iteration = 0
        return {}

    def step(self) -> dict[str, Any]:
        """Make one iteration."""
        state = next(self._states, None)
        if state is None:
            raise mw.InputError("no iteration is left; run it again")
        self._iteration += 1
        shown = self._masked.index(self._dependent[0])
        found: dict[str, Any] = {
            "iteration": self._iteration,
            "objective": state.objective,
            "is_last": state.is_last,
            "labels": state.memberships[:, :, shown].argmax(axis=1).tolist(),
            "lines": [] if state.models is None else self._lines(state.models[:, :, shown]),
            "centroids": [] if state.centroids is None else state.centroids[:, [0, shown]].tolist(),
        }
        return found | self._measures(state.values)

    def _lines(self, models: np.ndarray[Any, np.dtype[np.float64]]) -> list[list[float]]:
        """Constant and slope of each model in the plane of the picture, other independents at their means."""
        constants = models[:, 0] + models[:, 2:] @ self._data[self._independent[1:]].mean().to_numpy(dtype=np.float64)
        return [[float(constant), float(slope)] for constant, slope in zip(constants, models[:, 1], strict=True)]

    def _measures(self, values: np.ndarray[Any, np.dtype[np.float64]]) -> dict[str, Any]:
        masked = self._data.copy()
        masked[self._masked] = values
        try:
            found = mw.measure(self._data, masked, [{"score": SCORE}], variables=self._masked)["score"]
        except mw.MaskwrightError as error:
            return {**dict.fromkeys([*MEASURES, "dr", "score"]), "note": error.problems[0].sentence}
        risk = 2 * found.value - found.parts["pil"]
        numbers = {**{short: found.parts[name] for short, name in MEASURES.items()}, "dr": risk, "score": found.value}
        known = {name: float(each) if np.isfinite(each) else None for name, each in numbers.items()}
        return {**known, "note": "" if known["score"] is not None else "; ".join(found.notes)}


def main() -> None:
    """Answer until standard input ends."""
    write = line_writer()
    requests: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=read_requests, args=(requests.put,), daemon=True).start()
    exploring = Exploring()
    while True:
        write(_response(exploring, requests.get()))


def _response(exploring: Exploring, request: dict[str, Any]) -> dict[str, Any]:
    what = request.pop("do")
    try:
        return exploring.begin(**request) if what == "begin" else exploring.step()
    except mw.MaskwrightError as error:
        return {"problem": [error.problems[0].sentence.rstrip("."), error.problems[0].hint or ""]}
    except Exception as error:  # noqa: BLE001 - the page says that it is a mistake of ours
        return {"problem": [f"this is a mistake of Maskwright, not of yours ({type(error).__name__})", ""]}


if __name__ == "__main__":
    main()
