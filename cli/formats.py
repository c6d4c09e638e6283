"""Check reports in the formats that code hosts and CI systems read."""

from __future__ import annotations

import json
from xml.etree import ElementTree

from argus import __version__
from argus.dsl.diagnostics import CheckReport, ObligationReport


def sarif(report: CheckReport) -> str:
    """SARIF 2.1.0: one result for each obligation that is not proved."""
    results = [_result(o) for o in report.obligations if o.verdict != "proved"]
    kinds = sorted({o.kind for o in report.obligations})
    driver = {"name": "argus", "version": __version__, "rules": [{"id": kind} for kind in kinds]}
    run = {"tool": {"driver": driver}, "results": results}
    schema = "https://json.schemastore.org/sarif-2.1.0.json"
    return json.dumps({"version": "2.1.0", "$schema": schema, "runs": [run]}, indent=2)


def _result(o: ObligationReport) -> dict[str, object]:
    # SARIF columns count from 1 and its end is exclusive, as ours.
    region = {"startLine": o.line, "startColumn": o.col, "endLine": o.end_line, "endColumn": o.end_col}
    location = {"physicalLocation": {"artifactLocation": {"uri": o.file}, "region": region}}
    message = o.counterexample.text if o.counterexample is not None else f"{o.text}: {o.reason or o.verdict}"
    return {
        "ruleId": o.kind,
        "level": "error" if o.verdict == "refuted" else "warning",
        "message": {"text": message},
        "locations": [location],
        "partialFingerprints": {"obligation/v1": o.id},
    }


def junit(report: CheckReport) -> str:
    """JUnit XML: one test case for each obligation; refuted fails, unknown is an error."""
    failures, errors = report.count("refuted"), report.count("unknown")
    suite = ElementTree.Element(
        "testsuite",
        name=f"argus check {report.kernel}",
        tests=str(len(report.obligations)),
        failures=str(failures),
        errors=str(errors),
        time=f"{report.seconds:.3f}",
    )
    for o in report.obligations:
        case = ElementTree.SubElement(suite, "testcase", classname=f"{report.kernel}.{o.kind}", name=f"{o.id} {o.text}")
        if o.verdict == "refuted":
            child = ElementTree.SubElement(
                case, "failure", message=o.counterexample.text if o.counterexample else o.text
            )
            child.text = o.render(())
        elif o.verdict == "unknown":
            ElementTree.SubElement(case, "error", message=o.reason or "unknown")
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True)
