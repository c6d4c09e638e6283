"""From TIR to an artifact: a worker process compiles, the assembly is read back and judged."""
