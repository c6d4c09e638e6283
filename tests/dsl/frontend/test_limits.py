"""Text that no author would write ends in a diagnostic, quickly, and never in an exception of Python's."""

from __future__ import annotations

import random
import re
import time
from pathlib import Path

import pytest

from argus.dsl.diagnostics import Code, KernelError
from argus.dsl.frontend import parse, parse_core
from argus.dsl.ir.canonical import canonical_sha
from argus.dsl.ir.contract import contract_sha
from argus.dsl.ir.printer import show
from argus.dsl.ir.verify import verify
from argus.dsl.transform import to_core

HEAD = '@kernel(target="gfx942", waves=4)\ndef k(A: bf16[m:M, k:K]):\n'
KERNELS = Path(__file__).parents[2] / "kernels"
GOOD = [p.read_text("utf-8") for folder in ("good", "reference") for p in sorted((KERNELS / folder).glob("*.py"))]


def code_of(text: str) -> Code:
    with pytest.raises(KernelError) as bad:
        parse(text)
    diagnostic = bad.value.diagnostic
    assert diagnostic.message
    assert diagnostic.render(text.splitlines())
    return diagnostic.code


@pytest.mark.parametrize(
    ("what", "expression"),
    [
        ("parentheses", "(" * 10_000 + "M" + ")" * 10_000),
        ("open parentheses", "(" * 10_000),
        ("indices", "A" + "[0]" * 5_000),
        ("calls", "f" + "()" * 5_000),
        ("attributes", "A" + ".T" * 5_000),
        ("signs", "-" * 15_000 + "M"),
        ("nots", "not " * 4_000 + "M"),
        ("sums", "+".join(["M"] * 9_000)),
        ("conditionals", " if M else ".join(["M"] * 2_000)),
        ("lambdas", "lambda:" * 2_000 + "M"),
        ("digits", "1" * 5_000),
        ("hex digits", "0x" + "f" * 10_000),
        ("wide call", f"min({', '.join(['M'] * 9_000)})"),
    ],
)
def test_deep_and_wide_expressions(what: str, expression: str) -> None:
    del what
    began = time.perf_counter()
    assert code_of(f"{HEAD}    x = {expression}\n") in (Code.LIMIT, Code.FORBIDDEN, Code.SYNTAX)
    assert time.perf_counter() - began < 2


def test_ten_thousand_parentheses_are_a_limit() -> None:
    assert code_of(f"{HEAD}    x = {'(' * 10_000}M{')' * 10_000}\n") is Code.LIMIT


def test_deep_indentation() -> None:
    lines = [" " * (4 + i) + "if M:" for i in range(120)] + [" " * 124 + "barrier()"]
    assert code_of(HEAD + "\n".join(lines) + "\n") is Code.LIMIT


@pytest.mark.slow
def test_long_chain_of_elif() -> None:
    branches = "".join(f"    elif M > {i}:\n        barrier()\n" for i in range(3_000))
    assert code_of(f"{HEAD}    if M:\n        barrier()\n{branches}") is Code.LIMIT


def test_text_over_a_megabyte() -> None:
    assert code_of("#" * 1_000_001) is Code.LIMIT
    assert parse(HEAD + "    barrier()\n" + "# comment\n" * 50_000).name == "k"


def test_long_strings_and_comments() -> None:
    assert code_of(f'{HEAD}    x = "{"a" * 100_000}"\n') in (Code.BAD_SPACE, Code.LIMIT)
    assert code_of(f"{HEAD}    x = {'a' * 100_000}\n") in (Code.UNKNOWN_NAME, Code.LIMIT)


@pytest.mark.parametrize("char", ["\0", "\x0c", "\x1b", "\x85", "\u2028", "\ud800"])
def test_characters_that_are_no_text(char: str) -> None:
    assert code_of(f"{HEAD}    barrier()  # {char}\n") is Code.SYNTAX


@pytest.mark.parametrize(
    "text", ["", " ", "\n", "#", "\\", "'", '"""', "@", "(", ")", "]", "·", "def", "\t\tx", "\ufeff"]
)
def test_scraps(text: str) -> None:
    code_of(text)


def test_warnings_of_python_are_no_errors_of_ours() -> None:
    # Python warns of `1if`; warnings are errors in these tests.
    assert code_of(f"{HEAD}    x = 1if M else 2\n") is Code.FORBIDDEN


def test_generated_names_are_not_spelled_in_text() -> None:
    text = HEAD + "    x·2 = 0.0\n"
    assert code_of(text) is Code.FORBIDDEN
    assert parse_core(text).body[0].targets == ("x.2",)  # type: ignore[union-attr]


# --------------------------------------------------------------------------------------------- fuzz

WORDS = re.findall(
    r"\S+",
    """load store A B C M N K kt ks acc st nx r a b x y 0 1 2 3 7 8 16 32 64 128 256 0.0 -inf As Bs T bm bn m n k
    f16 bf16 f32 i32 range unroll tiles cdiv min max operand rows cols tile gather scatter mma silu select mask to""",
)
SCRAPS = ["**", "1e400", "9999999", "\0", "é", "·", "lambda", "if", "None", "...", "\\", "'", '"""', "#", "\n"]
OPERATORS = ["+", "-", "*", "//", "%", "/", ",", "==", "<", "&"]
TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
NAME = re.compile(r"[A-Za-z_]\w*|\d+(\.\d+)?")
OPERATOR = re.compile(r"[-+*/%<>=,]=?")


def edited(rng: random.Random, text: str) -> str:
    """A small change that often still parses."""
    for _ in range(rng.randint(1, 3)):
        kind = rng.randrange(5)
        if kind <= 2:
            spots = list(NAME.finditer(text))
            spot = rng.choice(spots)
            text = text[: spot.start()] + rng.choice([rng.choice(spots).group(), *WORDS]) + text[spot.end() :]
        elif kind == 3:
            lines = text.split("\n")
            i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
            lines[i], lines[j] = lines[j], lines[i]
            text = "\n".join(lines)
        else:
            spot = rng.choice(list(OPERATOR.finditer(text)))
            text = text[: spot.start()] + rng.choice(OPERATORS) + text[spot.end() :]
    return text


def torn(rng: random.Random, text: str) -> str:
    """Tokens dropped, moved and replaced by scraps."""
    tokens = TOKEN.findall(text)
    for _ in range(rng.randint(1, 4)):
        i = rng.randrange(len(tokens))
        tokens[i] = rng.choice([*SCRAPS, "", rng.choice(tokens)])
    return "".join(tokens)


def noise(rng: random.Random) -> str:
    return "".join(
        rng.choice([*SCRAPS, *WORDS, " ", "(", ")", ":", "=", "@", "def "]) for _ in range(rng.randint(0, 60))
    )


def survives(text: str) -> bool:
    """Whether the text is a kernel; anything but a `KernelError` on the way fails the test."""
    try:
        kernel = parse(text)
        assert parse(show(kernel)) == kernel
        core = to_core(kernel)
        assert parse_core(show(core)) == core
        assert to_core(core) == core
        contract_sha(kernel)
        canonical_sha(core)
        verify(core)
    except KernelError as bad:
        bad.diagnostic.render(text.splitlines())
        return False
    return True


def fuzz(seed: int, count: int) -> int:
    rng = random.Random(seed)
    good = 0
    for i in range(count):
        text = rng.choice(GOOD)
        good += survives(torn(rng, text) if i % 8 == 0 else noise(rng) if i % 8 == 1 else edited(rng, text))
    return good


def test_edited_kernels_raise_nothing_else() -> None:
    # Some edits must survive, or the later stages saw nothing.
    assert fuzz(20_260_801, 300) > 3


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_many_edited_kernels_raise_nothing_else(seed: int) -> None:
    assert fuzz(seed, 4_000) > 50
