"""Views of shared memory as cells of a stage."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from argus.dsl.ir import At, Ref, View
from argus.dsl.layout import Expr
from argus.dsl.layout.affine import FALSE, Affine, Formula
from argus.dsl.tags.context import Context, Site
from argus.dsl.tags.domain import Ints
from argus.dsl.tags.gather import rows_of
from argus.dsl.tags.groups import assume_groups
from argus.dsl.tags.obligations import Finding
from argus.dsl.tags.roles.cells import Place, Region, is_staged, region_of
from argus.dsl.tags.roles.sync import sync_of
from argus.dsl.tags.roles.turns import Families, counted, number_of, plain
from argus.dsl.tags.state import State
from argus.dsl.tags.views import GlobalView, Need, Outside, root


@dataclass(slots=True, eq=False)
class Locator:
    cx: Context
    families: Families
    _known: dict[tuple[object, ...], Place] = field(default_factory=dict[tuple[object, ...], Place])

    def shared(self, state: State, site: Site, view: View) -> Place | None:
        """Where a view of shared memory lies now; None if it leaves its buffer.

        Raises:
            Outside: If its indices do not tell, or it is no rows by columns of one stage.
        """
        cx, name = self.cx, root(view)
        if name not in cx.types.buffers:
            raise Outside(f"the view {name}")
        known, stage = cx.constant(state), _stage_index(view)

        def constant(e: Expr, word: str) -> int:
            return self._index(state, name, e) if e is stage else known(e, word)

        cells = cx.shared_views.resolve(view, constant)
        self.needs(state, site, cells.needs)
        if any(need.formula == FALSE for need in cells.needs):
            return None
        if cells.key not in self._known:
            self._known[cells.key] = self._place(name, cells.index, cells.key)
        return self._known[cells.key]

    def _place(self, name: str, index: Ints, key: tuple[object, ...]) -> Place:
        buffer = self.cx.buffer(name)
        shape = buffer.shape
        size = int(np.prod(shape[1:] if is_staged(buffer) else shape, dtype=np.int64))
        stages = np.unique(index // size)
        region = region_of(index % size, shape[-1]) if (index >= 0).all() else None
        if len(stages) != 1 or region is None:
            raise Outside(f"a view of {name} that is no rows by columns of one stage")
        return Place(name, int(stages[0]), index % size, region, key)

    def columns(self, place: Place, columns: slice) -> Place:
        """Some columns of a view."""
        key = (*place.key, columns.start, columns.stop)
        if key not in self._known:
            cells = np.ascontiguousarray(place.cells[:, columns])
            self._known[key] = self._part(place, cells, key)
        return self._known[key]

    def rows_of(self, place: Place, region: Region) -> Place:
        """The cells of a view that lie in a region."""
        key = (*place.key, region)
        if key not in self._known:
            columns = self.cx.buffer(place.buffer).shape[-1]
            inside = [
                bool(region.rows >> int(r) & 1 and region.cols >> int(c) & 1)  # Python's integers have no width
                for r, c in zip(*divmod(place.flat, columns), strict=True)
            ]
            self._known[key] = replace(place, cells=place.flat[np.array(inside)], region=region, key=key)
        return self._known[key]

    def _part(self, place: Place, cells: Ints, key: tuple[object, ...]) -> Place:
        region = region_of(cells, self.cx.buffer(place.buffer).shape[-1])
        if region is None:
            raise Outside(f"a view of {place.buffer} that is no rows by columns")
        return replace(place, cells=cells, region=region, key=key)

    def _index(self, state: State, name: str, index: Expr) -> int:
        """The place of a stage: in a family, among those that are filled next."""
        family = self.families.of(name)
        if family is None:
            return self.cx.constant(state)(index, "index")
        fill = counted(index, family.stages)
        if fill is None:
            raise Outside(f"an index into {name} that counts no fills")
        return self._distance(state, family.name, name, fill) % family.stages

    def _distance(self, state: State, family: str, name: str, fill: Expr) -> int:
        form = plain(state, self.cx.evaluate(fill) - sync_of(state).base[family])
        if not form.is_const:
            raise Outside(f"the symbolic index {self.cx.shown(form)} into {name}")
        return form.const

    # --------------------------------------------------------------------------------------- barriers

    def slot(self, state: State, name: str, slot: Expr) -> int:
        """The place of a barrier's slot."""
        family = self.families.of(name)
        assert family is not None
        fill = counted(slot, family.stages)
        if fill is None:
            raise Outside(f"a slot of {name} that counts no fills")
        if family.stages == 1:
            return 0
        return self._distance(state, family.name, name, fill) % family.stages

    def completion(self, state: State, name: str, slot: Expr, completion: Expr) -> tuple[int, int, Affine]:
        """The place of a wait's slot, the number that it waits for, and the same counted from the first fill."""
        family = self.families.of(name)
        assert family is not None
        place = self.slot(state, name, slot)
        wanted, base = self.cx.evaluate(completion), sync_of(state).base[family.name]
        number = number_of(wanted, family.stages, base, place)
        if number is None:  # where the base is known only here
            number = number_of(state.reduce(wanted), family.stages, state.reduce(base), place)
        if number is None:
            raise Outside(f"a wait for completion {self.cx.shown(wanted)} of {name}")
        return place, number, base + number

    # ----------------------------------------------------------------------------------------- bounds

    def tensor(self, state: State, site: Site, view: View) -> GlobalView:
        """A view of a tensor, which must lie inside it as far as nothing pads."""
        at = self.cx.global_view(view, lambda name, axis: rows_of(self.cx, state, name, axis))
        self.needs(state, site, at.needs)
        return at

    def needs(self, state: State, site: Site, needs: tuple[Need, ...]) -> None:
        bounds = self.cx.registry.get("bounds", site.number)
        bounds.raise_tier("affine" if needs else "structure")
        for need in needs:
            assume_groups(self.cx, state, need.formula)
            self.outside(state, site, need.formula, need.text)

    def outside(self, state: State, site: Site, inside: Formula, text: str) -> None:
        cx = self.cx
        finding = Finding(f"the access leaves its view: {text}", site.span, cx.loops(), fix_class="bounds guard")
        cx.must(cx.registry.get("bounds", site.number), state, inside, "affine", lambda: finding)


def _stage_index(view: View) -> Expr | None:
    """The first index into the buffer itself."""
    index = None
    while not isinstance(view, Ref):
        index = view.index if isinstance(view, At) else None
        view = view.src
    return index
