"""Draws what `dcgn bench stencil --json` wrote: what a step takes, by mode and number of devices, beside the peers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dcgn.results import Document
from dcgn.style import panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUES = ("#9ECAE1", "#4292C6", "#0072B2", "#084594")  # from few devices to many
GREY = "#707070"


def name_of(row: dict[str, Any]) -> str:
    """What a bar is called: the mode of ours, the system of a peer."""
    return str(row["mode"]) if str(row["whose"]).startswith("dcgn") else str(row["whose"]).split(",")[0]


def grids(document: Document) -> list[tuple[str, tuple[int, ...]]]:
    """Equations and sizes, in the order of the rows."""
    return list(dict.fromkeys((str(row["equation"]), tuple(row["size"])) for row in document.rows))


def draw_grid(axes: Axes, rows: list[dict[str, Any]]) -> None:
    """A group of bars for each mode and peer, a bar for each number of devices; less is better."""
    names = list(dict.fromkeys(name_of(row) for row in rows))
    counts = sorted({int(row["devices"]) for row in rows})
    width = 0.8 / len(counts)
    for k, count in enumerate(counts):
        have = [row for row in rows if row["devices"] == count]
        at = [names.index(name_of(row)) - 0.4 + width * (k + 0.5) for row in have]
        label = f"{count} device" + "s" * (count > 1)
        bars = axes.bar(at, [row["p50"] for row in have], width * 0.92, color=BLUES[(k + 1) % len(BLUES)], label=label)
        axes.bar_label(bars, fmt="%.4g", padding=2, fontsize=7)
        least = [float(row["p50"]) * float(row["share"]) for row in have if row["share"] > 0]
        if least:
            note = "least traffic at a copy's rate" if k == 0 else None
            axes.hlines(least[0], min(at) - width / 2, max(at) + width / 2, GREY, linewidth=0.8, label=note)
    axes.set_xticks(range(len(names)), names, rotation=20, ha="right")
    axes.set_ylabel("us a step")
    axes.set_ylim(top=1.3 * max(float(row["p50"]) for row in rows))  # room for the legend
    cells = " x ".join(str(n) for n in rows[0]["size"])
    axes.set_title(f"{rows[0]['equation']}, {cells} cells")
    axes.legend(frameon=False)


def draw(document: Document) -> Figure:
    """A picture with a panel for each equation and size."""
    found = grids(document)
    figure, drawn = panels(len(found), f"Stencils: {document.machine}, commit {document.commit}")
    for axes, (equation, size) in zip(drawn, found):
        draw_grid(axes, [r for r in document.rows if r["equation"] == equation and tuple(r["size"]) == size])
    return figure
