"""`--shape m=4096,n=4096,k=4096`."""

from __future__ import annotations

from argus.cli.output import fail


def parse_shape(text: str | None, *, json: bool) -> dict[str, int]:
    """Names to sizes; ends the command with exit code 2 on anything else."""
    sizes: dict[str, int] = {}
    for part in text.split(",") if text else ():
        name, equals, value = part.strip().partition("=")
        try:
            number = int(value)
        except ValueError:
            number = None
        if not equals or number is None:
            fail("usage", f"cannot read {part!r} as a size", "--shape", "write --shape m=4096,n=4096,k=4096", json=json)
        if name in sizes:
            fail("usage", f"size {name!r} is given twice", "--shape", json=json)
        sizes[name] = number
    return sizes
