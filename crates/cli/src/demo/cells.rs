//! The cells of the demo's notebook.

/// Marks a notebook that a later demo may replace.
pub(crate) const MARK: &str = "<!-- made by `cellbridge demo`, which replaces this file -->";

pub(crate) const TITLE: &str = "\
# How far does a random walk get?

A tool call of the Model Context Protocol made each cell of this notebook, as an agent would, and a real IPython \
kernel ran it. `cellbridge demo` wrote it; running the demo again replaces it.

<!-- made by `cellbridge demo`, which replaces this file -->";

pub(crate) const WALKS: &str = "\
import numpy as np

WALKS, STEPS = 500, 1_000
random = np.random.default_rng(seed=1)

moves = random.choice([-1, 1], size=(WALKS, STEPS))
walks = moves.cumsum(axis=1)
print(f\"{WALKS} walks of {STEPS} steps; the first one ends at {walks[0, -1]}\")";

pub(crate) const PLOT_TEXT: &str = "\
## Forty of them

Two out of three should stay between the dashed lines, at $\\pm\\sqrt{n}$ after $n$ steps.";

pub(crate) const PLOT: &str = "\
import matplotlib.pyplot as plt

time = np.arange(1, STEPS + 1)
figure, axes = plt.subplots(figsize=(7, 4), layout=\"constrained\")
axes.plot(time, walks[:40].T, linewidth=0.6, alpha=0.6)
axes.plot(time, np.sqrt(time), \"k--\", label=\"square root of the steps\")
axes.plot(time, -np.sqrt(time), \"k--\")
axes.set(title=\"Random walks\", xlabel=\"steps\", ylabel=\"distance from the start\")
axes.legend(loc=\"upper left\")
plt.show()";

pub(crate) const DISTANCE_TEXT: &str = "## How far they are on average";

/// Fails: the dictionary has no entry for 10 000 steps.
pub(crate) const DISTANCE: &str = "\
distance = {steps: np.abs(walks[:, steps - 1]).mean() for steps in (10, 100, 1_000)}

for steps in (10, 100, 10_000):
    print(f\"after {steps:>5} steps: {distance[steps]:5.2f} away\")";

pub(crate) const WRONG_LOOP: &str = "for steps in (10, 100, 10_000):";
pub(crate) const RIGHT_LOOP: &str = "for steps in distance:";

pub(crate) const HOME_TEXT: &str = "\
## How many come home

Slowed down, so that there is something to watch.";

pub(crate) const HOME: &str = "\
from time import sleep

for part in range(1, 9):
    some = walks[: WALKS * part // 8]
    share = (some == 0).any(axis=1).mean()
    print(f\"part {part} of 8: of {len(some):>3} walks {share:.0%} came home\", flush=True)
    sleep(0.5)";

/// Lists variables; the code becomes no cell.
pub(crate) const LOOK: &str = "%whos ndarray dict int";
