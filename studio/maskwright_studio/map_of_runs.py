"""The runs of a session by risk and loss: what was tried so far, on one map."""

from __future__ import annotations

from collections import Counter
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from maskwright_studio.jobs import Job


def map_of_runs(jobs: Iterable[Job]) -> dict[str, Any] | None:
    """Runs as cells of a map; None where none measured both a risk and a loss."""
    runs = [job for job in jobs if job.request["work"] == "run" and job.is_over and job.result]
    risk, loss = (_measured_most(runs, kind) for kind in ("risk", "loss"))
    if not risk or not loss:
        return None
    cells: list[dict[str, Any]] = [
        {"name": f"run {job.number}", "job": job.number, "family": PurePath(job.request["pipeline"]).name,
         "figures": {each["label"]: each["figure"] for each in job.result["measures"]},
         "why_not": "" if job.result["ok"] else "not released"}
        for job in runs
    ]  # fmt: skip
    shown = [each for each in cells if all(each["figures"].get(label) is not None for label in (risk, loss))]
    places = {each["name"]: (each["figures"][risk], each["figures"][loss]) for each in shown}
    units = {each["label"]: each["unit"] for job in runs for each in job.result["measures"]}
    if not shown:
        return None
    return {"risk": risk, "loss": loss, "units": units, "best": None, "front": front_of(places), "cells": shown}


def front_of(places: dict[str, tuple[float, float]]) -> list[str]:
    """Names of the points than which no other is lower in one figure and not higher in the other, by the first."""
    found, lowest, at = [], float("inf"), None
    for name, place in sorted(places.items(), key=lambda each: each[1]):
        if place[1] < lowest or place == at:
            found.append(name)
            lowest, at = place[1], place
    return found


def _measured_most(runs: Sequence[Job], kind: str) -> str:
    """The measure of a kind that most runs have, of which lower is better; '' where there is none."""
    counts = Counter(
        each["label"] for job in runs for each in job.result["measures"]
        if each["kind"] == kind and each["better"] == "lower" and each["figure"] is not None
    )  # fmt: skip
    return counts.most_common(1)[0][0] if counts else ""
