"""Instructions as LLVM prints them for gfx942."""

from __future__ import annotations

import pytest

from argus.dsl.codegen.isa import Kind, read_instruction


def registers(names: str) -> set[str]:
    """`v0-3 s4` → {v0, v1, v2, v3, s4}."""
    found: set[str] = set()
    for name in names.split():
        first, _, last = name.partition("-")
        file = first.rstrip("0123456789")
        found |= {f"{file}{i}" for i in range(int(first[len(file) :]), int(last) + 1)} if last else {name}
    return found


@pytest.mark.parametrize(
    ("text", "kind", "reads", "writes"),
    [
        ("v_mfma_f32_32x32x8_f16 v[2:17], v[30:31], a[0:1], v[2:17]", "mfma", "v2-17 v30-31 a0-1 exec", "v2-17"),
        ("v_mfma_f32_16x16x16_bf16 a[0:3], v[4:5], v[6:7], 0", "mfma", "v4-7 exec", "a0-3"),
        ("v_smfmac_f32_16x16x32_f16 v[0:3], v[4:5], v[8:11], v12", "mfma", "v0-5 v8-12 exec", "v0-3"),
        ("v_add_co_u32_e32 v2, vcc, s1, v4", "valu", "s1 v4 exec", "v2 vcc"),
        ("v_addc_co_u32_e32 v3, vcc, 0, v5, vcc", "valu", "v5 vcc exec", "v3 vcc"),
        ("v_cmp_gt_u32_e64 s[0:1], s5, v7", "valu", "s5 v7 exec", "s0-1"),
        ("v_cndmask_b32_e64 v1, 0, 1, vcc", "valu", "vcc exec", "v1"),
        ("v_fmac_f32_e32 v1, v2, v3", "valu", "v1-3 exec", "v1"),
        ("v_mul_f32_e64 v1, -v2, |v3|", "valu", "v2-3 exec", "v1"),
        ("v_add_f32_dpp v1, v2, v3 row_shr:1 row_mask:0xf bank_mask:0xf", "valu", "v1-3 exec", "v1"),
        ("v_mov_b32_dpp v1, v2 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf", "valu", "v1-2 exec", "v1"),
        ("v_readfirstlane_b32 s4, v0", "valu", "v0 exec", "s4"),
        ("v_accvgpr_write_b32 a5, v6", "valu", "v6 exec", "a5"),
        ("v_exp_f32_e32 v1, v2", "trans", "v2 exec", "v1"),
        ("v_cvt_f16_f32_e32 v1, v2", "trans", "v2 exec", "v1"),
        ("s_add_u32 s0, s2, 0x100", "salu", "s2", "s0 scc"),
        ("s_addc_u32 s1, s3, 0", "salu", "s3 scc", "s1 scc"),
        ("s_mov_b32 m0, s1", "salu", "s1", "m0"),
        ("s_cmpk_lg_i32 s3, 0x7f", "salu", "s3", "scc"),
        ("s_mulk_i32 s10, 0x2800", "salu", "s10", "s10"),
        ("s_and_saveexec_b64 s[0:1], vcc", "salu", "vcc exec", "s0-1 exec scc"),
        ("s_load_dwordx4 s[4:7], s[0:1], 0x0", "smem", "s0-1", "s4-7"),
        ("ds_read_b128 v[30:33], v28 offset:32", "lds_read", "v28 exec", "v30-33"),
        ("ds_write2st64_b64 v1, v[2:3], v[4:5] offset1:8", "lds_write", "v1-5 exec", ""),
        ("ds_bpermute_b32 v1, v2, v3", "lds_read", "v2-3 exec", "v1"),
        ("ds_add_f32 v1, v2", "lds_write", "v1-2 exec", ""),
        ("ds_add_rtn_u32 v1, v2, v3", "lds_read", "v2-3 exec", "v1"),
        ("global_load_dwordx4 v[4:7], v[2:3], off offset:64", "vmem_read", "v2-3 exec", "v4-7"),
        ("global_load_dwordx2 v[4:5], v2, s[6:7]", "vmem_read", "v2 s6-7 exec", "v4-5"),
        ("global_store_dword v[0:1], v50, off", "vmem_write", "v0-1 v50 exec", ""),
        ("buffer_load_dwordx4 v[6:9], v4, s[4:7], 0 offen", "vmem_read", "v4 s4-7 exec", "v6-9"),
        ("buffer_load_dword v4, s[4:7], 0 offen offset:64 lds", "vmem_lds", "v4 s4-7 m0 exec", ""),
        ("global_load_lds_dword v[72:73], off", "vmem_lds", "v72-73 m0 exec", ""),
        ("buffer_store_dwordx4 v[0:3], v4, s[4:7], 0 offen", "vmem_write", "v0-4 s4-7 exec", ""),
        ("global_atomic_add_f32 v[0:1], v2, off", "atomic", "v0-2 exec", ""),
        ("global_atomic_add_f32 v3, v[0:1], v2, off sc0", "atomic", "v0-2 exec", "v3"),
        ("scratch_load_dwordx2 v[0:1], off, s33", "vmem_read", "s33 exec", "v0-1"),
        ("s_barrier", "barrier", "", ""),
        ("s_cbranch_vccnz .LBB0_1", "branch", "vcc", ""),
        ("s_cbranch_execz .LBB0_1", "branch", "exec", ""),
        ("s_setprio 1", "other", "", ""),
        ("s_nop 3", "other", "", ""),
    ],
)
def test_roles(text: str, kind: Kind, reads: str, writes: str) -> None:
    x = read_instruction(text, 7)
    assert (x.line, x.kind) == (7, kind)
    assert (set(x.reads), set(x.writes)) == (registers(reads), registers(writes))


@pytest.mark.parametrize(
    ("text", "lane_bytes"),
    [
        ("ds_read_b64 v[0:1], v2", 8),
        ("ds_read2_b64 v[0:3], v4 offset1:1", 16),
        ("ds_read2st64_b32 v[0:1], v4 offset1:1", 8),
        ("ds_write_b8 v0, v1", 1),
        ("ds_pk_add_f16 v0, v1", 4),
        ("ds_add_rtn_f32 v0, v1, v2", 4),
        ("global_load_ushort v0, v[2:3], off", 2),
        ("global_load_dwordx3 v[0:2], v[4:5], off", 12),
        ("buffer_load_dword v4, s[4:7], 0 offen lds", 4),
        ("global_atomic_pk_add_bf16 v[0:1], v2, off", 4),
        ("global_atomic_add_f64 v[0:1], v[2:3], off", 8),
        ("v_mov_b64_e32 v[0:1], v[2:3]", 0),
    ],
)
def test_width(text: str, lane_bytes: int) -> None:
    assert read_instruction(text, 1).lane_bytes == lane_bytes


@pytest.mark.parametrize(
    ("text", "vmcnt", "lgkmcnt"),
    [
        ("s_waitcnt vmcnt(3)", 3, None),
        ("s_waitcnt vmcnt(16) lgkmcnt(0)", 16, 0),
        ("s_waitcnt vmcnt(0) & lgkmcnt(2)", 0, 2),
        ("s_waitcnt expcnt(0)", None, None),
        ("s_waitcnt 0xc07f", 63, 0),  # lgkmcnt(0) alone, as bits
        ("s_waitcnt 0", 0, 0),
    ],
)
def test_waits(text: str, vmcnt: int | None, lgkmcnt: int | None) -> None:
    x = read_instruction(text, 1)
    assert (x.kind, x.vmcnt, x.lgkmcnt) == ("waitcnt", vmcnt, lgkmcnt)


@pytest.mark.parametrize(
    ("text", "counters"),
    [
        ("flat_load_dword v0, v[2:3]", {"vm", "lgkm"}),
        ("global_load_lds_dword v[2:3], off", {"vm"}),  # not lgkmcnt: LLVM 22 believed otherwise
        ("s_load_dword s0, s[2:3], 0x0", {"lgkm"}),
        ("buffer_wbl2 sc1", {"vm"}),
        ("v_mov_b32_e32 v0, v1", set[str]()),
    ],
)
def test_counters(text: str, counters: set[str]) -> None:
    assert read_instruction(text, 1).counters == counters


def test_text_that_is_no_instruction() -> None:
    with pytest.raises(ValueError, match="not an instruction"):
        read_instruction(".long 5", 1)
