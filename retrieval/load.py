"""From Markdown files to cards. Pure: reads files, writes and imports nothing heavy."""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from argus.retrieval.card import Card, Section
from argus.retrieval.problem import CardError, Problem, Rule

Place = tuple[Hashable, ...]


class SourceEntry(BaseModel):
    """What a source key stands for; `how` says whether it was run, read, seen as an excerpt or derived here."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    title: str
    gives: str
    how: str


@dataclass(frozen=True, slots=True)
class CardFile:
    """A card with the file it came from; `lines` maps a field's path, `("change", "set")`, to its line."""

    card: Card
    path: Path
    lines: Mapping[Place, int]

    def line(self, *place: Hashable) -> int:
        """Line of the field, or of the nearest field around it."""
        return _nearest(self.lines, place)

    def problem(self, rule: Rule, message: str, *place: Hashable, hint: str = "") -> Problem:
        return Problem(file=self.path.name, line=self.line(*place), rule=rule, message=message, hint=hint)


def corpus_folder() -> Path:
    """The cards that are installed with the package."""
    return Path(str(files("argus.kb_corpus")))


def load_corpus(folder: Path | None = None) -> dict[str, Card]:
    """All cards by id.

    Raises:
        CardError: If a card, or the folder, cannot be read; names every fault with file and line.
    """
    found, problems = read_corpus(folder or corpus_folder())
    if problems:
        raise CardError(problems)
    return {f.card.id: f.card for f in found}


def read_corpus(folder: Path) -> tuple[list[CardFile], list[Problem]]:
    """Every card that can be read, in the order of ids, and the faults of the others."""
    if not folder.is_dir():
        message = f"{folder} is no folder"
        return [], [Problem(file=str(folder), line=1, rule="syntax", message=message, hint="name a folder of cards")]
    found: list[CardFile] = []
    problems: list[Problem] = []
    for path in sorted(folder.glob("*.md")):
        try:
            found.append(read_card(path))
        except CardError as error:
            problems.extend(error.problems)
    if not found and not problems:
        problems.append(Problem(file=str(folder), line=1, rule="syntax", message="the folder holds no cards (*.md)"))
    return found, problems


def read_card(path: Path) -> CardFile:
    """Parse one file.

    Raises:
        CardError: Naming file and line of each fault.
    """
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _error(path, 1, "syntax", f"cannot be read: {error}") from error
    return parse_card(text, path)


def parse_card(text: str, path: Path) -> CardFile:
    """As `read_card`, from text; `path` names the file in errors and must agree with the id."""
    head, body, body_line = _split(text, path)
    data, lines = _front_matter(head, path)
    if "sections" in data:
        raise _error(
            path, lines[("sections",)], "schema", "sections: sections stand in the body, not in the front matter"
        )
    try:
        card = Card.model_validate({**data, "sections": _sections(body, body_line, path)})
    except ValidationError as error:
        raise CardError([_schema_problem(path, lines, loc, message) for loc, message in _causes(error)]) from error
    if card.id != path.stem:
        raise _error(
            path, lines[("id",)], "file-name", f"id {card.id!r} in a file named {path.name!r}: they must agree"
        )
    return CardFile(card, path, lines)


def load_sources(folder: Path | None = None) -> dict[str, SourceEntry]:
    """The corpus's source table, `sources.json`, by key; empty where the folder has none.

    Raises:
        CardError: If the file is no such table.
    """
    path = (folder or corpus_folder()) / "sources.json"
    if not path.exists():
        return {}
    try:
        return TypeAdapter(dict[str, SourceEntry]).validate_python(json.loads(path.read_text("utf-8")))
    except (OSError, ValueError) as error:
        raise _error(path, 1, "syntax", f"no source table: {error}") from error


def _error(path: Path, line: int, rule: Rule, message: str, hint: str = "") -> CardError:
    return CardError([Problem(file=path.name, line=line, rule=rule, message=message, hint=hint)])


def _split(text: str, path: Path) -> tuple[str, list[str], int]:
    lines = text.splitlines()
    if not lines or lines[0].strip() != "---":
        raise _error(path, 1, "syntax", "no front matter", "start the file with a line `---`")
    for i, line in enumerate(lines[1:], start=1):
        if line.strip() == "---":
            return "\n".join(lines[1:i]), lines[i + 1 :], i + 2
    raise _error(path, 1, "syntax", "the front matter has no end", "close it with a line `---`")


def _sections(body: list[str], first_line: int, path: Path) -> list[Section]:
    found: list[Section] = []
    heading, start, text = "", first_line, list[str]()

    def close() -> None:
        content = "\n".join(text).strip()
        if heading and not content:
            raise _error(path, start, "schema", f"section {heading!r} is empty")
        if not heading and content:
            raise _error(path, start, "schema", "text before the first section", "start the body with `## When`")
        if heading:
            found.append(Section(heading=heading, text=content, line=start))

    for number, line in enumerate(body, start=first_line):
        if match := re.fullmatch(r"## +(.+?)\s*", line):
            close()
            heading, start, text = match[1], number, []
        else:
            text.append(line)
    close()
    return found


class _Yaml(yaml.SafeLoader):
    """YAML 1.2's booleans (1.1 reads a parameter called `on` as one), and no aliases: they can nest without end."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):  # pyright: ignore[reportUnknownMemberType] - untyped in the stubs
            event = self.peek_event()  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
            raise yaml.MarkedYAMLError(None, None, "aliases are not allowed", event.start_mark)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        return super().compose_node(parent, index)


_Yaml.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:bool"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Yaml.add_implicit_resolver(  # pyright: ignore[reportUnknownMemberType] - untyped in the stubs
    "tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$"), list("tf")
)


def _front_matter(head: str, path: Path) -> tuple[dict[str, Any], dict[Place, int]]:
    loader = _Yaml(head)
    try:
        node = loader.get_single_node()
        lines: dict[Place, int] = {(): 1}
        data = _value(node, (), lines, loader, path) if node is not None else None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 2 if error.problem_mark else 1
        raise _error(path, line, "syntax", f"front matter is no YAML: {error.problem}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _error(path, 1, "syntax", f"front matter is no YAML: {error}") from error
    finally:
        loader.dispose()  # pyright: ignore[reportUnknownMemberType]
    if not isinstance(data, dict):
        raise _error(path, 2, "syntax", "the front matter is no mapping of fields")
    return data, lines  # pyright: ignore[reportUnknownVariableType] - YAML decides the types; the schema checks them


def _value(node: yaml.Node, place: Place, lines: dict[Place, int], loader: _Yaml, path: Path) -> Any:  # noqa: ANN401 - YAML's value
    # A mark counts lines from 0 after the `---`; the file counts from 1 with it.
    here = node.start_mark.line + 2
    # The key's line stands for its value, which may begin a line later.
    lines.setdefault(place, here)
    match node:
        case yaml.MappingNode():
            out: dict[Any, Any] = {}
            for key_node, value_node in node.value:
                line = key_node.start_mark.line + 2
                if not isinstance(key_node, yaml.ScalarNode):
                    raise _error(path, line, "syntax", "a field's name is no plain text")
                key = str(key_node.value)
                # YAML keeps the last of two equal keys without a word.
                if key in out:
                    raise _error(path, line, "schema", f"{key!r} is given twice")
                lines[(*place, key)] = line
                out[key] = _value(value_node, (*place, key), lines, loader, path)
            return out
        case yaml.SequenceNode():
            return [_value(item, (*place, i), lines, loader, path) for i, item in enumerate(node.value)]
        case _:
            return loader.construct_object(node)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def _nearest(lines: Mapping[Place, int], place: Place) -> int:
    while place and place not in lines:
        place = place[:-1]
    return lines.get(place, 1)


def _causes(error: ValidationError) -> list[tuple[Place, str]]:
    """Without the sequences that are found too short only because their items were refused."""
    places = [e["loc"] for e in error.errors()]
    return [
        (e["loc"], e["msg"])
        for e in error.errors()
        if e["type"] != "too_short" or not any(p != e["loc"] and p[: len(e["loc"])] == e["loc"] for p in places)
    ]


def _schema_problem(path: Path, lines: Mapping[Place, int], loc: Place, message: str) -> Problem:
    field = ".".join(str(part) for part in loc if part != "sections") or "the card"
    if loc[:1] == ("sections",):
        field = "the body"
    return Problem(file=path.name, line=_nearest(lines, loc), rule="schema", message=f"{field}: {message}")
