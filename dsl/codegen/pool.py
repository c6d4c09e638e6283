"""Compilation in worker processes that may die or hang without taking the caller along."""

from __future__ import annotations

import asyncio
import queue
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self

from argus.dsl.codegen.artifact import Artifact
from argus.dsl.codegen.cache import ArtifactCache
from argus.dsl.codegen.process import WorkerProcess
from argus.dsl.codegen.request import REQUEST, CompileRequest

DEFAULT_LOWERING = "argus.dsl.codegen.source:lower_text"
_RETIRE_ABOVE_BYTES = 700 << 20


class CompilerPool:
    """Worker processes that compile kernels, and the cache of what they made.

    Workers start at the first miss of the cache and stay. Use it as a context manager, from any thread or event loop.

    Args:
        cache: Folder of artifacts, reused across pools, runs and processes.
        workers: Processes at most; each takes about 320 MB, half of it shared.
        timeout_s: For one compilation, once a worker has it.
        lowering: Entry point `module:function` or `file.py:function` that turns a request into a `Lowered`; the
            worker loads it.

    Raises:
        ToolchainError: If `cache` cannot be written.
    """

    def __init__(
        self, cache: Path, *, workers: int = 2, timeout_s: float = 60.0, lowering: str = DEFAULT_LOWERING
    ) -> None:
        self._cache = ArtifactCache(cache)
        self._timeout_s = timeout_s
        self._lowering = lowering
        self._workers = [WorkerProcess(lowering) for _ in range(workers)]
        # Last in, first out: one caller at a time keeps to one warm worker.
        self._idle: queue.LifoQueue[WorkerProcess] = queue.LifoQueue()
        for worker in self._workers:
            self._idle.put(worker)
        # A thread a worker: who runs in one finds a worker idle.
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="argus-compile")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def pids(self) -> tuple[int, ...]:
        """Process ids of the workers that run."""
        return tuple(worker.pid for worker in self._workers if worker.pid is not None)

    async def compile(self, request: CompileRequest) -> Artifact:
        """The artifact of a kernel, from the cache or from a worker.

        Cancelling stops the wait; a compilation that has begun runs on and still fills the cache.

        Raises:
            KernelError: The author's mistake, as the compiler found it.
            ToolchainError: TVM, LLVM or the linker failed, or the worker died or hung; never cached.
            AssertionError: A bug of the compiler; the message holds the worker's traceback.
        """
        found = self._cache.get(self._key(request))
        if found is not None:
            return found
        return await asyncio.wrap_future(self._threads.submit(self._compile, request))

    def compile_now(self, request: CompileRequest) -> Artifact:
        """As `compile`, for callers without an event loop."""
        return self._cache.get(self._key(request)) or self._threads.submit(self._compile, request).result()

    def warm(self) -> None:
        """Begin to start all workers, and return at once; what fails will fail again, and be told, when compiling."""
        for _ in self._workers:
            self._threads.submit(self._warm_one)

    def close(self) -> None:
        """Kill the workers; pending compilations fail with ToolchainError."""
        for worker in self._workers:
            worker.close()
        self._threads.shutdown(cancel_futures=True)
        for worker in self._workers:
            worker.stop()

    def _key(self, request: CompileRequest) -> str:
        return request.key(self._lowering)

    def _compile(self, request: CompileRequest) -> Artifact:
        worker = self._idle.get()
        try:
            with self._cache.building() as directory:
                (directory / REQUEST).write_text(request.model_dump_json(), "utf-8")
                reply = worker.ask(directory, self._timeout_s)
                if reply.rss_bytes > _RETIRE_ABOVE_BYTES:
                    worker.stop()
                reply.check()
                return self._cache.put(self._key(request), directory)
        finally:
            self._idle.put(worker)

    def _warm_one(self) -> None:
        worker = self._idle.get()
        try:
            worker.start()
        finally:
            self._idle.put(worker)
