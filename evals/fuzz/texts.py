"""Random text: words of the language in any order, and right kernels with random edits."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

_WORDS = """
    kernel def for in if else with as range unroll tiles block split role elect shared mbar ring fill use tile rows cols
    gather scatter T load store copy copy_async commit wait barrier shift fence arrive await_phase mma_acc operand mma
    mma_wait as_operand relayout shuffle to exp2 max min select mask reduce online_softmax atomic_add tag assert_match
    assert_differ assert_complete where assume ensures over uses linear xor b128 cdiv sched_group sched_barrier priority
    inf A B C M N K k m n acc st r As Bs bm bn kt ks x y s f32 bf16 f16 i32 i8 f8 target waves map via pad swizzle grid
    regs axis across order sum a b wave dma tma cp gfx942 sm_90a import class lambda while return None True async global
    not and or is
"""
_MARKS = r"""
    ( ) [ ] { } , : . = == != < <= > >= + - * / // % ** & | ^ ~ += *= -> @ ; # \ ' " 0 1 2 3 7 8 16 32 64 128 -1 0.0 1e9
    1e309 2147483648 99999999999999999999 0x10 1_0 1j
"""
WORDS: tuple[str, ...] = tuple(_WORDS.split())
MARKS: tuple[str, ...] = tuple(_MARKS.split())
ODD = (
    "\t",
    "\x00",
    "\ufeff",
    "é",
    "·",
    "\U0001d431",
    "\u202e",
    "\r",
    "\x0c",
    "\n\n",
    "    ",
    "\u2009",
    "\\\n",
    "\ufb01",
    "\U0001f600",
)
TOKENS = re.compile(r"\w+|\s+|[^\w\s]")

HEAD = '@kernel(target="{target}", waves={waves})\ndef f(A: bf16[m:M, k:K], B: bf16[n:N, k:K], C: f32[m:M, n:N]):\n'


def soup(random: Random) -> str:
    """Words, marks and odd characters, in lines of any indentation; often after the head of a kernel."""
    lines: list[str] = []
    for _ in range(random.randint(1, 40)):
        words = [_word(random) for _ in range(random.randint(0, 14))]
        lines.append("    " * random.choice((0, 1, 1, 1, 2, 3)) + random.choice((" ", "", " ")).join(words))
    head = HEAD.format(target=random.choice(("gfx942", "sm_90a", "cpu")), waves=random.choice((1, 4, 8, 0, 10**6)))
    return (head if random.random() < 0.6 else "") + "\n".join(lines) + "\n"


def _word(random: Random) -> str:
    kind = random.random()
    if kind < 0.02:
        return random.choice(ODD)
    return random.choice(WORDS if kind < 0.6 else MARKS)


def nested(random: Random) -> str:
    """Something very deep, long or many."""
    depth = random.choice((50, 500, 5_000, 50_000))
    deep = random.choice(
        (
            "(" * depth + "1" + ")" * depth,
            "[" * depth,
            "-" * depth + "1",
            " + ".join(["kt"] * depth),
            "A" + ".T" * depth,
            "A" + "[0]" * depth,
            "x" * depth,
            "9" * depth,
            "f(" * depth + ")" * depth,
            '"' + "a" * depth,
        )
    )
    head = HEAD.format(target="gfx942", waves=4)
    if random.random() < 0.3:
        body = "".join("    " * (i + 1) + f"for i{i} in range(2):\n" for i in range(min(depth, 200)))
        return head + body + "    " * (min(depth, 200) + 1) + "barrier()\n"
    line = random.choice(
        ("x = {}", "store(C, {})", "for t in range({}):\n        barrier()", "s = shared(f32, {})", "{}")
    )
    return head + "    " + line.format(deep) + "\n"


Edit = Callable[[list[str], Random, Sequence[str]], None]


def edited(text: str, random: Random, others: Sequence[str]) -> str:
    """A right kernel after one to six edits of tokens and lines; `others` lend lines."""
    for _ in range(random.choice((1, 1, 2, 3, 6))):
        if random.random() < 0.5:
            pieces = TOKENS.findall(text)
            random.choice(_TOKEN_EDITS)(pieces, random, others)
            text = "".join(pieces)
        else:
            lines = list[str](text.splitlines(keepends=True))
            if lines:
                random.choice(_LINE_EDITS)(lines, random, others)
            text = "".join(lines)
    return text


def _place(pieces: Sequence[str], random: Random) -> int:
    return random.randrange(len(pieces)) if pieces else 0


def _replace_token(pieces: list[str], random: Random, others: Sequence[str]) -> None:
    del others
    if pieces:
        pieces[_place(pieces, random)] = _word(random)


def _number(pieces: list[str], random: Random, others: Sequence[str]) -> None:
    del others
    numbers = [i for i, p in enumerate(pieces) if p.isdigit()]
    if numbers:
        i = random.choice(numbers)
        value = int(pieces[i]) if len(pieces[i]) < 12 else 0
        pieces[i] = str(
            random.choice((value + 1, max(0, value - 1), value * 2, value // 2, 0, 1, 3, 10**6, 2**31, 2**63))
        )


def _same_word(pieces: list[str], random: Random, others: Sequence[str]) -> None:
    """One name of the text instead of another."""
    del others
    names = [i for i, p in enumerate(pieces) if p.isidentifier()]
    if names:
        pieces[random.choice(names)] = pieces[random.choice(names)]


def _insert_token(pieces: list[str], random: Random, others: Sequence[str]) -> None:
    del others
    pieces.insert(_place(pieces, random), _word(random))


def _delete_tokens(pieces: list[str], random: Random, others: Sequence[str]) -> None:
    del others
    i = _place(pieces, random)
    del pieces[i : i + random.choice((1, 1, 2, 5))]


def _delete_line(lines: list[str], random: Random, others: Sequence[str]) -> None:
    del others
    del lines[_place(lines, random)]


def _repeat_line(lines: list[str], random: Random, others: Sequence[str]) -> None:
    del others
    lines.insert(_place(lines, random), lines[_place(lines, random)])


def _swap_lines(lines: list[str], random: Random, others: Sequence[str]) -> None:
    del others
    i, j = _place(lines, random), _place(lines, random)
    lines[i], lines[j] = lines[j], lines[i]


def _indent_line(lines: list[str], random: Random, others: Sequence[str]) -> None:
    del others
    i = _place(lines, random)
    lines[i] = "    " + lines[i] if random.random() < 0.5 else lines[i].removeprefix("    ")


def _lend_line(lines: list[str], random: Random, others: Sequence[str]) -> None:
    lent = random.choice(others).splitlines(keepends=True)
    lines.insert(_place(lines, random), random.choice(lent))


_TOKEN_EDITS: tuple[Edit, ...] = (
    _replace_token,
    _number,
    _number,
    _same_word,
    _same_word,
    _insert_token,
    _delete_tokens,
)
_LINE_EDITS: tuple[Edit, ...] = (_delete_line, _repeat_line, _swap_lines, _indent_line, _lend_line)
