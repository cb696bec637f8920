"""Observers of steps: each is called guarded, and gets copies, which it cannot write into."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from maskwright.foundation.errors import PluginError
from maskwright.plugins.guarding.call import Guarded
from maskwright.plugins.guarding.origin import Origin

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from maskwright.plugins.block import Block
    from maskwright.plugins.method import Masked, Removed

OBSERVERS = ("before_step", "after_step")


def observers_in(hooks: Any, origins: Mapping[str, tuple[str, str]]) -> dict[str, tuple[Callable[..., None], ...]]:
    """Observers by hook, in the order in which they are called, the last registered first."""
    return {
        hook: tuple(
            _observer(hook, each.function, tuple(each.argnames), origins[each.plugin_name])
            for each in reversed(getattr(hooks, hook).get_hookimpls())
        )
        for hook in OBSERVERS
    }


def refuse_wrappers(implementations: Any) -> None:
    """Observers are plain functions: one that wraps the others could keep them from being called."""
    for each in implementations:
        if each.hookwrapper or each.wrapper:
            raise PluginError(f"{each.function.__name__} is a hook wrapper; hooks of plugins are plain functions")


def tell(
    observers: tuple[Callable[..., None], ...], step: int, method: str, block: Block, masked: Masked | Removed | None
) -> None:
    """Tell observers of a block before a step, and of what the step made of it."""
    # Heavy: plugins are listed without it.
    from maskwright.plugins.guarding.frozen import frozen_copy

    if observers:
        seen, made = frozen_copy(block), frozen_copy(masked)
        for observer in observers:
            observer(step=step, method=method, block=seen, masked=made)


@dataclass(frozen=True)
class _Observer:
    """A function that gets by name what its hook passes on."""

    function: Guarded
    names: tuple[str, ...]

    @property
    def origin(self) -> Origin:
        """Whose it is."""
        return self.function.origin

    def __call__(self, **known: object) -> None:
        """Tell it."""
        self.function(*(known[name] for name in self.names))


def _observer(
    hook: str, function: Callable[..., object], names: tuple[str, ...], package: tuple[str, str]
) -> Callable[..., None]:
    module = str(getattr(function, "__module__", "")).partition(".")[0]
    return _Observer(Guarded(function, Origin("observer", hook, *package, module=module)), names)
