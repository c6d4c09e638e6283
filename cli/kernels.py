"""`argus kernels`: the library's families, and the text of any of their schedules."""

from __future__ import annotations

import difflib
from typing import Annotated, Any, cast

import typer
from pydantic import BaseModel, ValidationError

from argus.cli.output import SCHEMA_VERSION, fail, print_json
from argus.dsl.kernels.catalogue import FAMILIES
from argus.dsl.kernels.subject import LibraryFamily

app = typer.Typer(no_args_is_help=True, help="The kernel library: list its families, show a kernel's text.")

Json = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]


class FamilyLine(BaseModel, frozen=True):
    """One family: `examples` are names of schedules, `fields` what `--schedule` sets, with defaults."""

    name: str
    summary: str
    targets: tuple[str, ...]
    examples: tuple[str, ...]
    fields: dict[str, Any]


class FamilyList(BaseModel, frozen=True):
    """What `argus kernels list --json` prints."""

    schema_version: int = SCHEMA_VERSION
    families: tuple[FamilyLine, ...]


class KernelShown(BaseModel, frozen=True):
    """What `argus kernels show --json` prints."""

    schema_version: int = SCHEMA_VERSION
    family: str
    target: str
    schedule: dict[str, Any]
    text: str


@app.command("list")
def list_families(json: Json = False) -> None:
    """Every family: targets, what it computes, its example schedules."""
    lines = tuple(_line(family) for family in FAMILIES)
    if json:
        print_json(FamilyList(families=lines))
        return
    for line in lines:
        typer.echo(f"{line.name:18} {'+'.join(line.targets):14} {line.summary}")
        typer.echo(f"{'':18} {'':14} schedules: {', '.join(line.examples)}")


def _line(family: LibraryFamily) -> FamilyLine:
    fields = family.schedule().model_dump(mode="json")
    return FamilyLine(
        name=family.name,
        summary=family.summary,
        targets=family.targets,
        examples=tuple(family.examples),
        fields=fields,
    )


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="A family, or FAMILY/SCHEDULE with the name of an example schedule.")],
    schedule: Annotated[
        list[str] | None,
        typer.Option("--schedule", help="KEY=VALUE of a schedule's field; pairs as 64,32. Repeat it for several."),
    ] = None,
    json: Json = False,
) -> None:
    """Print a kernel, ready for `argus check` and `argus compile`."""
    family_name, _, example = name.partition("/")
    family = _family(family_name, json=json)
    base = family.schedule()
    if example:
        if example not in family.examples:
            hint = f"schedules are {', '.join(family.examples)}"
            fail("input", f"{family.name} has no schedule named {example!r}", name, hint, json=json)
        base = family.examples[example]
    chosen = _changed(family, base, schedule or [], json=json)
    subject = family.subject(example or "default", chosen)
    if json:
        shown = chosen.model_dump(mode="json")
        print_json(KernelShown(family=family.name, target=subject.target, schedule=shown, text=subject.text))
    else:
        typer.echo(subject.text, nl=False)


def _family(name: str, *, json: bool) -> LibraryFamily:
    known = {family.name: family for family in FAMILIES}
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"families are {', '.join(known)}"
        fail("input", f"the library has no family {name!r}", name, hint, json=json)
    return known[name]


def _changed(family: LibraryFamily, base: BaseModel, options: list[str], *, json: bool) -> BaseModel:
    """The schedule with some fields set from text."""
    values = base.model_dump()
    for option in options:
        key, equals, value = option.partition("=")
        if not equals or key not in values:
            hint = f"fields are {', '.join(values)}"
            fail("usage", f"{option!r} sets no field of {family.name}", "--schedule", hint, json=json)
        values[key] = tuple(value.split(",")) if isinstance(values[key], tuple) else _scalar(values[key], value)
    try:
        return family.schedule.model_validate(values)
    except ValidationError as error:
        first = cast("dict[str, Any]", error.errors()[0])
        where = ".".join(str(part) for part in first["loc"]) or "--schedule"
        fail("input", str(first["msg"]).removeprefix("Value error, "), where, json=json)


def _scalar(old: object, text: str) -> object:
    """Literal fields compare by type, so text becomes what the field holds."""
    if isinstance(old, bool):
        return {"true": True, "false": False}.get(text.lower(), text)
    if isinstance(old, int) and text.lstrip("-").isdigit():
        return int(text)
    return text
