"""The documents that `dcgn bench --json` writes, read as series of points."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

USAGE, IO, WRONG = 2, 3, 1  # exit codes of the command dcgn

# Documents by what they are of, for which there is no picture.
TABLES_ALONE = {"apps": "times of applications", "sim": "speeds of the simulator"}


class Failure(Exception):
    """What is told in one line, and the exit code that it gives."""

    def __init__(self, text: str, code: int = IO) -> None:
        super().__init__(text)
        self.code = code


@dataclass(frozen=True)
class Point:
    """A row's figures: at `x` (bytes, or senders), the median in the row's unit."""

    x: float
    p50: float
    gb_per_s: float

    @property
    def us(self) -> float:
        """Microseconds for a message, by the throughput, which is of one direction."""
        return self.x * 1e-3 / self.gb_per_s


@dataclass
class Series:
    """The rows of one measure that differ in their size alone."""

    whose: str
    measure: str
    path: str
    scope: str
    unit: str
    document: int  # which of the files
    without: str = ""  # what ours did without
    points: list[Point] = field(default_factory=list)

    @property
    def is_limit(self) -> bool:
        return self.whose.startswith("limit")

    @property
    def is_ours(self) -> bool:
        return self.whose.startswith("dcgn")

    @property
    def name(self) -> str:
        """As legends and tables have it: "NVSHMEM 3.4.5, slot-slot, block"."""
        parts = [self.whose.removeprefix("limit: "), self.path]
        parts += [self.scope] * (self.scope != "-")
        parts += [f"without {self.without}"] * bool(self.without)
        return ", ".join(parts)


@dataclass
class Document:
    """A file that `dcgn bench --json` wrote."""

    machine: str
    commit: str
    rows: list[dict[str, Any]]
    what: str = ""


def load(name: str) -> Document:
    """Reads a file. Its rows have every key that series() looks at."""
    try:
        content = json.loads(Path(name).read_text(encoding="utf-8"))
    except OSError as e:
        raise Failure(f"{name}: {e.strerror}") from None
    except ValueError as e:
        raise Failure(f"{name}: expected a result of dcgn bench, found no JSON: {e}") from None

    def refuse(what: str) -> Failure:
        return Failure(f"{name}: expected a result of dcgn bench, found {what}")

    if not isinstance(content, dict):
        raise refuse(f"{type(content).__name__} in place of an object")
    for key in ("machine", "commit", "rows"):
        if key not in content:
            raise refuse(f'no "{key}"')
    alone = TABLES_ALONE.get(str(content.get("what")))
    if alone:
        raise refuse(f"{alone}, which are not drawn")
    rows = content["rows"]
    if not isinstance(rows, list) or not rows:
        raise refuse("no rows")
    if content.get("what") == "ddt":
        rows = _layouts(rows)
    if content.get("what") == "pixels":  # what has sizes
        sized = ("read-back", "upload", "frame", "stream")
        rows = [r for r in rows if not isinstance(r, dict) or r.get("measure") in sized]
        if not rows:
            raise refuse("neither transfers nor frames of pixels")
    kinds: dict[str, Any] = {"whose": str, "path": str, "scope": str, "bytes": (int, float)}
    kinds |= {"p50": (int, float), "GBps": (int, float)}
    if content.get("what") == "vgpu":
        kinds = dict.fromkeys(("measure", "workload", "placement", "schedule"), str)
        kinds |= dict.fromkeys(("parts", "devices"), int)
        kinds |= dict.fromkeys(("p50", "speedup", "limit"), (int, float))
    if content.get("what") == "stencil":
        kinds = dict.fromkeys(("whose", "equation", "mode"), str) | {"devices": int, "size": list}
        kinds |= dict.fromkeys(("p50", "share"), (int, float))
    for i, row in enumerate(rows):
        if not isinstance(row, dict):
            raise refuse(f"{row!r} as row {i}")
        for key, kind in kinds.items():
            if not isinstance(row.get(key), kind):
                raise refuse(f'{row.get(key)!r} as "{key}" of row {i}')
        if row.get("wrong"):
            raise Failure(
                f"{name}: row {i} has {row['wrong']} wrong bytes: expected none in what is shown",
                WRONG,
            )
    return Document(
        str(content["machine"]), str(content["commit"]), rows, str(content.get("what", ""))
    )


def series(documents: Iterable[Document]) -> list[Series]:
    """All rows as series, in the order in which they first appear; points by their x."""
    found: dict[tuple[object, ...], Series] = {}
    for d, document in enumerate(documents):
        for row in document.rows:
            measure = str(row.get("measure", "latency"))  # before there were several
            path, x = str(row["path"]), float(row["bytes"])
            if measure == "any-source":
                path, x = _senders(row)
            unit = str(row.get("unit", "us"))
            without = str(row.get("without", ""))
            key = (d, row["whose"], measure, path, row["scope"], unit, without)
            if key not in found:
                found[key] = Series(
                    str(row["whose"]), measure, path, str(row["scope"]), unit, d, without
                )
            found[key].points.append(Point(x, float(row["p50"]), float(row["GBps"])))
    for one in found.values():
        one.points.sort(key=lambda point: point.x)
    return list(found.values())


def _layouts(rows: list[Any]) -> list[Any]:
    """
    Rows of packing and unpacking, with the layout as their path, at the size that was asked for: each layout's own is near
    that. A plain copy of each size is the limit of both. Messages have the layouts of both ends; copies between these have
    their path as scope.
    """
    found: list[Any] = []
    copied: set[tuple[object, ...]] = set()
    for row in rows:
        if not isinstance(row, dict):
            found.append(row)
            continue
        if row.get("action") == "launch":
            continue
        plain = row | {"bytes": row.get("about"), "scope": row.get("place")}
        if "other" in row:
            ends = dict.fromkeys(str(row.get(end)) for end in ("shape", "other"))
            message = (row.get("place"), row.get("about"), row.get("whose"))
            if list(ends) == ["contiguous"] and message in copied:  # one for all layouts of a size
                continue
            copied.add(message)
            found.append(plain | {"path": " to ".join(ends), "measure": "message"})
            continue
        if row.get("action") != "copy":
            found.append(plain | {"path": row.get("shape"), "measure": row.get("action")})
        elif (key := (row.get("place"), row.get("about"))) not in copied:
            copied.add(key)
            plain["path"] = "contiguous"
            found += [plain | {"measure": measure} for measure in ("pack", "unpack")]
    return found


def _senders(row: dict[str, Any]) -> tuple[str, float]:
    """What a row of any-source is called without its number of senders, and that number."""
    path = str(row["path"])
    if isinstance(row.get("senders"), (int, float)):
        return path, float(row["senders"])
    number = re.search(r"\d+", path)
    if not number:
        raise Failure(
            f'path "{path}" of any-source: expected "senders" beside it, or their number in it'
        )
    return re.sub(r"\W*\d+\W*", " ", path, count=1).strip() or "-", float(number[0])


def size_text(size: float) -> str:
    """The shortest way to write a size: 4096 is 4K."""
    whole, suffixes = int(size), ["", "K", "M", "G"]
    while len(suffixes) > 1 and whole >= 1024 and whole % 1024 == 0:
        whole //= 1024
        suffixes.pop(0)
    return f"{whole}{suffixes[0]}"
