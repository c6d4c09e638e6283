"""Part 5: what was proved of the winner, on what it rests, and the counterexamples met on the way."""

from __future__ import annotations

from collections import Counter, defaultdict

from argus.dsl.diagnostics import CheckReport, ObligationReport
from argus.graph.events import Refused
from argus.graph.report.figures import plural, ways
from argus.graph.report.markup import Child, Column, Html, fold, h, listed, table
from argus.graph.report.read import Judged, RunData

_TIERS = {
    "structure": "the program's structure",
    "affine": "affine arithmetic",
    "gf2": "linear algebra over bits",
    "table": "enumeration of a finite table",
    "bitvector": "bit-vector solving",
    "smt": "the SMT solver",
}


def proof(run: RunData) -> Html | None:
    """Obligations by kind and tier, assumptions, counterexamples."""
    winner = run.winner
    checked = winner.check if winner else None
    parts: list[Child] = []
    if winner is not None and checked is not None:
        parts += [_summary(checked), _by_kind(checked), _assumptions(checked)]
        parts += [_beside(checked), _annotated(winner, checked), _every(checked)]
    elif winner is not None:
        parts.append(h("p", "The winner was not checked: invariants were switched off.", class_="warning"))
    return h("div", *parts, h("h3", "Counterexamples met"), _met(run))


def _summary(checked: CheckReport) -> Html:
    total = len(checked.obligations)
    told: list[Child] = [
        h("strong", f"{checked.count('proved')} of {total}"),
        f" obligations proved, {checked.count('refuted')} refuted, {checked.count('unknown')} unknown, in ",
        f"{checked.seconds * 1e3:,.0f} ms together. ",
    ]
    written = sum(o.origin == "written" for o in checked.obligations)
    told.append(f"Of them {total - written} follow from language and contract; the text itself asserts {written}.")
    if checked.vacuous:
        told.append(f" The preconditions contradict each other ({checked.vacuous}): this is no proof.")
    return h("p", told)


def _by_kind(checked: CheckReport) -> Html:
    counts = Counter((o.kind, o.tier) for o in checked.obligations)
    tiers = [t for t in _TIERS if any(tier == t for _, tier in counts)]
    kinds = sorted({kind for kind, _ in counts})
    heads = [
        "kind",
        *(Column(h("abbr", t, title=f"decided by {_TIERS[t]}")) for t in tiers),
        Column("proved"),
        Column("not proved"),
    ]
    rows: list[list[Child]] = []
    for kind in kinds:
        mine = [o for o in checked.obligations if o.kind == kind]
        good = sum(o.verdict == "proved" for o in mine)
        bad = h("span", len(mine) - good, class_="no") if good < len(mine) else "none"
        rows.append([kind, *(counts.get((kind, t)) or "·" for t in tiers), good, bad])
    return table(heads, rows, "compact")


def _assumptions(checked: CheckReport) -> Html:
    claimed = (
        "Some proofs lean on explicit claims of the text (assume, tag)."
        if checked.assumed
        else "No proof leans on an explicit claim of the text (assume, tag): none."
    )
    if not checked.assumptions:
        return h("p", h("strong", "Assumptions: "), "none. ", claimed)
    return h(
        "div",
        h("p", h("strong", "Assumptions"), " that the proofs rest on, beside the contract's own preconditions:"),
        listed(h("code", a) for a in checked.assumptions),
        h("p", claimed),
    )


def _beside(checked: CheckReport) -> Html | None:
    told = [f"{k.replace('_', ' ')} {v:,}" for k, v in checked.resources.items() if isinstance(v, int)]
    slow = [f"{ways(k)} {v:g}" for k, v in checked.bank_conflicts.items() if isinstance(v, int | float) and v > 1]
    told.append(f"LDS bank conflicts: {', '.join(slow) or 'none'}")
    return h("p", "Reported beside the verdicts: ", "; ".join(told), ".", class_="muted")


def _annotated(winner: Judged, checked: CheckReport) -> Html | None:
    """The source with the number of obligations that each line carries."""
    if not winner.attempt.text:
        return None
    by_line: dict[int, list[ObligationReport]] = defaultdict(list)
    for o in checked.obligations:
        by_line[o.line].append(o)
    lines = [_source_line(n, line, by_line.get(n, [])) for n, line in enumerate(winner.attempt.text.splitlines(), 1)]
    return fold("Source, with the obligations that each line carries", h("pre", lines, class_="source"), open_=True)


def _source_line(number: int, line: str, mine: list[ObligationReport]) -> Html:
    bad = sum(o.verdict != "proved" for o in mine)
    mark = f"{bad} ✗" if bad else f"{len(mine)} ✓" if mine else ""
    title = "\n".join(f"{o.verdict}: {o.kind}: {o.text}" for o in mine) or None
    return h("span", h("i", number), h("b", mark, class_="no" if bad else "ok"), line, "\n", title=title)


def _every(checked: CheckReport) -> Html:
    rows = [
        (
            h("code", o.id),
            o.line,
            o.kind,
            o.text,
            o.origin,
            o.tier,
            h("span", o.verdict, class_="ok" if o.verdict == "proved" else "no"),
        )
        for o in checked.obligations
    ]
    heads = ("id", Column("line"), "kind", "obligation", "origin", "decided by", "verdict")
    return fold(f"All {plural(len(rows), 'obligation')}", table(heads, rows, "sortable compact"))


def _met(run: RunData) -> Html:
    """Refused texts by candidate, and candidates whose last text was refuted or unknown."""
    by_candidate: dict[int, list[Refused]] = defaultdict(list)
    for refused in run.refused:
        by_candidate[refused.id].append(refused)
    unproved = [n for n, j in run.attempts.items() if j.attempt.status in ("refuted", "unknown")]
    numbers = sorted({*by_candidate, *unproved})
    if not numbers:
        return h("p", "None: the checker refused no kernel text of this run.")
    mended = sum(n in run.attempts and run.attempts[n].attempt.valid for n in by_candidate)
    told = h(
        "p",
        f"{plural(len(numbers), 'candidate')} met a refusal; {mended} went on to a kernel that is proved, tested "
        "and timed.",
    )
    return h("div", told, [_candidate(run, n, by_candidate.get(n, [])) for n in numbers])


def _candidate(run: RunData, number: int, refusals: list[Refused]) -> Html:
    judged = run.attempts.get(number)
    status = judged.attempt.status if judged else "unfinished"
    fate = (
        f"mended after {plural(len(refusals), 'refusal')}"
        if status == "valid"
        else f"not mended: {status.replace('_', ' ')}"
    )
    name = judged.name if judged else ""
    shown = [h("pre", _refusal(r), class_="told") for r in refusals]
    if status in ("refuted", "unknown") and judged is not None and judged.check is not None:
        last = judged.check.render(judged.attempt.text)
        if all(r.text != last for r in refusals):
            shown.append(h("pre", f"the last text\n{last}", class_="told"))
    head: list[Child] = [
        h("span", number, class_="ids"),
        f" {name}: ",
        h("span", fate, class_="ok" if status == "valid" else "no"),
    ]
    return fold(head, shown)


def _refusal(r: Refused) -> str:
    wanted = f", wants: {r.fix_class}" if r.fix_class else ""
    return f"text {r.attempt + 1}: {r.obligations}{wanted}\n{r.text or '(its text was not kept)'}"
