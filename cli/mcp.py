"""`argus mcp`: the tools for agents that speak the Model Context Protocol."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Annotated, Never

import typer

from argus.cli.output import EXIT_CODES, fail

app = typer.Typer()


@app.command()
def mcp(
    cache: Annotated[Path | None, typer.Option(help="Folder of compiled kernels.", show_default=False)] = None,
) -> None:
    """Serve check_invariants, compile_kernel, run_tests, profile and search_knowledge over standard input and output.

    Runs until its input ends. Needs the `mcp` extra.
    """
    try:
        from argus.tools.server import make_server  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "mcp":
            raise
        fail("toolchain", "the `mcp` extra is not installed", "argus mcp", "pip install 'argus-kernels[mcp]'")
    from argus.tools.compile import DEFAULT_CACHE  # noqa: PLC0415 - the compiler loads on use
    from argus.tools.served import Served  # noqa: PLC0415
    from argus.tools.toolbox import open_toolbox  # noqa: PLC0415

    folder = cache or DEFAULT_CACHE
    with open_toolbox(cache=folder) as toolbox:

        def leave(*_: object) -> Never:
            # The thread that reads standard input cannot be woken: nothing would unwind before its next line.
            toolbox.close()
            os._exit(EXIT_CODES["interrupted"])

        signal.signal(signal.SIGINT, leave)
        make_server(Served(toolbox, folder)).run("stdio")
