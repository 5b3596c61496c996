"""Draws what `dcgn bench vgpu --json` wrote: what several GPUs gain over one, beside what limits it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dcgn.results import Document, Failure
from dcgn.style import panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUES = ("#9ECAE1", "#4292C6", "#0072B2", "#084594", "#062654")  # from few parts to many
MARKERS = {  # of a placement or schedule: colour and shape
    "chunked": ("#0072B2", "o"),
    "measured": ("#707070", "*"),
    "no copies": ("#56B4E9", "D"),
    "stealing": ("#D55E00", "s"),
    "inputs replicated": ("#009E73", "^"),
    "interleaved": ("#CC79A7", "v"),
    "on part 0": ("#000000", "x"),
    "sampled": ("#E69F00", "+"),
}
GREY = "#707070"


def of_measure(document: Document, measure: str) -> list[dict[str, Any]]:
    return [row for row in document.rows if row["measure"] == measure]


def mean(values: Sequence[float]) -> float:
    """The geometric one, as the paper sums up its figure 19."""
    return math.exp(sum(math.log(value) for value in values) / len(values))


def draw_scaling(axes: Axes, rows: list[dict[str, Any]]) -> None:
    """A group of bars a workload, a bar for each number of parts; the limit is a line across it."""
    parts = sorted({row["parts"] for row in rows if row["parts"] > 1})
    names = list(dict.fromkeys(row["workload"] for row in rows))
    found = {(row["workload"], row["parts"]): row for row in rows}
    width = 0.8 / len(parts)
    for k, count in enumerate(parts):
        have = [(n, found[name, count]) for n, name in enumerate(names) if (name, count) in found]
        at = [n - 0.4 + width * (k + 0.5) for n, _ in have]
        gains = [float(row["speedup"]) for _, row in have]
        colour = BLUES[min(k + 2, len(BLUES) - 1) if len(parts) == 1 else k % len(BLUES)]
        at.append(len(names) - 0.4 + width * (k + 0.5))
        gains.append(mean(gains))
        axes.bar(at, gains, width * 0.92, color=colour, label=f"{count} parts")
        limits = [float(row["limit"]) for _, row in have]
        limits.append(mean(limits))
        label = "limit: as many devices" if k == 0 else None
        axes.hlines(limits, [x - width / 2 for x in at], [x + width / 2 for x in at], GREY, label=label)
    axes.axhline(1, color=GREY, linewidth=0.8, linestyle=(0, (1, 1.6)))
    axes.set_xticks(range(len(names) + 1), [*names, "geometric mean"], rotation=40, ha="right")
    axes.set_ylabel("times as fast as one GPU")
    axes.set_ylim(top=1.18 * max(float(row["limit"]) for row in rows))  # room for the legend
    axes.set_title("Scaling: chunks (the paper's figure 19)")
    axes.legend(frameon=False, ncol=len(parts) + 1, loc="upper left")


def draw_remote(axes: Axes, rows: list[dict[str, Any]]) -> None:
    """Run times over that of one GPU with all data its own."""
    names = [str(row["placement"]).removesuffix(" remote") for row in rows]
    bars = axes.bar(range(len(rows)), [1 / row["speedup"] for row in rows], 0.6, color=BLUES[2])
    axes.bar_label(bars, fmt="%.2f", padding=2, fontsize=8)
    axes.hlines(
        [1 / row["limit"] for row in rows],
        [n - 0.3 for n in range(len(rows))],
        [n + 0.3 for n in range(len(rows))],
        GREY,
        label="limit: copies within a GPU and between two",
    )
    axes.set_xticks(range(len(rows)), names)
    axes.set_ylim(top=1.18 * max(1 / row["speedup"] for row in rows))
    axes.set_xlabel("pages on other GPUs")
    axes.set_ylabel("times as long as one GPU")
    axes.set_title("Vector add on one GPU, its data on others (figure 7)")
    axes.legend(frameon=False)


def draw_placements(axes: Axes, rows: list[dict[str, Any]]) -> None:
    """A line a workload, a mark for each placement and for stealing, over the most parts."""
    most = max(row["parts"] for row in rows)
    shown = [row for row in rows if row["parts"] == most]
    names = list(dict.fromkeys(row["workload"] for row in shown))
    for kind, (colour, marker) in MARKERS.items():
        of_kind = [r for r in shown if (r["placement"] if r["schedule"] == "fixed" else r["schedule"]) == kind]
        if of_kind:
            axes.plot(
                [row["speedup"] for row in of_kind],
                [names.index(row["workload"]) for row in of_kind],
                marker,
                color=colour,
                markersize=6,
                label=kind,
            )
    axes.axvline(most if all(r["devices"] == most for r in shown) else shown[0]["limit"], color=GREY)
    axes.axvline(1, color=GREY, linewidth=0.8, linestyle=(0, (1, 1.6)))
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_xlim(left=0)
    axes.grid(axis="y", linewidth=0.4)
    axes.set_xlabel("times as fast as one GPU; the line is the limit")
    axes.set_title(f"Placements and schedules, {most} parts")
    axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))


def draw_launch(axes: Axes, rows: list[dict[str, Any]]) -> None:
    """Microseconds of an empty kernel, over the number of parts."""
    for k, name in enumerate(dict.fromkeys(str(row["workload"]) for row in rows)):
        points = [(row["parts"], row["p50"]) for row in rows if row["workload"] == name]
        label = name.removeprefix("empty kernel, ")
        colour, marker = list(MARKERS.values())[k]
        axes.plot([x for x, _ in points], [y for _, y in points], color=colour, marker=marker, label=label)
    axes.set_xticks(sorted({row["parts"] for row in rows}))
    axes.set_ylim(bottom=0)
    axes.set_xlabel("parts")
    axes.set_ylabel("us")
    axes.set_title("A launch of an empty kernel")
    axes.legend(frameon=False)


def draw(document: Document) -> Figure:
    """A picture with a panel for each kind of row that there is."""
    scaling = of_measure(document, "scaling")
    placements = [r for m in ("scaling", "measured", "schedule", "placement") for r in of_measure(document, m) if r["parts"] > 1]
    found: list[tuple[Any, list[dict[str, Any]]]] = []
    if any(row["parts"] > 1 for row in scaling):
        found.append((draw_scaling, scaling))
    if len({(row["placement"], row["schedule"]) for row in placements}) > 1:
        found.append((draw_placements, placements))
    for draw_panel, measure in ((draw_remote, "remote"), (draw_launch, "launch")):
        if rows := of_measure(document, measure):
            found.append((draw_panel, rows))
    if not found:
        raise Failure("a result of dcgn bench vgpu on one part: expected several, or its launches")
    figure, drawn = panels(len(found), f"The virtual GPU: {document.machine}, commit {document.commit}")
    for axes, (draw_panel, rows) in zip(drawn, found):
        draw_panel(axes, rows)
    return figure
