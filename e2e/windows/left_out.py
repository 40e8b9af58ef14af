"""Tests of the folder that do not run under wine, and why: what the program does there, nobody has seen."""

# A file or a test, as pytest names it, with the reason.
LEFT_OUT = {
    "local/test_demo.py": "the demo makes an environment, and the Python under wine can make none",
    "local/test_kept.py": "on Windows kernels end with their server",
    "local/test_kept_ends.py": "on Windows kernels end with their server",
    "local/test_kept_first_reply.py": "on Windows kernels end with their server",
    "local/test_kept_soak.py": "on Windows kernels end with their server",
    "local/test_kept_versions.py": "on Windows kernels end with their server",
    "local/test_memory_changes.py": "a part of the kernel, without the program",
    "local/test_memory_frameworks.py": "a part of the kernel, without the program",
    "local/test_memory_handler.py": "a part of the kernel, without the program",
    "local/test_memory_sizes.py": "a part of the kernel, without the program",
    "local/test_memory_traps.py": "a part of the kernel, without the program",
    "local/test_memory_values.py": "a part of the kernel, without the program",
    "local/test_nbformat.py": "a program for tests, which is not built for Windows",
    "local/test_faults.py::test_no_kernel_that_is_not_kept_outlives_the_server[SIGTERM]": (
        "Windows has no such signal, and wine ends the program by it at once"
    ),
    "local/test_packages.py": "the Python under wine installs nothing",
    "local/test_runs.py::test_a_person_is_not_asked_for_a_secret": "it reads the log of a keeper",
    "tools/test_agents_soak.py": "it ends processes by signals",
    "tools/test_undo_soak.py": "it needs Jupyter servers",
}


def why_left_out(test: str) -> str | None:
    """Why a test is left out, if it is."""
    of_any_parameters = test.split("[")[0]
    names = (test, of_any_parameters, test.split("::")[0])
    return next((LEFT_OUT[name] for name in names if name in LEFT_OUT), None)
