"""What the guide has users do with the dcgn command can be done.

commands.py DCGN: the command. Words and options of what a shell is given are looked up in its --help, and not run; the
settings' and the simulator's blocks of TOML are read, and the simulator's Python runs, where matplotlib is.
"""

import functools
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Iterator

ROOT = Path(__file__).resolve().parents[2]
DCGN = sys.argv[1]


@functools.lru_cache(maxsize=None)
def help_of(words: tuple[str, ...]) -> str:
    """What --help says."""
    return subprocess.run([DCGN, *words, "--help"], capture_output=True, text=True, check=True).stdout


def commands(text: str) -> Iterator[str]:
    """What stands in blocks for a shell, and between backticks, from the command's name on."""
    for block in re.findall(r"^```sh\n(.*?)^```$", text, re.S | re.M):
        for line in block.split("\n"):
            if m := re.search(r"(?:^|[\s/])(dcgn [a-z].*)", line.split(" #")[0]):
                yield m[1]
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M)
    yield from re.findall(r"`(?:[^`\n]*[/ ])?(dcgn [a-z][^`\n]*)`", prose)


def wrong_with(command: str) -> str:
    words = re.split(r"\s+", command.split(" -- ")[0].strip())[1:]
    path: list[str] = []
    for word in words:
        if not takes(path, word):
            break
        path.append(word)
    if not path and not words[0].startswith("-"):
        return f"there is no `dcgn {words[0]}`"
    text = help_of(tuple(path))
    for option in (w.split("=")[0] for w in words if re.match(r"--?[a-z]", w)):
        if not re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text):
            return f"`dcgn {' '.join(path)}` has no {option}"
    return ""


def takes(path: list[str], word: str) -> bool:
    """Whether what follows `path` is a word of the command's, and no file or name of the user's."""
    return word[0].isalpha() and re.search(rf"^  {re.escape(word)} ", help_of(tuple(path)), re.M) is not None


def reads(name: str, text: str, command: list[str], **environment: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / name
        file.write_text(text)
        given = {k: v.replace("FILE", str(file)) for k, v in environment.items()}
        words = [w.replace("FILE", str(file)) for w in command]
        run = subprocess.run([DCGN, *words], env={**os.environ, **given}, capture_output=True, text=True, check=False)
    return "" if run.returncode == 0 else run.stderr


def runs(program: str) -> str:
    """What went wrong with a program in Python, in a folder where examples/ is."""
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import matplotlib"], capture_output=True, check=False).returncode == 0:
            break
    else:
        print("no matplotlib: the simulator's Python is not run")
        return ""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "DCGN_COMMAND": str(Path(DCGN).resolve())}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "examples").symlink_to(ROOT / "examples")
        words = [python, "-c", program]
        run = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return "" if run.returncode == 0 else run.stderr


def main() -> int:
    wrong, count = [], 0
    for path in [*sorted((ROOT / "docs/guide").glob("*.md")), ROOT / "README.md"]:
        text = path.read_text()
        for command in commands(text):
            count += 1
            if said := wrong_with(command):
                wrong.append(f"{path.relative_to(ROOT)}: {command}: {said}")
        for block in re.findall(r"^```toml\n(.*?)^```$", text, re.S | re.M):
            said = ""
            if path.stem == "settings":
                said = reads("dcgn.toml", block, ["info"], DCGN_CONFIG="FILE")
            elif path.stem == "simulator":
                said = reads("net.toml", block, ["sim", "run", "FILE", "--set", "run.measure=1000"])
            if said:
                wrong.append(f"{path.relative_to(ROOT)}: a block of toml: {said}")
        if path.stem == "simulator":
            for program in re.findall(r"^```python\n(.*?)^```$", text, re.S | re.M):
                if said := runs(program):
                    wrong.append(f"{path.relative_to(ROOT)}: a block of Python: {said}")
    print("\n".join(wrong + [f"{count} commands of the guide, {len(wrong)} wrong"]))
    return bool(wrong) or count < 100


if __name__ == "__main__":
    sys.exit(main())
