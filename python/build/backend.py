"""Builds the wheel: maturin packs the native module and the program, which this module builds first.

`CELLBRIDGE_PROFILE` chooses another Cargo profile for both, such as `dev`; `CELLBRIDGE_PROGRAM` is a program that is
already built."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import maturin
from maturin import build_sdist, get_requires_for_build_editable, get_requires_for_build_sdist  # noqa: F401
from maturin import get_requires_for_build_wheel, prepare_metadata_for_build_wheel  # noqa: F401

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "python/cellbridge.data/scripts"
PROFILE = os.environ.get("CELLBRIDGE_PROFILE", "dist")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    provide_program()
    return maturin.build_wheel(wheel_directory, settings(config_settings), metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    provide_program()
    return maturin.build_editable(wheel_directory, settings(config_settings), metadata_directory)


def settings(given):
    return given or {"build-args": f"--profile {PROFILE} --locked"}


def provide_program():
    shutil.rmtree(SCRIPTS, ignore_errors=True)
    SCRIPTS.mkdir(parents=True)
    shutil.copy2(os.environ.get("CELLBRIDGE_PROGRAM") or built_program(), SCRIPTS)


def built_program():
    cargo = ["cargo", "build", "--locked", "--package", "cli", "--bin", "cellbridge", "--profile", PROFILE]
    cargo.append("--message-format=json-render-diagnostics")
    output = subprocess.run(cargo, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    messages = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return next(message["executable"] for message in messages if message.get("executable"))
