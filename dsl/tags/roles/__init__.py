"""sm_90a: teams of waves that run different programs, mbarriers, copies by TMA and MMAs in flight.

Teams synchronise only by barriers whose waits name a completion, so what one schedule orders, every schedule orders.
One schedule is therefore analysed: each team runs until it waits, and loops of equal trip counts run side by side. That
two accesses do not collide is read off happens-before, never off the order in which they were met.
"""
