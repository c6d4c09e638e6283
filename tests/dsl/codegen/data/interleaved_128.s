; LLVM 22 through TVM: 128x128x32 f16 GEMM, two LDS stages through registers, LDS reads between the MFMAs
	.amdgcn_target "amdgcn-amd-amdhsa--gfx942"
	.amdhsa_code_object_version 6
	.text
	.globl	gemm_kernel
	.p2align	8
	.type	gemm_kernel,@function
gemm_kernel:
	s_load_dwordx4 s[4:7], s[0:1], 0x0
	s_load_dwordx2 s[8:9], s[0:1], 0x10
	v_lshlrev_b32_e32 v1, 3, v0
	v_lshrrev_b32_e32 v65, 2, v0
	v_and_b32_e32 v1, 24, v1
	v_lshlrev_b32_e32 v6, 12, v65
	s_lshl_b32 s3, s3, 19
	v_or3_b32 v66, v6, s3, v1
	v_ashrrev_i32_e32 v67, 31, v66
	s_lshl_b32 s0, s2, 19
	s_waitcnt lgkmcnt(0)
	v_lshl_add_u64 v[2:3], v[66:67], 1, s[4:5]
	s_mov_b32 s10, 0x80000
	v_or3_b32 v68, v6, s0, v1
	v_add_co_u32_e32 v4, vcc, s10, v2
	v_ashrrev_i32_e32 v69, 31, v68
	s_nop 0
	v_addc_co_u32_e32 v5, vcc, 0, v3, vcc
	global_load_dwordx4 v[72:75], v[2:3], off
	global_load_dwordx4 v[76:79], v[4:5], off
	v_lshl_add_u64 v[2:3], v[68:69], 1, s[6:7]
	v_add_co_u32_e32 v4, vcc, s10, v2
	v_and_b32_e32 v67, 31, v0
	s_nop 0
	v_addc_co_u32_e32 v5, vcc, 0, v3, vcc
	global_load_dwordx4 v[80:83], v[2:3], off
	global_load_dwordx4 v[84:87], v[4:5], off
	v_lshrrev_b32_e32 v69, 7, v0
	v_lshrrev_b32_e32 v70, 1, v0
	v_bfe_i32 v71, v0, 6, 1
	v_mul_u32_u24_e32 v65, 40, v65
	v_mul_u32_u24_e32 v67, 40, v67
	v_mul_u32_u24_e32 v69, 0x1400, v69
	v_and_b32_e32 v70, 16, v70
	v_and_b32_e32 v71, 0x1400, v71
	v_add_lshl_u32 v1, v65, v1, 1
	v_lshlrev_b32_e32 v65, 1, v67
	s_movk_i32 s0, 0x5000
	v_add3_u32 v67, v69, v65, v70
	v_add_u32_e32 v65, v71, v65
	s_mov_b32 s11, 0
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
	v_mov_b32_e32 v18, 0
	v_mov_b32_e32 v19, 0
	v_mov_b32_e32 v20, 0
	v_mov_b32_e32 v21, 0
	v_mov_b32_e32 v22, 0
	v_mov_b32_e32 v23, 0
	v_mov_b32_e32 v24, 0
	v_mov_b32_e32 v25, 0
	v_mov_b32_e32 v26, 0
	v_mov_b32_e32 v27, 0
	v_mov_b32_e32 v28, 0
	v_mov_b32_e32 v29, 0
	v_mov_b32_e32 v30, 0
	v_mov_b32_e32 v31, 0
	v_mov_b32_e32 v32, 0
	v_mov_b32_e32 v33, 0
	v_mov_b32_e32 v34, 0
	v_mov_b32_e32 v35, 0
	v_mov_b32_e32 v36, 0
	v_mov_b32_e32 v37, 0
	v_mov_b32_e32 v38, 0
	v_mov_b32_e32 v39, 0
	v_mov_b32_e32 v40, 0
	v_mov_b32_e32 v41, 0
	v_mov_b32_e32 v42, 0
	v_mov_b32_e32 v43, 0
	v_mov_b32_e32 v44, 0
	v_mov_b32_e32 v45, 0
	v_mov_b32_e32 v46, 0
	v_mov_b32_e32 v47, 0
	v_mov_b32_e32 v48, 0
	v_mov_b32_e32 v49, 0
	v_mov_b32_e32 v50, 0
	v_mov_b32_e32 v51, 0
	v_mov_b32_e32 v52, 0
	v_mov_b32_e32 v53, 0
	v_mov_b32_e32 v54, 0
	v_mov_b32_e32 v55, 0
	v_mov_b32_e32 v56, 0
	v_mov_b32_e32 v57, 0
	v_mov_b32_e32 v58, 0
	v_mov_b32_e32 v59, 0
	v_mov_b32_e32 v60, 0
	v_mov_b32_e32 v61, 0
	v_mov_b32_e32 v62, 0
	v_mov_b32_e32 v63, 0
	v_mov_b32_e32 v64, 0
	v_add3_u32 v69, v65, v70, s0
	v_mov_b32_e32 v65, 0
	s_waitcnt vmcnt(3)
	ds_write_b128 v1, v[72:75]
	s_waitcnt vmcnt(1)
	ds_write_b128 v1, v[80:83] offset:20480
	ds_write_b128 v1, v[76:79] offset:5120
	s_waitcnt vmcnt(0)
	ds_write_b128 v1, v[84:87] offset:25600
	s_waitcnt lgkmcnt(0)
	s_barrier
.LBB0_1:
	s_add_i32 s12, s11, 1
	s_min_u32 s0, s12, 0x7f
	s_lshl_b32 s0, s0, 5
	v_or_b32_e32 v70, s0, v66
	v_or_b32_e32 v72, s0, v68
	v_ashrrev_i32_e32 v71, 31, v70
	v_ashrrev_i32_e32 v73, 31, v72
	v_lshl_add_u64 v[70:71], v[70:71], 1, s[4:5]
	v_lshl_add_u64 v[72:73], v[72:73], 1, s[6:7]
	v_add_co_u32_e32 v74, vcc, s10, v70
	v_add_co_u32_e64 v76, s[0:1], s10, v72
	s_nop 0
	v_addc_co_u32_e32 v75, vcc, 0, v71, vcc
	v_addc_co_u32_e64 v77, vcc, 0, v73, s[0:1]
	global_load_dwordx4 v[78:81], v[70:71], off
	global_load_dwordx4 v[82:85], v[74:75], off
	global_load_dwordx4 v[86:89], v[72:73], off
	global_load_dwordx4 v[90:93], v[76:77], off
	s_bitcmp1_b32 s11, 0
	s_cselect_b32 s0, 0x2800, 0
	v_add_u32_e32 v70, s0, v67
	ds_read_b128 v[72:75], v70
	ds_read_b128 v[94:97], v70 offset:2560
	v_add_u32_e32 v71, s0, v69
	ds_read_b128 v[98:101], v71
	s_waitcnt lgkmcnt(0)
	v_mfma_f32_32x32x8_f16 v[50:65], v[72:73], v[98:99], v[50:65]
	s_bitcmp1_b32 s12, 0
	s_cselect_b32 s0, 0x2800, 0
	s_cmpk_lg_i32 s12, 0x80
	s_mov_b32 s11, s12
	v_mfma_f32_32x32x8_f16 v[18:33], v[94:95], v[98:99], v[18:33]
	ds_read_b128 v[102:105], v71 offset:2560
	s_waitcnt lgkmcnt(0)
	v_mfma_f32_32x32x8_f16 v[34:49], v[72:73], v[102:103], v[34:49]
	v_add_u32_e32 v72, s0, v1
	v_mfma_f32_32x32x8_f16 v[2:17], v[94:95], v[102:103], v[2:17]
	ds_read_b128 v[106:109], v70 offset:32
	v_mfma_f32_32x32x8_f16 v[50:65], v[74:75], v[100:101], v[50:65]
	v_mfma_f32_32x32x8_f16 v[34:49], v[74:75], v[104:105], v[34:49]
	ds_read_b128 v[74:77], v70 offset:2592
	s_waitcnt vmcnt(3)
	ds_write_b128 v72, v[78:81]
	v_mfma_f32_32x32x8_f16 v[18:33], v[96:97], v[100:101], v[18:33]
	s_waitcnt vmcnt(2)
	ds_write_b128 v72, v[82:85] offset:5120
	v_mfma_f32_32x32x8_f16 v[2:17], v[96:97], v[104:105], v[2:17]
	ds_read_b128 v[94:97], v71 offset:32
	s_waitcnt lgkmcnt(0)
	v_mfma_f32_32x32x8_f16 v[50:65], v[106:107], v[94:95], v[50:65]
	v_mfma_f32_32x32x8_f16 v[18:33], v[74:75], v[94:95], v[18:33]
	ds_read_b128 v[98:101], v71 offset:2592
	s_waitcnt vmcnt(1)
	ds_write_b128 v72, v[86:89] offset:20480
	s_waitcnt vmcnt(0)
	ds_write_b128 v72, v[90:93] offset:25600
	s_waitcnt lgkmcnt(0)
	s_barrier
	v_mfma_f32_32x32x8_f16 v[34:49], v[106:107], v[98:99], v[34:49]
	v_mfma_f32_32x32x8_f16 v[2:17], v[74:75], v[98:99], v[2:17]
	v_mfma_f32_32x32x8_f16 v[50:65], v[108:109], v[96:97], v[50:65]
	v_mfma_f32_32x32x8_f16 v[18:33], v[76:77], v[96:97], v[18:33]
	v_mfma_f32_32x32x8_f16 v[34:49], v[108:109], v[100:101], v[34:49]
	v_mfma_f32_32x32x8_f16 v[2:17], v[76:77], v[100:101], v[2:17]
	s_cbranch_scc1 .LBB0_1
	s_lshl_b32 s0, s2, 7
	v_lshlrev_b32_e32 v1, 9, v0
	v_lshlrev_b32_e32 v66, 11, v0
	v_and_b32_e32 v0, 0x5f, v0
	s_add_i32 s0, s0, s3
	v_and_b32_e32 v1, 0x4000, v1
	v_and_b32_e32 v66, 0x40000, v66
	v_or_b32_e32 v0, s0, v0
	v_add3_u32 v0, v0, v66, v1
	v_ashrrev_i32_e32 v1, 31, v0
	s_movk_i32 s1, 0x4000
	v_lshl_add_u64 v[0:1], v[0:1], 2, s[8:9]
	v_add_co_u32_e32 v66, vcc, s1, v0
	s_mov_b32 s0, 0x8000
	s_nop 0
	v_addc_co_u32_e32 v67, vcc, 0, v1, vcc
	global_store_dword v[0:1], v50, off
	v_add_co_u32_e32 v50, vcc, s0, v0
	global_store_dword v[66:67], v51, off
	s_nop 0
	v_addc_co_u32_e32 v51, vcc, 0, v1, vcc
	s_mov_b32 s0, 0xc000
	v_add_co_u32_e32 v68, vcc, s0, v0
	s_mov_b32 s0, 0x20000
	s_nop 0
	v_addc_co_u32_e32 v69, vcc, 0, v1, vcc
	global_store_dword v[50:51], v52, off
	v_add_co_u32_e32 v52, vcc, s0, v0
	global_store_dword v[68:69], v53, off
	s_nop 0
	v_addc_co_u32_e32 v53, vcc, 0, v1, vcc
	s_mov_b32 s0, 0x24000
	v_add_co_u32_e32 v70, vcc, s0, v0
	s_mov_b32 s0, 0x28000
	s_nop 0
	v_addc_co_u32_e32 v71, vcc, 0, v1, vcc
	global_store_dword v[52:53], v54, off
	v_add_co_u32_e32 v54, vcc, s0, v0
	global_store_dword v[70:71], v55, off
	s_nop 0
	v_addc_co_u32_e32 v55, vcc, 0, v1, vcc
	s_mov_b32 s0, 0x2c000
	v_add_co_u32_e32 v72, vcc, s0, v0
	s_mov_b32 s2, 0x40000
	s_nop 0
	v_addc_co_u32_e32 v73, vcc, 0, v1, vcc
	global_store_dword v[54:55], v56, off
	v_add_co_u32_e32 v56, vcc, s2, v0
	global_store_dword v[72:73], v57, off
	s_nop 0
	v_addc_co_u32_e32 v57, vcc, 0, v1, vcc
	s_mov_b32 s0, 0x44000
	v_add_co_u32_e32 v74, vcc, s0, v0
	s_mov_b32 s0, 0x48000
	s_nop 0
	v_addc_co_u32_e32 v75, vcc, 0, v1, vcc
	global_store_dword v[56:57], v58, off
	v_add_co_u32_e32 v58, vcc, s0, v0
	global_store_dword v[74:75], v59, off
	s_nop 0
	v_addc_co_u32_e32 v59, vcc, 0, v1, vcc
	s_mov_b32 s0, 0x4c000
	v_add_co_u32_e32 v76, vcc, s0, v0
	s_mov_b32 s0, 0x60000
	s_nop 0
	v_addc_co_u32_e32 v77, vcc, 0, v1, vcc
	global_store_dword v[58:59], v60, off
	v_add_co_u32_e32 v60, vcc, s0, v0
	global_store_dword v[76:77], v61, off
	s_nop 0
	v_addc_co_u32_e32 v61, vcc, 0, v1, vcc
	s_mov_b32 s0, 0x64000
	v_add_co_u32_e32 v78, vcc, s0, v0
	s_mov_b32 s0, 0x68000
	s_nop 0
	v_addc_co_u32_e32 v79, vcc, 0, v1, vcc
	global_store_dword v[60:61], v62, off
	v_add_co_u32_e32 v62, vcc, s0, v0
	global_store_dword v[78:79], v63, off
	s_nop 0
	v_addc_co_u32_e32 v63, vcc, 0, v1, vcc
	s_mov_b32 s0, 0x6c000
	v_add_co_u32_e32 v80, vcc, s0, v0
	s_mov_b32 s0, 0x80000
	s_nop 0
	v_addc_co_u32_e32 v81, vcc, 0, v1, vcc
	global_store_dword v[62:63], v64, off
	global_store_dword v[80:81], v65, off
	global_store_dword v[0:1], v34, off offset:128
	global_store_dword v[66:67], v35, off offset:128
	global_store_dword v[50:51], v36, off offset:128
	global_store_dword v[68:69], v37, off offset:128
	global_store_dword v[52:53], v38, off offset:128
	global_store_dword v[70:71], v39, off offset:128
	global_store_dword v[54:55], v40, off offset:128
	global_store_dword v[72:73], v41, off offset:128
	global_store_dword v[56:57], v42, off offset:128
	global_store_dword v[74:75], v43, off offset:128
	global_store_dword v[58:59], v44, off offset:128
	global_store_dword v[76:77], v45, off offset:128
	global_store_dword v[60:61], v46, off offset:128
	global_store_dword v[78:79], v47, off offset:128
	global_store_dword v[62:63], v48, off offset:128
	global_store_dword v[80:81], v49, off offset:128
	v_add_co_u32_e32 v34, vcc, s0, v0
	s_mov_b32 s0, 0x84000
	s_nop 0
	v_addc_co_u32_e32 v35, vcc, 0, v1, vcc
	v_add_co_u32_e32 v36, vcc, s0, v0
	s_mov_b32 s0, 0x88000
	s_nop 0
	v_addc_co_u32_e32 v37, vcc, 0, v1, vcc
	global_store_dword v[34:35], v18, off
	v_add_co_u32_e32 v18, vcc, s0, v0
	global_store_dword v[36:37], v19, off
	s_nop 0
	v_addc_co_u32_e32 v19, vcc, 0, v1, vcc
	s_mov_b32 s0, 0x8c000
	v_add_co_u32_e32 v38, vcc, s0, v0
	s_mov_b32 s0, 0xa0000
	s_nop 0
	v_addc_co_u32_e32 v39, vcc, 0, v1, vcc
	global_store_dword v[18:19], v20, off
	v_add_co_u32_e32 v20, vcc, s0, v0
	global_store_dword v[38:39], v21, off
	s_nop 0
	v_addc_co_u32_e32 v21, vcc, 0, v1, vcc
	s_mov_b32 s0, 0xa4000
	v_add_co_u32_e32 v40, vcc, s0, v0
	s_mov_b32 s0, 0xa8000
	s_nop 0
	v_addc_co_u32_e32 v41, vcc, 0, v1, vcc
	global_store_dword v[20:21], v22, off
	v_add_co_u32_e32 v22, vcc, s0, v0
	global_store_dword v[40:41], v23, off
	s_nop 0
	v_addc_co_u32_e32 v23, vcc, 0, v1, vcc
	s_mov_b32 s0, 0xac000
	v_add_co_u32_e32 v42, vcc, s0, v0
	s_mov_b32 s0, 0xc0000
	s_nop 0
	v_addc_co_u32_e32 v43, vcc, 0, v1, vcc
	global_store_dword v[22:23], v24, off
	v_add_co_u32_e32 v24, vcc, s0, v0
	global_store_dword v[42:43], v25, off
	s_nop 0
	v_addc_co_u32_e32 v25, vcc, 0, v1, vcc
	s_mov_b32 s0, 0xc4000
	v_add_co_u32_e32 v44, vcc, s0, v0
	s_mov_b32 s0, 0xc8000
	s_nop 0
	v_addc_co_u32_e32 v45, vcc, 0, v1, vcc
	global_store_dword v[24:25], v26, off
	v_add_co_u32_e32 v26, vcc, s0, v0
	global_store_dword v[44:45], v27, off
	s_nop 0
	v_addc_co_u32_e32 v27, vcc, 0, v1, vcc
	s_mov_b32 s0, 0xcc000
	v_add_co_u32_e32 v46, vcc, s0, v0
	s_mov_b32 s0, 0xe0000
	s_nop 0
	v_addc_co_u32_e32 v47, vcc, 0, v1, vcc
	global_store_dword v[26:27], v28, off
	v_add_co_u32_e32 v28, vcc, s0, v0
	global_store_dword v[46:47], v29, off
	s_nop 0
	v_addc_co_u32_e32 v29, vcc, 0, v1, vcc
	s_mov_b32 s0, 0xe4000
	v_add_co_u32_e32 v48, vcc, s0, v0
	s_mov_b32 s0, 0xe8000
	s_nop 0
	v_addc_co_u32_e32 v49, vcc, 0, v1, vcc
	global_store_dword v[28:29], v30, off
	v_add_co_u32_e32 v30, vcc, s0, v0
	global_store_dword v[48:49], v31, off
	s_nop 0
	v_addc_co_u32_e32 v31, vcc, 0, v1, vcc
	s_mov_b32 s0, 0xec000
	v_add_co_u32_e32 v0, vcc, s0, v0
	global_store_dword v[30:31], v32, off
	s_nop 0
	v_addc_co_u32_e32 v1, vcc, 0, v1, vcc
	global_store_dword v[0:1], v33, off
	global_store_dword v[34:35], v2, off offset:128
	global_store_dword v[36:37], v3, off offset:128
	global_store_dword v[18:19], v4, off offset:128
	global_store_dword v[38:39], v5, off offset:128
	global_store_dword v[20:21], v6, off offset:128
	global_store_dword v[40:41], v7, off offset:128
	global_store_dword v[22:23], v8, off offset:128
	global_store_dword v[42:43], v9, off offset:128
	global_store_dword v[24:25], v10, off offset:128
	global_store_dword v[44:45], v11, off offset:128
	global_store_dword v[26:27], v12, off offset:128
	global_store_dword v[46:47], v13, off offset:128
	global_store_dword v[28:29], v14, off offset:128
	global_store_dword v[48:49], v15, off offset:128
	global_store_dword v[30:31], v16, off offset:128
	global_store_dword v[0:1], v17, off offset:128
	s_endpgm
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel gemm_kernel
		.amdhsa_group_segment_fixed_size 40960
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
		.amdhsa_next_free_vgpr 257
		.amdhsa_next_free_sgpr 96
		.amdhsa_accum_offset 112
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

	.set gemm_kernel.num_vgpr, 110
	.set gemm_kernel.num_agpr, 0
	.set gemm_kernel.numbered_sgpr, 13
	.set gemm_kernel.num_named_barrier, 0
	.set gemm_kernel.private_seg_size, 0
	.set gemm_kernel.uses_vcc, 1
	.set gemm_kernel.uses_flat_scratch, 0
	.set gemm_kernel.has_dyn_sized_stack, 0
	.set gemm_kernel.has_recursion, 0
	.set gemm_kernel.has_indirect_call, 0
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
    .group_segment_fixed_size: 40960
    .kernarg_segment_align: 8
    .kernarg_segment_size: 24
    .max_flat_workgroup_size: 256
    .name:           gemm_kernel
    .private_segment_fixed_size: 0
    .sgpr_count:     19
    .sgpr_spill_count: 0
    .symbol:         gemm_kernel.kd
    .uses_dynamic_stack: false
    .vgpr_count:     110
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx942
amdhsa.version:
  - 1
  - 2
...

	.end_amdgpu_metadata
