"""Draws what `dcgn demo cahn-hilliard` and its kin record: `python3 -m dcgn.field NAME.csv... --output=OUT.png`."""

from __future__ import annotations

import csv
import io
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dcgn.plot import Output, Parser, picture_format
from dcgn.results import Failure
from dcgn.style import use_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLES = ["step", "time", "free_energy", "mass", "domain_length"]
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00")
GREY = "#707070"


@dataclass
class History:
    """A file's records, a list for each title; what is not known is not a number."""

    name: str
    values: dict[str, list[float]] = field(default_factory=dict)

    def points(self, title: str) -> tuple[list[float], list[float]]:
        """Times and values, where both are numbers."""
        pairs = zip(self.values["time"], self.values[title])
        good = [(t, v) for t, v in pairs if math.isfinite(t) and math.isfinite(v)]
        return [t for t, _ in good], [v for _, v in good]


def read(name: str) -> History:
    """Reads a file that the demonstrations wrote."""
    try:
        with open(name, newline="", encoding="utf-8") as file:
            lines = list(csv.reader(file))
    except OSError as e:
        raise Failure(f"{name}: {e.strerror}") from None
    except ValueError as e:
        raise Failure(f"{name}: expected records of a demonstration: {e}") from None
    if not lines or lines[0] != TITLES:
        raise Failure(f"{name}:1: expected {','.join(TITLES)}")
    history = History(name, {title: [] for title in TITLES})
    for number, line in enumerate(lines[1:], 2):
        try:
            values = [float(word) if word else math.nan for word in line]
        except ValueError:
            values = []
        if len(values) != len(TITLES):
            raise Failure(f"{name}:{number}: expected numbers for {','.join(TITLES)}")
        for title, value in zip(TITLES, values):
            history.values[title].append(value)
    if len(lines) < 2:
        raise Failure(f"{name}: no records: expected one at least")
    return history


def exponent(times: list[float], lengths: list[float]) -> float | None:
    """The slope of log(length) over log(time), by least squares over the last decade of time."""
    pairs = [(t, v) for t, v in zip(times, lengths) if t > 0 and v > 0]
    pairs = [(math.log(t), math.log(v)) for t, v in pairs if t >= pairs[-1][0] / 10]
    if len({t for t, _ in pairs}) < 3:
        return None
    mean_t, mean_v = (sum(values) / len(pairs) for values in zip(*pairs))
    above: float = sum((t - mean_t) * (v - mean_v) for t, v in pairs)
    spread: float = sum((t - mean_t) ** 2 for t, _ in pairs)
    return above / spread


def _energy(axes: Axes, histories: list[History]) -> None:
    for history, colour in zip(histories, COLOURS * len(histories)):
        axes.plot(*history.points("free_energy"), color=colour, label=history.name)
    axes.set(title="Free energy", xlabel="time", ylabel="free energy")
    if len(histories) > 1:
        axes.legend(frameon=False)


def _mass(axes: Axes, histories: list[History]) -> None:
    for history, colour in zip(histories, COLOURS * len(histories)):
        times, masses = history.points("mass")
        axes.plot(times, [mass - masses[0] for mass in masses], color=colour)
    axes.set(title="Mass, less that at first", xlabel="time", ylabel="change of mass")


def _length(axes: Axes, histories: list[History]) -> None:
    drawn = False
    for history, colour in zip(histories, COLOURS * len(histories)):
        times, lengths = history.points("domain_length")
        positive = [(t, v) for t, v in zip(times, lengths) if t > 0 and v > 0]
        if not positive:
            continue
        drawn = True
        slope = exponent(times, lengths)
        label = None if slope is None else f"last decade: $t^{{{slope:.2f}}}$"
        axes.plot(*zip(*positive), color=colour, label=label)
        last_t, last_v = positive[-1]
    axes.set(title="Domain length", xlabel="time", ylabel="domain length")
    if not drawn:
        axes.text(0.5, 0.5, "not recorded", color=GREY, ha="center", transform=axes.transAxes)
        return
    axes.set(xscale="log", yscale="log")
    # The law of growth to compare with, a little above the last curve.
    guide = [last_t / 10, last_t]
    above = [1.2 * last_v * (t / last_t) ** (1 / 3) for t in guide]
    axes.plot(guide, above, ":", color=GREY, label="$t^{1/3}$")
    axes.legend(frameon=False)


def draw(histories: list[History]) -> Figure:
    """Free energy, mass and domain length over time, of one run or of several."""
    use_style()
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 3.6), layout="constrained")
    for axes, panel in zip(figure.subplots(1, 3), (_energy, _mass, _length)):
        panel(axes, histories)
        axes.margins(x=0.02)
    return figure


def run(words: Sequence[str]) -> None:
    parser = Parser(prog="dcgn demo", description=__doc__)
    parser.add_argument("files", nargs="*", metavar="NAME.csv")
    parser.add_argument("-o", "--output", required=True, metavar="OUT.png")
    parser.add_argument("--check", action="store_true", help="only whether it could be drawn")
    asked = parser.parse_args(words)
    kind = picture_format(asked.output)
    output = Output(asked.output)
    if asked.check:
        return
    if not asked.files:
        parser.error("no file: expected records of a demonstration")
    content = io.BytesIO()
    draw([read(name) for name in asked.files]).savefig(content, format=kind, dpi=150)
    output.write(content.getvalue())


def main() -> int:
    try:
        run(sys.argv[1:])
    except Failure as failure:
        print(f"dcgn: demo: plot: {failure}", file=sys.stderr)
        return failure.code
    return 0


if __name__ == "__main__":
    sys.exit(main())
