"""Reads what an AMD code object says of its kernel: argument layout and budgets, from the ELF notes."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from argus.dsl.diagnostics import ToolchainError

EM_AMDGPU = 224  # ELF e_machine
_SHT_NOTE = 7
_NT_AMDGPU_METADATA = 32
Value = Any  # of MessagePack


@dataclass(frozen=True, slots=True)
class KernelArgument:
    """Where the kernel expects one argument; `offset` and `size` in bytes of the kernarg segment."""

    name: str
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class KernelMetadata:
    """The metadata of one kernel; arguments that the HIP runtime fills in itself are left out.

    Attributes:
        max_threads: The largest workgroup that the code was generated for.
        scratch_bytes: Private memory a lane.
    """

    symbol: str
    arguments: tuple[KernelArgument, ...]
    kernarg_bytes: int
    lds_bytes: int
    scratch_bytes: int
    max_threads: int


def read_kernel(elf: bytes) -> KernelMetadata:
    """The only kernel of a linked code object.

    Raises:
        ToolchainError: If this is no AMD code object, or holds no kernel or several.

    Source:
        LLVM, "User Guide for AMDGPU Backend", sections "ELF Code Object" and "Code Object V5 Metadata".
    """
    if elf[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<H", elf, 18)[0] != EM_AMDGPU:
        raise ToolchainError("the linker's output is no little-endian 64-bit AMDGPU ELF")
    for kind, name, payload in _notes(elf):
        if (kind, name) == (_NT_AMDGPU_METADATA, b"AMDGPU"):
            kernels = _MessagePack(payload).value()["amdhsa.kernels"]
            if len(kernels) != 1:
                raise ToolchainError(f"the code object holds {len(kernels)} kernels, not one")
            return _kernel(kernels[0])
    raise ToolchainError("the code object has no AMDGPU metadata note")


def _kernel(raw: dict[str, Any]) -> KernelMetadata:
    visible = [a for a in raw.get(".args", ()) if not a[".value_kind"].startswith("hidden_")]
    return KernelMetadata(
        symbol=raw[".name"],
        arguments=tuple(KernelArgument(a[".name"], a[".offset"], a[".size"]) for a in visible),
        kernarg_bytes=raw[".kernarg_segment_size"],
        lds_bytes=raw[".group_segment_fixed_size"],
        scratch_bytes=raw[".private_segment_fixed_size"],
        max_threads=raw[".max_flat_workgroup_size"],
    )


def _notes(elf: bytes) -> Iterator[tuple[int, bytes, bytes]]:
    """Type, owner and payload of every note."""
    (table,) = struct.unpack_from("<Q", elf, 0x28)
    entry_bytes, count = struct.unpack_from("<HH", elf, 0x3A)
    for index in range(count):
        header = table + index * entry_bytes
        (section_type,) = struct.unpack_from("<I", elf, header + 4)
        if section_type != _SHT_NOTE:
            continue
        at, size = struct.unpack_from("<QQ", elf, header + 0x18)
        end = at + size
        while at < end:
            name_bytes, payload_bytes, kind = struct.unpack_from("<III", elf, at)
            name_at = at + 12
            payload_at = name_at + _align4(name_bytes)
            yield kind, elf[name_at : name_at + name_bytes].rstrip(b"\0"), elf[payload_at : payload_at + payload_bytes]
            at = payload_at + _align4(payload_bytes)


def _align4(size: int) -> int:
    return (size + 3) & ~3


class _MessagePack:
    """Decodes the part of MessagePack that LLVM writes: maps, arrays, strings, booleans, nil, integers."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def value(self) -> Value:
        head = self._int("B")
        if head < 0x80:
            return head
        if head >= 0xE0:
            return head - 0x100
        if head < 0x90:
            return self._map(head & 0x0F)
        if head < 0xA0:
            return self._array(head & 0x0F)
        if head < 0xC0:
            return self._text(head & 0x1F)
        if head in _CONSTANTS:
            return _CONSTANTS[head]
        if head in _INTEGERS:
            return self._int(_INTEGERS[head])
        read, width = {
            0xD9: (self._text, "B"),
            0xDA: (self._text, "H"),
            0xDB: (self._text, "I"),
            0xDC: (self._array, "H"),
            0xDD: (self._array, "I"),
            0xDE: (self._map, "H"),
            0xDF: (self._map, "I"),
        }[head]
        return read(self._int(width))

    def _int(self, form: str) -> int:
        number: int
        (number,) = struct.unpack_from(">" + form, self._data, self._at)
        self._at += struct.calcsize(form)
        return number

    def _text(self, size: int) -> str:
        self._at += size
        return self._data[self._at - size : self._at].decode()

    def _array(self, count: int) -> list[Any]:
        return [self.value() for _ in range(count)]

    def _map(self, count: int) -> dict[Any, Any]:
        return {self.value(): self.value() for _ in range(count)}


_CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}
_INTEGERS = {0xCC: "B", 0xCD: "H", 0xCE: "I", 0xCF: "Q", 0xD0: "b", 0xD1: "h", 0xD2: "i", 0xD3: "q"}
