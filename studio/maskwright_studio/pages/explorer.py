"""Explorer: click points, and see fuzzy c-regression or constrained fuzzy c-means at work, iteration by iteration."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from maskwright_studio.data_process import NotYet
from maskwright_studio.explorer.exploration import METHODS, MOST_CLUSTERS, Settings
from maskwright_studio.explorer.points import CURVE_HEIGHT, CURVE_WIDTH, HEIGHT, MOST, WIDTH, Table, curve, read_points
from maskwright_studio.page import Answer, Page, html
from maskwright_studio.refusal import Refusal
from maskwright_studio.session import files_of, inside, shown

if TYPE_CHECKING:
    from maskwright_studio.page import Form, Query
    from maskwright_studio.session import Session

POINTS = (".csv", ".txt", ".dat")
"""Ends of names of files that may hold points."""

CURVES = {"pil": "PIL", "dr": "DR", "score": "score"}


async def show(session: Session, _: Query) -> str:
    """Points, settings, and the picture as far as it is."""
    files = [shown(session.folder, path) for path in files_of(session.folder) if path.suffix.lower() in POINTS]
    return html(
        "explorer.html", at=session.exploration, files=files, methods=METHODS, most=MOST, clusters=MOST_CLUSTERS,
        pipeline="" if session.pipeline is None else session.pipeline.path.name, live=await picture(session, {}),
    )  # fmt: skip


async def picture(session: Session, _: Query) -> str:
    """The plane with what was found, the figures of each iteration and their curve."""
    at = session.exploration
    state = at.states[-1] if at.states else None
    models: list[tuple[float, float]] = state["lines"] if state else []
    centroids: list[tuple[float, float]] = state["centroids"] if state else []
    plane = at.plane
    labels = state["labels"] if state is not None else [None] * len(at.shown)
    squares = [(*plane.drawn(*point), label) for point, label in zip(at.shown, labels, strict=True)]
    lines = [(number, plane.crossing(slope, -1.0, -constant)) for number, (constant, slope) in enumerate(models)]
    first = at.states[0]["objective"] if at.states else 1.0
    relative = [100 * each["objective"] / first if first else 0.0 for each in at.states]
    curves = [("objective", "objective, of the first", curve(relative, 100))]
    curves += [(name, message, curve([each[name] for each in at.states], 100)) for name, message in CURVES.items()]
    return html(
        "explorer_picture.html", at=at, state=state, squares=squares, lines=lines, width=WIDTH, height=HEIGHT,
        constraint=None if at.line is None else plane.crossing(*at.line),
        end=None if at.end is None else plane.drawn(*at.end),
        centroids=[(*plane.drawn(*each), number) for number, each in enumerate(centroids)],
        curves=curves, curve_width=CURVE_WIDTH, curve_height=CURVE_HEIGHT, method=METHODS[at.settings.method],
    )  # fmt: skip


async def click(session: Session, form: Form) -> Answer:
    """Take a click on the plane: a point, or an end of the constraint line."""
    at = session.exploration
    x, y = at.plane.meant(_number(form, "across"), _number(form, "down"))
    if form.get("adds") == "line":
        await at.bound(x, y)
        message = "Click the other end of the line." if at.end is not None else "Centroids will lie on this line."
        return await _seen(session, message)
    await at.add(x, y)
    return await _seen(session, f"{len(at.points)} points.")


async def add(session: Session, form: Form) -> Answer:
    """Add the point that is written."""
    await session.exploration.add(_number(form, "x"), _number(form, "y"))
    return await _seen(session, f"{len(session.exploration.points)} points.")


async def constrain(session: Session, form: Form) -> Answer:
    """Take the constraint that is written, or take it away."""
    if form.get("do") == "none":
        await session.exploration.constrain(None)
        return Answer(go="here", say="There is no constraint.")
    a, b, c = (_number(form, name) for name in ("a", "b", "c"))
    await session.exploration.constrain((a, b, c))
    return await _seen(session, "Centroids will lie on this line.")


async def load(session: Session, form: Form) -> Answer:
    """Load points of a file of the folder."""
    path = inside(session.folder, str(form.get("file", "")))
    await session.exploration.load(read_points(path), path.name)
    return Answer(go="here", say=f"{path.name} is loaded.")


async def take(session: Session, _: Form) -> Answer:
    """Show records of the open data as points."""
    pipeline = session.needed_pipeline()
    try:
        found = await session.data.query(pipeline, "points", most=MOST)
    except NotYet:
        raise Refusal("the data are still being read", "Try again in a moment.") from None
    table = Table(tuple(found["names"]), tuple(map(tuple, found["columns"])), found["records"])
    await session.exploration.load(table, f"the data of {pipeline.path.name}")
    return Answer(go="here", say="Records of the data are shown as points.")


async def clear(session: Session, _: Form) -> Answer:
    """Forget all points."""
    await session.exploration.clear()
    return Answer(go="here", say="There are no points any more.")


async def save(session: Session, form: Form) -> Answer:
    """Write the clicked points into a new file of the folder."""
    points = session.exploration.points
    if session.exploration.loaded is not None or not points:
        raise Refusal("there are no clicked points to save")
    path = inside(session.folder, str(form.get("name", "")).strip())
    if path.suffix.lower() not in POINTS:
        raise Refusal(f"{path.name} has no name of a file of points", f"Let it end in {', '.join(POINTS)}.")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.writelines(f"{x!r} {y!r}\n" for x, y in points)
    except FileExistsError:
        raise Refusal(f"{path.name} is there already", "Take another name: nothing is overwritten.") from None
    except OSError as error:
        raise Refusal(f"{path.name} cannot be written: {error.strerror}") from None
    return Answer(go="here", say=f"{len(points)} points are saved in {path.name}.")


async def work(session: Session, form: Form) -> Answer:
    """Run, step, stop or resume."""
    at = session.exploration
    match form.get("do", "run"):
        case "stop":
            at.stop()
            return await _seen(session, "Stopped.")
        case "resume":
            await at.resume()
            return await _seen(session, "It goes on.")
        case "step":
            await at.step(_settings(form))
            return await _seen(session, f"Iteration {len(at.states)}.")
        case _:
            await at.run(_settings(form))
            return await _seen(session, "It runs.")


def _settings(form: Form) -> Settings:
    method = str(form.get("method", ""))
    if method not in METHODS:
        raise Refusal(f"there is no method {method}")
    found = Settings(
        method=method, independent=str(form.get("independent", "")), dependent=str(form.get("dependent", "")),
        c=_whole(form, "c"), m=_number(form, "m"), epsilon=_number(form, "epsilon"),
        iterations=_whole(form, "iterations"), seed=_whole(form, "seed"),
    )  # fmt: skip
    if not 1 <= found.c <= MOST_CLUSTERS:
        raise Refusal(f"clusters are 1 to {MOST_CLUSTERS}")
    if not 1 < found.m <= 100:
        raise Refusal("m is greater than 1, and at most 100")
    if not 1 <= found.iterations <= 300 or found.epsilon < 0 or found.seed < 0:
        raise Refusal("iterations are 1 to 300; epsilon and seed are not below 0")
    return found


async def _seen(session: Session, message: str) -> Answer:
    return Answer(html=html("explorer_live.html", live=await picture(session, {})), say=message)


def _number(form: Form, name: str) -> float:
    text = str(form.get(name, "")).strip()
    try:
        found = float(text)
    except ValueError:
        raise Refusal(f"{name} is a number" + (f", not {text}" if text else "")) from None
    if not math.isfinite(found):
        raise Refusal(f"{name} is a number, not {text}")
    return found


def _whole(form: Form, name: str) -> int:
    found = _number(form, name)
    if not found.is_integer():
        raise Refusal(f"{name} is a whole number")
    return int(found)


EXPLORER = Page(
    path="/explorer", title="Explorer", show=show, parts={"picture": picture},
    acts={"click": click, "add": add, "constrain": constrain, "load": load, "take": take, "clear": clear,
          "save": save, "work": work},
    rests_on=dict.fromkeys(
        ("show", "picture", "click", "add", "constrain", "load", "clear", "save", "work"), "nothing"
    ),
)  # fmt: skip
