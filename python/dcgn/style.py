"""How pictures look."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def use_style() -> None:
    """For all that matplotlib draws from here on, into files alone."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update(
        {
            "font.size": 9,
            "axes.titlesize": 10,
            "axes.titlelocation": "left",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "legend.fontsize": 8,
            "svg.hashsalt": "dcgn",  # the same picture is the same file
        }
    )


def panels(count: int, title: str) -> tuple[Figure, list[Axes]]:
    """A picture of so many panels, two beside each other."""
    use_style()
    from matplotlib import pyplot

    columns, lines = min(2, count), (count + 1) // 2
    figure, grid = pyplot.subplots(
        lines, columns, figsize=(7.2 * columns, 4.2 * lines), squeeze=False, layout="constrained"
    )
    for axes in grid.flat[count:]:
        axes.remove()
    figure.suptitle(title, x=0.01, ha="left", fontsize=9)
    return figure, list(grid.flat[:count])
