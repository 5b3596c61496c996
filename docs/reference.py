"""The reference: pages made of the public headers, by MkDocs' hooks, each time that the guide is built.

A header reads like a page of the manual, so that is what becomes one: its comments are the text, its declarations the
signatures. `python3 docs/reference.py` names what is public and has no comment, and fails where there is any.
"""

import html
import re
import sys
from pathlib import Path
from typing import Any, Iterator, Optional

sys.path.insert(0, str(Path(__file__).resolve().parent))  # MkDocs loads this file by its path
from headers import Declaration, Group, Header, Parser, find  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
WHERE = Path("reference")

# A page: its file, its title, its headers in the order in which they are best read.
PAGES = [
    ("jobs", "Jobs, worlds, settings", ["job.hpp", "world.hpp", "placement.hpp", "config.hpp"]),
    ("comm", "Messages of CPU ranks", ["comm.hpp", "status.hpp", "span.hpp"]),
    (
        "slot",
        "Messages in kernels",
        ["gpu/comm.hpp", "gpu/typed_messages.hpp", "arch/scope.hpp", "message/blocks_scope.hpp"],
    ),
    ("collectives", "Collectives", ["comm_collectives.hpp", "gpu/collectives.hpp", "operation.hpp", "element.hpp"]),
    ("cart", "Cartesian grids", ["cart.hpp"]),
    ("datatypes", "Datatypes", ["datatype.hpp", "pack.hpp", "gpu/device_datatype.hpp", "gpu/datatype.hpp", "mpi.hpp"]),
    ("errors", "Errors", ["error.hpp"]),
    (
        "kernels",
        "Kernels",
        [
            *("arch/context.hpp", "launch.hpp", "gpu/launch.hpp", "dim3.hpp"),
            *("arch/atomic.hpp", "arch/relax.hpp", "arch/clock.hpp"),
        ],
    ),
    ("devices", "Devices", ["device.hpp"]),
    ("stencils", "Stencils", ["stencil/grid.hpp", "stencil/field.hpp", "stencil/stepper.hpp"]),
    (
        "virtual_gpu",
        "The virtual GPU",
        ["virtual_gpu.hpp", "virtual_gpu/placement.hpp", "virtual_gpu/module.hpp", "virtual_gpu/stream.hpp"],
    ),
    ("pixels", "Pixels", ["pixels.hpp", "pixels/image.hpp", "pixels/context.hpp", "pixels/compression.hpp"]),
]

# Whose calls users make by another name.
BASES = {
    "CommCollectives": "Comm",
    "gpu::Collectives": "gpu::Slot",
    "gpu::TypedMessages": "gpu::Slot",
    "stencil::AnyField": "Field",
    "stencil::AnyStepper": "Stepper",
    "BasicTypedBuffer": "TypedBuffer",
}

# Who takes part in the calls of a header.
WHO = {
    "comm.hpp": "the rank's own thread",
    "gpu/comm.hpp": "all threads of the scope, alike",
    "gpu/typed_messages.hpp": "all threads of the scope, alike",
    "comm_collectives.hpp": "all ranks of the communicator, in the same order",
    "gpu/collectives.hpp": "all ranks of the communicator, in the same order; of a slot, by all threads of the scope",
    "gpu/datatype.hpp": "all threads of the scope, alike",
}
BY_ALL = {"split", "dup", "cart"}  # of Comm's and Slot's

# What MPI calls it. A non-blocking form has the I of its own.
MPI = {
    **{n: "MPI_" + n.capitalize() for n in ("send", "ssend", "bsend", "recv", "isend", "irecv", "test", "wait")},
    **{n: "MPI_" + n.capitalize() for n in ("probe", "iprobe", "sendrecv", "sendrecv_replace")},
    **{n: "MPI_" + n.capitalize() for n in ("barrier", "reduce", "gather", "gatherv", "scatter", "scatterv", "scan")},
    **{"wait_all": "MPI_Waitall", "wait_any": "MPI_Waitany", "broadcast": "MPI_Bcast", "all_reduce": "MPI_Allreduce"},
    **{"reduce_scatter": "MPI_Reduce_scatter_block", "reduce_scatterv": "MPI_Reduce_scatter"},
    **{"exclusive_scan": "MPI_Exscan", "all_gather": "MPI_Allgather", "all_gatherv": "MPI_Allgatherv"},
    **{"all_to_all": "MPI_Alltoall", "all_to_allv": "MPI_Alltoallv", "all_to_allw": "MPI_Alltoallw"},
    **{"split": "MPI_Comm_split", "dup": "MPI_Comm_dup", "cart": "MPI_Cart_create", "release": "MPI_Comm_free"},
    **{"Comm.rank": "MPI_Comm_rank", "Comm.size": "MPI_Comm_size", "Slot.rank": "MPI_Comm_rank"},
    **{"Slot.size": "MPI_Comm_size", "Status.count": "MPI_Get_count", "pack": "MPI_Pack", "unpack": "MPI_Unpack"},
    **{"World.abort": "MPI_Abort", "Cart.balanced": "MPI_Dims_create", "Cart.coordinate": "MPI_Cart_coords"},
    **{"Cart.rank": "MPI_Cart_rank", "Cart.shift": "MPI_Cart_shift"},
    **{f"Datatype.{n}": f"MPI_Type_{n}" for n in ("contiguous", "vector", "indexed")},
    **{f"Datatype.{n}": f"MPI_Type_create_{n}" for n in ("hvector", "hindexed", "indexed_block", "hindexed_block")},
    **{f"Datatype.{n}": f"MPI_Type_create_{n}" for n in ("subarray", "darray", "resized")},
    **{"Datatype.structure": "MPI_Type_create_struct", "Datatype.size": "MPI_Type_size"},
    **{"Datatype.extent": "MPI_Type_get_extent", "Datatype.true_extent": "MPI_Type_get_true_extent"},
}


def headers() -> Iterator[tuple[str, str, list[Header]]]:
    for name, title, paths in PAGES:
        yield name, title, [Parser(path).read() for path in paths]


def is_plain(declaration: Declaration, owner: str) -> bool:
    """Copies, moves, comparison and the end: what they do is what they always do."""
    kind = owner.rsplit("::", 1)[-1]
    copies = rf"\b{kind}\((const )?{kind}(<\w+>)? ?&|\b{kind}\(\)|operator==?\W"
    return bool(kind and re.search(copies, declaration.text))


def says_itself(declaration: Declaration) -> bool:
    """A member that is read only, by a call without arguments: its name is said, and its class has a comment."""
    return bool(re.search(r"\w\(\) const\b", declaration.text))


def untold_of(header: Header) -> list[str]:
    """What is public there and has no comment."""
    found = []
    told_classes = {n for g in header.groups if g.opens and g.is_told() for n in g.names()}
    for group in header.groups:
        left = [d for d in group.declarations if not is_plain(d, group.owner) and not says_itself(d)]
        if group.owner.rsplit("::", 1)[-1] in told_classes:  # members of data, and an operation's only one
            left = [d for d in left if not is_data(d) and "operator()" not in d.text]
        if not group.is_told() and left:
            names = ", ".join("::".join(filter(None, [group.owner, n])) for d in left for n in d.names)
            found.append(f"{find(header.path)}:{group.line}: {names} has no comment")
    return found


def untold() -> list[str]:
    return [line for _, _, found in headers() for header in found for line in untold_of(header)]


# ---- pages

CODE = re.compile(
    r"`[^`]*`|\b\w+\.hpp\b|\bError\([a-z_]+\)|\b\w+(?:::~?\w+)+(?:\(\))?|\b~?[a-z]\w*\(\)"
    r"|\b[a-z0-9]+(?:_[a-z0-9]+)+\b|\b__\w+__|\bDCGN_\w+(?:=[\w|]+)?|\b[A-Z]+(?:_[A-Z0-9]+)+\b"
)


def sentence(line: str) -> str:
    """A line of a comment as Markdown."""
    text, last = "", 0
    for m in CODE.finditer(line):
        text += html.escape(line[last : m.start()], quote=False).replace("*", "\\*") + f"`{m[0].strip('`')}`"
        last = m.end()
    return text + html.escape(line[last:], quote=False).replace("*", "\\*")


def prose(lines: list[str]) -> str:
    """A comment as Markdown. What is indented, at first or behind an empty line or a colon, is code."""
    out: list[str] = []
    in_code = in_list = False
    for k, line in enumerate(lines):
        begins = k == 0 or not lines[k - 1].strip() or (lines[k - 1].endswith(":") and not in_list)
        is_code = line.startswith("  ") and (in_code or begins)
        if in_code and not line.strip():
            out.append("")
            continue
        if is_code != in_code:
            while in_code and not out[-1]:
                out.pop()
            out += ["```", ""] if in_code else ["", "```cpp"]
            in_code = is_code
        if in_code:
            out.append(line[2:])
            continue
        if line.startswith("- ") != in_list and not (in_list and line.startswith("  ")):
            out.append("")
            in_list = not in_list
        out.append(sentence(line))
    if in_code:
        out.append("```")
    return "\n".join(out).strip() + "\n"


def mpi_of(owner: str, name: str) -> Optional[str]:
    simple = owner.rsplit("::", 1)[-1]
    if f"{simple}.{name}" in MPI:
        return MPI[f"{simple}.{name}"]
    if owner and simple not in ("Comm", "Slot", "CommCollectives", "Collectives", "TypedMessages"):
        return None
    plain = name.removesuffix("_bytes")
    if plain not in MPI and plain.startswith("i") and plain[1:] in MPI:
        call = MPI[plain[1:]].removeprefix("MPI_")
        return "MPI_I" + call[0].lower() + call[1:]
    return MPI.get(plain)


def signature(text: str) -> str:
    lines = text.split("\n")
    margin = min((len(s) - len(s.lstrip()) for s in lines if s.strip()), default=0)
    return "\n".join(s[margin:].rstrip() for s in lines if s.strip())


def anchor(owner: str, name: str) -> str:
    return re.sub(r"[^\w.:~=<>+*-]", "", f"{owner.replace('::', '.')}.{name}".strip("."))


def spelt(owner: str, name: str) -> str:
    """As a user writes it, who has what a base declares by the class that derives from it."""
    return "::".join(filter(None, [BASES.get(owner, owner), name]))


def page(title: str, all_headers: list[Header]) -> str:
    out = [f"# {title}", ""]
    for header in all_headers:
        out += [f'<span id="{header_anchor(header.path)}"></span>', "", f"## `<dcgn/{header.path}>`", ""]
        out += [prose(header.about)]
        for group, told, text in sections(header):
            names = list(dict.fromkeys(n for d in told for n in d.names))
            marks = "".join(f'<span id="{html.escape(anchor(group.owner, n))}"></span>' for n in names)
            shown = [f"`{spelt(group.owner, names[0])}`"] + [f"`{n}`" for n in names[1:6]] + ["…"] * (len(names) > 6)
            marked = [line.strip("- ") for line in group.comment if line.startswith("----")]
            out += [f"*From here on: {mark}.*\n" for mark in marked]
            comment = [line for line in group.comment if not line.startswith("----")]
            out += [marks, "", "### " + ", ".join(shown), "", "```cpp", text, "```", "", prose(comment)]
            calls = list(dict.fromkeys(filter(None, (mpi_of(group.owner, n) for n in names))))
            out += beside(header.path, names, text, calls)
    return "\n".join(out) + "\n"


def beside(path: str, names: list[str], text: str, calls: list[str]) -> list[str]:
    """What holds for a call besides its comment."""
    said = []
    by_scope = "Scope& scope" in text
    if path in WHO and (by_scope or (calls and not path.startswith("gpu/") and ") const" not in text)):
        by_all = "all ranks of the communicator; " if BY_ALL & set(names) else ""
        said += [f"**By** {by_all}{WHO[path]}."]
        said += [f"**Errors and memory order** of all: [above](#{header_anchor(path)})."]
    if calls:
        said += ["**MPI** " + ", ".join(f"`{c}`" for c in calls) + "."]
    return [" ".join(said), ""] if said else []


def header_anchor(path: str) -> str:
    return path.replace("/", "-")


def is_data(declaration: Declaration) -> bool:
    return "(" not in re.sub(r"//[^\n]*", "", declaration.text).split("=")[0]


def sections(header: Header) -> Iterator[tuple[Group, list[Declaration], str]]:
    """Groups that have something to tell, with what they declare and how that reads; a struct with its data."""
    groups = list(header.groups)
    while groups:
        group = groups.pop(0)
        told = [d for d in group.declarations if not is_plain(d, group.owner) or group.is_told()]
        text = "\n".join(signature(d.text) for d in told)
        of_it = "::".join([group.owner, *group.names()]).strip(":")
        if group.opens and groups and groups[0].owner == of_it and not groups[0].comment:
            if all(is_data(d) for d in groups[0].declarations):
                inner = groups.pop(0).declarations
                inside = "\n".join("  " + line for d in inner for line in signature(d.text).split("\n"))
                text = f"{text.removesuffix(';')} {{\n{inside}\n}};"
        if told:
            yield group, told, text


def index(all_pages: list[tuple[str, str, list[Header]]]) -> str:
    out = ["# Reference", "", "All that a program calls, as the headers have it: these pages are made of them.", ""]
    out += [f"- [{title}]({name}.md): {', '.join(f'`{h.path}`' for h in found)}" for name, title, found in all_pages]
    calls: dict[str, list[str]] = {}
    for name, _, found in all_pages:
        for header in found:
            for group in header.groups:
                kind = group.owner.rsplit("::", 1)[-1]
                for d in group.declarations:
                    if is_plain(d, group.owner) or (kind and is_data(d) and not group.opens):
                        continue
                    for n in d.names:
                        if n == kind:
                            continue
                        link = f"[`{spelt(group.owner, n)}`]({name}.md#{anchor(group.owner, n)})"
                        calls.setdefault(n, [])
                        if link not in calls[n]:
                            calls[n].append(link)
    out += ["", "## All calls and types", ""]
    letters = sorted(calls, key=lambda n: (n.strip("~_").lower(), n))
    for first in sorted({n[0].upper() for n in letters}):
        out += [f"**{first}** " + ", ".join(", ".join(calls[n]) for n in letters if n[0].upper() == first), ""]
    return "\n".join(out) + "\n"


def pages() -> dict[str, str]:
    found = list(headers())
    texts = {f"{name}.md": page(title, its) for name, title, its in found}
    return {"index.md": index(found), **texts}


# ---- MkDocs' hooks


# Menus of the guide's pages; what is in none comes under the last.
MENUS = {
    "First steps": ["tutorial", "building", "command", "python", "from_mpi", "from_nccl", "from_nvshmem"],
    "Messages": ["jobs", "messages", "kernels", "collectives", "datatypes", "processes", "errors"],
    "On top of them": ["applications", "virtual_gpu", "stencils", "pixels", "wall", "simulator"],
    "In practice": ["performance", "traces", "settings", "testing", "trust"],
}


def on_config(config: Any) -> Any:
    """The start page, the guide's pages by menu, the reference."""
    left = sorted(p.stem for p in Path(config["docs_dir"]).glob("*.md") if p.stem != "index")
    menus = {title: [page for page in pages if page in left] for title, pages in MENUS.items()}
    menus["In practice"] += [page for page in left if not any(page in pages for pages in menus.values())]
    nav: list[Any] = ["index.md"] + [{title: [f"{page}.md" for page in pages]} for title, pages in menus.items()]
    config["nav"] = nav + [{"Reference": [f"{WHERE}/index.md"] + [f"{WHERE}/{name}.md" for name, _, _ in PAGES]}]
    return config


def on_files(files: Any, config: Any) -> Any:
    from mkdocs.structure.files import File

    made = ROOT / "build/reference"
    for name, text in pages().items():
        path = made / WHERE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        files.append(File(f"{WHERE}/{name}", str(made), config["site_dir"], config["use_directory_urls"]))
    return files


if __name__ == "__main__":
    missing = untold()
    print("\n".join(missing) or "each public declaration has a comment")
    sys.exit(bool(missing))
