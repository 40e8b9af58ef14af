"""Values that log what code of theirs has run, for tests of the memory handler."""

from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pandas as pd

from e2e.support.memory_handler import Memory, ran


class Meta(type):
    """Logs whatever asks a class of it for something."""

    def __getattribute__(cls, name: str) -> Any:
        ran.append(f"class.{name}")
        return type.__getattribute__(cls, name)

    def __eq__(cls, other: object) -> bool:
        ran.append("class ==")
        return True

    def __hash__(cls) -> int:
        ran.append("hash(class)")
        return 1

    def __instancecheck__(cls, other: object) -> bool:
        ran.append("isinstance")
        return True


class Trap(metaclass=Meta):
    """Logs whatever asks it for something."""

    def __getattribute__(self, name: str) -> Any:
        ran.append(name)
        return object.__getattribute__(self, name)

    def __repr__(self) -> str:
        ran.append("repr")
        raise SystemExit

    __str__ = __repr__

    def __len__(self) -> int:
        ran.append("len")
        return 1

    def __eq__(self, other: object) -> bool:
        ran.append("==")
        return True

    def __hash__(self) -> int:
        ran.append("hash")
        return 1

    @property
    def slow(self) -> int:
        ran.append("property")
        return 1


class OwnDict(dict):
    def __len__(self) -> int:
        ran.append("len of a dict")
        return 7

    def items(self) -> Any:
        ran.append("items")
        return []


class OwnFrame(pd.DataFrame):
    @property
    def shape(self) -> Any:
        ran.append("shape")
        return (0, 0)


class Slots:
    __slots__ = ("a", "unset")


def function(first: int, trap: object = Trap(), *rest: int, only: int = 3, **named: int) -> None:
    """Does something."""


def traps() -> Memory:
    slots = Slots()
    slots.a = 3
    return Memory(
        trap=Trap(),
        Trap=Trap,
        mock=MagicMock(),
        text="x" * 50_000_000,
        huge=1 << 332_000,
        own_dict=OwnDict(a=1),
        own_frame=OwnFrame({"a": [1]}),
        frame=pd.DataFrame({"a": [1, None], "o": [Trap(), Trap()]}),
        items={"k": Trap(), 1: [Trap()]},
        slots=slots,
        function=function,
        np=np,
    )
