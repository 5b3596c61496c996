"""The tutorial shows the programs of examples/ as they are, and what they print; so does the README its one program.

tutorial.py FOLDER: the folder of the programs; with --write the page's blocks are written anew. In a block of output
"…" stands for anything in its line.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/guide/tutorial.md"
BLOCK = re.compile(r"(<!-- (program|output): (\w+) -->\n```\w+\n)(.*?)(^```$)", re.S | re.M)
# What is another number each time.
VARIES = re.compile(
    r"(?<=waiting )\d+\.\d+(?= s)|\d+\.\d{3}$|^(none|[\d.]+ %)(?= of \d+ messages)|(?<=took the slow path).*$", re.M
)


def output(program: Path) -> str:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("DCGN_")}
    environment["DCGN_EMULATED_GPUS"] = "2"
    run = subprocess.run([str(program)], env=environment, capture_output=True, text=True, timeout=60, check=False)
    if run.returncode != 0:
        sys.exit(f"{program} failed ({run.returncode}):\n{run.stdout}{run.stderr}")
    return run.stdout.rstrip("\n") + "\n"


def is_like(shown: str, real: str) -> bool:
    return re.fullmatch(".*".join(map(re.escape, shown.split("…"))), real) is not None


def main() -> int:
    folder, write = Path(sys.argv[1]), "--write" in sys.argv
    page, wrong = PAGE.read_text(), []
    programs = {p.stem: p for p in (ROOT / "examples").glob("[0-9]*.cpp")}
    blocks = [(m[2], m[3]) for m in BLOCK.finditer(page)]
    if blocks != [(kind, name) for name in sorted(programs) for kind in ("program", "output")]:
        wrong.append(f"{PAGE}: expected program and output of each of {', '.join(sorted(programs))}, in this order")
    shown = re.findall(r"^```cpp\n(.*?)^```$", (ROOT / "README.md").read_text(), re.S | re.M)
    if shown != [(ROOT / "examples/ping_pong.cpp").read_text().partition("\n")[2]]:
        wrong.append("README.md: its program is not examples/ping_pong.cpp, from the second line on")

    def block(m: "re.Match[str]") -> str:
        if m[2] == "program":
            real = programs[m[3]].read_text()
            same = m[4] == real
        else:
            said = output(folder / f"example_{m[3]}")
            real, same = VARIES.sub("…", said), is_like(m[4], said)
            if not same:
                print(said)
        if not same:
            wrong.append(f"{PAGE}: the {m[2]} of {m[3]} is another one now")
        return m[1] + (m[4] if same else real) + m[5]

    written = BLOCK.sub(block, page)
    if write:
        PAGE.write_text(written)
    for line in wrong:
        print(line + (": written anew" if write else "; tutorial.py FOLDER --write writes it anew"))
    return bool(wrong) and not write


if __name__ == "__main__":
    sys.exit(main())
