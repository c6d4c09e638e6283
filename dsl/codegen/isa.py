"""gfx942 instructions as their text shows them: kind, width, and which registers are read and written."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

Kind = Literal[
    "mfma", "valu", "trans", "salu", "smem", "lds_read", "lds_write", "vmem_read", "vmem_write", "vmem_lds",
    "atomic", "barrier", "waitcnt", "branch", "other",
]  # fmt: skip
Registers = frozenset[str]
VMEM_KINDS: frozenset[Kind] = frozenset({"vmem_read", "vmem_write", "vmem_lds", "atomic"})
LDS_KINDS: frozenset[Kind] = frozenset({"lds_read", "lds_write"})

_REGISTER = re.compile(r"(?<![\w.])(?:(v|s|a)(?:(\d+)|\[(\d+):(\d+)\])|(vcc|exec|m0|scc)(?:_lo|_hi)?)(?!\w)")
_OPERAND_COMMA = re.compile(r",(?![^\[(]*[\])])")
_WAIT = re.compile(r"(vmcnt|lgkmcnt)\((\d+)\)")
_TRANS = re.compile(r"v_(exp|log|rcp|rsq|sqrt|sin|cos|cvt)_")
_CARRY_OUT = re.compile(r"v_((add|sub|subrev)_co|(addc|subb|subbrev)_co|div_scale|mad_u64_u32|mad_i64_i32|swap_b32)")
# Part of the old destination survives, or is an addend.
_READS_DESTINATION = re.compile(
    r"v_(fmac|mac|dot\d+c|pk_fmac|writelane|smfmac|cvt_sr|cvt_pk_(fp8|bf8)_f32|swap)|s_(addk|mulk|cmov|bitset)|.*(_sdwa|_dpp|_d16_hi)"
)
_SALU_KEEPS_SCC = re.compile(r"s_(mov|cmov|cselect|mul|pack|bfm|getpc|brev|ff[01]|flbit|sext)")
_SALU_READS_SCC = re.compile(r"s_(cselect|cmov|addc|subb|cbranch_scc)")
_SALU_QUIET = re.compile(r"s_(nop|sleep|set|icache|dcache|sendmsg|trap|ttrace|incperf|decperf|wakeup|code_end)")
_BRANCH = re.compile(r"s_(branch|cbranch|endpgm|setpc|swappc|call|rfe)")
_SMEM = re.compile(r"s_(load|buffer_load|scratch_load|memtime|memrealtime|atomic)")
_LDS_RETURNS = re.compile(r"ds_(read|\w+_rtn|swizzle|permute|bpermute|consume|append|ordered)")
_BITS = re.compile(r"_[bfiu](8|16|32|64|96|128)(?!\d)")
_DWORDS = re.compile(r"_dword(?:x(\d))?")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction.

    Attributes:
        line: Where it stands in the assembly text, from 1.
        operands: Registers of each operand as written, the destination first where there is one.
        reads: Registers whose value it needs, `vcc`, `exec`, `scc` and `m0` included.
        lane_bytes: Bytes a lane moves; 0 for instructions that move none.
        counters: Wait counters it raises until it completes: `vm`, `lgkm` or both.
        vmcnt: Of a wait: how many vector memory operations may remain; None leaves them alone. `lgkmcnt` likewise.
        target: Of a branch: the label.
    """

    line: int
    text: str
    mnemonic: str
    kind: Kind
    operands: tuple[Registers, ...]
    reads: Registers
    writes: Registers
    lane_bytes: int = 0
    counters: frozenset[str] = frozenset()
    vmcnt: int | None = None
    lgkmcnt: int | None = None
    target: str | None = None

    @property
    def ends_program(self) -> bool:
        return self.mnemonic.startswith(("s_endpgm", "s_setpc"))


def read_instruction(text: str, line: int) -> Instruction:
    """Read one instruction, without its comment.

    Raises:
        ValueError: If there is none.
    """
    return replace(_read(text), line=line)


@lru_cache(maxsize=8192)
def _read(text: str) -> Instruction:
    mnemonic, _, rest = text.partition(" ")
    if not re.match(r"[a-z]\w+$", mnemonic):
        raise ValueError(f"not an instruction: {text!r}")
    written = tuple(x.strip() for x in _OPERAND_COMMA.split(rest)) if rest else ()
    modifiers = frozenset(written[-1].split()[1:]) if written else frozenset[str]()
    operands = tuple(_registers(x.split()[0] if x else "") for x in written)
    kind = _kind(mnemonic, modifiers)
    reads, writes = _roles(mnemonic, kind, operands, modifiers)
    vmcnt, lgkmcnt = _wait(rest) if kind == "waitcnt" else (None, None)
    return Instruction(
        line=0,
        text=text,
        mnemonic=mnemonic,
        kind=kind,
        operands=operands,
        reads=reads,
        writes=writes,
        lane_bytes=_lane_bytes(mnemonic, kind),
        counters=_counters(mnemonic, kind),
        vmcnt=vmcnt,
        lgkmcnt=lgkmcnt,
        target=rest.strip() if mnemonic.startswith(("s_branch", "s_cbranch")) else None,
    )


def _registers(operand: str) -> Registers:
    found: set[str] = set()
    for file, single, first, last, special in _REGISTER.findall(operand):
        if special:
            found.add(special)
        elif single:
            found.add(file + single)
        else:
            found.update(f"{file}{i}" for i in range(int(first), int(last) + 1))
    return frozenset(found)


def _kind(mnemonic: str, modifiers: frozenset[str]) -> Kind:
    if mnemonic.startswith("v_"):
        if mnemonic.startswith(("v_mfma_", "v_smfmac_")):
            return "mfma"
        return "trans" if _TRANS.match(mnemonic) else "valu"
    if mnemonic.startswith("ds_"):
        return "lds_read" if _LDS_RETURNS.match(mnemonic) else "lds_write"
    if mnemonic.startswith(("global_", "buffer_", "flat_", "scratch_")):
        return _vmem_kind(mnemonic, modifiers)
    if mnemonic == "s_barrier":
        return "barrier"
    if mnemonic == "s_waitcnt":
        return "waitcnt"
    if _BRANCH.match(mnemonic):
        return "branch"
    if _SMEM.match(mnemonic):
        return "smem"
    return "salu" if mnemonic.startswith("s_") and not _SALU_QUIET.match(mnemonic) else "other"


def _vmem_kind(mnemonic: str, modifiers: frozenset[str]) -> Kind:
    if "_load_lds_" in mnemonic or "lds" in modifiers:
        return "vmem_lds"
    if "_load_" in mnemonic:
        return "vmem_read"
    if "_store_" in mnemonic:
        return "vmem_write"
    return "atomic" if "_atomic_" in mnemonic else "other"  # cache write-backs and invalidations


def _counters(mnemonic: str, kind: Kind) -> frozenset[str]:
    found: set[str] = set()
    if kind in VMEM_KINDS or mnemonic.startswith("buffer_wbl2"):
        found.add("vm")
    if kind in LDS_KINDS or kind == "smem" or mnemonic.startswith("flat_"):
        found.add("lgkm")
    return frozenset(found)


def _lane_bytes(mnemonic: str, kind: Kind) -> int:
    if kind in LDS_KINDS:
        bits = _BITS.findall(mnemonic)
        twice = 2 if re.match(r"ds_((read|write|wrxchg)2|pk_)", mnemonic) else 1
        return twice * int(bits[-1]) // 8 if bits else 4
    if kind not in VMEM_KINDS:
        return 0
    if dwords := _DWORDS.search(mnemonic):
        return 4 * int(dwords[1] or 1)
    if kind == "atomic":
        return 8 if re.search(r"(_x2|64)(?:_|$)", mnemonic) else 4
    return 2 if "short" in mnemonic else 1


def _roles(
    mnemonic: str, kind: Kind, operands: tuple[Registers, ...], modifiers: frozenset[str]
) -> tuple[Registers, Registers]:
    everything = frozenset[str]().union(*operands)
    outputs = _output_count(mnemonic, kind, modifiers)
    writes = set[str]().union(*operands[:outputs])
    reads = set[str]().union(*operands[outputs:])
    if _READS_DESTINATION.match(mnemonic):
        reads |= everything
    if kind in {"mfma", "valu", "trans"} or kind in LDS_KINDS or kind in VMEM_KINDS:
        reads.add("exec")
    if kind == "vmem_lds":
        reads.add("m0")
    if "saveexec" in mnemonic or mnemonic.startswith("v_cmpx"):
        reads.add("exec")
        writes.add("exec")
    if kind == "salu" and not _SALU_KEEPS_SCC.match(mnemonic):
        writes.add("scc")
    if _SALU_READS_SCC.match(mnemonic):
        reads.add("scc")
    for flag in ("vcc", "exec"):
        if mnemonic.startswith(f"s_cbranch_{flag}"):
            reads.add(flag)
    return frozenset(reads), frozenset(writes)


def _output_count(mnemonic: str, kind: Kind, modifiers: frozenset[str]) -> int:
    if kind in {"mfma", "trans", "smem", "lds_read", "vmem_read"}:
        return 1
    if kind == "valu":
        return 0 if mnemonic == "v_nop" else 2 if _CARRY_OUT.match(mnemonic) else 1
    if kind == "salu":
        return 0 if mnemonic.startswith(("s_cmp", "s_bitcmp")) else 1
    if kind == "atomic":
        return 1 if "sc0" in modifiers else 0  # the old value comes back only then
    return 1 if mnemonic.startswith(("s_swappc", "s_call")) else 0


def _wait(rest: str) -> tuple[int | None, int | None]:
    if found := dict(_WAIT.findall(rest)):
        return (
            int(found["vmcnt"]) if "vmcnt" in found else None,
            int(found["lgkmcnt"]) if "lgkmcnt" in found else None,
        )
    if not re.fullmatch(r"\s*(0x[0-9a-f]+|\d+)\s*", rest):
        return None, None  # only expcnt
    field = int(rest, 0)  # gfx9: vmcnt in bits 0-3 and 14-15, expcnt in 4-6, lgkmcnt in 8-11
    return (field & 15) | (field >> 14 & 3) << 4, field >> 8 & 15
