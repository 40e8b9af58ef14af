"""`python -m cellbridge`: the program that came with the package."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path


def program() -> Path:
    name = "cellbridge" + (sysconfig.get_config_var("EXE") or "")
    user = sysconfig.get_preferred_scheme("user")
    folders = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", scheme=user)]
    # `pip install --target` puts programs beside the packages.
    folders.append(Path(__file__).parent.parent / "bin")
    found = [file for file in (Path(folder, name) for folder in folders) if file.is_file()]
    if not found:
        sys.exit(f"{name} is not in any of {', '.join(map(str, folders))}; reinstall the package cellbridge")
    return found[0]


def main() -> None:
    command = [program(), *sys.argv[1:]]
    if os.name == "nt":
        sys.exit(subprocess.run(command).returncode)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
