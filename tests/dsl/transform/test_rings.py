"""Rings against the same kernel written by hand, and the numbers that are derived for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from inline_snapshot import snapshot

from argus.dsl.diagnostics import KernelError
from argus.dsl.frontend import parse
from argus.dsl.ir import nodes as n
from argus.dsl.ir.canonical import canonical_sha
from argus.dsl.ir.printer import show
from argus.dsl.ir.rewrite import walk_body
from argus.dsl.transform import to_core

HEAD = '@kernel(target="gfx942", waves=4)\ndef k(A: bf16[m:M, k:K]):\n    where(K % 8 == 0)\n'
HOPPER = HEAD.replace("gfx942", "sm_90a")
RING = "r = ring({stages}, As=shared(bf16, 64, 64), Bs=shared(bf16, 64, 64))"


def fill(k: str, stage: str = "st") -> list[str]:
    return [
        f"with r.fill() as {stage}:",
        f'    copy_async({stage}.As, A.tile(64, 64)[0, {k}], via="dma")',
        f'    copy_async({stage}.Bs, A.tile(64, 64)[1, {k}], via="dma")',
    ]


def copies(slot: str, k: str) -> list[str]:
    return [
        f'copy_async(As[{slot}], A.tile(64, 64)[0, {k}], via="dma")',
        f'copy_async(Bs[{slot}], A.tile(64, 64)[1, {k}], via="dma")',
        "commit()",
    ]


def use(inner: Sequence[str] = (), name: str = "x") -> list[str]:
    return ["with r.use() as us:", *indent(inner), f"    {name} = load(us.As)", f"    {name} = load(us.Bs)"]


def indent(lines: Sequence[str]) -> list[str]:
    return ["    " + line for line in lines]


def core(lines: Sequence[str], head: str = HEAD) -> n.Kernel:
    return to_core(parse(head + "".join(f"    {line}\n" for line in lines)))


def waits(lines: Sequence[str]) -> list[int]:
    return [node.pending for node in walk_body(core(lines).body) if isinstance(node, n.Wait)]


@pytest.mark.parametrize("stages", [2, 3, 4])
def test_ring_is_its_definition_written_by_hand(stages: int) -> None:
    ahead = stages - 1
    sugar = [
        RING.format(stages=stages),
        f"for kt in unroll({ahead}):",
        *indent(fill("kt")),
        "for kt in range(cdiv(K, 64)):",
        *indent(use(fill(f"kt + {ahead}", "nx"))),
    ]
    by_hand = [
        f"As = shared(bf16, {stages}, 64, 64)",
        f"Bs = shared(bf16, {stages}, 64, 64)",
        f"for kt in unroll({ahead}):",
        *indent(copies(f"kt % {stages}", "kt")),
        "for kt in range(cdiv(K, 64)):",
        *indent([
            f"wait({ahead - 1})",
            "barrier()",
            *copies(f"(kt + {ahead}) % {stages}", f"kt + {ahead}"),
            f"x = load(As[kt % {stages}])",
            f"x = load(Bs[kt % {stages}])",
        ]),
    ]  # fmt: skip
    assert canonical_sha(core(sugar)) == canonical_sha(core(by_hand))


def test_fill_after_use_waits_for_the_older_ones_only() -> None:
    late = ["for kt in range(cdiv(K, 64)):", *indent([*use(), *fill("kt + 2", "nx")])]
    assert waits([RING.format(stages=3), *fill("0"), *fill("1"), *late]) == [1]


def test_last_uses_are_peeled() -> None:
    loop = ["for kt in range(cdiv(K, 64) - 2):", *indent(use(fill("kt + 2", "nx")))]
    lines = [RING.format(stages=3), *fill("0"), *fill("1"), *loop, *use(name="y"), *use(name="z")]
    assert waits(lines) == [1, 1, 0]
    text = show(core(lines))
    # Uses go on counting where the loop stopped, however often it ran.
    assert "r·As[max(cdiv(K, 64) - 2, 0) % 3]" in text
    assert "r·As[(max(cdiv(K, 64) - 2, 0) + 1) % 3]" in text


def test_nested_loops_count_through() -> None:
    inner = ["for j in range(4):", *indent(use(fill("i * 4 + j + 1", "nx")))]
    text = show(core([RING.format(stages=2), *fill("0"), "for i in range(cdiv(K, 256)):", *indent(inner)]))
    assert "r·As[(i * 4 + j) % 2]" in text
    assert "r·As[(i * 4 + j + 1) % 2]" in text


def test_several_fills_in_an_iteration() -> None:
    pair = [*use(name="x"), *use(name="y"), *fill("2 * kt + 2", "nx"), *fill("2 * kt + 3", "nx")]
    lines = [RING.format(stages=4), *fill("0"), *fill("1"), "for kt in range(cdiv(K, 128)):", *indent(pair)]
    assert waits(lines) == [1, 0]
    assert "r·As[(kt * 2 + 1) % 4]" in show(core(lines))


def test_groups_of_other_copies_count_as_well() -> None:
    other = ["Cs = shared(bf16, 64, 64)", RING.format(stages=2), *fill("0")]
    extra = ['copy_async(Cs, A.tile(64, 64)[0, 0], via="dma")', "commit()"]
    assert waits([*other, *extra, *use()]) == [1]
    assert waits([*other, *use(), *extra]) == [0]


def test_two_rings_share_the_order_of_groups() -> None:
    second = "q = ring(2, Cs=shared(bf16, 64, 64))"
    fill_q = ["with q.fill() as qt:", '    copy_async(qt.Cs, A.tile(64, 64)[0, 0], via="dma")']
    use_q = ["with q.use() as qt:", "    y = load(qt.Cs)"]
    lines = [RING.format(stages=2), second, *fill("0"), *fill_q, *use(), *use_q]
    assert waits(lines) == [1, 0]


def test_both_numbers_are_named() -> None:
    lines = [RING.format(stages=3), *fill("0"), *fill("1"), "for kt in unroll(2):", *indent(use())]
    with pytest.raises(KernelError, match="1 groups pending at one time and 0 at another"):
        core(lines)
    loop = ["if M > 64:", *indent(fill("0")), *use()]
    with pytest.raises(KernelError, match="`r` has 1 fill on one path and 0 fills on the other"):
        core([RING.format(stages=3), *loop])


def test_equal_paths_are_welcome() -> None:
    # A branch with `else` may hold no fill, so both paths are branches of their own.
    lines = [RING.format(stages=2), *fill("0"), "if M > 64:", "    commit()", *use()]
    with pytest.raises(KernelError, match="groups pending at one time"):
        core(lines)


def test_a_use_that_nothing_filled_waits_for_everything() -> None:
    assert waits([RING.format(stages=2), *use(), *fill("0")]) == [0]


def test_ring_of_ordinary_stores() -> None:
    store = [
        "with r.fill() as st:",
        "    store(st.As, load(A.tile(64, 64)[0, 0]))",
        "    store(st.Bs, load(A.tile(64, 64)[0, 1]))",
    ]
    assert waits([RING.format(stages=2), *store, *use()]) == [0]


# ----------------------------------------------------------------------------------------------- Hopper


def test_phases_of_a_persistent_kernel() -> None:
    lines = [
        "r = ring(2, As=shared(bf16, 64, 64, swizzle=b128))",
        "for t in tiles(cdiv(M, 64)):",
        '    with role("load", waves=4):',
        "        for kt in range(cdiv(K, 64)):",
        "            with r.fill() as st:",
        '                copy_async(st.As, A.tile(64, 64)[t, kt], via="tma")',
        '    with role("mma", waves=4):',
        '        acc = mma_acc("m64n64k16", 64, 64)',
        "        for kt in range(cdiv(K, 64)):",
        "            with r.use(keep=1) as us:",
        '                acc += mma(us.As.operand("a", acc, 0), us.As.operand("b", acc, 0))',
        "        mma_wait(0)",
    ]
    text = show(core(lines, HOPPER.replace("waves=4", "waves=8")))
    assert text[text.index("    r·As") :] == snapshot("""\
    r·As = shared(bf16, 2, 64, 64, swizzle=b128)
    r·full = mbar(1, count=2)
    r·empty = mbar(4, count=2)
    for t in tiles(cdiv(M, 64)):
        with role("load", waves=4):
            for kt in range(cdiv(K, 64)):
                with elect():
                    await_phase(r·empty[(t·n * cdiv(K, 64) + kt) % 2], (t·n * cdiv(K, 64) + kt) // 2 - 1)
                    copy_async(r·As[(t·n * cdiv(K, 64) + kt) % 2], A.tile(64, 64)[t, kt], via="tma")
                    arrive(r·full[(t·n * cdiv(K, 64) + kt) % 2], bytes=8192)
        with role("mma", waves=4):
            acc = mma_acc("m64n64k16", 64, 64)
            for kt in range(cdiv(K, 64)):
                await_phase(r·full[(t·n * cdiv(K, 64) + kt) % 2], (t·n * cdiv(K, 64) + kt) // 2)
                acc·t1 = r·As[(t·n * cdiv(K, 64) + kt) % 2].operand("a", acc, 0)
                acc·t2 = r·As[(t·n * cdiv(K, 64) + kt) % 2].operand("b", acc, 0)
                acc += mma(acc·t1, acc·t2)
                mma_wait(1)
                if kt >= 1:
                    arrive(r·empty[(t·n * cdiv(K, 64) + kt - 1) % 2])
            mma_wait(0)
            if cdiv(K, 64) >= 1:
                arrive(r·empty[(t·n * cdiv(K, 64) + cdiv(K, 64) - 1) % 2])
""")


def test_groups_on_hopper_are_fenced_for_wgmma() -> None:
    ring = [RING.format(stages=2), *(x.replace('"dma"', '"cp"') for x in fill("0")), *use()]
    kinds = [type(s).__name__ for s in core(['acc = mma_acc("m64n64k16", 64, 64)', *ring], HOPPER).body]
    assert kinds[kinds.index("Wait") :] == ["Wait", "Fence", "Barrier", "Assign", "Assign", "MmaWait"]
    # Other MMAs read shared memory as loads do, and are complete at once.
    kinds = [type(s).__name__ for s in core(['acc = mma_acc("m16n8k16", 64, 64, grid=(2, 2))', *ring], HOPPER).body]
    assert kinds[kinds.index("Wait") :] == ["Wait", "Barrier", "Assign", "Assign"]


def test_bytes_of_a_fill_count_every_copy() -> None:
    lines = [
        "r = ring(2, As=shared(bf16, 128, 64))",
        "with r.fill() as st:",
        "    for i in unroll(2):",
        '        copy_async(st.As.rows(i * 64, 64), A.tile(64, 64)[i, 0], via="tma")',
        "with r.use() as us:",
        "    x = load(us.As)",
    ]
    (arrive,) = [s for s in walk_body(core(lines, HOPPER).body) if isinstance(s, n.Arrive) and s.bytes]
    assert arrive.bytes == 128 * 64 * 2


def test_a_wait_frees_no_stage_of_another_role() -> None:
    consumer = [
        'acc = mma_acc("m64n64k16", 64, 64)',
        "for kt in range(cdiv(K, 64)):",
        "    with {ring}.use(keep=1) as us:",
        '        acc += mma(us.As.operand("a", acc, 0), us.Bs.operand("b", acc, 0))',
        "mma_wait(0)",
    ]
    lines = [RING.format(stages=2), RING.format(stages=2).replace("r =", "s =")]
    lines += ['with role("load", waves=4):']
    for ring in "rs":
        body = [line.replace("r.fill", f"{ring}.fill").replace('"dma"', '"tma"') for line in fill("kt")]
        lines += indent(["for kt in range(cdiv(K, 64)):", *indent(body)])
    for ring in "rs":
        lines += [f'with role("{ring}", waves=4):', *indent([line.format(ring=ring) for line in consumer])]
    roles = [s for s in core(lines, HOPPER.replace("waves=4", "waves=12")).body if isinstance(s, n.Role)]
    freed = {role.name: {s.bar for s in walk_body(role.body) if isinstance(s, n.Arrive)} for role in roles[1:]}
    assert freed == {"r": {"r.empty"}, "s": {"s.empty"}}


def test_rings_of_no_stages_are_refused() -> None:
    lines = [RING.format(stages=1), *fill("0"), *use()]
    kernel = parse(HEAD + "".join(f"    {line}\n" for line in lines))
    (ring,) = (s for s in kernel.body if isinstance(s, n.Assign) and isinstance(s.value, n.Ring))
    assert isinstance(ring.value, n.Ring)
    empty = replace(ring, value=replace(ring.value, stages=0))
    to_core(kernel)
    with pytest.raises(KernelError, match="a ring of 0 stages"):
        to_core(replace(kernel, body=tuple(empty if s is ring else s for s in kernel.body)))
