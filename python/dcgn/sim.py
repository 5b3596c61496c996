"""
The memory-network simulator from Python, by the command `dcgn sim`.

    from dcgn import sim

    one = sim.run("examples/sim/mesh_8x8.toml", load=0.3, settings={"traffic.pattern": "transpose"})
    print(one.row["latency_mean"], one.row["saturated"])
    curve = sim.sweep("examples/sim/mesh_8x8.toml", loads=[0.1, 0.2, 0.3, 0.4])
    sim.plot(curve, "sweep.png")

Nothing here needs a compiled package: the command is the one that DCGN_COMMAND names, or in PATH, or built in the source
tree that this file is in. As a program, `python3 -m dcgn.sim -o OUT.png [FILE.json]`, it draws what `dcgn sim --json` wrote.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Union

from dcgn.plot import Output, picture_format
from dcgn.results import IO, USAGE, Failure
from dcgn.style import use_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Value = Union[bool, int, float, str, Sequence[object]]  # of a configuration's key
Row = dict[str, Any]

# Okabe and Ito's, which the colour-blind tell apart.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#999933", "#882255")
GREY = "#707070"
PARTS = (" memcpy", " kernel")  # of a bar


class SimulationError(Exception):
    """What the command refused, in its own words; `code` is its exit code."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code


@dataclass(frozen=True)
class Document:
    """What a subcommand of `dcgn sim` gives with --json."""

    content: Mapping[str, Any] = field(repr=False)

    @property
    def what(self) -> str:
        """ "sim run", "sim sweep", "sim topo" or "sim figure"."""
        return str(self.content.get("what", ""))

    @property
    def title(self) -> str:
        return str(self.content.get("title", ""))

    @property
    def rows(self) -> list[Row]:
        """One for each run, phase, topology or bar; the names are the columns of --csv."""
        return list(self.content["rows"])

    @property
    def row(self) -> Row:
        """The only row, or the last: of a workload on an organisation the total."""
        return self.rows[-1]

    def column(self, name: str) -> list[Any]:
        """A value of each row. Raises KeyError for a name that rows do not have."""
        return [row[name] for row in self.rows]


def command() -> str:
    """The path of `dcgn`. Raises SimulationError where there is none."""
    given = os.environ.get("DCGN_COMMAND")
    if given:
        return given
    source = Path(__file__).resolve().parents[2]
    built = sorted(source.glob("build/*/bin/dcgn"), key=lambda path: path.stat().st_mtime)
    found = str(built[-1]) if built else shutil.which("dcgn")
    if not found:
        text = f"no command dcgn in PATH nor in {source}/build: expected one, or DCGN_COMMAND to name it"
        raise SimulationError(text, IO)
    return found


def toml(value: Value) -> str:
    """A value as TOML has it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return "[" + ", ".join(toml(one) for one in value) + "]"  # type: ignore[arg-type]


def call(*words: str) -> Document:
    """Runs `dcgn sim WORDS... --json`. Raises SimulationError with what the command says where it fails."""
    try:
        done = subprocess.run([command(), "sim", *words, "--json"], capture_output=True, text=True)
    except OSError as e:
        raise SimulationError(f"{command()}: {e.strerror}", IO) from None
    if done.returncode != 0:
        raise SimulationError(done.stderr.strip(), done.returncode)
    return Document(json.loads(done.stdout))


def _settings(settings: Mapping[str, Value] | None) -> list[str]:
    return [
        word
        for key, value in (settings or {}).items()
        for word in ("--set", f"{key}={toml(value)}")
    ]


def run(
    config: str | os.PathLike[str],
    load: float | str | None = None,
    settings: Mapping[str, Value] | None = None,
    links: str | os.PathLike[str] | None = None,
) -> Document:
    """
    One run of a configuration. `load` is in flits per source and cycle, or a text as "8 GB/s"; `settings` come before
    what the file says: {"router.stages": 3}. `links` names an SVG picture of the channels' loads to write.
    """
    words = ["run", os.fspath(config), *_settings(settings)]
    words += [] if links is None else ["--links", os.fspath(links)]
    return call(*words, *([] if load is None else ["--load", str(load)]))


def sweep(
    config: str | os.PathLike[str],
    loads: Sequence[float] | str,
    settings: Mapping[str, Value] | None = None,
    threads: int = 0,
    saturation: bool = False,
) -> Document:
    """
    A run for each load, `threads` at once (0: as many as there are cores). `loads` are numbers, or "FIRST:LAST:STEP".
    With `saturation`, content["saturation"]["load"] is where the network saturates.
    """
    text = loads if isinstance(loads, str) else ",".join(repr(float(load)) for load in loads)
    words = ["sweep", os.fspath(config), "--load", text, "--threads", str(threads)]
    return call(*words, *_settings(settings), *(["--saturation"] if saturation else []))


def topology(
    config: str | os.PathLike[str],
    settings: Mapping[str, Value] | None = None,
    svg: str | os.PathLike[str] | None = None,
) -> Document:
    """
    What a topology is, by a file or in short ("sFBFLY:4"); content["graph"] has its routers and channels. `svg` names a
    picture to write.
    """
    picture = [] if svg is None else ["--svg", os.fspath(svg)]
    return call("topo", os.fspath(config), *_settings(settings), *picture)


def figure(
    number: int, samples: int | None = None, seed: int = 1, threads: int = 0, *, seeds: int = 1, kernels: bool = False
) -> Document:
    """
    A figure of the 2014 paper: rows with `ours` and, where the text states it, `paper`; claims; what is assumed.
    `samples` is as many requests of each GPU as the command has by default, unless it is given. With several `seeds`
    rows are means, with their `spread`. With `kernels` recorded kernels run in place of traffic models.
    """
    given = [] if samples is None else ["--samples", str(samples)]
    if kernels:
        given.append("--kernels")
    return call("figure", str(number), *given, "--seed", str(seed), "--seeds", str(seeds), "--threads", str(threads))


def record(workload: str, trace: str | os.PathLike[str], scale: str | int = "paper", blocks: int = 0) -> Document:
    """
    Writes what a workload's kernels do to memory to the file `trace`, which a configuration's [kernels] runs. A row for
    each launch and each copy. Of a launch about `blocks` blocks are kept; 0: all.
    """
    return call("record", workload, os.fspath(trace), "--scale", str(scale), "--blocks", str(blocks))


def load(name: str | os.PathLike[str]) -> Document:
    """Reads what `dcgn sim --json FILE` wrote. Raises Failure."""
    try:
        return parse(Path(name).read_text(encoding="utf-8"), os.fspath(name))
    except OSError as e:
        raise Failure(f"{os.fspath(name)}: {e.strerror}") from None


def parse(text: str, name: str) -> Document:
    """The document in `text`, which errors call `name`. Raises Failure."""
    try:
        content = json.loads(text)
    except ValueError as e:
        raise Failure(f"{name}: expected a result of dcgn sim, found no JSON: {e}") from None
    if not isinstance(content, dict) or not str(content.get("what", "")).startswith("sim "):
        raise Failure(f"{name}: expected a result of dcgn sim")
    if not isinstance(content.get("rows"), list) or not content["rows"]:
        raise Failure(f"{name}: expected a result of dcgn sim, found no rows")
    return Document(content)


def plot(document: Document, name: str | os.PathLike[str]) -> None:
    """Draws a sweep or a figure; the name's ending says what kind of picture. Raises Failure."""
    kind = picture_format(os.fspath(name))
    output = Output(os.fspath(name))
    content = io.BytesIO()
    draw(document).savefig(content, format=kind, dpi=150)
    output.write(content.getvalue())


def draw(document: Document) -> Figure:
    """The picture as matplotlib has it."""
    use_style()
    if document.what == "sim sweep":
        return _draw_sweep(document)
    if document.what == "sim figure":
        return _draw_figure(document)
    raise Failure(f"{document.what or 'this'} is not drawn: expected a sweep or a figure", USAGE)


def _draw_sweep(document: Document) -> Figure:
    import matplotlib.pyplot as plt

    drawn, (above, below) = plt.subplots(
        2, 1, figsize=(6.8, 6.6), sharex=True, layout="constrained"
    )
    rows = sorted(document.rows, key=lambda row: float(row["load"]))
    loads = [row["load"] for row in rows]

    def value(row: Row, name: str) -> float:
        """A gap where no packet came."""
        return math.nan if row[name] is None else float(row[name])

    for name, label, style in (
        ("latency_p99", "99th percentile", {"color": COLOURS[4], "linestyle": (0, (4, 2))}),
        ("latency_mean", "mean", {"color": COLOURS[0], "linestyle": "-"}),
    ):
        above.plot(loads, [value(row, name) for row in rows], label=label, linewidth=1.6, **style)
    for row in rows:
        face = "white" if row["saturated"] else COLOURS[0]
        above.plot(row["load"], value(row, "latency_mean"), "o", color=COLOURS[0], markerfacecolor=face)
    flat = [row["latency_mean"] for row in rows if row["latency_mean"] is not None] or [0]
    if max(flat) > 8 * min(flat) > 0:
        above.set_yscale("log")
        from matplotlib.ticker import FuncFormatter, NullFormatter

        above.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
        above.yaxis.set_minor_formatter(NullFormatter())
    else:
        above.set_ylim(bottom=0)
    above.set_ylabel("cycles")
    above.set_title("Latency; hollow: saturated")
    below.plot(
        loads,
        loads,
        color=GREY,
        linewidth=0.8,
        linestyle=(0, (1, 1.6)),
        label="all that is offered",
    )
    below.plot(
        loads, [row["throughput"] for row in rows], "o-", color=COLOURS[2], label="delivered"
    )
    below.plot(
        loads,
        [row["channel_load_max"] for row in rows],
        color=COLOURS[3],
        linestyle=(0, (4, 2)),
        label="busiest channel, flits/cycle",
    )
    below.set_ylim(bottom=0)
    below.set_ylabel("flits per source and cycle")
    below.set_xlabel("load, flits per source and cycle")
    below.set_title("Throughput")
    found = document.content.get("saturation")
    if found and not found.get("found", True):
        found = None  # nothing to mark
    for axes in (above, below):
        if isinstance(found, dict):
            axes.axvline(found["load"], color="#000000", linewidth=0.8)
        axes.grid(True, color="#dddddd", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.legend(frameon=False)
    if isinstance(found, dict):
        text = f" saturation {found['load']:.3g} "
        place = ("data", "axes fraction")
        # On the side of the line that has more room.
        left, right = above.get_xlim()
        side = "right" if found["load"] > (left + right) / 2 else "left"
        above.annotate(text, (found["load"], 0.95), xycoords=place, fontsize=8, ha=side)
    drawn.suptitle(document.title, fontsize=10, x=0.01, ha="left")
    return drawn


def split_rows(rows: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """The figure's own bars; and ratios that the paper's text states, which are of another unit."""
    ratios = [row for row in rows if " / " in row["series"] or row["series"] == "saving"]
    return [row for row in rows if row not in ratios], ratios


def _draw_figure(document: Document) -> Figure:
    import matplotlib.pyplot as plt

    bars, ratios = split_rows(document.rows)
    labels = list(dict.fromkeys(row["label"] for row in bars))
    series = list(dict.fromkeys(row["series"] for row in bars))
    groups = list(dict.fromkeys(_group(one) for one in series))
    panels = [bool(bars), bool(ratios)]
    heights = [4.2] * panels[0] + [0.6 + 0.32 * len(ratios)] * panels[1]
    width = min(16.0, max(6.8, 2 + 0.13 * len(labels) * max(2, len(groups))))
    drawn, grid = plt.subplots(
        len(heights),
        1,
        figsize=(width, sum(heights) + 0.6),
        squeeze=False,
        height_ratios=heights,
        layout="constrained",
    )
    panel = list(grid.flat)
    if bars:
        _draw_groups(panel[0], bars, labels, groups)
        unit = str(document.content.get("unit", ""))
        panel[0].set_ylabel(unit.split(";")[0])  # what follows is that of ratios
    if ratios:
        _draw_ratios(panel[-1], ratios)
    title = f"Figure {document.content.get('figure')}: {document.title}"
    drawn.suptitle(title, fontsize=10, x=0.01, ha="left")
    return drawn


def _group(series: str) -> str:
    """Parts of one bar have a series each."""
    for part in PARTS:
        series = series.removesuffix(part)
    return series


def _draw_groups(
    axes: Axes, rows: Sequence[Row], labels: Sequence[str], groups: Sequence[str]
) -> None:
    from matplotlib.patches import Patch

    wide = 0.8 / len(groups)
    papers: list[tuple[float, float]] = []
    bottoms: dict[tuple[str, str], float] = {}
    colours = {group: COLOURS[i % len(COLOURS)] for i, group in enumerate(groups)}
    hatched = False
    for row in rows:
        group = _group(row["series"])
        place = (group, row["label"])
        x = labels.index(row["label"]) + (groups.index(group) - (len(groups) - 1) / 2) * wide
        bottom = bottoms.get(place, 0.0)
        copies = row["series"].endswith(PARTS[0])
        hatched = hatched or copies
        axes.bar(
            x,
            row["ours"],
            0.92 * wide,
            bottom=bottom,
            color=colours[group],
            hatch="////" if copies else "",
            edgecolor="white",
            linewidth=0.3,
        )
        bottoms[place] = bottom + row["ours"]
        if row.get("paper") is not None:
            papers.append((x, row["paper"]))
    handles: list[Any] = [Patch(color=colours[group], label=group) for group in groups]
    if hatched:
        handles.append(
            Patch(facecolor="#999999", edgecolor="white", hatch="////", label="of it memcpy")
        )
    if papers:
        handles += axes.plot(
            *zip(*papers), "D", color="black", markersize=4, label="paper", zorder=4
        )
    axes.set_xlim(-0.6, len(labels) - 0.4)
    axes.set_xticks(range(len(labels)), labels)
    axes.tick_params(axis="x", length=0)
    axes.grid(True, axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    across = max(4, int(axes.figure.get_figwidth() / 1.15))
    place_of_legend = {"loc": "lower left", "bbox_to_anchor": (0, 1)}
    axes.legend(handles=handles, frameon=False, ncols=min(len(handles), across), **place_of_legend)


def _draw_ratios(axes: Axes, rows: Sequence[Row]) -> None:
    heights = list(range(len(rows), 0, -1))
    axes.barh(heights, [row["ours"] for row in rows], height=0.6, color=COLOURS[0], label="ours")
    for row, y in zip(rows, heights):
        end = max(row["ours"], row.get("paper") or 0.0)
        text = f"   {row['ours']:.3g}"
        axes.annotate(text, (end, y), va="center", fontsize=8)
    stated = [(row["paper"], y) for row, y in zip(rows, heights) if row.get("paper") is not None]
    if stated:
        axes.plot(*zip(*stated), "D", color="black", markersize=4, label="paper")
    axes.set_yticks(heights, [f"{row['series']}, {row['label']}" for row in rows])
    axes.tick_params(axis="y", length=0)
    axes.margins(x=0.12)
    axes.grid(True, axis="x", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.legend(frameon=False, ncols=2, loc="lower left", bbox_to_anchor=(0, 1))


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Failure(message, USAGE)


def draw_from(words: Sequence[str]) -> None:
    parser = Parser(prog="python3 -m dcgn.sim", description="Draws what dcgn sim --json wrote.")
    parser.add_argument("file", nargs="?", metavar="FILE.json", help="without it, stdin")
    parser.add_argument("-o", "--output", required=True, metavar="OUT.png")
    parser.add_argument("--check", action="store_true", help="only whether it could be drawn")
    asked = parser.parse_args(words)
    picture_format(asked.output)
    if asked.check:
        Output(asked.output)
        return
    plot(load(asked.file) if asked.file else parse(sys.stdin.read(), "stdin"), asked.output)


def main() -> int:
    try:
        draw_from(sys.argv[1:])
    except Failure as failure:
        print(f"dcgn: sim: plot: {failure}", file=sys.stderr)
        return failure.code
    return 0


if __name__ == "__main__":
    sys.exit(main())
