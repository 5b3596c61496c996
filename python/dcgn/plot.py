"""Draws results of `dcgn bench`: `dcgn bench plot FILE.json... [-o OUT.png]`."""

from __future__ import annotations

import argparse
import io
import math
import os
import stat
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from dcgn import steps, vgpu
from dcgn.model import Cost, fit
from dcgn.results import IO, USAGE, Document, Failure, Series, load, series, size_text
from dcgn.style import use_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# In this order, whatever the files' is; others follow.
MEASURES = {
    "latency": "Latency: half a round trip",
    "bandwidth": "Bandwidth: one way",
    "bidirectional": "Bandwidth: both ways at once, of each way",
    "pack": "Packing",
    "unpack": "Unpacking",
    "message": "Messages between layouts, half a round trip",
    "rate": "Message rate",
    "any-source": "Receiving from any source",
}
THROUGHPUT = ("bandwidth", "bidirectional", "pack", "unpack", "message")
BARS = ("rate", "barrier")
LAYOUTS = ("pack", "unpack", "message")  # bars where each has one size

# Colours that the colour-blind tell apart (Okabe and Ito): ours by the kind of the two ranks, lighter where fewer
# threads take part, darker where several blocks do; peers by their name.
PATHS = {"slot-slot": "#0072B2", "cpu-slot": "#009E73", "cpu-cpu": "#D55E00"}
OTHER_PATHS = ("#56B4E9", "#CC79A7", "#B8860B")
SCOPES = {"thread": 0.6, "warp": 0.3}  # how much white is in it
PEERS = {"Open MPI": ("#000000", "o"), "NCCL": ("#E69F00", "s"), "NVSHMEM": ("#882255", "^")}
OTHER_PEERS = (("#555555", "D"), ("#AA4499", "v"), ("#999933", "P"))
GREY = "#707070"


def is_time_by_size(one: Series) -> bool:
    """Latency, and the collectives, each a measure of its own."""
    return one.unit == "us" and one.measure not in (*THROUGHPUT, *BARS, "any-source")


def in_bars(group: Sequence[Series]) -> bool:
    """Whether the series of a measure are bars, not lines over sizes."""
    measure = group[0].measure
    return measure in BARS or (measure in LAYOUTS and all(len(one.points) == 1 for one in group))


def cost_of(one: Series) -> Cost | None:
    """The cost model of a series that has times by size."""
    if one.measure in THROUGHPUT:
        points = [(p.x, p.us) for p in one.points if p.gb_per_s > 0]
    elif is_time_by_size(one):
        points = [(p.x, p.p50) for p in one.points]
    else:
        return None
    return fit([x for x, _ in points], [us for _, us in points])


def present(shown: Sequence[Series]) -> list[str]:
    """The measures that there are, in the order in which they are shown."""
    found = dict.fromkeys(one.measure for one in shown)
    return [m for m in MEASURES if m in found] + [m for m in found if m not in MEASURES]


def fit_table(shown: Sequence[Series]) -> str:
    """What --fit prints."""
    rows = [("measure", "series", "alpha us", "beta GB/s", "worst deviation")]
    for one in sorted(shown, key=lambda one: present(shown).index(one.measure)):
        cost = cost_of(one)
        if cost:
            # A slope that the largest message does not show is none.
            flat = cost.us(one.points[-1].x) < 1.01 * cost.alpha_us
            beta = "flat" if flat else f"{cost.beta_gb_per_s:.3f}"
            worst = f"{100 * cost.worst:.0f}% at {size_text(cost.worst_at)}"
            rows.append((one.measure, one.name, f"{cost.alpha_us:.3f}", beta, worst))
        elif one.measure in THROUGHPUT or is_time_by_size(one):
            rows.append((one.measure, one.name, "-", "-", "fewer than 3 sizes"))
    widths = [max(len(row[c]) for row in rows) for c in range(5)]
    lines = (
        f"{m:<{widths[0]}}  {s:<{widths[1]}}  {a:>{widths[2]}}  {b:>{widths[3]}}  {w:>{widths[4]}}"
        for m, s, a, b, w in rows
    )
    return "\n".join(lines)


class Styles:
    """How each series is drawn: the same in all panels."""

    def __init__(self, shown: Sequence[Series]) -> None:
        ours = dict.fromkeys(one.path for one in shown if one.is_ours)
        others = [path for path in ours if path not in PATHS]
        self._paths = PATHS | {p: OTHER_PATHS[i % len(OTHER_PATHS)] for i, p in enumerate(others)}
        peers = dict.fromkeys(one.whose for one in shown if not one.is_ours and not one.is_limit)
        self._peers: dict[str, tuple[str, str]] = {}
        unknown: Iterator[tuple[str, str]] = iter(OTHER_PEERS * len(peers))
        for whose in peers:
            known = [style for name, style in PEERS.items() if whose.startswith(name)]
            known = [style for style in known if style not in self._peers.values()]
            self._peers[whose] = known[0] if known else next(unknown)
        several = dict.fromkeys(s.scope for s in shown if s.scope.startswith(("blocks:", "grid")))
        self._black = {scope: 0.65 * (i + 1) / len(several) for i, scope in enumerate(several)}
        # One series in several files: the last stands out.
        self._last: dict[tuple[str, ...], int] = {}
        for one in shown:
            self._last[self._key(one)] = one.document

    @staticmethod
    def _key(one: Series) -> tuple[str, ...]:
        return (one.whose, one.measure, one.path, one.scope)

    def colour(self, one: Series) -> str:
        if one.is_limit:
            return GREY
        base = self._paths[one.path] if one.is_ours else self._peers[one.whose][0]
        white = SCOPES.get(one.scope, 0.0)
        lit = 1 - self._black.get(one.scope, 0.0)
        parts = (int(base[i : i + 2], 16) for i in (1, 3, 5))
        return "#" + "".join(f"{round((part + (255 - part) * white) * lit):02x}" for part in parts)

    def line(self, one: Series) -> dict[str, Any]:
        """What Axes.plot() takes."""
        style: dict[str, Any] = {"color": self.colour(one), "linewidth": 1.8}
        if one.is_limit:
            style |= {"linestyle": (0, (1, 1.6)), "linewidth": 1.4}
            if len(one.points) == 1:
                style["marker"] = "_"
        elif one.is_ours:
            style |= {"linestyle": "-", "zorder": 3}
            if len(one.points) == 1:
                style["marker"] = "_"
        else:
            marker = self._peers[one.whose][1]
            style |= {
                "linestyle": (0, (4, 2)),
                "marker": marker,
                "markersize": 4.5,
                "linewidth": 1.3,
            }
        if one.document != self._last[self._key(one)]:
            style["alpha"] = 0.4
        return style


def value(one: Series, index: int) -> float:
    point = one.points[index]
    return point.gb_per_s if one.measure in THROUGHPUT else point.p50


def draw_lines(
    axes: Axes, shown: Sequence[Series], labels: Sequence[str], styles: Styles, fits: bool
) -> None:
    """Series over sizes, or over senders."""
    from matplotlib.ticker import FuncFormatter, NullLocator

    measure = shown[0].measure
    over_bytes = measure != "any-source"
    fitted = False
    for one, label in zip(shown, labels):
        xs = [point.x for point in one.points]
        ys = [value(one, i) for i in range(len(xs))]
        axes.plot(xs, ys, label=None if one.is_limit else label, **styles.line(one))
        cost = cost_of(one) if fits and not one.is_limit else None
        if cost:
            fitted = True
            fine = [xs[0] * (xs[-1] / xs[0]) ** (k / 200) for k in range(201)]
            model = [x * 1e-3 / cost.us(x) if measure in THROUGHPUT else cost.us(x) for x in fine]
            axes.plot(fine, model, color=styles.colour(one), linewidth=0.7, zorder=2)
    if fitted:
        axes.plot([], [], color=GREY, linewidth=0.7, label="fit: latency + bytes / bandwidth")

    xs = sorted({point.x for one in shown for point in one.points})
    axes.set_xscale("log", base=2)
    step = math.ceil(len(xs) / 9)
    axes.set_xticks(xs[::step])
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda x, _: size_text(x) if over_bytes else f"{x:g}")
    )
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("bytes" if over_bytes else "senders")
    if measure in THROUGHPUT:
        axes.set_ylabel("GB/s each way" if measure == "bidirectional" else "GB/s")
    else:
        axes.set_ylabel("µs" if shown[0].unit == "us" else shown[0].unit)
    if is_time_by_size(shown[0]):
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
    else:
        axes.set_ylim(bottom=0)
    axes.grid(True, which="major", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    if axes.get_legend_handles_labels()[1]:
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, frameon=False)


def spread(heights: Sequence[float], gap: float, top: float) -> list[float]:
    """Ascending heights, moved as little as it takes for them to be `gap` apart and below `top`."""
    places: list[float] = []
    for height in heights:
        places.append(max(height, places[-1] + gap) if places else height)
    for i in reversed(range(len(places))):
        places[i] = min(places[i], top - gap * (len(places) - 1 - i))
    return places


def label_limits(axes: Axes, limits: Sequence[tuple[Series, str]]) -> None:
    """Names limits in a column beside the panel, each with a line to its end."""
    panel = axes.get_window_extent()
    line_height = 10 * axes.figure.dpi / 72 / panel.height  # as a share of the panel's

    def height(one: Series) -> float:
        return float(axes.transAxes.inverted().transform(end_of(one))[1])

    def end_of(one: Series) -> Any:
        return axes.transData.transform((one.points[-1].x, value(one, -1)))

    ordered = sorted(limits, key=lambda limit: height(limit[0]))
    places = spread([height(one) for one, _ in ordered], line_height, 1.0)
    for (one, label), place in zip(ordered, places):
        axes.annotate(
            label,
            (one.points[-1].x, value(one, -1)),
            xytext=(1.02, place),
            textcoords="axes fraction",
            va="center",
            fontsize=7.5,
            color=GREY,
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 0.4, "shrinkB": 2},
        )


def draw_bars(axes: Axes, shown: Sequence[Series], labels: Sequence[str], styles: Styles) -> None:
    """A bar for each series and size, the first on top."""
    bars = [
        (one, i, label if len(one.points) == 1 else f"{label}, {size_text(one.points[i].x)} B")
        for one, label in zip(shown, labels)
        for i in range(len(one.points))
    ]
    heights = range(len(bars), 0, -1)
    peers = [not one.is_ours and not one.is_limit for one, _, _ in bars]
    drawn = axes.barh(
        heights,
        [value(one, i) for one, i, _ in bars],
        height=0.66,
        color=[styles.colour(one) for one, _, _ in bars],
        hatch=["//" if peer else "" for peer in peers],
        edgecolor="white",
    )
    values = [bar.get_width() for bar in drawn]
    axes.bar_label(drawn, [f"{v:.0f}" if v >= 100 else f"{v:#.3g}" for v in values], padding=3)
    axes.set_yticks(list(heights), [label for _, _, label in bars])
    unit = "GB/s" if shown[0].measure in THROUGHPUT else shown[0].unit
    axes.set_xlabel({"us": "µs", "M/s": "million messages/s"}.get(unit, unit))
    axes.margins(x=0.12)
    axes.tick_params(axis="y", length=0)
    axes.grid(True, axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)


def labels_of(shown: Sequence[Series], documents: Sequence[Document]) -> list[str]:
    """The series' names; with the commit, or the file's number, where files have the same."""
    names = [one.name for one in shown]
    commits = [document.commit for document in documents]
    labels = []
    for one, name in zip(shown, names):
        if names.count(name) == 1:
            labels.append(name)
        elif commits.count(commits[one.document]) == 1:
            labels.append(f"{name}, {commits[one.document]}")
        else:
            labels.append(f"{name}, file {one.document + 1}")
    return labels


def draw(documents: Sequence[Document], shown: Sequence[Series], fits: bool) -> Figure:
    """A panel for each measure."""
    use_style()
    import matplotlib.pyplot as plt

    measures = present(shown)
    styles = Styles(shown)
    columns = 1 if len(measures) == 1 else 2
    rows = math.ceil(len(measures) / columns)
    figure, grid = plt.subplots(
        rows,
        columns,
        figsize=(6.8 * columns, 4.6 * rows + 0.4),
        squeeze=False,
        layout="constrained",
    )
    panels = list(grid.flat)
    for axes, measure in zip(panels, measures):
        group = [one for one in shown if one.measure == measure]
        labels = labels_of(group, documents)
        axes.set_title(MEASURES.get(measure, measure))
        if in_bars(group):
            draw_bars(axes, group, labels, styles)
        else:
            draw_lines(axes, group, labels, styles, fits)
    for axes in panels[len(measures) :]:
        axes.remove()
    figure.draw_without_rendering()  # where lines end is known only now
    for axes, measure in zip(panels, measures):
        group = [one for one in shown if one.measure == measure]
        group = [] if in_bars(group) else [one for one in group if one.is_limit]
        label_limits(axes, list(zip(group, labels_of(group, documents))))
    sources = dict.fromkeys(
        f"{document.machine}; commit {document.commit}" for document in documents
    )
    title = "\n".join(line for source in sources for line in textwrap.wrap(source, 100 * columns))
    figure.suptitle(title, fontsize=9, x=0.01, ha="left")
    return figure


class Output:
    """The picture's file: known to be writable before the work, and there whole or not at all."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._path = os.path.realpath(name)
        try:
            mode = os.stat(self._path).st_mode if os.path.exists(self._path) else None
            self._stream = mode is not None and not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
            if self._stream:
                return
            with open(self._path, "ab") as file:
                self._mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            if mode is None:
                os.unlink(self._path)
        except OSError as e:
            self._fail("cannot be written", e)

    def write(self, content: bytes) -> None:
        try:
            if self._stream:
                Path(self._path).write_bytes(content)
                return
            part, path = tempfile.mkstemp(prefix=".dcgn_", dir=os.path.dirname(self._path))
            try:
                with open(part, "wb") as file:
                    file.write(content)
                os.chmod(path, self._mode)
                os.replace(path, self._path)
            except BaseException:
                os.unlink(path)
                raise
        except OSError as e:
            self._fail("not written", e)

    def _fail(self, what: str, error: OSError) -> NoReturn:
        raise Failure(f"{self.name}: {what}: {error.strerror}") from None


def picture_format(name: str) -> str:
    """What matplotlib calls the kind of picture that the name's ending means."""
    try:
        from matplotlib.backend_bases import FigureCanvasBase
    except ImportError:
        raise Failure(
            f"{sys.executable}, the first python3 of PATH, has no matplotlib: expected one that has, as /usr/bin/python3 "
            "after scripts/install-packages plot; or install it by pip install matplotlib"
        ) from None
    known = FigureCanvasBase.get_supported_filetypes()
    ending = Path(name).suffix.removeprefix(".").lower()
    if ending not in known:
        raise Failure(
            f"-o {name}: expected a name that ends in .{', .'.join(sorted(known))}", USAGE
        )
    return ending


# Of documents that have pictures of their own.
PICTURES = {"vgpu": vgpu.draw, "stencil": steps.draw}


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Failure(message, USAGE)


def run(words: Sequence[str]) -> None:
    parser = Parser(prog="dcgn bench plot", description=__doc__)
    parser.add_argument("files", nargs="+", metavar="FILE.json")
    parser.add_argument("-o", "--output", metavar="OUT.png")
    parser.add_argument("--measure", metavar="NAME,...")
    parser.add_argument("--fit", action="store_true")
    asked = parser.parse_args(words)

    documents = [load(name) for name in asked.files]
    own = next((document.what for document in documents if document.what in PICTURES), None)
    if own and (len(documents) > 1 or asked.measure or asked.fit):
        raise Failure(
            f"a result of dcgn bench {own}: expected it alone, without --measure and --fit", USAGE
        )
    shown = [] if own else series(documents)
    if asked.measure:
        for measure in asked.measure.split(","):
            if measure not in present(shown):
                expected = f"expected what the files have: {', '.join(present(shown))}"
                raise Failure(f"--measure {measure}: {expected}", USAGE)
        shown = [one for one in shown if one.measure in asked.measure.split(",")]
    name = asked.output or Path(asked.files[0]).stem + ".png"
    kind = picture_format(name)
    output = Output(name)
    figure = PICTURES[own](documents[0]) if own else draw(documents, shown, asked.fit)
    content = io.BytesIO()
    figure.savefig(content, format=kind, dpi=150)
    output.write(content.getvalue())
    if asked.fit:
        print(fit_table(shown))
    print(f"wrote {name}")


def main() -> int:
    try:
        run(sys.argv[1:])
        sys.stdout.flush()
    except Failure as failure:
        print(f"dcgn: bench: plot: {failure}", file=sys.stderr)
        return failure.code
    except OSError:
        print("dcgn: standard output could not be written", file=sys.stderr)
        sys.stdout = io.StringIO()  # or Python would try again at its end
        return IO
    return 0


if __name__ == "__main__":
    sys.exit(main())
