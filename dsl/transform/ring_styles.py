"""How a ring's copies complete, and that only the waves which can know of it use them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from argus.dsl.diagnostics import Code, Span
from argus.dsl.ir.nodes import CopyAsync, Fill, Role, Use
from argus.dsl.ir.report import kernel_error
from argus.dsl.ir.rewrite import walk, walk_body
from argus.dsl.transform.blocks import Body, with_bodies

# Groups complete for the waves that issued them; phases of barriers in memory, for all.
Style = Literal["groups", "phases"]
Place = tuple[str | None, Span]


def ring_styles(body: Body, rings: Iterable[str]) -> dict[str, Style]:
    """The style of each ring.

    Raises:
        KernelError: If a ring mixes styles, is filled or used from two roles, or passes groups from role to role.
    """
    rings = tuple(rings)
    fills, uses = _places(body, Fill), _places(body, Use)
    styles: dict[str, Style] = {ring: _style(body, ring) for ring in rings}
    for ring in rings:
        if styles[ring] == "groups" and ring in fills and ring in uses and fills[ring][0] != uses[ring][0]:
            message = f"the copies of `{ring}` complete only for the waves that issue them, and another role uses it"
            raise kernel_error(Code.BAD_CALL, uses[ring][1], message, "fill it in the role that uses it")
    return styles


def _style(body: Body, ring: str) -> Style:
    """By the copies in the ring's fills."""
    style: Style | None = None
    for fill in (n for n in walk_body(body) if isinstance(n, Fill) and n.ring == ring):
        for copy in (n for n in walk(fill) if isinstance(n, CopyAsync)):
            found: Style = "phases" if copy.via == "tma" else "groups"
            if style not in (None, found):
                message = f"`{ring}` is filled by TMA and by other copies"
                raise kernel_error(Code.BAD_CALL, copy.span, message, "use one kind of copy a ring")
            style = found
    return style or "groups"


def _places(body: Body, cls: type[Fill] | type[Use]) -> dict[str, Place]:
    """For each ring the role, and one place, of its fills or uses."""
    out: dict[str, Place] = {}

    def visit(body: Body, role: str | None) -> Body:
        for node in body:
            if isinstance(node, cls):
                before = out.setdefault(node.ring, (role, node.span))
                if before[0] != role:
                    message = f"two roles {'fill' if cls is Fill else 'use'} `{node.ring}`"
                    raise kernel_error(Code.UNSUPPORTED, node.span, message, "give each role its own ring")
            inner = node.name if isinstance(node, Role) else role
            with_bodies(node, lambda below, inner=inner: visit(below, inner))
        return body

    visit(body, None)
    return out
