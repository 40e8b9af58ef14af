"""Tests of the folder that do not run under wine, and why: what the program does there, nobody has seen."""

# A file or a test, as pytest names it, with the reason.
LEFT_OUT = {
    "local/test_demo.py": "the demo makes an environment, and the Python under wine can make none",
    "local/test_kept.py": "on Windows kernels end with their server",
    "local/test_kept_ends.py": "on Windows kernels end with their server",
    "local/test_kept_first_reply.py": "on Windows kernels end with their server",
    "local/test_kept_soak.py": "on Windows kernels end with their server",
    "local/test_memory.py": "a part of the kernel, without the program",
    "local/test_faults.py::test_a_stopped_kernel_is_resumed[interrupt_kernel]": "Windows has no SIGSTOP",
    "local/test_foreign_kernels.py": "Windows takes connection files only from the user's own folders, and those of tests are elsewhere",
    "local/test_history.py::test_a_person_undoes_nothing_while_a_cell_runs": "on Windows no kernel is shared between servers",
    "local/test_languages.py::test_a_result_that_the_kernel_publishes_after_idle_is_in_the_answer": (
        "Deno for Windows has tests of its own (test_wine.py)"
    ),
    "local/test_languages.py::test_notebooks_of_two_languages_run_side_by_side": "its kernels are programs for Linux",
    "local/test_languages.py::test_a_kernel_inherits_nothing_of_the_client": "its environment is one of Unix (`bin`)",
    "local/test_languages.py::test_the_environment_of_the_project_is_used": "its environment is one of Unix (`bin`)",
    "local/test_nbformat.py": "a program for tests, which is not built for Windows",
    "local/test_packages.py": "the Python under wine installs nothing",
    "local/test_runs.py::test_a_person_is_not_asked_for_a_secret": "it reads the log of a keeper",
    "local/test_telemetry.py::test_the_file_has_spans_of_calls_runs_and_kernels_without_code": "it asks for the mode of a file",
    "tools/test_agents_soak.py": "it ends processes by signals",
    "tools/test_undo_soak.py": "it needs Jupyter servers",
}


def why_left_out(test: str) -> str | None:
    """Why a test is left out, if it is."""
    of_any_parameters = test.split("[")[0]
    names = (test, of_any_parameters, test.split("::")[0])
    return next((LEFT_OUT[name] for name in names if name in LEFT_OUT), None)
