"""The places that tests of the notebook tools run on, and what some of them cannot do."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

import pytest

from e2e.support.jupyter_server import FORMS


class Can(Enum):
    """What not every place can do."""

    KEEP_FILES = auto()
    CREATE_NOTEBOOKS = auto()
    CHOOSE_KERNELS = auto()
    INTERRUPT = auto()
    RESTART = auto()
    SHOW_OUTPUTS_DURING_RUNS = auto()
    SET_OUTPUTS = auto()
    SET_METADATA = auto()
    SET_CELL_TYPES = auto()
    COPY_TO_THE_FOLDER = auto()
    ASK_MEMORY = auto()
    START_FRESH_KERNELS = auto()


@dataclass(frozen=True)
class Lack:
    """Why a place cannot do something, and what its refusal says can be done instead; empty if no tool asks for it."""

    reason: str
    instead: str = ""


@dataclass(frozen=True)
class Place:
    """A folder, a kind of Jupyter server, or the Colab tab."""

    form: str
    # Whether the program is beside a server or inside.
    mode: str = ""
    lacks: Mapping[Can, Lack] = field(default_factory=dict, compare=False)

    def __str__(self) -> str:
        return f"{self.form}-{self.mode}" if self.mode else self.form


_INSIDE = {
    Can.COPY_TO_THE_FOLDER: Lack("the program serves the server that it is a part of, and no folder", "no available place"),
}
_COLAB = {
    Can.KEEP_FILES: Lack("its notebook is on Drive, its files on the runtime's machine", "Code in a cell can list"),
    Can.CREATE_NOTEBOOKS: Lack("a person opens the tab of a new notebook", "open this URL in a browser"),
    Can.CHOOSE_KERNELS: Lack("a tab has one runtime", "Runtime > Change runtime type"),
    Can.INTERRUPT: Lack("the page has no tool for it", "the stop button beside the running cell"),
    Can.RESTART: Lack("the page has no tool for it", "Runtime > Restart session"),
    Can.SHOW_OUTPUTS_DURING_RUNS: Lack("the page answers a run when it has ended"),
    Can.SET_OUTPUTS: Lack("the page has no tool for it", "The person can do that in the Colab tab"),
    Can.SET_METADATA: Lack("the page has no tool for it", "The person can do that in the Colab tab"),
    Can.ASK_MEMORY: Lack("the page has no tool for it", "Run code that lists them"),
    Can.START_FRESH_KERNELS: Lack("a tab has one runtime", "Runtime > Restart session and run all"),
    Can.SET_CELL_TYPES: Lack("the page adds code and text, and never turns one into the other", "in the Colab tab"),
}

FOLDER = Place("folder")
BESIDE = PLAIN, RTC, JSD = tuple(Place(form, "beside") for form in FORMS)
INSIDE = Place("rtc", "inside", _INSIDE)
COLAB = Place("colab", lacks=_COLAB)
# A server without jupyter-collaboration is tested from inside in `inside/test_documents.py`.
PLACES = (FOLDER, *BESIDE, INSIDE, COLAB)


def fixtures_of(*places: Place) -> tuple[Any, Any, Any]:
    """The fixtures `place`, `form` and `mode` of a file whose tests run on these places."""

    @pytest.fixture(scope="module", params=places, ids=str)
    def place(request: pytest.FixtureRequest) -> Place:
        return request.param

    @pytest.fixture(scope="module")
    def form(place: Place) -> str:
        return place.form

    @pytest.fixture(scope="module")
    def mode(place: Place) -> str:
        return place.mode

    return place, form, mode


def at(*places: Place) -> pytest.MarkDecorator:
    """Runs a test on these places alone, because what it shows is the same code on the others."""
    return pytest.mark.at(*places)


# For what the tools do themselves: a folder, and the place that lacks most.
same_everywhere = at(FOLDER, COLAB)
# For what a kernel does: one without jupyter-collaboration is reached as one with it.
each_kind_of_kernel = at(FOLDER, RTC, JSD, INSIDE, COLAB)


def needs(capability: Can) -> pytest.MarkDecorator:
    """Leaves a test out where the place cannot do that, and no tool asks for it."""
    return pytest.mark.needs(capability)
