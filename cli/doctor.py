"""`argus doctor`: what this machine can do, and what is missing for the rest."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer
from pydantic import BaseModel

from argus.cli.output import SCHEMA_VERSION, print_json

app = typer.Typer()

_CORE = (
    "langgraph",
    "pydantic-ai-slim",
    "chromadb",
    "z3-solver",
    "apache-tvm",
    "llvmlite",
    "ziglang",
    "mlflow-skinny",
    "optuna",
)
_OPTIONAL = {
    "sentence-transformers": "embed: search by meaning",
    "mlflow": "ui: MLflow's pages",
    "mcp": "mcp: argus mcp",
    "ray": "ray: remote evaluation",
    "torch": "torch: references on a GPU",
}
_KEYS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY")


class Finding(BaseModel, frozen=True):
    """One line of the diagnosis; `needed` findings that are not ok make the command fail."""

    name: str
    ok: bool
    needed: bool
    detail: str


class Diagnosis(BaseModel, frozen=True):
    """What `argus doctor --json` prints."""

    schema_version: int = SCHEMA_VERSION
    ok: bool
    findings: tuple[Finding, ...]


@app.command()
def doctor(json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False) -> None:
    """What this machine can do. Exit 0: everything that runs without a GPU or a key is there; 3: something is not."""
    findings = (_python(), *map(_core, _CORE), _linker(), *map(_extra, _OPTIONAL), _cuda(), *map(_key, _KEYS))
    diagnosis = Diagnosis(ok=all(f.ok for f in findings if f.needed), findings=findings)
    if json:
        print_json(diagnosis)
    else:
        for f in findings:
            mark = "ok" if f.ok else ("MISSING" if f.needed else "absent")
            typer.echo(f"{mark:8} {f.name:24} {f.detail}")
    raise typer.Exit(code=0 if diagnosis.ok else 3)


def _python() -> Finding:
    current = ".".join(map(str, sys.version_info[:3]))
    return Finding(name="python", ok=sys.version_info >= (3, 11), needed=True, detail=current)


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _core(name: str) -> Finding:
    found = _installed(name)
    return Finding(name=name, ok=found is not None, needed=True, detail=found or "pip install argus-kernels")


def _extra(name: str) -> Finding:
    found = _installed(name)
    extra, use = _OPTIONAL[name].split(": ", 1)
    return Finding(name=name, ok=found is not None, needed=False, detail=found or f"extra `{extra}`: {use}")


def _linker() -> Finding:
    system = next((p for p in ("ld.lld", "ld.lld-22") if shutil.which(p)), None)
    zig = importlib.util.find_spec("ziglang") is not None
    return Finding(
        name="lld",
        ok=bool(system or zig),
        needed=True,
        detail=system or ("ziglang's" if zig else "pip install ziglang"),
    )


def _cuda() -> Finding:
    import ctypes.util  # noqa: PLC0415 - only this finding asks

    driver = ctypes.util.find_library("cuda")
    return Finding(name="CUDA driver", ok=driver is not None, needed=False, detail=driver or "no GPU is used")


def _key(name: str) -> Finding:
    present = bool(os.environ.get(name))
    return Finding(name=name, ok=present, needed=False, detail="set" if present else "the offline policy needs none")
