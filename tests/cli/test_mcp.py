"""`argus mcp` as a client sees it: over standard input and output, in another process."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from argus.cli.main import app
from argus.dsl.kernels import families, make_problem, task_named

mcp = pytest.importorskip("mcp", reason="the mcp extra")

TOOLS = {"check_invariants", "compile_kernel", "run_tests", "profile", "search_knowledge"}


def kernel() -> str:
    problem, family = make_problem(task_named("gemm")), families()["gemm"]
    return family.text(family.start(problem), problem)


@asynccontextmanager
async def client(cache: Path) -> AsyncGenerator[Any]:
    code = "from argus.cli.main import main; main()"
    command = mcp.StdioServerParameters(command=sys.executable, args=["-c", code, "mcp", "--cache", str(cache)])
    async with mcp.Client(command) as session:
        yield session


@pytest.mark.slow
async def test_the_five_tools_and_structured_answers(tmp_path: Path) -> None:
    async with client(tmp_path / "cache") as session:
        offered = {tool.name: tool for tool in (await session.list_tools()).tools}
        assert set(offered) == TOOLS
        for tool in offered.values():
            assert tool.description
            assert set(tool.output_schema["properties"]) == {"result", "error", "text"}
        assert offered["profile"].input_schema["required"] == ["text", "task"]

        proved = await session.call_tool("check_invariants", {"text": kernel(), "task": "gemm"})
        assert not proved.is_error
        assert proved.structured_content["result"]["ok"] is True

        raced = "\n".join(line for line in kernel().splitlines() if line.strip() != "barrier()")
        refuted = await session.call_tool("check_invariants", {"text": raced, "task": "gemm"})
        assert not refuted.is_error
        assert refuted.structured_content["result"]["ok"] is False
        found = [
            o["counterexample"] for o in refuted.structured_content["result"]["obligations"] if o["counterexample"]
        ]
        assert found
        assert found[0]["consumer"]["line"] > 0

        broken = await session.call_tool("compile_kernel", {"text": "import os"})
        assert not broken.is_error
        assert broken.structured_content["error"]["code"] == "forbidden"
        assert "Traceback" not in str(broken.content)

        cards = await session.call_tool("search_knowledge", {"query": "bank conflicts", "task": "gemm", "top": 2})
        assert len(cards.structured_content["result"]["hits"]) == 2

        wrong = await session.call_tool("profile", {"text": 3})
        assert wrong.is_error, "arguments of the wrong type are the protocol's to refuse"


@pytest.mark.slow
async def test_compile_test_and_profile(tmp_path: Path) -> None:
    async with client(tmp_path / "cache") as session:
        built = (await session.call_tool("compile_kernel", {"text": kernel()})).structured_content["result"]
        assert Path(built["object_path"]).read_bytes().startswith(b"\x7fELF")
        assert "v_mfma" in Path(built["asm_path"]).read_text()

        tested = (await session.call_tool("run_tests", {"text": kernel(), "task": "gemm"})).structured_content
        assert all(case["passed"] for case in tested["result"]["cases"])
        assert tested["text"] == "6 of 6 cases passed"
        assert [case["sizes"] for case in tested["result"]["cases"] if case["held_out"]] == [{}, {}]

        shape = {"m": 1024, "n": 512, "k": 2048}
        profiled = (
            await session.call_tool("profile", {"text": kernel(), "task": "gemm", "shape": shape})
        ).structured_content
        estimate = profiled["result"]["estimate"]
        assert estimate["shape"] == shape
        assert estimate["time_us"] >= estimate["lower_bound_us"]
        assert profiled["text"].startswith("est ")


@pytest.mark.slow
async def test_an_interrupt_ends_the_server_while_it_waits_for_input(tmp_path: Path) -> None:
    code = "from argus.cli.main import main; main()"
    command = [sys.executable, "-c", code, "mcp", "--cache", str(tmp_path)]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=pipe)
    assert process.stdin is not None
    assert process.stdout is not None
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "0"}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    process.stdin.write(json.dumps(request).encode() + b"\n")
    await process.stdin.drain()
    assert json.loads(await process.stdout.readline())["result"]["serverInfo"]["name"] == "argus"
    process.send_signal(signal.SIGINT)
    assert await asyncio.wait_for(process.wait(), 20) == 130
    process.stdin.close()


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    monkeypatch.delitem(sys.modules, "argus.tools.server", raising=False)
    answer = CliRunner().invoke(app, ["mcp"])
    assert answer.exit_code == 3
    assert answer.stdout == ""
    assert "pip install 'argus-kernels[mcp]'" in answer.stderr
