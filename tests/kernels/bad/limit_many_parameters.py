# expect: limit 3
@kernel(target="gfx942", waves=4)
def gemm(p0: f32, p1: f32, p2: f32, p3: f32, p4: f32, p5: f32, p6: f32, p7: f32, p8: f32, p9: f32, p10: f32, p11: f32, p12: f32, p13: f32, p14: f32, p15: f32, p16: f32, p17: f32, p18: f32, p19: f32, p20: f32, p21: f32, p22: f32, p23: f32, p24: f32, p25: f32, p26: f32, p27: f32, p28: f32, p29: f32, p30: f32, p31: f32, p32: f32):
    barrier()
