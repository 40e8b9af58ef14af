"""Metrics of agents' calls, in addition to Jupyter's own at /metrics."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import REGISTRY
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from ._native import Core


class Collector:
    """Collects the metrics of a server; of several in one process, the first."""

    def __init__(self, core: Core) -> None:
        self.core = core

    def collect(self) -> Iterator[Metric]:
        users, sessions, runs, calls = self.core.metrics()
        yield GaugeMetricFamily("cellbridge_users", "Users whose agents have connected", users)
        yield GaugeMetricFamily("cellbridge_sessions", "Sessions of agents", sessions)
        yield GaugeMetricFamily("cellbridge_runs", "Runs that have not ended", runs)
        counts = CounterMetricFamily("cellbridge_tool_calls", "Calls of tools", labels=["tool", "outcome"])
        times = CounterMetricFamily("cellbridge_tool_seconds", "Time spent in calls", labels=["tool"])
        for tool, answered, failed, abandoned, seconds in calls:
            counts.add_metric([tool, "success"], answered - failed)
            counts.add_metric([tool, "error"], failed)
            counts.add_metric([tool, "abandoned"], abandoned)
            times.add_metric([tool], seconds)
        yield counts
        yield times

    def describe(self) -> Iterator[Metric]:
        return iter(())


_shown: Collector | None = None


def show(core: Core) -> None:
    """Registers the metrics, unless another server of this process has."""
    global _shown
    if _shown is None:
        _shown = Collector(core)
        REGISTRY.register(_shown)


def hide(core: Core) -> None:
    global _shown
    if _shown is not None and _shown.core is core:
        REGISTRY.unregister(_shown)
        _shown = None
