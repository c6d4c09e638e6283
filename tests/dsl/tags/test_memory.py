"""The ordering rules of shared memory, one access at a time."""

from __future__ import annotations

import numpy as np

from argus.dsl.ir import Shared
from argus.dsl.tags.memory import Buffer

CELLS = np.arange(4)
WAVE0, WAVE1 = np.full(4, 1), np.full(4, 2)


def fresh() -> Buffer:
    return Buffer.fresh(Shared(dtype="bf16", shape=(4,)))


def written(buffer: Buffer, waves: np.ndarray) -> Buffer:  # pyright: ignore[reportMissingTypeArgument]
    buffer.written[CELLS] |= waves
    return buffer


def copied(buffer: Buffer, waves: np.ndarray) -> Buffer:  # pyright: ignore[reportMissingTypeArgument]
    buffer.age[CELLS], buffer.owner[CELLS] = 0, waves
    return buffer


def test_a_wave_sees_its_own_writes_and_no_other_does_before_a_barrier() -> None:
    buffer = written(fresh(), WAVE0)
    assert not buffer.reads_unseen_write(CELLS, WAVE0).any()
    assert buffer.reads_unseen_write(CELLS, WAVE1).all()
    buffer.barrier()
    assert not buffer.reads_unseen_write(CELLS, WAVE1).any()


def test_overwriting_what_another_wave_reads_needs_a_barrier() -> None:
    buffer = fresh()
    buffer.read[CELLS] |= WAVE0 | WAVE1
    assert buffer.overwrites_read(CELLS, WAVE0).all()
    buffer.barrier()
    assert not buffer.overwrites_read(CELLS, WAVE0).any()


def test_a_barrier_does_not_complete_a_copy() -> None:
    buffer = copied(fresh(), WAVE0)
    buffer.commit()
    buffer.barrier()
    assert buffer.unread_pending(CELLS).all()


def test_a_wait_retires_all_but_the_newest_groups() -> None:
    buffer = copied(fresh(), WAVE0)
    buffer.commit()
    buffer.commit()  # a younger, empty group
    buffer.wait(2)
    assert buffer.unread_pending(CELLS).all()
    buffer.wait(1)
    assert not buffer.unread_pending(CELLS).any()


def test_a_wait_does_not_retire_the_open_group() -> None:
    buffer = copied(fresh(), WAVE0)
    buffer.wait(0)
    assert buffer.unread_pending(CELLS).all()


def test_a_retired_copy_is_seen_by_its_own_wave_at_once_and_by_others_after_a_barrier() -> None:
    buffer = copied(fresh(), WAVE0)
    buffer.commit()
    buffer.wait(0)
    assert not buffer.reads_unseen_copy(CELLS, WAVE0).any()
    assert buffer.reads_unseen_copy(CELLS, WAVE1).all()
    buffer.barrier()
    assert not buffer.reads_unseen_copy(CELLS, WAVE1).any()


def test_copies_of_the_same_age_by_other_waves_are_another_state() -> None:
    one, two = copied(fresh(), WAVE0), copied(fresh(), WAVE1)
    assert not one.same(two)
    two.owner[:] = WAVE0
    assert one.same(two)
