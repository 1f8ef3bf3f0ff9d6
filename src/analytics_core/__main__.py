"""`python -m analytics_core`: the verbs of `_command_line`, and the version, which loads the standard library only."""

from __future__ import annotations

import os
import sys

from analytics_core import __version__

if __name__ == "__main__":
    if sys.argv[1:] == ["--version"]:
        print(f"analytics_core {__version__}")
        sys.exit()
    from analytics_core._core.command_line import main

    sys.exit(main(sys.argv[1:], os.environ))
