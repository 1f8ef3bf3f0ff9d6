"""Check the README's example against the wheel, as somebody who installed it does: `as_installed.py [CACHE]`.

The wheel goes into an environment of its own; what it needs comes from the environment that runs this. CACHE is a folder
of mypy: modules are found in the wheel first, and what it read of the same text elsewhere is not read again.
"""

import re
import subprocess
import sys
import sysconfig
import tempfile
import venv
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]

TYPED = "from typing import assert_type\nassert_type(core.charts.data(payload), analytics_core.ChartData)\n"
"""Nothing of the example is `Any` for want of types."""


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run([*map(str, command)], cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def installed(folder: Path) -> Path:
    """Return the interpreter of an environment with the wheel, in front of the packages of this one."""
    venv.create(folder / "env", with_pip=True, symlinks=True)
    scheme = {"base": str(folder / "env"), "platbase": str(folder / "env")}
    packages = Path(sysconfig.get_path("purelib", vars=scheme))
    python = Path(sysconfig.get_path("scripts", vars=scheme)) / "python"
    run(python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps", PROJECT, cwd=folder)
    (packages / "zz_others.pth").write_text(sysconfig.get_path("purelib"))  # no .pth of it is read: none of ours
    return python


def main() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", (PROJECT / "README.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        python = installed(folder)
        found = run(python, "-c", "import analytics_core; print(analytics_core.__file__)", cwd=folder)
        if not found.startswith(str(folder)):
            sys.exit(f"analytics_core is not the one of the wheel: {found}")
        example = folder / "readme.py"
        example.write_text("\n".join([*blocks, TYPED]))
        cache = Path(sys.argv[1]).resolve() if sys.argv[1:] else ""
        mypy = ("mypy", "--strict", "--config-file=", f"--cache-dir={cache}", "--python-executable", python)
        print(run(sys.executable, "-m", *mypy, example, cwd=folder), end="")
        print(run(sys.executable, "-m", "pyright", "--pythonpath", python, example, cwd=folder), end="")


if __name__ == "__main__":
    main()
