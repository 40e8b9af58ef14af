"""Runs the program for a client, and keeps a copy of each line that it writes. A script, because clients start it."""

import subprocess
import sys


def main() -> int:
    copy, *command = sys.argv[1:]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout
    with open(copy, "ab", buffering=0) as copied:
        for line in process.stdout:
            copied.write(line)
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()
    return process.wait()


if __name__ == "__main__":
    sys.exit(main())
