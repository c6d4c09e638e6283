; LLVM 22 through TVM: 256x256x32 f16 GEMM, two LDS stages through registers, eight waves
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
	v_lshlrev_b32_e32 v2, 10, v0
	v_and_b32_e32 v6, 24, v1
	v_and_b32_e32 v7, 0x7f000, v2
	s_lshl_b32 s0, s3, 20
	v_or3_b32 v130, v7, s0, v6
	v_ashrrev_i32_e32 v131, 31, v130
	s_lshl_b32 s3, s2, 20
	s_waitcnt lgkmcnt(0)
	v_lshl_add_u64 v[2:3], v[130:131], 1, s[4:5]
	s_mov_b32 s1, 0x100000
	v_or3_b32 v132, v7, s3, v6
	v_add_co_u32_e32 v4, vcc, s1, v2
	v_ashrrev_i32_e32 v133, 31, v132
	s_nop 0
	v_addc_co_u32_e32 v5, vcc, 0, v3, vcc
	global_load_dwordx4 v[136:139], v[2:3], off
	global_load_dwordx4 v[140:143], v[4:5], off
	v_lshl_add_u64 v[2:3], v[132:133], 1, s[6:7]
	v_add_co_u32_e32 v4, vcc, s1, v2
	v_lshlrev_b32_e32 v131, 5, v0
	s_nop 0
	v_addc_co_u32_e32 v5, vcc, 0, v3, vcc
	global_load_dwordx4 v[144:147], v[2:3], off
	global_load_dwordx4 v[148:151], v[4:5], off
	v_lshlrev_b32_e32 v133, 6, v0
	v_lshrrev_b32_e32 v134, 1, v0
	s_mov_b32 s11, 0x8000
	v_lshlrev_b32_e32 v129, 4, v0
	v_and_b32_e32 v131, 0x2000, v131
	v_and_b32_e32 v135, 0x7c0, v133
	v_and_b32_e32 v134, 16, v134
	v_and_b32_e32 v133, 0x37c0, v133
	s_mov_b32 s3, 1
	s_mov_b32 s10, 0
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
	v_mov_b32_e32 v65, 0
	v_mov_b32_e32 v66, 0
	v_mov_b32_e32 v67, 0
	v_mov_b32_e32 v68, 0
	v_mov_b32_e32 v69, 0
	v_mov_b32_e32 v70, 0
	v_mov_b32_e32 v71, 0
	v_mov_b32_e32 v72, 0
	v_mov_b32_e32 v73, 0
	v_mov_b32_e32 v74, 0
	v_mov_b32_e32 v75, 0
	v_mov_b32_e32 v76, 0
	v_mov_b32_e32 v77, 0
	v_mov_b32_e32 v78, 0
	v_mov_b32_e32 v79, 0
	v_mov_b32_e32 v80, 0
	v_mov_b32_e32 v81, 0
	v_mov_b32_e32 v82, 0
	v_mov_b32_e32 v83, 0
	v_mov_b32_e32 v84, 0
	v_mov_b32_e32 v85, 0
	v_mov_b32_e32 v86, 0
	v_mov_b32_e32 v87, 0
	v_mov_b32_e32 v88, 0
	v_mov_b32_e32 v89, 0
	v_mov_b32_e32 v90, 0
	v_mov_b32_e32 v91, 0
	v_mov_b32_e32 v92, 0
	v_mov_b32_e32 v93, 0
	v_mov_b32_e32 v94, 0
	v_mov_b32_e32 v95, 0
	v_mov_b32_e32 v96, 0
	v_mov_b32_e32 v97, 0
	v_mov_b32_e32 v98, 0
	v_mov_b32_e32 v99, 0
	v_mov_b32_e32 v100, 0
	v_mov_b32_e32 v101, 0
	v_mov_b32_e32 v102, 0
	v_mov_b32_e32 v103, 0
	v_mov_b32_e32 v104, 0
	v_mov_b32_e32 v105, 0
	v_mov_b32_e32 v106, 0
	v_mov_b32_e32 v107, 0
	v_mov_b32_e32 v108, 0
	v_mov_b32_e32 v109, 0
	v_mov_b32_e32 v110, 0
	v_mov_b32_e32 v111, 0
	v_mov_b32_e32 v112, 0
	v_mov_b32_e32 v113, 0
	v_mov_b32_e32 v114, 0
	v_mov_b32_e32 v115, 0
	v_mov_b32_e32 v116, 0
	v_mov_b32_e32 v117, 0
	v_mov_b32_e32 v118, 0
	v_mov_b32_e32 v119, 0
	v_mov_b32_e32 v120, 0
	v_mov_b32_e32 v121, 0
	v_mov_b32_e32 v122, 0
	v_mov_b32_e32 v123, 0
	v_mov_b32_e32 v124, 0
	v_mov_b32_e32 v125, 0
	v_mov_b32_e32 v126, 0
	v_mov_b32_e32 v127, 0
	v_mov_b32_e32 v128, 0
	v_or3_b32 v131, v131, v135, v134
	v_or3_b32 v133, v133, v134, s11
	s_waitcnt vmcnt(3)
	ds_write_b128 v129, v[136:139]
	s_waitcnt vmcnt(1)
	ds_write_b128 v129, v[144:147] offset:32768
	ds_write_b128 v129, v[140:143] offset:8192
	s_waitcnt vmcnt(0)
	ds_write_b128 v129, v[148:151] offset:40960
	v_mov_b32_e32 v129, 0
	s_waitcnt lgkmcnt(0)
	s_barrier
.LBB0_1:
	s_min_u32 s11, s3, 0x7f
	s_lshl_b32 s11, s11, 5
	v_or_b32_e32 v134, s11, v130
	v_ashrrev_i32_e32 v135, 31, v134
	v_or_b32_e32 v136, s11, v132
	v_lshl_add_u64 v[134:135], v[134:135], 1, s[4:5]
	v_ashrrev_i32_e32 v137, 31, v136
	v_add_co_u32_e32 v138, vcc, s1, v134
	s_lshl_b32 s11, s10, 1
	v_lshl_add_u64 v[136:137], v[136:137], 1, s[6:7]
	v_addc_co_u32_e32 v139, vcc, 0, v135, vcc
	s_and_b32 s11, s11, 0x4000
	v_add_co_u32_e32 v140, vcc, s1, v136
	v_or_b32_e32 v142, s11, v131
	s_nop 0
	v_addc_co_u32_e32 v141, vcc, 0, v137, vcc
	v_add_u32_e32 v143, s11, v133
	global_load_dwordx4 v[144:147], v[134:135], off
	global_load_dwordx4 v[148:151], v[138:139], off
	s_nop 0
	global_load_dwordx4 v[136:139], v[136:137], off
	ds_read_b128 v[152:155], v142
	ds_read_b128 v[156:159], v143
	ds_read_b128 v[160:163], v142 offset:32
	ds_read_b128 v[164:167], v143 offset:32
	ds_read_b128 v[168:171], v143 offset:2048
	ds_read_b128 v[172:175], v143 offset:2080
	ds_read_b128 v[176:179], v142 offset:2048
	ds_read_b128 v[180:183], v142 offset:2080
	ds_read_b128 v[184:187], v142 offset:4096
	ds_read_b128 v[188:191], v142 offset:4128
	ds_read_b128 v[192:195], v142 offset:6144
	ds_read_b128 v[196:199], v142 offset:6176
	global_load_dwordx4 v[140:143], v[140:141], off
	s_waitcnt lgkmcnt(10)
	v_mfma_f32_32x32x8_f16 v[114:129], v[152:153], v[156:157], v[114:129]
	s_addk_i32 s10, 0x2000
	s_and_b32 s11, s10, 0x2000
	s_add_i32 s3, s3, 1
	v_or_b32_e32 v134, s11, v1
	s_cmp_lg_u32 s10, 0x100000
	v_lshlrev_b32_e32 v134, 1, v134
	s_waitcnt vmcnt(3)
	ds_write_b128 v134, v[144:147]
	s_waitcnt vmcnt(1)
	ds_write_b128 v134, v[136:139] offset:32768
	ds_write_b128 v134, v[148:151] offset:8192
	s_waitcnt vmcnt(0)
	ds_write_b128 v134, v[140:143] offset:40960
	s_waitcnt lgkmcnt(11)
	v_mfma_f32_32x32x8_f16 v[98:113], v[152:153], v[168:169], v[98:113]
	s_waitcnt lgkmcnt(0)
	v_mfma_f32_32x32x8_f16 v[82:97], v[176:177], v[156:157], v[82:97]
	s_barrier
	v_mfma_f32_32x32x8_f16 v[66:81], v[176:177], v[168:169], v[66:81]
	v_mfma_f32_32x32x8_f16 v[50:65], v[184:185], v[156:157], v[50:65]
	v_mfma_f32_32x32x8_f16 v[34:49], v[184:185], v[168:169], v[34:49]
	v_mfma_f32_32x32x8_f16 v[18:33], v[192:193], v[156:157], v[18:33]
	v_mfma_f32_32x32x8_f16 v[2:17], v[192:193], v[168:169], v[2:17]
	v_mfma_f32_32x32x8_f16 v[114:129], v[154:155], v[158:159], v[114:129]
	v_mfma_f32_32x32x8_f16 v[98:113], v[154:155], v[170:171], v[98:113]
	v_mfma_f32_32x32x8_f16 v[82:97], v[178:179], v[158:159], v[82:97]
	v_mfma_f32_32x32x8_f16 v[66:81], v[178:179], v[170:171], v[66:81]
	v_mfma_f32_32x32x8_f16 v[50:65], v[186:187], v[158:159], v[50:65]
	v_mfma_f32_32x32x8_f16 v[34:49], v[186:187], v[170:171], v[34:49]
	v_mfma_f32_32x32x8_f16 v[18:33], v[194:195], v[158:159], v[18:33]
	v_mfma_f32_32x32x8_f16 v[2:17], v[194:195], v[170:171], v[2:17]
	v_mfma_f32_32x32x8_f16 v[114:129], v[160:161], v[164:165], v[114:129]
	v_mfma_f32_32x32x8_f16 v[98:113], v[160:161], v[172:173], v[98:113]
	v_mfma_f32_32x32x8_f16 v[82:97], v[180:181], v[164:165], v[82:97]
	v_mfma_f32_32x32x8_f16 v[66:81], v[180:181], v[172:173], v[66:81]
	v_mfma_f32_32x32x8_f16 v[50:65], v[188:189], v[164:165], v[50:65]
	v_mfma_f32_32x32x8_f16 v[34:49], v[188:189], v[172:173], v[34:49]
	v_mfma_f32_32x32x8_f16 v[18:33], v[196:197], v[164:165], v[18:33]
	v_mfma_f32_32x32x8_f16 v[2:17], v[196:197], v[172:173], v[2:17]
	v_mfma_f32_32x32x8_f16 v[114:129], v[162:163], v[166:167], v[114:129]
	v_mfma_f32_32x32x8_f16 v[98:113], v[162:163], v[174:175], v[98:113]
	v_mfma_f32_32x32x8_f16 v[82:97], v[182:183], v[166:167], v[82:97]
	v_mfma_f32_32x32x8_f16 v[66:81], v[182:183], v[174:175], v[66:81]
	v_mfma_f32_32x32x8_f16 v[50:65], v[190:191], v[166:167], v[50:65]
	v_mfma_f32_32x32x8_f16 v[34:49], v[190:191], v[174:175], v[34:49]
	v_mfma_f32_32x32x8_f16 v[18:33], v[198:199], v[166:167], v[18:33]
	v_mfma_f32_32x32x8_f16 v[2:17], v[198:199], v[174:175], v[2:17]
	s_cbranch_scc1 .LBB0_1
	s_lshl_b32 s1, s2, 8
	v_lshlrev_b32_e32 v1, 9, v0
	v_lshlrev_b32_e32 v130, 11, v0
	v_and_b32_e32 v0, 0xdf, v0
	s_add_i32 s1, s1, s0
	v_and_b32_e32 v1, 0x4000, v1
	v_and_b32_e32 v130, 0x80000, v130
	v_or_b32_e32 v0, s1, v0
	v_add3_u32 v0, v0, v130, v1
	v_ashrrev_i32_e32 v1, 31, v0
	s_movk_i32 s2, 0x4000
	v_lshl_add_u64 v[0:1], v[0:1], 2, s[8:9]
	v_add_co_u32_e32 v130, vcc, s2, v0
	s_mov_b32 s0, 0x8000
	s_nop 0
	v_addc_co_u32_e32 v131, vcc, 0, v1, vcc
	global_store_dword v[0:1], v114, off
	v_add_co_u32_e32 v114, vcc, s0, v0
	global_store_dword v[130:131], v115, off
	s_nop 0
	v_addc_co_u32_e32 v115, vcc, 0, v1, vcc
	s_mov_b32 s0, 0xc000
	v_add_co_u32_e32 v132, vcc, s0, v0
	s_mov_b32 s0, 0x20000
	s_nop 0
	v_addc_co_u32_e32 v133, vcc, 0, v1, vcc
	global_store_dword v[114:115], v116, off
	v_add_co_u32_e32 v116, vcc, s0, v0
	global_store_dword v[132:133], v117, off
	s_nop 0
	v_addc_co_u32_e32 v117, vcc, 0, v1, vcc
	s_mov_b32 s0, 0x24000
	v_add_co_u32_e32 v134, vcc, s0, v0
	s_mov_b32 s0, 0x28000
	s_nop 0
	v_addc_co_u32_e32 v135, vcc, 0, v1, vcc
	global_store_dword v[116:117], v118, off
	v_add_co_u32_e32 v118, vcc, s0, v0
	global_store_dword v[134:135], v119, off
	s_nop 0
	v_addc_co_u32_e32 v119, vcc, 0, v1, vcc
	s_mov_b32 s0, 0x2c000
	v_add_co_u32_e32 v136, vcc, s0, v0
	s_mov_b32 s0, 0x40000
	s_nop 0
	v_addc_co_u32_e32 v137, vcc, 0, v1, vcc
	global_store_dword v[118:119], v120, off
	v_add_co_u32_e32 v120, vcc, s0, v0
	global_store_dword v[136:137], v121, off
	s_nop 0
	v_addc_co_u32_e32 v121, vcc, 0, v1, vcc
	s_mov_b32 s0, 0x44000
	v_add_co_u32_e32 v138, vcc, s0, v0
	s_mov_b32 s0, 0x48000
	s_nop 0
	v_addc_co_u32_e32 v139, vcc, 0, v1, vcc
	global_store_dword v[120:121], v122, off
	v_add_co_u32_e32 v122, vcc, s0, v0
	global_store_dword v[138:139], v123, off
	s_nop 0
	v_addc_co_u32_e32 v123, vcc, 0, v1, vcc
	s_mov_b32 s0, 0x4c000
	v_add_co_u32_e32 v140, vcc, s0, v0
	s_mov_b32 s0, 0x60000
	s_nop 0
	v_addc_co_u32_e32 v141, vcc, 0, v1, vcc
	global_store_dword v[122:123], v124, off
	v_add_co_u32_e32 v124, vcc, s0, v0
	global_store_dword v[140:141], v125, off
	s_nop 0
	v_addc_co_u32_e32 v125, vcc, 0, v1, vcc
	s_mov_b32 s0, 0x64000
	v_add_co_u32_e32 v142, vcc, s0, v0
	s_mov_b32 s0, 0x68000
	s_nop 0
	v_addc_co_u32_e32 v143, vcc, 0, v1, vcc
	global_store_dword v[124:125], v126, off
	v_add_co_u32_e32 v126, vcc, s0, v0
	global_store_dword v[142:143], v127, off
	s_nop 0
	v_addc_co_u32_e32 v127, vcc, 0, v1, vcc
	s_mov_b32 s0, 0x6c000
	v_add_co_u32_e32 v144, vcc, s0, v0
	s_mov_b32 s3, 0x80000
	s_nop 0
	v_addc_co_u32_e32 v145, vcc, 0, v1, vcc
	global_store_dword v[126:127], v128, off
	global_store_dword v[144:145], v129, off
	global_store_dword v[0:1], v98, off offset:128
	global_store_dword v[130:131], v99, off offset:128
	global_store_dword v[114:115], v100, off offset:128
	global_store_dword v[132:133], v101, off offset:128
	global_store_dword v[116:117], v102, off offset:128
	global_store_dword v[134:135], v103, off offset:128
	global_store_dword v[118:119], v104, off offset:128
	global_store_dword v[136:137], v105, off offset:128
	global_store_dword v[120:121], v106, off offset:128
	global_store_dword v[138:139], v107, off offset:128
	global_store_dword v[122:123], v108, off offset:128
	global_store_dword v[140:141], v109, off offset:128
	global_store_dword v[124:125], v110, off offset:128
	global_store_dword v[142:143], v111, off offset:128
	global_store_dword v[126:127], v112, off offset:128
	global_store_dword v[144:145], v113, off offset:128
	v_add_co_u32_e32 v98, vcc, s3, v0
	s_mov_b32 s0, 0x84000
	s_nop 0
	v_addc_co_u32_e32 v99, vcc, 0, v1, vcc
	v_add_co_u32_e32 v100, vcc, s0, v0
	s_mov_b32 s0, 0x88000
	s_nop 0
	v_addc_co_u32_e32 v101, vcc, 0, v1, vcc
	global_store_dword v[98:99], v82, off
	v_add_co_u32_e32 v82, vcc, s0, v0
	global_store_dword v[100:101], v83, off
	s_nop 0
	v_addc_co_u32_e32 v83, vcc, 0, v1, vcc
	s_mov_b32 s0, 0x8c000
	v_add_co_u32_e32 v102, vcc, s0, v0
	s_mov_b32 s0, 0xa0000
	s_nop 0
	v_addc_co_u32_e32 v103, vcc, 0, v1, vcc
	global_store_dword v[82:83], v84, off
	v_add_co_u32_e32 v84, vcc, s0, v0
	global_store_dword v[102:103], v85, off
	s_nop 0
	v_addc_co_u32_e32 v85, vcc, 0, v1, vcc
	s_mov_b32 s0, 0xa4000
	v_add_co_u32_e32 v104, vcc, s0, v0
	s_mov_b32 s0, 0xa8000
	s_nop 0
	v_addc_co_u32_e32 v105, vcc, 0, v1, vcc
	global_store_dword v[84:85], v86, off
	v_add_co_u32_e32 v86, vcc, s0, v0
	global_store_dword v[104:105], v87, off
	s_nop 0
	v_addc_co_u32_e32 v87, vcc, 0, v1, vcc
	s_mov_b32 s0, 0xac000
	v_add_co_u32_e32 v106, vcc, s0, v0
	s_mov_b32 s0, 0xc0000
	s_nop 0
	v_addc_co_u32_e32 v107, vcc, 0, v1, vcc
	global_store_dword v[86:87], v88, off
	v_add_co_u32_e32 v88, vcc, s0, v0
	global_store_dword v[106:107], v89, off
	s_nop 0
	v_addc_co_u32_e32 v89, vcc, 0, v1, vcc
	s_mov_b32 s0, 0xc4000
	v_add_co_u32_e32 v108, vcc, s0, v0
	s_mov_b32 s0, 0xc8000
	s_nop 0
	v_addc_co_u32_e32 v109, vcc, 0, v1, vcc
	global_store_dword v[88:89], v90, off
	v_add_co_u32_e32 v90, vcc, s0, v0
	global_store_dword v[108:109], v91, off
	s_nop 0
	v_addc_co_u32_e32 v91, vcc, 0, v1, vcc
	s_mov_b32 s0, 0xcc000
	v_add_co_u32_e32 v110, vcc, s0, v0
	s_mov_b32 s0, 0xe0000
	s_nop 0
	v_addc_co_u32_e32 v111, vcc, 0, v1, vcc
	global_store_dword v[90:91], v92, off
	v_add_co_u32_e32 v92, vcc, s0, v0
	global_store_dword v[110:111], v93, off
	s_nop 0
	v_addc_co_u32_e32 v93, vcc, 0, v1, vcc
	s_mov_b32 s0, 0xe4000
	v_add_co_u32_e32 v112, vcc, s0, v0
	s_mov_b32 s0, 0xe8000
	s_nop 0
	v_addc_co_u32_e32 v113, vcc, 0, v1, vcc
	global_store_dword v[92:93], v94, off
	v_add_co_u32_e32 v94, vcc, s0, v0
	global_store_dword v[112:113], v95, off
	s_nop 0
	v_addc_co_u32_e32 v95, vcc, 0, v1, vcc
	s_mov_b32 s0, 0xec000
	v_add_co_u32_e32 v114, vcc, s0, v0
	s_mov_b32 s0, 0x100000
	s_nop 0
	v_addc_co_u32_e32 v115, vcc, 0, v1, vcc
	global_store_dword v[94:95], v96, off
	global_store_dword v[114:115], v97, off
	global_store_dword v[98:99], v66, off offset:128
	global_store_dword v[100:101], v67, off offset:128
	global_store_dword v[82:83], v68, off offset:128
	global_store_dword v[102:103], v69, off offset:128
	global_store_dword v[84:85], v70, off offset:128
	global_store_dword v[104:105], v71, off offset:128
	global_store_dword v[86:87], v72, off offset:128
	global_store_dword v[106:107], v73, off offset:128
	global_store_dword v[88:89], v74, off offset:128
	global_store_dword v[108:109], v75, off offset:128
	global_store_dword v[90:91], v76, off offset:128
	global_store_dword v[110:111], v77, off offset:128
	global_store_dword v[92:93], v78, off offset:128
	global_store_dword v[112:113], v79, off offset:128
	global_store_dword v[94:95], v80, off offset:128
	global_store_dword v[114:115], v81, off offset:128
	v_add_co_u32_e32 v66, vcc, s0, v0
	s_mov_b32 s0, 0x104000
	s_nop 0
	v_addc_co_u32_e32 v67, vcc, 0, v1, vcc
	v_add_co_u32_e32 v68, vcc, s0, v0
	s_mov_b32 s0, 0x108000
	s_nop 0
	v_addc_co_u32_e32 v69, vcc, 0, v1, vcc
	global_store_dword v[66:67], v50, off
	v_add_co_u32_e32 v50, vcc, s0, v0
	global_store_dword v[68:69], v51, off
	s_nop 0
	v_addc_co_u32_e32 v51, vcc, 0, v1, vcc
	s_mov_b32 s0, 0x10c000
	v_add_co_u32_e32 v70, vcc, s0, v0
	s_mov_b32 s0, 0x120000
	s_nop 0
	v_addc_co_u32_e32 v71, vcc, 0, v1, vcc
	global_store_dword v[50:51], v52, off
	v_add_co_u32_e32 v52, vcc, s0, v0
	global_store_dword v[70:71], v53, off
	s_nop 0
	v_addc_co_u32_e32 v53, vcc, 0, v1, vcc
	s_mov_b32 s0, 0x124000
	v_add_co_u32_e32 v72, vcc, s0, v0
	s_mov_b32 s0, 0x128000
	s_nop 0
	v_addc_co_u32_e32 v73, vcc, 0, v1, vcc
	global_store_dword v[52:53], v54, off
	v_add_co_u32_e32 v54, vcc, s0, v0
	global_store_dword v[72:73], v55, off
	s_nop 0
	v_addc_co_u32_e32 v55, vcc, 0, v1, vcc
	s_mov_b32 s0, 0x12c000
	v_add_co_u32_e32 v74, vcc, s0, v0
	s_mov_b32 s0, 0x140000
	s_nop 0
	v_addc_co_u32_e32 v75, vcc, 0, v1, vcc
	global_store_dword v[54:55], v56, off
	v_add_co_u32_e32 v56, vcc, s0, v0
	global_store_dword v[74:75], v57, off
	s_nop 0
	v_addc_co_u32_e32 v57, vcc, 0, v1, vcc
	s_mov_b32 s0, 0x144000
	v_add_co_u32_e32 v76, vcc, s0, v0
	s_mov_b32 s0, 0x148000
	s_nop 0
	v_addc_co_u32_e32 v77, vcc, 0, v1, vcc
	global_store_dword v[56:57], v58, off
	v_add_co_u32_e32 v58, vcc, s0, v0
	global_store_dword v[76:77], v59, off
	s_nop 0
	v_addc_co_u32_e32 v59, vcc, 0, v1, vcc
	s_mov_b32 s0, 0x14c000
	v_add_co_u32_e32 v78, vcc, s0, v0
	s_mov_b32 s0, 0x160000
	s_nop 0
	v_addc_co_u32_e32 v79, vcc, 0, v1, vcc
	global_store_dword v[58:59], v60, off
	v_add_co_u32_e32 v60, vcc, s0, v0
	global_store_dword v[78:79], v61, off
	s_nop 0
	v_addc_co_u32_e32 v61, vcc, 0, v1, vcc
	s_mov_b32 s0, 0x164000
	v_add_co_u32_e32 v80, vcc, s0, v0
	s_mov_b32 s0, 0x168000
	s_nop 0
	v_addc_co_u32_e32 v81, vcc, 0, v1, vcc
	global_store_dword v[60:61], v62, off
	v_add_co_u32_e32 v62, vcc, s0, v0
	global_store_dword v[80:81], v63, off
	s_nop 0
	v_addc_co_u32_e32 v63, vcc, 0, v1, vcc
	s_mov_b32 s0, 0x16c000
	v_add_co_u32_e32 v82, vcc, s0, v0
	s_mov_b32 s0, 0x180000
	s_nop 0
	v_addc_co_u32_e32 v83, vcc, 0, v1, vcc
	global_store_dword v[62:63], v64, off
	global_store_dword v[82:83], v65, off
	global_store_dword v[66:67], v34, off offset:128
	global_store_dword v[68:69], v35, off offset:128
	global_store_dword v[50:51], v36, off offset:128
	global_store_dword v[70:71], v37, off offset:128
	global_store_dword v[52:53], v38, off offset:128
	global_store_dword v[72:73], v39, off offset:128
	global_store_dword v[54:55], v40, off offset:128
	global_store_dword v[74:75], v41, off offset:128
	global_store_dword v[56:57], v42, off offset:128
	global_store_dword v[76:77], v43, off offset:128
	global_store_dword v[58:59], v44, off offset:128
	global_store_dword v[78:79], v45, off offset:128
	global_store_dword v[60:61], v46, off offset:128
	global_store_dword v[80:81], v47, off offset:128
	global_store_dword v[62:63], v48, off offset:128
	global_store_dword v[82:83], v49, off offset:128
	v_add_co_u32_e32 v34, vcc, s0, v0
	s_mov_b32 s0, 0x184000
	s_nop 0
	v_addc_co_u32_e32 v35, vcc, 0, v1, vcc
	v_add_co_u32_e32 v36, vcc, s0, v0
	s_mov_b32 s0, 0x188000
	s_nop 0
	v_addc_co_u32_e32 v37, vcc, 0, v1, vcc
	global_store_dword v[34:35], v18, off
	v_add_co_u32_e32 v18, vcc, s0, v0
	global_store_dword v[36:37], v19, off
	s_nop 0
	v_addc_co_u32_e32 v19, vcc, 0, v1, vcc
	s_mov_b32 s0, 0x18c000
	v_add_co_u32_e32 v38, vcc, s0, v0
	s_mov_b32 s0, 0x1a0000
	s_nop 0
	v_addc_co_u32_e32 v39, vcc, 0, v1, vcc
	global_store_dword v[18:19], v20, off
	v_add_co_u32_e32 v20, vcc, s0, v0
	global_store_dword v[38:39], v21, off
	s_nop 0
	v_addc_co_u32_e32 v21, vcc, 0, v1, vcc
	s_mov_b32 s0, 0x1a4000
	v_add_co_u32_e32 v40, vcc, s0, v0
	s_mov_b32 s0, 0x1a8000
	s_nop 0
	v_addc_co_u32_e32 v41, vcc, 0, v1, vcc
	global_store_dword v[20:21], v22, off
	v_add_co_u32_e32 v22, vcc, s0, v0
	global_store_dword v[40:41], v23, off
	s_nop 0
	v_addc_co_u32_e32 v23, vcc, 0, v1, vcc
	s_mov_b32 s0, 0x1ac000
	v_add_co_u32_e32 v42, vcc, s0, v0
	s_mov_b32 s0, 0x1c0000
	s_nop 0
	v_addc_co_u32_e32 v43, vcc, 0, v1, vcc
	global_store_dword v[22:23], v24, off
	v_add_co_u32_e32 v24, vcc, s0, v0
	global_store_dword v[42:43], v25, off
	s_nop 0
	v_addc_co_u32_e32 v25, vcc, 0, v1, vcc
	s_mov_b32 s0, 0x1c4000
	v_add_co_u32_e32 v44, vcc, s0, v0
	s_mov_b32 s0, 0x1c8000
	s_nop 0
	v_addc_co_u32_e32 v45, vcc, 0, v1, vcc
	global_store_dword v[24:25], v26, off
	v_add_co_u32_e32 v26, vcc, s0, v0
	global_store_dword v[44:45], v27, off
	s_nop 0
	v_addc_co_u32_e32 v27, vcc, 0, v1, vcc
	s_mov_b32 s0, 0x1cc000
	v_add_co_u32_e32 v46, vcc, s0, v0
	s_mov_b32 s0, 0x1e0000
	s_nop 0
	v_addc_co_u32_e32 v47, vcc, 0, v1, vcc
	global_store_dword v[26:27], v28, off
	v_add_co_u32_e32 v28, vcc, s0, v0
	global_store_dword v[46:47], v29, off
	s_nop 0
	v_addc_co_u32_e32 v29, vcc, 0, v1, vcc
	s_mov_b32 s0, 0x1e4000
	v_add_co_u32_e32 v48, vcc, s0, v0
	s_mov_b32 s0, 0x1e8000
	s_nop 0
	v_addc_co_u32_e32 v49, vcc, 0, v1, vcc
	global_store_dword v[28:29], v30, off
	v_add_co_u32_e32 v30, vcc, s0, v0
	global_store_dword v[48:49], v31, off
	s_nop 0
	v_addc_co_u32_e32 v31, vcc, 0, v1, vcc
	s_mov_b32 s0, 0x1ec000
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
		.amdhsa_group_segment_fixed_size 65536
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
		.amdhsa_next_free_vgpr 200
		.amdhsa_next_free_sgpr 96
		.amdhsa_accum_offset 200
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

	.set gemm_kernel.num_vgpr, 200
	.set gemm_kernel.num_agpr, 0
	.set gemm_kernel.numbered_sgpr, 12
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
    .group_segment_fixed_size: 65536
    .kernarg_segment_align: 8
    .kernarg_segment_size: 24
    .max_flat_workgroup_size: 512
    .name:           gemm_kernel
    .private_segment_fixed_size: 0
    .sgpr_count:     18
    .sgpr_spill_count: 0
    .symbol:         gemm_kernel.kd
    .uses_dynamic_stack: false
    .vgpr_count:     200
    .vgpr_spill_count: 0
    .wavefront_size: 64
amdhsa.target:   amdgcn-amd-amdhsa--gfx942
amdhsa.version:
  - 1
  - 2
...

	.end_amdgpu_metadata
