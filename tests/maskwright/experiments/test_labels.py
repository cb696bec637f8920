"""Names on the map cover no point and no other name."""

from __future__ import annotations

import numpy as np
import pytest

from maskwright.experiments.pictures.figure import SIZE, name_points

RADIUS = 4.5


@pytest.mark.parametrize(("n", "seed"), [(5, 0), (40, 1), (150, 2), (600, 3)])
def test_no_name_covers_a_point_or_another_name(n: int, seed: int) -> None:
    """As drawn, in pixels; where there is no room, a name is left out and said to be."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.text import Text

    rng = np.random.default_rng(seed)
    dots = np.column_stack([rng.uniform(0, 100, n), rng.gamma(2, 10, n)])
    figure = Figure(figsize=(9.0, 5.6), layout="constrained")
    axes = figure.add_subplot()
    axes.scatter(*dots.T, s=26)
    names = {f"microaggregation k={number} group_size=all": (x, y) for number, (x, y) in enumerate(dots[:8].tolist())}
    written = name_points(figure, axes, names, dots, RADIUS)
    assert set(written) <= set(names)
    assert n > 100 or written == tuple(names)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    # Of the letters alone: the extent of an annotation holds the line that leads to its point.
    boxes = [Text.get_window_extent(text, canvas.get_renderer()) for text in axes.texts]
    assert [text.get_text() for text in axes.texts] == list(written)
    assert all(text.get_fontsize() == SIZE for text in axes.texts)
    # The path effect around letters reaches a little further than their box.
    room = (RADIUS - 1.5) * figure.dpi / 72
    pixels = axes.transData.transform(dots)
    for number, box in enumerate(boxes):
        low, high = np.array([box.x0, box.y0]), np.array([box.x1, box.y1])
        assert (np.hypot(*(pixels - np.clip(pixels, low, high)).T) > room - 1).all()
        for other in boxes[:number]:
            assert box.x1 <= other.x0 + 1 or other.x1 <= box.x0 + 1 or box.y1 <= other.y0 + 1 or other.y1 <= box.y0 + 1
