"""`python -m analytics_core`: the verbs of `_command_line`, and the version, which loads the standard library only."""

from __future__ import annotations

import os
import sys

from analytics_core import __version__

if __name__ == "__main__":
    if sys.argv[1:] == ["--version"]:
        print(f"analytics_core {__version__}")
        sys.exit()
    import gc

    gc.disable()  # what is loaded stays, and looking through it again and again takes a tenth of a `tick`
    from analytics_core._core.command_line import main

    gc.freeze()
    gc.enable()
    sys.exit(main(sys.argv[1:], os.environ))
