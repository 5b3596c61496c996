"""Public headers, read as pages of the manual: comments, and what is declared below each."""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Optional

ROOT = Path(__file__).resolve().parents[1]
# What has public headers of C++: each of these has an include/dcgn/.
MODULES = ["core", "stencil", "vgpu", "pixels"]


def find(path: str) -> Path:
    """The header of that name below dcgn/, of whatever module it is, as seen from ROOT."""
    there = (Path(module) / "include/dcgn" / path for module in MODULES)
    return next((p for p in there if (ROOT / p).exists()), Path(path))


# Names in which headers keep what is not for users.
INTERNAL = {"detail", "message", "collective", "datatype", "job", "device", "std"}
# What is public for the library's own calls: of a scope, say.
UNTOLD = {
    *("Word", "Datatype::node", "stencil::AnyField::storage", "add_in_order", "load_in_order", "leaves", "leaf_of"),
    *("single", "looks", "lookers", "first_found", "publish", "power", "ballot", "shuffle"),
    *("share", "enter", "issue", "is_done", "follow", "lead_block", "lead_warp", "scratch", "schedule_point"),
    *("table", "table_bytes", "tell_block", "is_leaders_block", "threads_of_leader", "most_blocks"),
}

# What declares nothing that is to be told: friends, what another header declares.
NOTHING_NEW = re.compile(
    r"\s*(friend|static_assert|template <>|extern|using \w+(<\w+>)?::|(class|struct|enum class) \w+( : [\w:]+)?;)"
)

# What a brace behind it opens: a namespace or a class; a value, an enumeration's or a constraint; else a body.
OPENS = re.compile(r"^\s*((inline )?namespace\b[^;]*|(template\s*<.*>\s*)?(class|struct)\b[^()=]*)$", re.S)
VALUE = re.compile(r"\s=\s*\S*$|^\s*enum\b|\brequires(\s*\([^()]*\))?\s*$|^[^()]*\w$")
INITIALIZERS = re.compile(r"\)\s*:\s(?!:).*$", re.S)

@dataclass
class Declaration:
    names: list[str]
    text: str  # without bodies, with the comment beside it


@dataclass
class Group:
    """What stands together under one comment."""

    owner: str  # "Comm", "gpu::Slot", or empty
    comment: list[str]
    line: int
    declarations: list[Declaration] = field(default_factory=list)
    opens: bool = False  # a class: what follows is of it

    def names(self) -> list[str]:
        return list(dict.fromkeys(n for d in self.declarations for n in d.names))

    def is_told(self) -> bool:
        said = [line for line in self.comment if not line.startswith("----")]
        return bool(said) or all("//" in d.text for d in self.declarations)


@dataclass
class Header:
    path: str
    about: list[str]
    groups: list[Group]


# Stands for a line of the preprocessor's.
DIRECTIVE = "#"


def without_branches(text: str) -> list[str]:
    """Lines without the preprocessor's; of two branches the last, which is the host's."""
    kept: list[str] = []
    begins: list[int] = []
    continued = False
    for line in text.split("\n"):
        if not continued and not line.lstrip().startswith("#"):
            kept.append(line)
            continue
        word = line.lstrip()[1:].split()[:1]
        if not continued and word:
            if word[0].startswith("if"):
                begins.append(len(kept))
            elif word[0] in ("else", "elif") and begins:
                kept[begins[-1] :] = [DIRECTIVE] * (len(kept) - begins[-1])
            elif word[0] == "endif" and begins:
                begins.pop()
        kept.append(DIRECTIVE)
        continued = line.endswith("\\")
    return kept


def names_of(text: str) -> list[str]:
    """What a declaration declares."""
    text = re.sub(r"//[^\n]*|\[\[.*?\]\]", "", text)
    kinds = r"(?:class|struct|enum class|enum|concept)"
    if m := re.match(rf"\s*(?:template\s*<.*?>\s*)?{kinds}\s+(\w+)", text, re.S):
        return [m[1]]
    if m := re.match(r"\s*using\s+(\w+)\s*=", text):
        return [m[1]]
    if m := re.search(r"(operator\s*(?:\(\)|\[\]|[^\s\w(]+|\w+))\s*\(", text):
        return [m[1]]
    while (less := re.sub(r"<[^<>]*>|\{[^{}]*\}|\[[^\[\]]*\]", "", text)) != text:
        text = less
    for m in re.finditer(r"(~?\w+)\s*\(", text):
        if m[1] not in ("requires", "decltype", "noexcept") and "=" not in text[: m.start()]:
            return [m[1]]
    text = re.sub(r"=[^,;]*", "", re.sub(r"\([^()]*\)", "", text.replace("()", ""))).rstrip("; \n")
    return [word[-1] for part in text.split(",") if (word := re.findall(r"\w+", part))]


class Parser:
    """Reads a header as this project writes them: clang-format has been over it."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.text = "\n".join(without_branches((ROOT / find(path)).read_text()))
        self.at = 0
        self.groups: list[Group] = []

    def read(self) -> Header:
        about: list[str] = []
        while self.line().startswith("//"):
            about.append(self.line()[2:].removeprefix(" "))
            self.next_line()
        self.scope("", True, True)
        return Header(self.path, about, self.groups)

    def line(self) -> str:
        """What is left of it."""
        return self.text[self.at : self.line_end(self.at)]

    def line_end(self, at: int) -> int:
        end = self.text.find("\n", at)
        return len(self.text) if end < 0 else end

    def next_line(self) -> None:
        self.at = self.line_end(self.at) + 1

    def past_braces(self, at: int) -> int:
        """Where what opens at `at` has closed."""
        depth = 0
        while True:
            if self.text.startswith("//", at):
                at = self.line_end(at)
            depth += (self.text[at] == "{") - (self.text[at] == "}")
            at += 1
            if depth == 0:
                return at

    def take(self) -> str:
        """A declaration without its body, with the comment beside it; or a namespace or class as far as its brace."""
        said, depth = "", 0
        while True:
            c = self.text[self.at]
            if self.text.startswith("//", self.at):
                said += self.line()
                self.at += len(self.line())
                continue
            if c == "{" and depth == 0:
                end = self.past_braces(self.at)
                if OPENS.search(said) and "{}" != self.text[self.at : end]:
                    self.next_line()
                    return said.rstrip() + " {"
                if VALUE.search(said):
                    said += self.text[self.at : end]
                    self.at = end
                    continue
                said = INITIALIZERS.sub(")", said.rstrip()) + ";"
                self.at = end
                break
            if c != DIRECTIVE:
                said += c
            self.at += 1
            depth += (c in "([") - (c in ")]")
            if c == ";" and depth == 0:
                break
        beside = self.line().strip()
        self.next_line()
        return said + ("  " + beside if beside.startswith("//") else "")

    def scope(self, owner: str, visible: bool, public: bool) -> None:
        """What is in a namespace or a class that is `visible` to users or not, past its closing brace."""
        group: Optional[Group] = None
        comment: list[str] = []
        while self.at < len(self.text):
            line = self.line().strip()
            if line == DIRECTIVE:
                self.next_line()
            elif line.startswith("}"):
                self.next_line()
                return
            elif not line or line in ("public:", "private:", "protected:"):
                public = line == "public:" if line else public
                group, comment = None, []
                self.next_line()
            elif line.startswith("//"):
                if group:
                    group, comment = None, []
                comment.append(line[2:].removeprefix(" "))
                self.next_line()
            else:
                begin = self.at
                text = self.take()
                opens = text.endswith("{")
                if m := re.match(r"\s*(?:inline\s+)?namespace\s+([\w:]*)\s*\{", text):
                    spaces = [s for s in m[1].split("::") if s != "dcgn"]
                    inner = "::".join(filter(None, [owner, *spaces]))
                    self.scope(inner, visible and not INTERNAL & set(spaces), True)
                    continue
                names = names_of(text)
                told = bool(visible and public and names) and not NOTHING_NEW.match(text)
                told = told and not UNTOLD & {names[0], f"{owner}::{names[0]}"}
                if told:
                    if group is None or opens:
                        group = Group(owner, comment, self.text.count("\n", 0, begin) + 1, opens=opens)
                        self.groups.append(group)
                        comment = []
                    group.declarations.append(Declaration(names, text[:-2].rstrip() + ";" if opens else text))
                if opens:
                    is_class = re.match(r"\s*(template\s*<.*>\s*)?class\b", text, re.S)
                    self.scope("::".join(filter(None, [owner, names[0]])), told, not is_class)
                    group, comment = None, []
