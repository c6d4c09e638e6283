"""Runs a bundle: one child process for each entry, killed when it takes too long; results after every one."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, NoReturn, cast

from . import child, memcheck

SCHEMA_VERSION = 1
BUNDLE = "bundle.json"
KEPT = ("id", "kind", "dtype", "sizes", "schedule", "name", "obligations")  # of an entry, in its result
KILL_S = 120.0
SMALL = 50_000_000  # multiplications of a small check


def main(bundle: Path, arguments: list[str] | None = None) -> int:
    """Command line of `run.py`. 0: everything ran and was right; 1: something was not; 3: no measurement at all."""
    parser = argparse.ArgumentParser(description="Time the kernels of this bundle on this machine's GPU.")
    parser.add_argument("--out", type=Path, default=Path("results.json"), help="JSON results, written as they come")
    parser.add_argument("--rounds", type=int, default=15, help="rounds a pair; at least 9")
    parser.add_argument("--kill-after", type=float, default=KILL_S, help="seconds that one child may take")
    parser.add_argument("--minutes", type=float, default=9.0, help="no new child is started after so long")
    parser.add_argument("--only", default="", help="entries whose id contains this")
    parser.add_argument("--fork", action="store_true", help="load PyTorch once and fork the children")
    parser.add_argument("--runs", type=int, default=1, help="measure everything so often, one run after the other")
    parser.add_argument("--check", action="store_true", help="small check sizes alone, as under compute-sanitizer")
    parser.add_argument("--survey", type=int, default=0, metavar="ROUNDS", help="one child a shape, so few rounds")
    parser.add_argument("--memcheck", action="store_true", help="small check sizes under compute-sanitizer memcheck")
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--launch", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.child is not None:
        return _child(bundle, options.child)
    if options.launch is not None:
        print(json.dumps(memcheck.launch(bundle, json.loads(options.launch))), flush=True)
        return 0
    return _parent(bundle, options)


def _child(bundle: Path, files: Path) -> int:
    entry: Any = json.loads((files / "entry.json").read_text("utf-8"))
    if isinstance(entry, list):
        _survey_child(bundle, files, cast("list[dict[str, Any]]", entry))
    try:
        found = child.run(entry, bundle)
    except Exception as error:
        found = {
            "status": "failed",
            "message": f"{type(error).__name__}: {error}",
            "trace": traceback.format_exc()[-2000:],
        }
    (files / "result.json").write_text(json.dumps(found), "utf-8")
    sys.stdout.flush()
    os._exit(0)  # a context that a kernel has broken may hang while it is torn down


def _survey_child(bundle: Path, files: Path, entries: list[dict[str, Any]]) -> NoReturn:
    """Each result in a file of its own, so that those before a hang are kept."""

    def done(found: dict[str, Any]) -> None:
        number = len(list(files.glob("result-*.json")))
        (files / f"result-{number}.part").write_text(json.dumps(found), "utf-8")
        (files / f"result-{number}.part").replace(files / f"result-{number}.json")

    try:
        child.survey(entries, bundle, done)
    except Exception:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _parent(bundle: Path, options: argparse.Namespace) -> int:
    plan: dict[str, Any] = json.loads((bundle / BUNDLE).read_text("utf-8"))
    start = time.monotonic()
    results: list[dict[str, Any]] = []
    libraries: dict[str, Any] = {}
    if options.memcheck:
        return _memcheck(bundle, plan, options.out, start)
    if options.fork:
        _preload()
    if options.survey:
        results = _survey(bundle, plan, options, start)
        return 0 if any("ratio" in r for r in results) else 3
    for run, entry in ((run, entry) for run in range(options.runs) for entry in plan["entries"]):
        if (options.only and options.only not in entry["id"]) or (options.check and not entry.get("check_sizes")):
            continue
        if time.monotonic() - start > options.minutes * 60:
            late = f"after {options.minutes} minutes"
            results.append({"id": entry["id"], "run": run, "status": "skipped", "message": late})
            continue
        where = f"{entry['dtype']} {sorted(entry['sizes'].items())}"
        asked: dict[str, Any] = {**entry, "rounds": max(9, options.rounds), "library": libraries.get(where, "cublas")}
        if options.check:
            asked.update(rounds=0, check_sizes=[s for s in entry["check_sizes"] if _small(s)])
        if run:
            asked["check_sizes"] = ()  # they were checked in the first
        found: dict[str, Any] = _isolated(bundle, asked, options)
        if found.get("status") in ("killed", "died") and entry["kind"] == "candidate" and asked.get("check_sizes"):
            # Is it right, and how fast, at the size that counts? What it did at the others stays on record.
            again: dict[str, Any] = _isolated(bundle, {**asked, "check_sizes": ()}, options)
            status = "wrong" if again.get("status") == "ok" else found["status"]
            found = {**again, "first": found, "status": status}
        if entry["kind"] == "peer" and "library" in found:
            libraries[where] = found["library"]
        found.setdefault("status", "ok")
        kept = {k: entry[k] for k in KEPT if k in entry}
        results.append({**kept, "run": run, **found})
        print(_line(results[-1]), flush=True)
        _write(options.out, plan, results, start)
    _write(options.out, plan, results, start)
    if not options.check and not any("ratio" in r for r in results):
        return 3
    return 0 if all(r["status"] == "ok" for r in results) else 1


def _memcheck(bundle: Path, plan: dict[str, Any], out: Path, start: float) -> int:
    """Every kernel once, whatever is timed of it. 0: all are clean."""
    kernels: dict[str, dict[str, Any]] = {}
    for entry in plan["entries"]:
        sizes = [s for s in entry.get("check_sizes", ()) if _small(s)]
        if entry["kind"] == "candidate" and sizes and entry["directory"] not in kernels:
            kept = {key: entry[key] for key in ("name", "directory", "dtype")}
            kernels[entry["directory"]] = {**kept, "check_sizes": sizes}
    results: list[dict[str, Any]] = []

    def done(result: dict[str, Any]) -> None:
        results.append({"id": f"memcheck {result['name']}", "kind": "memcheck", **result})
        print(f"{results[-1]['id']:60} {result['status']} {result.get('message', '')[:200]}", flush=True)
        _write(out, plan, results, start)

    memcheck.run(bundle, list(kernels.values()), done)
    return 0 if results and all(r["status"] == "clean" for r in results) else 1


def _small(sizes: Mapping[str, int]) -> bool:
    return sizes["M"] * sizes["N"] * sizes["K"] < SMALL


def _preload() -> None:
    """PyTorch without a CUDA context, which a forked child could not use."""
    with contextlib.suppress(ImportError):
        import torch  # type: ignore[import-not-found] # noqa: F401, PLC0415


def _survey(bundle: Path, plan: dict[str, Any], options: argparse.Namespace, start: float) -> list[dict[str, Any]]:
    """Entries of a shape in one child; who ends it is left out, and those after it get another child."""
    results: list[dict[str, Any]] = []
    for _, group in groupby(plan["entries"], key=lambda e: f"{e['dtype']} {sorted(e['sizes'].items())}"):
        rest = [{**e, "rounds": options.survey} for e in group if e["kind"] != "aa" and options.only in e["id"]]
        while rest and time.monotonic() - start < options.minutes * 60:
            found = _surveyed(bundle, rest, options)
            for entry, r in zip(rest, found, strict=False):
                kept = {k: entry[k] for k in KEPT if k in entry}
                results.append({**kept, **r})
                print(_line(results[-1]), flush=True)
            rest = rest[len(found) :]
            _write(options.out, plan, results, start, rounds=options.survey)
    return results


def _surveyed(bundle: Path, entries: list[dict[str, Any]], options: argparse.Namespace) -> list[dict[str, Any]]:
    """Results of the first entries; the last of them may be that of one that ended the child."""
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder)
        (files / "entry.json").write_text(json.dumps(entries), "utf-8")
        code = (_forked if options.fork else _spawned)(bundle, files, options.kill_after + 2 * len(entries))
        count = len(list(files.glob("result-*.json")))
        found = [json.loads((files / f"result-{i}.json").read_text("utf-8")) for i in range(count)]
        if len(found) < len(entries):
            status = "killed" if code is None else "died"
            found.append({"status": status, "message": f"exit code {code}: {_tail(files)}"})
        return found


def _isolated(bundle: Path, entry: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """Run one entry in a process group of its own."""
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder)
        (files / "entry.json").write_text(json.dumps(entry), "utf-8")
        code = (_forked if options.fork else _spawned)(bundle, files, options.kill_after)
        if code is None:
            message = f"took longer than {options.kill_after:g} s, perhaps a kernel that hangs: {_tail(files)}"
            return {"status": "killed", "message": message}
        try:
            return json.loads((files / "result.json").read_text("utf-8"))
        except (OSError, ValueError):
            return {"status": "died", "message": f"exit code {code}: {_tail(files)}"}


def _spawned(bundle: Path, files: Path, kill_after: float) -> int | None:
    """A fresh Python's exit code; None if it had to be killed."""
    command = [sys.executable, str(bundle / "run.py"), "--child", str(files)]
    with (files / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        try:
            return process.wait(kill_after)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(30)  # the driver may take its time to end a kernel that hangs
            return None


def _forked(bundle: Path, files: Path, kill_after: float) -> int | None:
    """Likewise, of a copy of this process."""
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            log = os.open(files / "log", os.O_WRONLY | os.O_CREAT)
            os.dup2(log, 1)
            os.dup2(log, 2)
            _child(bundle, files)
        finally:
            os._exit(1)
    code = _waited(pid, kill_after)
    if code is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
        _waited(pid, 30)
    return code


def _waited(pid: int, seconds: float) -> int | None:
    """The exit code of a forked child, should it come in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    return None


def _tail(files: Path) -> str:
    return (files / "log").read_bytes()[-1500:].decode(errors="replace").strip()


def _line(r: dict[str, Any]) -> str:
    if "ratio" not in r:
        bad = [c for c in r.get("checks", []) if not c["ok"]]
        return f"{r['id']:60} {r['status']:9} {r.get('message', '')[:300]} {bad[:1] or ''}"
    ratio, low, high = r["ratio"]
    return (
        f"{r['id']:60} {r['status']:9} {r['time_us'][0]:9.1f} us {r['tflops']:6.1f} TFLOP/s   "
        f"{100 * ratio:6.1f} % of {r.get('library') or 'itself'} [{100 * low:.1f}, {100 * high:.1f}]"
    )


def _write(out: Path, plan: dict[str, Any], results: list[dict[str, Any]], start: float, *, rounds: int = 0) -> None:
    """`rounds` of a survey, 0 for a measurement."""
    found = {
        "schema_version": SCHEMA_VERSION,
        "bundle_sha": plan["bundle_sha"],
        "task": plan["task"],
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "seconds": time.monotonic() - start,
        "python": platform.python_version(),
        "driver": _driver(),
        "survey": rounds,
        "results": results,
    }
    beside = out.with_name(out.name + ".part")
    beside.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    beside.replace(out)


def _driver() -> str | None:
    """Version of the kernel driver."""
    try:
        return Path("/sys/module/nvidia/version").read_text("utf-8").strip()
    except OSError:
        return None
