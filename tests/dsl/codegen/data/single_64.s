; LLVM 22 through TVM: 64x64x32 f16 GEMM, one LDS stage, four waves; device helpers of the file kept
	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.amdhsa_code_object_version 6
	.text
	.globl	gemm_kernel
	.p2align	8
	.type	gemm_kernel,@function
gemm_kernel:
	v_lshlrev_b32_e32 v1, 3, v0
	v_and_b32_e32 v2, 24, v1
	v_lshrrev_b32_e32 v1, 2, v0
	v_lshlrev_b32_e32 v3, 12, v1
	v_mul_u32_u24_e32 v1, 40, v1
	v_add_lshl_u32 v27, v1, v2, 1
	v_and_b32_e32 v1, 31, v0
	v_mul_u32_u24_e32 v4, 40, v1
	v_lshrrev_b32_e32 v5, 7, v0
	v_lshrrev_b32_e32 v26, 1, v0
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	s_load_dwordx2 s[8:9], s[0:1], 0x10
	v_mul_u32_u24_e32 v5, 0xa00, v5
	v_lshlrev_b32_e32 v4, 1, v4
	v_and_b32_e32 v6, 16, v26
	s_lshl_b32 s3, s3, 18
	s_lshl_b32 s0, s2, 18
	v_add3_u32 v28, v5, v4, v6
	v_bfe_i32 v5, v0, 6, 1
	v_and_b32_e32 v5, 0xa00, v5
	v_or3_b32 v18, s0, v3, v2
	v_or3_b32 v22, s3, v3, v2
	v_add_u32_e32 v4, v4, v5
	s_movk_i32 s1, 0x1400
	v_ashrrev_i32_e32 v19, 31, v18
	v_ashrrev_i32_e32 v23, 31, v22
	v_add3_u32 v29, v4, v6, s1
	s_waitcnt lgkmcnt(0)
	v_lshl_add_u64 v[20:21], v[18:19], 1, s[6:7]
	v_lshl_add_u64 v[24:25], v[22:23], 1, s[4:5]
	s_mov_b64 s[0:1], 0
	v_mov_b32_e32 v2, 0
	v_mov_b32_e32 v3, 0
	v_mov_b32_e32 v4, 0
	v_mov_b32_e32 v5, 0
	v_mov_b32_e32 v6, 0
	v_mov_b32_e32 v7, 0
	v_mov_b32_e32 v8, 0
	v_mov_b32_e32 v9, 0
	v_mov_b32_e32 v10, 0
	v_mov_b32_e32 v11, 0
	v_mov_b32_e32 v12, 0
	v_mov_b32_e32 v13, 0
	v_mov_b32_e32 v14, 0
	v_mov_b32_e32 v15, 0
	v_mov_b32_e32 v16, 0
	v_mov_b32_e32 v17, 0
.LBB0_1:
	v_ashrrev_i32_e32 v23, 31, v22
	v_ashrrev_i32_e32 v19, 31, v18
	v_lshl_add_u64 v[30:31], v[22:23], 1, s[4:5]
	v_lshl_add_u64 v[32:33], v[18:19], 1, s[6:7]
	global_load_dwordx4 v[34:37], v[30:31], off
	global_load_dwordx4 v[38:41], v[32:33], off
	v_add_u32_e32 v18, 0x80, v18
	v_add_u32_e32 v22, 0x80, v22
	s_waitcnt vmcnt(1)
	ds_write_b128 v27, v[34:37]
	s_waitcnt vmcnt(0)
	ds_write_b128 v27, v[38:41] offset:5120
	s_waitcnt lgkmcnt(0)
	s_barrier
	ds_read_b128 v[30:33], v28
	ds_read_b128 v[34:37], v28 offset:32
	ds_read_b128 v[38:41], v29
	ds_read_b128 v[42:45], v29 offset:32
	s_waitcnt lgkmcnt(1)
	v_mfma_f32_32x32x8_f16 v[2:17], v[30:31], v[38:39], v[2:17]
	v_lshl_add_u64 v[30:31], v[24:25], 0, s[0:1]
	s_waitcnt lgkmcnt(0)
	v_mfma_f32_32x32x8_f16 v[2:17], v[32:33], v[40:41], v[2:17]
	v_lshl_add_u64 v[32:33], v[20:21], 0, s[0:1]
	s_barrier
	global_load_dwordx4 v[38:41], v[30:31], off offset:64
	global_load_dwordx4 v[46:49], v[32:33], off offset:64
	s_add_u32 s0, s0, 0x100
	s_addc_u32 s1, s1, 0
	s_cmpk_lg_i32 s0, 0x2000
	v_mfma_f32_32x32x8_f16 v[2:17], v[34:35], v[42:43], v[2:17]
	s_waitcnt vmcnt(1)
	ds_write_b128 v27, v[38:41]
	s_waitcnt vmcnt(0)
	ds_write_b128 v27, v[46:49] offset:5120
	v_mfma_f32_32x32x8_f16 v[2:17], v[36:37], v[44:45], v[2:17]
	s_waitcnt lgkmcnt(0)
	s_barrier
	ds_read_b128 v[34:37], v28
	ds_read_b128 v[38:41], v28 offset:32
	ds_read_b128 v[42:45], v29
	ds_read_b128 v[46:49], v29 offset:32
	s_waitcnt lgkmcnt(1)
	v_mfma_f32_32x32x8_f16 v[2:17], v[34:35], v[42:43], v[2:17]
	s_waitcnt lgkmcnt(0)
	v_mfma_f32_32x32x8_f16 v[2:17], v[36:37], v[44:45], v[2:17]
	s_barrier
	global_load_dwordx4 v[34:37], v[30:31], off offset:128
	global_load_dwordx4 v[42:45], v[32:33], off offset:128
	s_waitcnt vmcnt(1)
	ds_write_b128 v27, v[34:37]
	s_waitcnt vmcnt(0)
	ds_write_b128 v27, v[42:45] offset:5120
	v_mfma_f32_32x32x8_f16 v[2:17], v[38:39], v[46:47], v[2:17]
	s_waitcnt lgkmcnt(0)
	v_mfma_f32_32x32x8_f16 v[2:17], v[40:41], v[48:49], v[2:17]
	s_barrier
	ds_read_b128 v[34:37], v28
	ds_read_b128 v[38:41], v28 offset:32
	ds_read_b128 v[42:45], v29
	ds_read_b128 v[46:49], v29 offset:32
	s_waitcnt lgkmcnt(0)
	v_mfma_f32_32x32x8_f16 v[2:17], v[34:35], v[42:43], v[2:17]
	s_barrier
	v_mfma_f32_32x32x8_f16 v[2:17], v[36:37], v[44:45], v[2:17]
	global_load_dwordx4 v[34:37], v[30:31], off offset:192
	global_load_dwordx4 v[42:45], v[32:33], off offset:192
	s_waitcnt vmcnt(1)
	ds_write_b128 v27, v[34:37]
	s_waitcnt vmcnt(0)
	ds_write_b128 v27, v[42:45] offset:5120
	v_mfma_f32_32x32x8_f16 v[2:17], v[38:39], v[46:47], v[2:17]
	s_waitcnt lgkmcnt(0)
	v_mfma_f32_32x32x8_f16 v[2:17], v[40:41], v[48:49], v[2:17]
	s_barrier
	ds_read_b128 v[30:33], v28
	ds_read_b128 v[34:37], v28 offset:32
	ds_read_b128 v[38:41], v29
	ds_read_b128 v[42:45], v29 offset:32
	s_waitcnt lgkmcnt(0)
	v_mfma_f32_32x32x8_f16 v[2:17], v[30:31], v[38:39], v[2:17]
	s_barrier
	v_mfma_f32_32x32x8_f16 v[2:17], v[32:33], v[40:41], v[2:17]
	v_mfma_f32_32x32x8_f16 v[2:17], v[34:35], v[42:43], v[2:17]
	v_mfma_f32_32x32x8_f16 v[2:17], v[36:37], v[44:45], v[2:17]
	s_cbranch_scc1 .LBB0_1
	s_lshl_b32 s0, s2, 6
	v_lshlrev_b32_e32 v18, 9, v0
	v_lshlrev_b32_e32 v0, 10, v0
	s_add_i32 s0, s0, s3
	v_and_b32_e32 v18, 0x4000, v18
	v_and_b32_e32 v0, 0x20000, v0
	v_or_b32_e32 v1, s0, v1
	v_add3_u32 v0, v1, v0, v18
	v_and_or_b32 v0, v26, 32, v0
	v_ashrrev_i32_e32 v1, 31, v0
	s_movk_i32 s1, 0x4000
	v_lshl_add_u64 v[0:1], v[0:1], 2, s[8:9]
	v_add_co_u32_e32 v18, vcc, s1, v0
	s_mov_b32 s0, 0x8000
	s_nop 0
	v_addc_co_u32_e32 v19, vcc, 0, v1, vcc
	global_store_dword v[0:1], v2, off
	v_add_co_u32_e32 v2, vcc, s0, v0
	global_store_dword v[18:19], v3, off
	s_nop 0
	v_addc_co_u32_e32 v3, vcc, 0, v1, vcc
	s_mov_b32 s0, 0xc000
	global_store_dword v[2:3], v4, off
	v_add_co_u32_e32 v2, vcc, s0, v0
	s_mov_b32 s2, 0x20000
	s_nop 0
	v_addc_co_u32_e32 v3, vcc, 0, v1, vcc
	global_store_dword v[2:3], v5, off
	v_add_co_u32_e32 v2, vcc, s2, v0
	s_mov_b32 s0, 0x24000
	s_nop 0
	v_addc_co_u32_e32 v3, vcc, 0, v1, vcc
	global_store_dword v[2:3], v6, off
	v_add_co_u32_e32 v2, vcc, s0, v0
	s_mov_b32 s0, 0x28000
	s_nop 0
	v_addc_co_u32_e32 v3, vcc, 0, v1, vcc
	global_store_dword v[2:3], v7, off
	v_add_co_u32_e32 v2, vcc, s0, v0
	s_mov_b32 s0, 0x2c000
	s_nop 0
	v_addc_co_u32_e32 v3, vcc, 0, v1, vcc
	global_store_dword v[2:3], v8, off
	v_add_co_u32_e32 v2, vcc, s0, v0
	s_mov_b32 s0, 0x40000
	s_nop 0
	v_addc_co_u32_e32 v3, vcc, 0, v1, vcc
	global_store_dword v[2:3], v9, off
	v_add_co_u32_e32 v2, vcc, s0, v0
	s_mov_b32 s0, 0x44000
	s_nop 0
	v_addc_co_u32_e32 v3, vcc, 0, v1, vcc
	global_store_dword v[2:3], v10, off
	v_add_co_u32_e32 v2, vcc, s0, v0
	s_mov_b32 s0, 0x48000
	s_nop 0
	v_addc_co_u32_e32 v3, vcc, 0, v1, vcc
	global_store_dword v[2:3], v11, off
	v_add_co_u32_e32 v2, vcc, s0, v0
	s_mov_b32 s0, 0x4c000
	s_nop 0
	v_addc_co_u32_e32 v3, vcc, 0, v1, vcc
	global_store_dword v[2:3], v12, off
	v_add_co_u32_e32 v2, vcc, s0, v0
	s_mov_b32 s0, 0x60000
	s_nop 0
	v_addc_co_u32_e32 v3, vcc, 0, v1, vcc
	global_store_dword v[2:3], v13, off
	v_add_co_u32_e32 v2, vcc, s0, v0
	s_mov_b32 s0, 0x64000
	s_nop 0
	v_addc_co_u32_e32 v3, vcc, 0, v1, vcc
	global_store_dword v[2:3], v14, off
	v_add_co_u32_e32 v2, vcc, s0, v0
	s_nop 1
	v_addc_co_u32_e32 v3, vcc, 0, v1, vcc
	global_store_dword v[2:3], v15, off
	v_add_co_u32_e32 v2, vcc, 0x68000, v0
	s_nop 1
	v_addc_co_u32_e32 v3, vcc, 0, v1, vcc
	v_add_co_u32_e32 v0, vcc, 0x6c000, v0
	global_store_dword v[2:3], v16, off
	s_nop 0
	v_addc_co_u32_e32 v1, vcc, 0, v1, vcc
	global_store_dword v[0:1], v17, off
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel gemm_kernel
		.amdhsa_group_segment_fixed_size 10240
		.amdhsa_private_segment_fixed_size 0
		.amdhsa_kernarg_size 24
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_dispatch_ptr 0
		.amdhsa_user_sgpr_queue_ptr 0
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_user_sgpr_dispatch_id 0
		.amdhsa_user_sgpr_kernarg_preload_length 0
		.amdhsa_user_sgpr_kernarg_preload_offset 0
		.amdhsa_user_sgpr_private_segment_size 0
		.amdhsa_uses_dynamic_stack 0
		.amdhsa_enable_private_segment 0
		.amdhsa_system_sgpr_workgroup_id_x 1
		.amdhsa_system_sgpr_workgroup_id_y 1
		.amdhsa_system_sgpr_workgroup_id_z 0
		.amdhsa_system_sgpr_workgroup_info 0
		.amdhsa_system_vgpr_workitem_id 0
		.amdhsa_next_free_vgpr 73
		.amdhsa_next_free_sgpr 91
		.amdhsa_accum_offset 52
		.amdhsa_reserve_vcc 1
		.amdhsa_float_round_mode_32 0
		.amdhsa_float_round_mode_16_64 0
		.amdhsa_float_denorm_mode_32 3
		.amdhsa_float_denorm_mode_16_64 3
		.amdhsa_dx10_clamp 1
		.amdhsa_ieee_mode 1
		.amdhsa_fp16_overflow 0
		.amdhsa_tg_split 0
		.amdhsa_exception_fp_ieee_invalid_op 0
		.amdhsa_exception_fp_denorm_src 0
		.amdhsa_exception_fp_ieee_div_zero 0
		.amdhsa_exception_fp_ieee_overflow 0
		.amdhsa_exception_fp_ieee_underflow 0
		.amdhsa_exception_fp_ieee_inexact 0
		.amdhsa_exception_int_div_zero 0
	.end_amdhsa_kernel
	.text
.Lfunc_end0:
	.size	gemm_kernel, .Lfunc_end0-gemm_kernel

	.set gemm_kernel.num_vgpr, 50
	.set gemm_kernel.num_agpr, 0
	.set gemm_kernel.numbered_sgpr, 10
	.set gemm_kernel.num_named_barrier, 0
	.set gemm_kernel.private_seg_size, 0
	.set gemm_kernel.uses_vcc, 1
	.set gemm_kernel.uses_flat_scratch, 0
	.set gemm_kernel.has_dyn_sized_stack, 0
	.set gemm_kernel.has_recursion, 0
	.set gemm_kernel.has_indirect_call, 0
	.section	.text.tvm.fp16.conv,"ax",@progbits
	.weak	__truncsfhf2
	.p2align	2
	.type	__truncsfhf2,@function
__truncsfhf2:
	s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
	v_and_b32_e32 v2, 0x7fffffff, v0
	v_add_u32_e32 v1, 0xc7800000, v2
	v_add_u32_e32 v3, 0xb8800000, v2
	v_cmp_ge_u32_e32 vcc, v1, v3
	s_and_saveexec_b64 s[0:1], vcc
	s_xor_b64 s[0:1], exec, s[0:1]
	s_cbranch_execz .LBB1_14
	s_mov_b32 s2, 0x7f800001
	v_cmp_gt_u32_e32 vcc, s2, v2
	s_and_saveexec_b64 s[2:3], vcc
	s_xor_b64 s[2:3], exec, s[2:3]
	s_cbranch_execz .LBB1_11
	s_mov_b32 s4, 0x47800000
	v_cmp_gt_u32_e32 vcc, s4, v2
	v_mov_b32_e32 v1, 0x7c00
	s_and_saveexec_b64 s[4:5], vcc
	s_cbranch_execz .LBB1_10
	s_mov_b32 s6, 0x2cffffff
	v_cmp_lt_u32_e32 vcc, s6, v2
	v_mov_b32_e32 v1, 0
	s_and_saveexec_b64 s[6:7], vcc
	s_cbranch_execz .LBB1_9
	v_lshrrev_b32_e32 v1, 23, v2
	v_and_b32_e32 v3, 0x7fffff, v0
	v_sub_u32_e32 v2, 0x71, v1
	v_or_b32_e32 v3, 0x800000, v3
	v_add_u32_e32 v1, 0xffffffaf, v1
	v_lshlrev_b32_e32 v1, v1, v3
	v_cmp_ne_u32_e32 vcc, 0, v1
	v_lshrrev_b32_e32 v3, v2, v3
	s_movk_i32 s8, 0x1fff
	v_cndmask_b32_e64 v1, 0, 1, vcc
	v_lshrrev_b32_e32 v2, 13, v3
	v_and_or_b32 v3, v3, s8, v1
	s_movk_i32 s8, 0x1001
	v_cmp_gt_u32_e32 vcc, s8, v3
	s_and_saveexec_b64 s[8:9], vcc
	s_xor_b64 s[8:9], exec, s[8:9]
	s_movk_i32 s10, 0x1000
	v_cmp_eq_u32_e32 vcc, s10, v3
	s_nop 1
	v_cndmask_b32_e64 v1, 0, 1, vcc
	v_and_b32_e32 v1, v1, v2
	v_add_u32_e32 v1, v1, v2
	s_andn2_saveexec_b64 s[8:9], s[8:9]
	v_add_u32_e32 v1, 1, v2
	s_or_b64 exec, exec, s[8:9]
.LBB1_9:
	s_or_b64 exec, exec, s[6:7]
.LBB1_10:
	s_or_b64 exec, exec, s[4:5]
.LBB1_11:
	s_andn2_saveexec_b64 s[2:3], s[2:3]
	v_bfe_u32 v1, v0, 13, 9
	v_or_b32_e32 v1, 0x7e00, v1
	s_or_b64 exec, exec, s[2:3]
.LBB1_14:
	s_andn2_saveexec_b64 s[0:1], s[0:1]
	s_cbranch_execz .LBB1_20
	v_and_b32_e32 v3, 0x1fff, v0
	s_movk_i32 s2, 0x1001
	v_lshrrev_b32_e32 v2, 13, v0
	v_cmp_gt_u32_e32 vcc, s2, v3
	s_and_saveexec_b64 s[2:3], vcc
	s_xor_b64 s[2:3], exec, s[2:3]
	s_movk_i32 s4, 0x1000
	v_cmp_eq_u32_e32 vcc, s4, v3
	s_mov_b32 s4, 0xfffe4000
	s_nop 0
	v_cndmask_b32_e64 v1, 0, 1, vcc
	v_and_b32_e32 v1, v1, v2
	v_add3_u32 v1, v2, v1, s4
	s_andn2_saveexec_b64 s[2:3], s[2:3]
	v_add_u32_e32 v1, 0xfffe4001, v2
	s_or_b64 exec, exec, s[2:3]
.LBB1_20:
	s_or_b64 exec, exec, s[0:1]
	v_lshrrev_b32_e32 v0, 16, v0
	s_mov_b32 s0, 0x8000
	v_and_or_b32 v0, v0, s0, v1
	s_setpc_b64 s[30:31]
.Lfunc_end1:
	.size	__truncsfhf2, .Lfunc_end1-__truncsfhf2

	.set __truncsfhf2.num_vgpr, 4
	.set __truncsfhf2.num_agpr, 0
	.set __truncsfhf2.numbered_sgpr, 32
	.set __truncsfhf2.num_named_barrier, 0
	.set __truncsfhf2.private_seg_size, 0
	.set __truncsfhf2.uses_vcc, 1
	.set __truncsfhf2.uses_flat_scratch, 0
	.set __truncsfhf2.has_dyn_sized_stack, 0
	.set __truncsfhf2.has_recursion, 0
	.set __truncsfhf2.has_indirect_call, 0
	.weak	__extendhfsf2
	.p2align	2
	.type	__extendhfsf2,@function
__extendhfsf2:
	s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
	v_and_b32_e32 v2, 0x7fff, v0
	v_and_b32_e32 v1, 0xffff, v2
	v_add_u16_e32 v2, 0xfc00, v2
	s_movk_i32 s0, 0x77ff
	v_cmp_lt_u16_e32 vcc, s0, v2
	s_and_saveexec_b64 s[0:1], vcc
	s_xor_b64 s[0:1], exec, s[0:1]
	s_cbranch_execz .LBB2_8
	s_movk_i32 s2, 0x7c00
	v_cmp_gt_u16_e32 vcc, s2, v1
	s_and_saveexec_b64 s[2:3], vcc
	s_xor_b64 s[2:3], exec, s[2:3]
	s_cbranch_execz .LBB2_5
	v_cmp_ne_u16_e32 vcc, 0, v1
	v_mov_b32_e32 v2, 0
	s_and_saveexec_b64 s[4:5], vcc
	s_cbranch_execz .LBB2_4
	s_movk_i32 s6, 0x100
	v_lshrrev_b32_e32 v2, 8, v1
	v_cmp_gt_u16_e32 vcc, s6, v1
	s_nop 1
	v_cndmask_b32_e32 v2, v2, v1, vcc
	v_cndmask_b32_e64 v3, 24, 32, vcc
	v_lshrrev_b32_e32 v4, 4, v2
	v_cmp_gt_u32_e32 vcc, 16, v2
	v_add_u32_e32 v5, -4, v3
	s_nop 0
	v_cndmask_b32_e32 v2, v4, v2, vcc
	v_cndmask_b32_e32 v3, v5, v3, vcc
	v_lshrrev_b32_e32 v4, 2, v2
	v_cmp_gt_u32_e32 vcc, 4, v2
	v_add_u32_e32 v5, -2, v3
	s_nop 0
	v_cndmask_b32_e32 v2, v4, v2, vcc
	v_cndmask_b32_e32 v3, v5, v3, vcc
	v_sub_u32_e32 v4, 0, v2
	v_cmp_gt_u32_e32 vcc, 2, v2
	s_nop 1
	v_cndmask_b32_e32 v2, -2, v4, vcc
	v_add_u32_e32 v2, v2, v3
	v_add_u32_e32 v3, -8, v2
	v_lshlrev_b32_e32 v1, v3, v1
	v_lshlrev_b32_e32 v2, 23, v2
	v_xor_b32_e32 v1, 0x800000, v1
	v_sub_u32_e32 v2, 0x43000000, v2
	v_or_b32_e32 v2, v1, v2
.LBB2_4:
	s_or_b64 exec, exec, s[4:5]
.LBB2_5:
	s_andn2_saveexec_b64 s[2:3], s[2:3]
	v_mov_b32_e32 v2, 0x7f800000
	v_lshl_or_b32 v2, v1, 13, v2
	s_or_b64 exec, exec, s[2:3]
.LBB2_8:
	s_andn2_saveexec_b64 s[0:1], s[0:1]
	v_bfrev_b32_e32 v2, 28
	v_lshl_add_u32 v2, v1, 13, v2
	s_or_b64 exec, exec, s[0:1]
	s_movk_i32 s0, 0x8000
	v_and_b32_sdwa v0, v0, s0 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:DWORD
	s_nop 0
	v_or_b32_e32 v0, v2, v0
	s_setpc_b64 s[30:31]
.Lfunc_end2:
	.size	__extendhfsf2, .Lfunc_end2-__extendhfsf2

	.set __extendhfsf2.num_vgpr, 6
	.set __extendhfsf2.num_agpr, 0
	.set __extendhfsf2.numbered_sgpr, 32
	.set __extendhfsf2.num_named_barrier, 0
	.set __extendhfsf2.private_seg_size, 0
	.set __extendhfsf2.uses_vcc, 1
	.set __extendhfsf2.uses_flat_scratch, 0
	.set __extendhfsf2.has_dyn_sized_stack, 0
	.set __extendhfsf2.has_recursion, 0
	.set __extendhfsf2.has_indirect_call, 0
	.text
	.globl	ave_buffer_load_b128
	.p2align	2
	.type	ave_buffer_load_b128,@function
ave_buffer_load_b128:
	s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
	v_mov_b32_e32 v4, v3
	v_and_b32_e32 v1, 0xffff, v1
	v_mov_b32_e32 v3, 0x27000
	s_mov_b64 s[2:3], exec
.LBB3_1:
	v_readfirstlane_b32 s4, v0
	v_readfirstlane_b32 s5, v1
	v_readfirstlane_b32 s6, v2
	v_readfirstlane_b32 s7, v3
	v_cmp_eq_u64_e32 vcc, s[4:5], v[0:1]
	s_nop 0
	v_cmp_eq_u64_e64 s[0:1], s[6:7], v[2:3]
	s_and_b64 s[0:1], vcc, s[0:1]
	s_and_saveexec_b64 s[0:1], s[0:1]
	buffer_load_dwordx4 v[6:9], v4, s[4:7], 0 offen
	s_xor_b64 exec, exec, s[0:1]
	s_cbranch_execnz .LBB3_1
	s_mov_b64 exec, s[2:3]
	s_waitcnt vmcnt(0)
	v_mov_b32_e32 v0, v6
	v_mov_b32_e32 v1, v7
	v_mov_b32_e32 v2, v8
	v_mov_b32_e32 v3, v9
	s_setpc_b64 s[30:31]
.Lfunc_end3:
	.size	ave_buffer_load_b128, .Lfunc_end3-ave_buffer_load_b128

	.set ave_buffer_load_b128.num_vgpr, 10
	.set ave_buffer_load_b128.num_agpr, 0
	.set ave_buffer_load_b128.numbered_sgpr, 32
	.set ave_buffer_load_b128.num_named_barrier, 0
	.set ave_buffer_load_b128.private_seg_size, 0
	.set ave_buffer_load_b128.uses_vcc, 1
	.set ave_buffer_load_b128.uses_flat_scratch, 0
	.set ave_buffer_load_b128.has_dyn_sized_stack, 0
	.set ave_buffer_load_b128.has_recursion, 0
	.set ave_buffer_load_b128.has_indirect_call, 0
	.globl	ave_buffer_load_lds_b32
	.p2align	2
	.type	ave_buffer_load_lds_b32,@function
ave_buffer_load_lds_b32:
	s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
	v_mov_b32_e32 v5, v3
	v_and_b32_e32 v1, 0xffff, v1
	v_mov_b32_e32 v3, 0x27000
	v_readfirstlane_b32 s0, v5
	s_mov_b64 s[2:3], exec
	s_mov_b32 m0, s0
.LBB4_1:
	v_readfirstlane_b32 s4, v0
	v_readfirstlane_b32 s5, v1
	v_readfirstlane_b32 s6, v2
	v_readfirstlane_b32 s7, v3
	v_cmp_eq_u64_e32 vcc, s[4:5], v[0:1]
	s_nop 0
	v_cmp_eq_u64_e64 s[0:1], s[6:7], v[2:3]
	s_and_b64 s[0:1], vcc, s[0:1]
	s_and_saveexec_b64 s[0:1], s[0:1]
	buffer_load_dword v4, s[4:7], 0 offen lds
	s_xor_b64 exec, exec, s[0:1]
	s_cbranch_execnz .LBB4_1
	s_mov_b64 exec, s[2:3]
	s_waitcnt vmcnt(0)
	s_setpc_b64 s[30:31]
.Lfunc_end4:
	.size	ave_buffer_load_lds_b32, .Lfunc_end4-ave_buffer_load_lds_b32

	.set ave_buffer_load_lds_b32.num_vgpr, 6
	.set ave_buffer_load_lds_b32.num_agpr, 0
	.set ave_buffer_load_lds_b32.numbered_sgpr, 32
	.set ave_buffer_load_lds_b32.num_named_barrier, 0
	.set ave_buffer_load_lds_b32.private_seg_size, 0
	.set ave_buffer_load_lds_b32.uses_vcc, 1
	.set ave_buffer_load_lds_b32.uses_flat_scratch, 0
	.set ave_buffer_load_lds_b32.has_dyn_sized_stack, 0
	.set ave_buffer_load_lds_b32.has_recursion, 0
	.set ave_buffer_load_lds_b32.has_indirect_call, 0
	.globl	ave_barrier
	.p2align	2
	.type	ave_barrier,@function
ave_barrier:
	s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)
	s_barrier
	s_setpc_b64 s[30:31]
.Lfunc_end5:
	.size	ave_barrier, .Lfunc_end5-ave_barrier

	.set ave_barrier.num_vgpr, 0
	.set ave_barrier.num_agpr, 0
	.set ave_barrier.numbered_sgpr, 32
	.set ave_barrier.num_named_barrier, 0
	.set ave_barrier.private_seg_size, 0
	.set ave_barrier.uses_vcc, 0
	.set ave_barrier.uses_flat_scratch, 0
	.set ave_barrier.has_dyn_sized_stack, 0
	.set ave_barrier.has_recursion, 0
	.set ave_barrier.has_indirect_call, 0
	.p2alignl 6, 3212836864
	.fill 256, 4, 3212836864
	.section	.AMDGPU.gpr_maximums,"",@progbits
	.set amdgpu.max_num_vgpr, 10
	.set amdgpu.max_num_agpr, 0
	.set amdgpu.max_num_sgpr, 32
	.set amdgpu.max_num_named_barrier, 0
	.text
	.section	".note.GNU-stack","",@progbits
	.amdgpu_metadata
---
amdhsa.kernels:
  - .agpr_count:     0
    .args:
      - .actual_access:  read_only
        .address_space:  global
        .name:           A
        .offset:         0
        .size:           8
        .value_kind:     global_buffer
      - .actual_access:  read_only
        .address_space:  global
        .name:           B
        .offset:         8
        .size:           8
        .value_kind:     global_buffer
      - .actual_access:  write_only
        .address_space:  global
        .name:           C
        .offset:         16
        .size:           8
        .value_kind:     global_buffer
    .group_segment_fixed_size: 10240
    .kernarg_segment_align: 8
    .kernarg_segment_size: 24
    .max_flat_workgroup_size: 256
    .name:           gemm_kernel
    .private_segment_fixed_size: 0
    .sgpr_count:     16
    .sgpr_spill_count: 0
    .symbol:         gemm_kernel.kd
    .uses_dynamic_stack: false
    .vgpr_count:     50
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx942
amdhsa.version:
  - 1
  - 2
...

	.end_amdgpu_metadata
