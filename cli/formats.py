"""Check reports in the formats that code hosts and CI systems read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from argus import __version__
from argus.dsl.diagnostics import CheckReport, Counterexample, Edit, ObligationReport, Span

Json = dict[str, Any]


# ------------------------------------------------------------------------------------------------ SARIF


def sarif(report: CheckReport, source: str) -> str:
    """SARIF 2.1.0: one result for each obligation that is not proved.

    A result's location is the consumer; where the value or the conflicting access comes from is a related location; an
    edit that was checked is a fix.
    """
    lines = source.splitlines()
    results = [_result(o, lines) for o in report.obligations if o.verdict != "proved"]
    kinds = sorted({o.kind for o in report.obligations})
    driver = {"name": "argus", "version": __version__, "rules": [{"id": kind} for kind in kinds]}
    # Columns are Python's: code points.
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return json.dumps({"version": "2.1.0", "$schema": schema, "runs": [run]}, indent=2)


def _result(o: ObligationReport, lines: list[str]) -> Json:
    span = Span(o.file, o.line, o.col, o.end_line, o.end_col)
    c = o.counterexample
    result: Json = {
        "ruleId": o.kind,
        "level": "error" if o.verdict == "refuted" else "warning",
        "message": {"text": f"{o.text}: {o.reason or o.verdict}" if c is None else _told(c)},
        "locations": [_location(span if c is None else c.consumer)],
        "partialFingerprints": {"obligation/v1": o.id},
    }
    if c is not None and (related := _related(c)):
        result["relatedLocations"] = related
    if c is not None and c.edits:
        result["fixes"] = [_fix(c, lines)]
    return result


def _told(c: Counterexample) -> str:
    parts = [c.text, c.place(), f"want {c.want}; got {c.got}" if c.want or c.got else ""]
    if c.fix or c.tried:
        parts.append(f"fix: {c.tried or c.fix}")
    return "; ".join(p for p in parts if p)


def _related(c: Counterexample) -> list[Json]:
    found: list[tuple[Span, str]] = []
    if c.other is not None:
        found.append((c.other.span, f"thread {c.other.thread} {c.other.action} it"))
    elif c.producer is not None:
        found.append((c.producer, "the value comes from here"))
    found += [(hop.span, hop.text) for hop in c.hops if hop.span not in (c.consumer, c.producer)]
    return [{"id": i, **_location(span), "message": {"text": text}} for i, (span, text) in enumerate(found)]


def _fix(c: Counterexample, lines: list[str]) -> Json:
    replacements = [_replacement(edit, lines) for edit in c.edits]
    changes = [{"artifactLocation": {"uri": _uri(c.edits[0].span.file)}, "replacements": replacements}]
    return {"description": {"text": c.tried}, "artifactChanges": changes}


def _replacement(edit: Edit, lines: list[str]) -> Json:
    span, new = edit.place(lines)
    return {"deletedRegion": _region(span), "insertedContent": {"text": new}}


def _location(span: Span) -> Json:
    return {"physicalLocation": {"artifactLocation": {"uri": _uri(span.file)}, "region": _region(span)}}


def _region(span: Span) -> Json:
    # SARIF columns count from 1 and its end is exclusive, as ours.
    return {"startLine": span.line, "startColumn": span.col, "endLine": span.end_line, "endColumn": span.end_col}


def _uri(file: str) -> str:
    path = Path(file)
    return path.as_uri() if path.is_absolute() else path.as_posix().replace("<", "%3C").replace(">", "%3E")


# ------------------------------------------------------------------------------------------------ JUnit


def junit(report: CheckReport, source: str) -> str:
    """JUnit XML: one test case for each obligation; refuted fails, unknown is an error."""
    lines = source.splitlines()
    counts = {
        "tests": str(len(report.obligations)),
        "failures": str(report.count("refuted")),
        "errors": str(report.count("unknown")),
        "time": f"{report.seconds:.3f}",
    }
    suites = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(
        suites, "testsuite", {"name": f"argus check {report.kernel}", "skipped": "0", **counts}
    )
    for o in report.obligations:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            {
                "classname": f"{report.kernel}.{o.kind}",
                "name": f"{o.id} {o.text}",
                "file": o.file,
                "line": str(o.line),
                "time": "0",
            },
        )
        if o.verdict == "refuted":
            text = o.text if o.counterexample is None else o.counterexample.text
            child = ElementTree.SubElement(case, "failure", {"message": text, "type": o.kind})
            child.text = o.render(lines)
        elif o.verdict == "unknown":
            child = ElementTree.SubElement(case, "error", {"message": o.reason or "unknown", "type": o.kind})
            child.text = o.render(lines)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True)
