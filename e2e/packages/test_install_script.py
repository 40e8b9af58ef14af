"""`install.sh`, with a release on a local server."""

import functools
import hashlib
import io
import os
import subprocess
import tarfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "install.sh"
ARCHIVE = "cellbridge-x86_64-unknown-linux-gnu.tar.gz"
WORKS = "#!/bin/sh\necho cellbridge 1.2.3\n"


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@dataclass
class Release:
    """The files of a release, the address that serves them, and somebody who installs it."""

    files: Path
    url: str
    home: Path
    # Programs that come before those of the system.
    programs: Path

    def publish(self, program: str = WORKS, checksum: str | None = None) -> None:
        content = program.encode()
        with tarfile.open(self.files / ARCHIVE, "w:gz") as archive:
            entry = tarfile.TarInfo("cellbridge")
            entry.size, entry.mode = len(content), 0o755
            archive.addfile(entry, io.BytesIO(content))
        right = hashlib.sha256((self.files / ARCHIVE).read_bytes()).hexdigest()
        (self.files / "SHA256SUMS").write_text(f"{'0' * 64}  other.tar.gz\n{checksum or right}  {ARCHIVE}\n")

    def replace_program(self, name: str, script: str) -> None:
        file = self.programs / name
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)

    def install(self, **variables: str) -> subprocess.CompletedProcess[str]:
        path = f"{self.programs}:{os.defpath}:/usr/bin:/bin"
        environment = {"PATH": path, "HOME": str(self.home), "CELLBRIDGE_BASE_URL": self.url} | variables
        command = ["/bin/sh", str(SCRIPT)]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)

    def installed(self) -> list[Path]:
        return sorted(file.relative_to(self.home) for file in self.home.rglob("*") if file.is_file())


@pytest.fixture
def release(tmp_path: Path) -> Iterator[Release]:
    folders = [tmp_path / name for name in ("release", "home", "programs")]
    for folder in folders:
        folder.mkdir()
    files, home, programs = folders
    handler = functools.partial(_Quiet, directory=str(files))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        release = Release(files, f"http://127.0.0.1:{server.server_port}", home, programs)
        # The tests are about the script, not about the machine that runs them.
        release.replace_program("uname", 'case $1 in -s) echo Linux ;; *) echo x86_64 ;; esac')
        yield release
        server.shutdown()
        serving.join()


def test_the_program_is_installed_and_runs(release: Release) -> None:
    release.publish()
    done = release.install()
    assert done.returncode == 0, done.stderr
    program = release.home / ".local/bin/cellbridge"
    assert release.installed() == [Path(".local/bin/cellbridge")]
    assert subprocess.check_output([program], text=True) == "cellbridge 1.2.3\n"
    assert f"cellbridge 1.2.3 is installed as {program}" in done.stderr
    assert "is not on your PATH" in done.stderr
    assert done.stdout == ""


def test_an_older_program_is_replaced_in_the_folder_that_was_chosen(release: Release) -> None:
    release.publish()
    folder = release.home / "my programs"
    folder.mkdir()
    (folder / "cellbridge").write_text("old")
    done = release.install(CELLBRIDGE_INSTALL_DIR=str(folder), PATH=f"{release.programs}:/usr/bin:/bin:{folder}")
    assert done.returncode == 0, done.stderr
    assert (folder / "cellbridge").read_text() == WORKS
    assert release.installed() == [Path("my programs/cellbridge")]
    assert "is not on your PATH" not in done.stderr


def refused(release: Release, reason: str, **variables: str) -> None:
    done = release.install(**variables)
    assert done.returncode != 0
    assert reason in done.stderr
    assert release.installed() == []


def test_a_wrong_checksum_installs_nothing(release: Release) -> None:
    release.publish(checksum="1" * 64)
    refused(release, f"instead of {'1' * 64}; nothing was installed")


def test_an_archive_without_a_checksum_is_not_installed(release: Release) -> None:
    release.publish()
    (release.files / "SHA256SUMS").write_text(f"{'1' * 64}  other.tar.gz\n")
    refused(release, f"does not list {ARCHIVE}")


def test_a_release_that_is_not_there_installs_nothing(release: Release) -> None:
    refused(release, f"{release.url}/SHA256SUMS could not be downloaded")


def test_a_program_that_does_not_run_here_is_not_installed(release: Release) -> None:
    release.publish(program="#!/bin/sh\nexit 1\n")
    refused(release, "the program does not run on this system")


def test_a_system_without_a_program_is_told_how_to_build_one(release: Release) -> None:
    release.publish()
    release.replace_program("uname", 'case $1 in -s) echo Darwin ;; *) echo arm64 ;; esac')
    refused(release, "there is no program for Darwin on arm64. Build it: cargo install")


def test_a_system_without_glibc_is_told_how_to_build_one(release: Release) -> None:
    release.publish()
    release.replace_program("getconf", "exit 1")
    release.replace_program("ldd", "echo 'musl libc (x86_64)' >&2; exit 1")
    refused(release, "this system has no glibc")


@pytest.mark.parametrize(
    ("version", "address"),
    [
        pytest.param("", "/releases/latest/download/SHA256SUMS", id="the latest release"),
        pytest.param("1.2.3", "/releases/download/v1.2.3/SHA256SUMS", id="a version"),
        pytest.param("v1.2.3", "/releases/download/v1.2.3/SHA256SUMS", id="a tag"),
    ],
)
def test_a_version_names_its_release(release: Release, version: str, address: str) -> None:
    release.replace_program("curl", 'echo "curl $*" >&2; exit 22')
    done = release.install(CELLBRIDGE_BASE_URL="", CELLBRIDGE_VERSION=version)
    assert done.returncode != 0
    [request] = [line for line in done.stderr.splitlines() if line.startswith("curl ")]
    assert request.endswith(address)
    # What the person is about to run comes over TLS alone.
    assert "--proto =https" in request
