"""The printed text as a Python function: only as much C as the printer prints, anything else is refused."""

from __future__ import annotations

import re

_CASTS = re.compile(r"\((?:u?int(?:32|64)_t|int|unsigned)\)(?=[\w(])")
_SUFFIX = re.compile(r"\b(0x[0-9A-Fa-f]+|\d+)(?:ull|u)\b")
_TEMPLATE = re.compile(r"\b(\w+)<(\d+)>\((\)?)")
_FUNCTION = re.compile(r"DEVICE (?:int|uint64_t) (\w+)\(([^)]*)\) \{\s*return (.*?);\s*\}", re.DOTALL)
_FOR = re.compile(r"for \(int (\w+) = (.*?); \w+ < (.*?); (.*?)\) ?(.*)")
_ARRAY = re.compile(r"(?:float|uint32_t) (\w+)\[(\d+)\]\[(\d+)\];")
_SCALAR = re.compile(r"(?:const )?(?:int|uint32_t|uint64_t) (\w+) = (.*);")
_IF = re.compile(r"(else if|if) \((.*)")


class Unread(ValueError):
    """A line that the printer should not have printed."""


def helpers(source: str) -> str:
    """The arithmetic functions of the preamble, `rows_b128` among them."""
    out: list[str] = []
    for name, parameters, value in _FUNCTION.findall(source):
        names = [p.split()[-1] for p in parameters.split(",")]
        if name in {"quo", "rem", "cdiv", "rows_b128"}:
            out.append(f"def {name}({', '.join(names)}): return {expression(value)}")
    return "\n".join(out)


def expression(text: str) -> str:
    """C to Python, for operands that are never negative: then both divisions agree."""
    text = _SUFFIX.sub(r"\1", _CASTS.sub("", text)).replace("threadIdx.x", "threadIdx_x")
    text = text.replace("blockIdx.x", "blockIdx_x").replace("gridDim.x", "gridDim_x")
    text = (
        _TEMPLATE.sub(lambda m: f"{m[1]}({m[2]}" + (")" if m[3] else ", "), text)
        .replace("&&", " and ")
        .replace("||", " or ")
    )
    text = re.sub(r"([(,] ?)&(?=[A-Za-z_])", r"\1", text)  # the address of a tensor map
    return re.sub(r"(?<!/)/(?!/)", "//", text)


def function(source: str) -> str:
    """The kernel as `def thread(): ...`, over the names that its namespace supplies.

    Raises:
        Unread: At a line of another form.
    """
    at = source.index('extern "C"')
    body = source[source.index("{\n", at) + 2 : source.rindex("}")]
    out = ["def thread():"]
    steps: list[str] = []  # what each open block does before it closes
    for raw in body.splitlines():
        line = raw.split("//")[0].strip()
        if line and not line.startswith(("#pragma", "extern __shared__")):
            _line(line, out, steps)
    assert not steps, "blocks of the printed text do not balance"
    return "\n".join(out)


def _line(line: str, out: list[str], steps: list[str]) -> None:
    indent = "  " * (len(steps) + 1)
    if line == "}":
        out.append(f"{indent}{steps.pop() or 'pass'}")
    elif line in ("{", "else {"):
        out.append(f"{indent}{'if True' if line == '{' else 'else'}:")
        steps.append("")
    elif found := _IF.fullmatch(line):
        word, (condition, rest) = found[1], _condition(found[2])
        head = f"{indent}{'if' if word == 'if' else 'elif'} {expression(condition)}:"
        out.append(head if rest == "{" else f"{head} {_simple(rest)}")
        steps += [""] if rest == "{" else []
    elif found := _FOR.fullmatch(line):
        name, start, stop, step, rest = found.groups()
        if rest != "{":
            out.append(f"{indent}for {name} in range({expression(start)}, {expression(stop)}): {_simple(rest)}")
            return
        out += [f"{indent}{name} = {expression(start)}", f"{indent}while {name} < {expression(stop)}:"]
        steps.append("; ".join(re.sub(r"\+\+(\w+)", r"\1 += 1", expression(s.strip())) for s in step.split(",")))
    else:
        out.append(indent + _simple(line))


def _condition(text: str) -> tuple[str, str]:
    """What stands before the parenthesis that closes a condition, and after it."""
    depth = 1
    for i, c in enumerate(text):
        depth += (c == "(") - (c == ")")
        if depth == 0:
            return text[:i], text[i + 1 :].strip()
    raise Unread(f"the check of the lowering cannot read `if ({text}`")


def _simple(line: str) -> str:
    if found := _ARRAY.fullmatch(line):
        name, rows, columns = found.groups()
        return f'{name} = array("{name}", {rows}, {columns})'
    if found := _SCALAR.fullmatch(line):
        return f"{found[1]} = {expression(found[2])}"
    if re.fullmatch(r"\w+(?:\[[\w /%*+]+\])* = .*;|\w+(?:<\d+>)?\(.*\);", line):
        return expression(line.rstrip(";"))
    raise Unread(f"the check of the lowering cannot read `{line}`")
