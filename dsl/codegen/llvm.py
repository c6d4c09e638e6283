"""LLVM IR to optimised IR, assembly and object, with the attributes that TVM cannot set.

llvmlite ships no type information; what it makes is `Ref` here.
"""

from __future__ import annotations

import functools
import importlib
import re
from dataclasses import dataclass
from typing import Any

from argus.dsl.codegen.tir import Ir
from argus.dsl.diagnostics import ToolchainError

Ref = Any

_llvm: Any = importlib.import_module("llvmlite.binding")

TRIPLE = "amdgcn-amd-amdhsa"
# Every ROCm that knows gfx942 loads version 5; 6, LLVM's default, needs a newer one.
_CODE_OBJECT_VERSION = 500
_DEFINITION = re.compile(
    r"^define [^\n]*\bamdgpu_kernel void @([\w.$]+)\([^\n]*\) [^\n]*?(#\d+)[^\n]*\{$", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Code:
    """`ll` is the IR that `asm` and `object` were generated from."""

    ll: str
    asm: str
    object: bytes


@dataclass(frozen=True, slots=True)
class Budget:
    """What LLVM may assume of a launch, and where accumulators may live.

    Attributes:
        threads: Exact workgroup size; without it LLVM plans for up to 1024 and caps the registers.
        waves_per_eu: Resident waves a SIMD to plan for.
        agpr: False keeps MFMA results in VGPRs, where vector instructions reach them without moves.
    """

    threads: int
    waves_per_eu: int | None
    agpr: bool


def generate(ir: Ir, device_ll: str, symbol: str, budget: Budget) -> Code:
    """Link the helpers, optimise (O3), and emit the kernel of `ir` under the name `symbol`.

    Raises:
        ToolchainError: If LLVM rejects the IR. What LLVM calls fatal (an instruction that the target lacks, LDS
            overflow) ends the process instead.
    """
    try:
        return _generate(ir, device_ll, symbol, budget)
    except RuntimeError as error:
        raise ToolchainError(f"LLVM rejects the IR of {symbol}: {error}") from error


def _generate(ir: Ir, device_ll: str, symbol: str, budget: Budget) -> Code:
    # A context each: what LLVM interns in one is never freed.
    context = _llvm.create_context()
    module = _llvm.parse_assembly(_prepared(ir.text, budget), context)
    if device_ll:
        module.link_in(_helpers(device_ll, module, context))
    kernel = _only_kernel(module, ir.text)
    kernel.name = symbol
    for argument, name in zip(kernel.arguments, ir.arguments, strict=True):
        argument.name = name
    _hide_all_but(kernel, module)
    module.verify()
    machine = _machine()
    builder = _llvm.create_pass_builder(machine, _llvm.create_pipeline_tuning_options(speed_level=3))
    builder.getModulePassManager().run(module, builder)
    optimised = str(module)
    # The optimiser infers "no AGPRs" from their absence in the IR; only now is there a choice.
    optimised = _with_attributes(optimised, {"amdgpu-agpr-alloc": None if budget.agpr else "0"})
    # Emission changes the module: each parses its own.
    asm = machine.emit_assembly(_llvm.parse_assembly(optimised, context))
    return Code(optimised, asm, machine.emit_object(_llvm.parse_assembly(optimised, context)))


@functools.cache
def _machine() -> Ref:
    _llvm.initialize_all_targets()
    _llvm.initialize_all_asmprinters()
    # A loop-carried accumulator is one wide value. Broken into floats, LLVM copies it between AGPRs and VGPRs in each
    # iteration, and spills where it would fit.
    _llvm.set_option("argus", "-amdgpu-codegenprepare-break-large-phis=0")
    machine = _llvm.Target.from_triple(TRIPLE).create_target_machine(cpu="gfx942", opt=3, codemodel="default")
    machine.set_asm_verbosity(True)
    return machine


def _prepared(ir: str, budget: Budget) -> str:
    """TVM's text with the budget as attributes, and without what it states wrongly or needlessly."""
    waves = budget.waves_per_eu
    ir = _with_attributes(
        ir,
        {
            "amdgpu-flat-work-group-size": f"{budget.threads},{budget.threads}",
            "amdgpu-waves-per-eu": None if waves is None else f"{waves},{waves}",
        },
    )
    # TVM's alias tags are named by addresses and hold two views of one buffer to be distinct; LLVM sees the same from
    # the buffers themselves.
    ir = re.sub(r", !tbaa !\d+", "", ir)
    flag = f'!{{i32 1, !"amdhsa_code_object_version", i32 {_CODE_OBJECT_VERSION}}}'
    unused = 1 + max((int(n) for n in re.findall(r"^!(\d+) =", ir, re.MULTILINE)), default=0)
    flags = f"!{unused} = {flag}\n!llvm.module.flags = !{{!{unused}, "
    assert ir.count("!llvm.module.flags = !{") == 1, "TVM wrote no module flags"
    return ir.replace("!llvm.module.flags = !{", flags)


def _with_attributes(ir: str, changes: dict[str, str | None]) -> str:
    """Set (or, by None, drop) attributes of the kernel."""
    kernel = _DEFINITION.search(ir)
    assert kernel is not None, "the IR defines no kernel"

    def change(group: re.Match[str]) -> str:
        body = group[2]
        for key, value in changes.items():
            body = re.sub(rf' "{re.escape(key)}"(="[^"]*")?(?= )', "", body)
            body += "" if value is None else f'"{key}"="{value}" '
        return group[1] + body + "}"

    changed, count = re.subn(rf"(^attributes {kernel[2]} = \{{)( .*)\}}$", change, ir, flags=re.MULTILINE)
    assert count == 1, f"the kernel's attributes {kernel[2]} are written {count} times"
    return changed


def _helpers(device_ll: str, module: Ref, context: Ref) -> Ref:
    helpers = _llvm.parse_assembly(device_ll, context)
    helpers.triple = module.triple
    helpers.data_layout = module.data_layout
    return helpers


def _only_kernel(module: Ref, ir: str) -> Ref:
    names = [match[1] for match in _DEFINITION.finditer(ir)]
    assert len(names) == 1, f"the IR defines kernels {names}, not one"
    return module.get_function(names[0])


def _hide_all_but(kernel: Ref, module: Ref) -> None:
    """Let the optimiser drop inlined helpers and the conversion routines that TVM adds to every module."""
    kernel.storage_class = "default"
    for function in module.functions:
        if not function.is_declaration and function.name != kernel.name:
            function.linkage = "internal"
