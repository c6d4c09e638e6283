"""Every mistake has its diagnostic: code and line as the first line of each file in `tests/kernels/bad` says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from argus.dsl.diagnostics import Code, KernelError
from argus.dsl.frontend import parse
from argus.dsl.ir.verify import verify
from argus.dsl.transform import to_core

BAD = sorted(Path(__file__).parents[2].joinpath("kernels", "bad").glob("*.py"))
EXPECT = re.compile(r"# expect: ([\w-]+) (\d+)\n")


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_bad_kernel_is_refused_where_it_says(path: Path) -> None:
    text = path.read_text("utf-8")
    expected = EXPECT.match(text)
    assert expected is not None, "the first line says what to expect"
    with pytest.raises(KernelError) as refused:
        verify(to_core(parse(text, path.name)))
    diagnostic = refused.value.diagnostic
    shown = diagnostic.render(text.splitlines())
    assert (str(diagnostic.code), diagnostic.span.line) == (expected[1], int(expected[2])), shown
    assert diagnostic.span.file == path.name
    assert "^" in shown
    assert text.splitlines()[diagnostic.span.line - 1], "the caret stands under text"


def test_every_code_has_a_bad_kernel() -> None:
    codes = {EXPECT.match(path.read_text("utf-8"))[1] for path in BAD}  # type: ignore[index]
    assert codes == {str(code) for code in Code}
