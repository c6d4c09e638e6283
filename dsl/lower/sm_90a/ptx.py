"""Device functions, one an instruction: kernels are printed in terms of these.

Forms follow the PTX ISA. Waits and arrivals on mbarriers keep their default scope: that of the cluster would put a
memory barrier for the whole GPU into every iteration.
"""

from __future__ import annotations

HEAD = """\
#include <cuda.h>
#include <stdint.h>
#define DEVICE __device__ __forceinline__
"""

_ARITHMETIC = """\
DEVICE int quo(int a, int b) { return (int)((unsigned)a / (unsigned)b); }
DEVICE int rem(int a, int b) { return (int)((unsigned)a % (unsigned)b); }
DEVICE int cdiv(int a, int b) { return (int)(((unsigned)a + (unsigned)b - 1u) / (unsigned)b); }
DEVICE int floor_quo(int a, int b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
DEVICE int floor_rem(int a, int b) { return a - floor_quo(a, b) * b; }
"""

_MBARRIER = """\
DEVICE uint32_t shared_address(const void* p) { return (uint32_t)__cvta_generic_to_shared(p); }
DEVICE void mbar_init(uint32_t bar, uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(bar), "r"(arrivals) : "memory");
}
DEVICE void mbar_init_fence() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
DEVICE void mbar_arrive(uint32_t bar) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(bar) : "memory");
}
DEVICE void mbar_arrive_bytes(uint32_t bar, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(bar), "r"(bytes) : "memory");
}
DEVICE void mbar_arrive_at(uint32_t bar, uint32_t block) {
  asm volatile("{\\n.reg .b32 there;\\nmapa.shared::cluster.u32 there, %0, %1;\\n"
               "mbarrier.arrive.shared::cluster.b64 _, [there];\\n}" :: "r"(bar), "r"(block) : "memory");
}
DEVICE int cluster_rank() { uint32_t r; asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); return (int)r; }
DEVICE void cluster_barrier() {
  asm volatile("barrier.cluster.arrive.release;\\nbarrier.cluster.wait.acquire;" ::: "memory");
}
// With ARGUS_TRAP a wait that never ends stops the kernel. It tests alone: a try may sleep, and so many take hours.
#ifdef ARGUS_TRAP
#define MBAR_POLL "mbarrier.test_wait"
#else
#define MBAR_POLL "mbarrier.try_wait"
#endif
DEVICE bool mbar_try(uint32_t bar, uint32_t parity) {
  uint32_t done;
  asm volatile("{\\n.reg .pred p;\\n" MBAR_POLL ".parity.shared::cta.b64 p, [%1], %2;\\nselp.u32 %0, 1, 0, p;\\n}"
               : "=r"(done) : "r"(bar), "r"(parity) : "memory");
  return done != 0;
}
// Until the phase of that parity is complete.
DEVICE void mbar_wait(uint32_t bar, uint32_t parity) {
#ifdef ARGUS_TRAP
  for (uint32_t polls = 0; !mbar_try(bar, parity); ++polls) if (polls >> 26) __trap();
#else
  while (!mbar_try(bar, parity)) {}
#endif
}
"""

_TMA = """\
DEVICE void prefetch_map(const CUtensorMap* map) { asm volatile("prefetch.tensormap [%0];" :: "l"(map) : "memory"); }
DEVICE void tma_load(uint32_t dst, const CUtensorMap* map, int x, int y, uint32_t bar) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
               :: "r"(dst), "l"(map), "r"(x), "r"(y), "r"(bar) : "memory");
}
// To the same place of every block of the cluster in `blocks`, and to their barriers.
DEVICE void tma_load_blocks(uint32_t dst, const CUtensorMap* map, int x, int y, uint32_t bar, uint16_t blocks) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
               "[%0], [%1, {%2, %3}], [%4], %5;"
               :: "r"(dst), "l"(map), "r"(x), "r"(y), "r"(bar), "h"(blocks) : "memory");
}
DEVICE void tma_store(const CUtensorMap* map, int x, int y, uint32_t src) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];"
               :: "l"(map), "r"(x), "r"(y), "r"(src) : "memory");
}
DEVICE void bulk_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
template <int N> DEVICE void bulk_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" :: "n"(N) : "memory");
}
"""

_SYNC = """\
DEVICE void named_barrier(int id, int threads) { asm volatile("bar.sync %0, %1;" :: "r"(id), "r"(threads) : "memory"); }
DEVICE void fence_async() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
template <int N> DEVICE void more_registers() { asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" :: "n"(N)); }
template <int N> DEVICE void fewer_registers() { asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" :: "n"(N)); }
"""

_WGMMA = """\
DEVICE void wgmma_fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
DEVICE void wgmma_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int N> DEVICE void wgmma_wait() { asm volatile("wgmma.wait_group.sync.aligned %0;" :: "n"(N) : "memory"); }
template <int N> DEVICE void zero(float (&d)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) d[i] = 0.f;
}
// Nothing reads or writes these registers across this place.
template <int N> DEVICE void hold(float (&d)[N]) {
#pragma unroll
  for (int i = 0; i < N; ++i) asm volatile("" : "+f"(d[i]) :: "memory");
}
// Descriptor of a K-major tile whose 128-byte rows are swizzled: groups of 8 rows are 1024 bytes apart.
DEVICE uint64_t rows_b128(uint32_t address) {
  return (uint64_t)((address & 0x3FFFF) >> 4) | (1ull << 16) | (64ull << 32) | (1ull << 62);
}
"""

_STMATRIX = """\
DEVICE void store_matrix(uint32_t address, const uint32_t* r) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};"
               :: "r"(address), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
}
DEVICE void store_matrix_transposed(uint32_t address, const uint32_t* r) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};"
               :: "r"(address), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
}
"""

_CHUNKS = """\
DEVICE void copy_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N> DEVICE void copy_wait() { asm volatile("cp.async.wait_group %0;" :: "n"(N) : "memory"); }
DEVICE void block_barrier() { __syncthreads(); }
DEVICE bool inside(int row, int column, int rows, int columns) { return row < rows && column < columns; }
// Eight elements of row-major t[rows][columns] to shared memory, in pieces of N: each lies in the tensor, or is zeros.
template <int N>
DEVICE void copy_chunk(uint32_t dst, const uint16_t* t, int row, int column, int rows, int columns) {
#pragma unroll
  for (int e = 0; e < 8; e += N) {
    const bool in = inside(row, column + e, rows, columns);
    const uint16_t* src = in ? t + (int64_t)row * columns + column + e : t;
    const int bytes = in ? 2 * N : 0;
    if (N == 8)
      asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" :: "r"(dst), "l"(src), "r"(bytes) : "memory");
    else
      asm volatile("cp.async.ca.shared.global [%0], [%1], %3, %2;"
                   :: "r"(dst + 2 * e), "l"(src), "r"(bytes), "n"(2 * N < 4 ? 4 : 2 * N) : "memory");
  }
}
// Likewise to registers.
template <int N>
DEVICE void load_chunk(uint32_t* r, const uint16_t* t, int row, int column, int rows, int columns) {
  const uint16_t* src = t + (int64_t)row * columns + column;
  if (N == 8) {
    uint4 v = make_uint4(0, 0, 0, 0);
    if (inside(row, column, rows, columns)) v = *(const uint4*)src;
    r[0] = v.x; r[1] = v.y; r[2] = v.z; r[3] = v.w;
  } else {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (N >= 2) {
        r[i] = inside(row, column + 2 * i, rows, columns) ? *(const uint32_t*)(src + 2 * i) : 0u;
      } else {
        const uint32_t low = inside(row, column + 2 * i, rows, columns) ? src[2 * i] : 0u;
        const uint32_t high = inside(row, column + 2 * i + 1, rows, columns) ? src[2 * i + 1] : 0u;
        r[i] = low | high << 16;
      }
    }
  }
}
DEVICE void store_chunk(uint32_t address, const uint32_t* r) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};"
               :: "r"(address), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
}
// Two neighbours in a row to t[rows][columns], as far as they lie in it; N = 2 where no row splits a pair.
template <int N>
DEVICE void store_pair(uint16_t* t, int row, int column, int rows, int columns, uint32_t pair) {
  uint16_t* dst = t + (int64_t)row * columns + column;
  if (N == 2) {
    if (inside(row, column, rows, columns)) *(uint32_t*)dst = pair;
  } else {
    if (inside(row, column, rows, columns)) dst[0] = (uint16_t)pair;
    if (inside(row, column + 1, rows, columns)) dst[1] = (uint16_t)(pair >> 16);
  }
}
DEVICE void load_matrices(uint32_t (&r)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address) : "memory");
}
"""

FUNCTIONS = (_ARITHMETIC, _MBARRIER, _TMA, _SYNC, _WGMMA, _STMATRIX, _CHUNKS)

_CONVERT = {
    "bf16": ("cuda_bf16.h", "__nv_bfloat162", "__floats2bfloat162_rn"),
    "f16": ("cuda_fp16.h", "__half2", "__floats2half2_rn"),
}


def convert_include(dtype: str) -> str:
    """The header that converts to this type."""
    return f"#include <{_CONVERT[dtype][0]}>"


def pair_function(dtype: str) -> str:
    """`pair_<dtype>(low, high)`: two f32, rounded to nearest even, as one register."""
    _, pair, convert = _CONVERT[dtype]
    return (
        f"DEVICE uint32_t pair_{dtype}(float low, float high) {{\n"
        f"  {pair} v = {convert}(low, high);\n"
        f"  return *reinterpret_cast<uint32_t*>(&v);\n"
        f"}}\n"
    )


def wgmma_function(n: int, dtype: str) -> str:
    """`mma_m64nNk16_<dtype>(d, a, b, add)`: d = a b^T, plus d where `add` is not 0. Both operands K-major in shared."""
    count = n // 2
    registers = ", ".join(f"%{i}" for i in range(count))
    outputs = ", ".join(f'"+f"(d[{i}])' for i in range(count))
    return (
        f"DEVICE void mma_m64n{n}k16_{dtype}(float (&d)[{count}], uint64_t a, uint64_t b, int add) {{\n"
        f'  asm volatile("{{\\n.reg .pred p;\\nsetp.ne.b32 p, %{count + 2}, 0;\\n"\n'
        f'    "wgmma.mma_async.sync.aligned.m64n{n}k16.f32.{dtype}.{dtype} {{{registers}}}, "\n'
        f'    "%{count}, %{count + 1}, p, 1, 1, 0, 0;\\n}}"\n'
        f"    : {outputs}\n"
        f'    : "l"(a), "l"(b), "r"(add));\n'
        f"}}\n"
    )


def mma_sync_function(dtype: str) -> str:
    """`mma_m16n8k16_<dtype>(d, a, b)`: d += a b^T, of one warp. It reads and writes registers alone."""
    return (
        f"DEVICE void mma_m16n8k16_{dtype}(float (&d)[4], const uint32_t* a, const uint32_t* b) {{\n"
        f'  asm("mma.sync.aligned.m16n8k16.row.col.f32.{dtype}.{dtype}.f32 "\n'
        f'      "{{%0, %1, %2, %3}}, {{%4, %5, %6, %7}}, {{%8, %9}}, {{%0, %1, %2, %3}};"\n'
        f'      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])\n'
        f'      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));\n'
        f"}}\n"
    )
