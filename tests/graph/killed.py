"""A run that is killed from outside: `python killed.py FOLDER START|RESUME LOG`."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"
sys.path.insert(0, str(Path(__file__).parent))

from graph_fakes import FakeToolbox, cards, family
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models.function import AgentInfo, FunctionModel

import argus.graph.context
from argus.agents.messages import LoweringTask, parse_as
from argus.agents.offline import answer
from argus.graph.run import aoptimize, aresume

argus.graph.context.families = lambda: {"gemm": family()}


def lowering(log: Path, *, hang: bool) -> FunctionModel:
    """The offline answers, logged; it hangs when it lowers the third candidate of round one."""
    started: list[int] = []

    async def reply(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        text = str(messages[0].parts[0].content)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
        task = parse_as(LoweringTask, text)
        if len(messages) == 1:
            started.append(task.seed)
            with log.open("a") as file:
                file.write(f"lower {task.seed}\n")
        if hang and len(started) == 3 and task.seed == started[2]:
            with log.open("a") as file:
                file.write("hanging\n")
            await asyncio.sleep(600)
        return answer(messages, info)

    return FunctionModel(reply, model_name="logged")


async def main(folder: Path, mode: str, log: Path) -> None:
    toolbox = FakeToolbox()
    models = {"lowering": lowering(log, hang=mode == "START")}
    if mode == "START":
        await aoptimize(
            "gemm", toolbox=toolbox, cards=cards(), models=models, out=folder, candidates=8, rounds=2, track=False
        )
    else:
        found = await aresume(folder, toolbox=toolbox, cards=cards(), models=models, track=False)
        print(found.model_dump_json())
    with log.open("a") as file:
        file.write(f"compiled {toolbox.log.count('compile')}\n")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])))
