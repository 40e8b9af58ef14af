"""The handler that answers questions about a kernel's memory. It is Python, so only Python can test it; here without a kernel, on
the libraries' real objects."""

import json
import re
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import polars
import pytest

from e2e.support.memory_handler import SOURCE, Memory

# The same names are in `crates/kernel/src/memory/between_runs/secrets.rs`.
SECRETS = ["password", "passphrase", "PASS", "db_pass", "pwd", "api_key", "apikey", "openai_key", "ssh_key", "apiKey", "github_pat"]
SECRETS += ["AWS_SECRET_ACCESS_KEY", "auth", "jwt", "bearer", "accesstoken", "hf_tokens", "credentials", "mysecret"]
NO_SECRETS = ["tokenizer", "secretary", "sort_key", "key", "pat", "n_passes", "author", "compass", "keys", "primaryKey"]


def test_secrets_are_not_shown() -> None:
    memory = Memory(api_key="hush", config={"x": 1}, holder=type("Holder", (), {})())
    memory.shell.user_ns["holder"].password = "hush"
    answers = [memory.list(), memory.inspect("api_key"), memory.inspect("holder"), memory.inspect("holder", ".password")]
    assert "hush" not in str(answers)
    assert memory.rows()["api_key"]["size"] == "4"


@pytest.mark.parametrize("frame", [pd.DataFrame, polars.DataFrame])
def test_a_column_keeps_its_secret_as_a_variable(frame: Any) -> None:
    columns = frame({"api_key": ["hush"], "city": ["Bern"]})
    memory = Memory(column=columns["api_key"], other=columns["city"])
    assert "hush" not in str(memory.inspect("column", stats=True)) and "hush" not in str(memory.list())
    assert memory.inspect("column")["items"] == [["0", "<hidden>"]]
    assert memory.inspect("other")["items"] != [["0", "<hidden>"]]


@pytest.mark.parametrize("name", SECRETS)
def test_names_of_secrets_are_recognised(name: str) -> None:
    memory = Memory(**{name: "hush"}, config={name: "hush"}, holder=SimpleNamespace(config={name: ["hush"]}))
    memory.shell.user_ns["frame"] = pd.DataFrame({name: ["hush"], "shown": ["x"]})
    answers = [memory.list(pattern="*"), *(memory.inspect(known) for known in list(memory.shell.user_ns))]
    answers += [memory.inspect("holder", ".config"), memory.inspect("config", f"[{name!r}]")]
    assert "hush" not in str(answers)


@pytest.mark.parametrize("typed", ["hush-hush", "q7z"])
def test_what_was_typed_as_a_password_is_not_shown_under_any_name(typed: str) -> None:
    kernel = SimpleNamespace(getpass=lambda prompt="": typed)
    earlier = Memory()
    earlier.module["remember_typed"](kernel)
    x = kernel.getpass("Password: ")
    assert x == typed
    # Another server replaces the handler.
    memory = Memory()
    memory.module["remember_typed"](kernel)
    frame = pd.DataFrame({"c": [x]})
    memory.ran(x=x, data=x.encode(), pair=[x, 1], by_name={"a": x}, holder=SimpleNamespace(y=x), frame=frame)
    answers = [memory.changes(), memory.list(), *(memory.inspect(name) for name in memory.shell.user_ns)]
    assert typed not in str(answers)
    assert "size" not in memory.rows()["x"] and "password" in memory.rows()["x"]["value"]
    memory.shell.user_ns["other"] = kernel.getpass() + "?"
    assert (typed in str(memory.inspect("other"))) == (len(typed) < 4)


@pytest.mark.parametrize("name", NO_SECRETS)
def test_other_names_are_no_secrets(name: str) -> None:
    memory = Memory(**{name: "shown"}, config={name: "shown"})
    assert all("'shown'" in row["value"] for row in memory.rows().values())


def test_names_are_chosen_by_pattern_kind_and_order() -> None:
    memory = Memory(beta=1, Alpha="xx", _hidden=3, gamma=[0] * 9, sys=sys)
    assert list(memory.rows()) == ["Alpha", "beta", "gamma"]
    assert list(memory.rows(sort="latest")) == ["gamma", "Alpha", "beta"]
    assert list(memory.rows(sort="size"))[:2] == ["gamma", "Alpha"]
    assert list(memory.rows(pattern="*a", limit=1)) == ["Alpha"] and memory.list(pattern="*a", limit=1)["total"] == 3
    assert list(memory.rows(pattern="hid")) == ["_hidden"]
    assert memory.list()["others"] == {"module": {"count": 1, "names": ["sys"]}}


def test_no_name_is_defined_in_two_modules() -> None:
    names = re.findall(r"^(?:def |class |(?=[A-Z_]+ = ))(\w+)", SOURCE, re.MULTILINE)
    assert [name for name in set(names) if names.count(name) > 1] == []


def test_an_answer_that_takes_too_long_is_given_up() -> None:
    memory = Memory()

    def endless() -> None:
        while True:
            pass

    memory.answers.endless = endless
    start = time.monotonic()
    assert memory.ask("endless", seconds=0.2) == {"status": "refused", "cause": "It took more than 0.2 s."}
    assert time.monotonic() - start < 20


@pytest.mark.parametrize("raised", [SystemExit, KeyboardInterrupt, RecursionError, GeneratorExit])
def test_whatever_is_raised_there_is_an_answer(raised: type[BaseException]) -> None:
    memory = Memory()

    def raises() -> None:
        raise raised

    memory.answers.raises = raises
    assert memory.ask("raises") == {"status": "refused", "cause": f"It cannot be shown ({raised.__name__})."}


def test_a_value_that_is_left_out_does_not_swallow_the_end_of_the_time() -> None:
    memory = Memory()

    def endless() -> None:
        while True:
            try:
                time.sleep(0.001)
            except Exception:
                pass

    memory.answers.endless = endless
    assert memory.ask("endless", seconds=0.2)["cause"] == "It took more than 0.2 s."


def test_the_time_limit_starts_nothing_that_code_of_the_person_sees() -> None:
    memory = Memory(x=1)
    seen: list[str] = []
    threads = threading.enumerate()

    def looks() -> None:
        seen.extend(thread.name for thread in threading.enumerate() if thread not in threads)

    memory.answers.looks = looks
    threading.setprofile(lambda *_: seen.append("profile"))
    threading.settrace(lambda *_: seen.append("trace"))
    try:
        assert memory.ask("looks")["status"] == "ok"
    finally:
        threading.setprofile(None)
        threading.settrace(None)
    assert seen == []


def test_an_answer_is_sent_before_the_kernel_waits_for_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Memory(x=1)
    done: list[str] = []
    kernel = memory.shell.kernel
    kernel.control_handlers = {}
    kernel.session = SimpleNamespace(send=lambda *_, **__: done.append("queued"))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: memory.shell))
    memory.module["install"]()
    [handle] = kernel.control_handlers.values()
    handle(SimpleNamespace(flush=lambda _: done.append("sent")), None, {"content": {"question": {"list": {}}, "seconds": 1.0}})
    assert done == ["queued", "sent"]


def test_one_odd_value_does_not_spoil_the_others() -> None:
    without_module = eval("type('WithoutModule', (), {})", {})
    odd = {"wide": range(-(10**30), 0), "huge": range(0, 10**5000), "down": range(9, 0, -2), "bare": without_module()}
    memory = Memory(**odd, BareClass=without_module, fine=1)
    rows = memory.rows(kinds=["all"])
    assert set(rows) == set(memory.shell.user_ns) and rows["fine"]["value"] == "1"
    assert "value" not in rows["wide"] and "size" not in rows["huge"] and rows["down"]["size"] == "5"
    assert rows["down"]["value"] == "range(9, 0, -2)" and rows["bare"]["type"] == "WithoutModule"
    for name in rows:
        memory.inspect(name)
    memory.ran(more=without_module())
    assert memory.changes()["new"] == [{"name": "more", "type": "WithoutModule", "size": ""}]


def test_a_value_that_fails_has_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Memory(bad=1.5, good=2)
    monkeypatch.setitem(memory.module, "library_class", lambda kind: 1 / 0 if kind is float else "")
    rows = memory.rows()
    assert rows["bad"]["value"] == "<it cannot be shown: ZeroDivisionError>" and rows["good"]["value"] == "2"
    memory.ran(worse=2.5)
    assert memory.changes()["new_count"] == 1


def test_every_text_can_be_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Memory(half="\ud800abc", **{"a\udc80": 1})
    memory.shell.kernel.control_handlers = {}
    memory.shell.kernel.session = SimpleNamespace(send=lambda stream, kind, content, parent, ident: sent.append(content))
    sent: list[dict[str, Any]] = []
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: memory.shell))
    memory.module["install"]()
    [handle] = memory.shell.kernel.control_handlers.values()
    stream = SimpleNamespace(flush=lambda _: None)
    for question in ({"list": {}}, {"inspect": {"name": "half"}}, {"inspect": {"name": "missing\ud800"}}):
        handle(stream, None, {"content": {"question": question, "seconds": 1.0}})
    assert [content["status"] for content in sent] == ["ok", "ok", "refused"]
    json.dumps(sent, ensure_ascii=False).encode()
    assert sent[1]["answer"]["text"] == "\\ud800abc"
    # Without the handler, the answer is an expression's value.
    digits = memory.module["answered"]({"half": "\ud800abc"}, json.dumps({"question": {"inspect": {"name": "half"}}, "seconds": 1}))
    json.dumps(json.loads(bytes.fromhex(digits)), ensure_ascii=False).encode()


def test_a_program_that_runs_is_known_to_the_next_handler(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = Memory(), Memory()
    kernel = first.shell.kernel
    kernel.control_handlers, sent = {}, []
    kernel.session = SimpleNamespace(send=lambda stream, kind, content, parent, ident: sent.append(content))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: first.shell))

    def ask(**question: Any) -> dict[str, Any]:
        [handle] = kernel.control_handlers.values()
        content = {"question": {"packages": question}, "seconds": 5.0}
        handle(SimpleNamespace(flush=lambda _: None), None, {"content": content})
        return sent[-1]

    first.module["install"]()
    job = ask(what="start", command=[sys.executable, "-c", "import time; time.sleep(60)"], seconds=60)["answer"]["job"]
    # Another server installs its own.
    second.module["install"]()
    assert ask(what="poll", job=job) == {"status": "ok", "answer": {"status": None, "output": ""}}
    ask(what="end", job=job)


@pytest.mark.parametrize("top_level", [None, "c787785866c7b801238d__mypyc\ntomli\n"])
def test_modules_that_nobody_imports_are_not_named(top_level: str | None) -> None:
    files = ["c787785866c7b801238d__mypyc.cpython-311-x86_64-linux-gnu.so", "tomli/__init__.py", "tomli-2.0.dist-info/RECORD"]
    distribution = SimpleNamespace(read_text=lambda name: top_level, files=files)
    assert Memory().module["modules_of"](distribution) == ["tomli"]


def test_a_package_of_conda_may_have_no_name_of_its_own_in_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "conda-meta").mkdir()
    files = ["lib/python3.12/site-packages/json/__init__.py", "lib/python3.12/site-packages/absent_at_all.py", "bin/torch"]
    record = {"name": "py-torch", "version": "2.9", "files": files}
    (tmp_path / "conda-meta/py-torch-2.9-py312_0.json").write_text(json.dumps(record))
    (tmp_path / "conda-meta/history").touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    found = Memory().module["Packages"]().distributions(["py-torch", "torch"])
    assert found == {"py-torch": {"version": "2.9", "importable": ["json"], "loaded": ["json"]}}
