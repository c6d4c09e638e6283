; Device functions that TIR cannot express: fences, and buffer instructions with their addrspace(8) resources.
; A resource covers 2^31 bytes from its base, raw (stride 0): reads at an offset of 2^31 or more (-1 as unsigned)
; give zeros, writes there vanish. Word 3 is LLVM's default for untyped access.

declare ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1), i16, i64, i32)
declare <4 x float> @llvm.amdgcn.raw.ptr.buffer.load.v4f32(ptr addrspace(8), i32, i32, i32 immarg)
declare <2 x float> @llvm.amdgcn.raw.ptr.buffer.load.v2f32(ptr addrspace(8), i32, i32, i32 immarg)
declare float @llvm.amdgcn.raw.ptr.buffer.load.f32(ptr addrspace(8), i32, i32, i32 immarg)
declare void @llvm.amdgcn.raw.ptr.buffer.store.v4f32(<4 x float>, ptr addrspace(8), i32, i32, i32 immarg)
declare void @llvm.amdgcn.raw.ptr.buffer.store.v2f32(<2 x float>, ptr addrspace(8), i32, i32, i32 immarg)
declare void @llvm.amdgcn.raw.ptr.buffer.store.f32(float, ptr addrspace(8), i32, i32, i32 immarg)
declare void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8), ptr addrspace(3), i32 immarg, i32, i32, i32 immarg, i32 immarg)
declare void @llvm.amdgcn.s.barrier()

define <4 x float> @argus_buffer_load_b128(ptr addrspace(1) %base, i32 %voff, i32 %soff) alwaysinline {
  %r = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %base, i16 0, i64 2147483648, i32 159744)
  %v = call <4 x float> @llvm.amdgcn.raw.ptr.buffer.load.v4f32(ptr addrspace(8) %r, i32 %voff, i32 %soff, i32 0)
  ret <4 x float> %v
}

define <2 x float> @argus_buffer_load_b64(ptr addrspace(1) %base, i32 %voff, i32 %soff) alwaysinline {
  %r = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %base, i16 0, i64 2147483648, i32 159744)
  %v = call <2 x float> @llvm.amdgcn.raw.ptr.buffer.load.v2f32(ptr addrspace(8) %r, i32 %voff, i32 %soff, i32 0)
  ret <2 x float> %v
}

define float @argus_buffer_load_b32(ptr addrspace(1) %base, i32 %voff, i32 %soff) alwaysinline {
  %r = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %base, i16 0, i64 2147483648, i32 159744)
  %v = call float @llvm.amdgcn.raw.ptr.buffer.load.f32(ptr addrspace(8) %r, i32 %voff, i32 %soff, i32 0)
  ret float %v
}

define void @argus_buffer_store_b128(ptr addrspace(1) %base, <4 x float> %v, i32 %voff, i32 %soff) alwaysinline {
  %r = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %base, i16 0, i64 2147483648, i32 159744)
  call void @llvm.amdgcn.raw.ptr.buffer.store.v4f32(<4 x float> %v, ptr addrspace(8) %r, i32 %voff, i32 %soff, i32 0)
  ret void
}

define void @argus_buffer_store_b64(ptr addrspace(1) %base, <2 x float> %v, i32 %voff, i32 %soff) alwaysinline {
  %r = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %base, i16 0, i64 2147483648, i32 159744)
  call void @llvm.amdgcn.raw.ptr.buffer.store.v2f32(<2 x float> %v, ptr addrspace(8) %r, i32 %voff, i32 %soff, i32 0)
  ret void
}

define void @argus_buffer_store_b32(ptr addrspace(1) %base, float %v, i32 %voff, i32 %soff) alwaysinline {
  %r = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %base, i16 0, i64 2147483648, i32 159744)
  call void @llvm.amdgcn.raw.ptr.buffer.store.f32(float %v, ptr addrspace(8) %r, i32 %voff, i32 %soff, i32 0)
  ret void
}

; Lane l writes 4 bytes at lds + 4 * l; lds is uniform over the wave.
define void @argus_buffer_load_lds_b32(ptr addrspace(1) %base, ptr addrspace(3) %lds, i32 %voff, i32 %soff) alwaysinline {
  %r = call ptr addrspace(8) @llvm.amdgcn.make.buffer.rsrc.p8.p1(ptr addrspace(1) %base, i16 0, i64 2147483648, i32 159744)
  call void @llvm.amdgcn.raw.ptr.buffer.load.lds(ptr addrspace(8) %r, ptr addrspace(3) %lds, i32 4, i32 %voff, i32 %soff, i32 0, i32 0)
  ret void
}

; The fences order LDS alone: loads from global memory stay in flight.
define void @argus_barrier() alwaysinline {
  fence syncscope("workgroup") release, !mmra !0
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire, !mmra !0
  ret void
}

!0 = !{!"amdgpu-synchronize-as", !"local"}
