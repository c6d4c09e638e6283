"""The tools over MCP, for agents that are not ours. The only module that imports `mcp`, which is an extra."""

from __future__ import annotations

from mcp.server import MCPServer

from argus import __version__
from argus.tools.served import Served

_INSTRUCTIONS = (
    "Write and judge GPU kernels in a tile language with compile-time invariants. Check a kernel before you compile "
    "it; a counterexample names the thread, the element and the edit that mends it. Times are estimates."
)


def make_server(tools: Served) -> MCPServer:
    """A server of the five tools; run it with `run("stdio")`."""
    server = MCPServer("argus", version=__version__, instructions=_INSTRUCTIONS)
    for tool in (
        tools.check_invariants,
        tools.compile_kernel,
        tools.run_tests,
        tools.profile,
        tools.search_knowledge,
    ):
        server.tool()(tool)
    return server
