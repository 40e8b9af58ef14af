# Adds the handler to the kernel, or answers without it.

import _thread
import json
import sys
import types

from .answers import Answers, TimeIsUp
from .kinds import Refused, cut, name_of_type
from .secrets import remember_typed

REQUEST, REPLY = "cellbridge_memory_request", "cellbridge_memory_reply"
# They are asked for after each run, and take no longer for what is in the variables.
BOUNDED = ("mark", "changes")
MAX_CAUSE = 500


class Limit:
    """Raises `TimeIsUp` in the thread that made it, unless it is over before.

    The thread that watches is none of `threading`: the person's code would see it there, could run in it (`threading.setprofile`), and
    its start would be waited for, which takes 5 ms while a cell computes.
    """

    def __init__(self, seconds):
        self.seconds, self.watched = seconds, _thread.get_ident()
        self.lock, self.is_over, self.end = _thread.allocate_lock(), False, _thread.allocate_lock()

    def __enter__(self):
        self.end.acquire()
        _thread.start_new_thread(self.watch, ())

    def __exit__(self, *_):
        with self.lock:
            self.is_over = True
        self.end.release()

    def watch(self):
        if self.end.acquire(timeout=self.seconds):
            return
        import ctypes

        with self.lock:
            if not self.is_over:
                thread, raised = ctypes.c_ulong(self.watched), ctypes.py_object(TimeIsUp)
                ctypes.pythonapi.PyThreadState_SetAsyncExc(thread, raised)


def answer(answers, question, seconds):
    """The answer to `{what: its arguments}`."""
    try:
        [(what, given)] = question.items()
        if what in BOUNDED:
            return {"status": "ok", "answer": getattr(answers, what)(**given)}
        with Limit(seconds):
            return {"status": "ok", "answer": getattr(answers, what)(**given)}
    except Refused as refused:
        return {"status": "refused", "cause": cut(str(refused), MAX_CAUSE)}
    except TimeIsUp:
        return {"status": "refused", "cause": f"It took more than {seconds} s."}
    # Whatever ends the thread would end all answers until the kernel is restarted.
    except BaseException as error:
        return {"status": "refused", "cause": f"It cannot be shown ({name_of_type(type(error))})."}


def encodable(content):
    """The same without the halves of characters that no encoding has, and that Python's texts may hold."""
    kind = type(content)
    if kind is str:
        return content if content.isascii() else content.encode(errors="backslashreplace").decode()
    if kind is dict:
        return {encodable(key): encodable(it) for key, it in content.items()}
    return [encodable(it) for it in content] if kind is list or kind is tuple else content


class Told:
    """What a reply shows as this text, whatever printers the person has set for texts."""

    def __init__(self, text):
        self.text = text

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": self.text}


def install():
    import zmq
    from IPython import get_ipython

    shell = get_ipython()
    kernel = shell.kernel
    answers = Answers(shell)
    remember_typed(kernel)
    # Another server may wait for programs that it has started.
    previous = kernel.control_handlers.get(REQUEST)
    answers.installer.jobs = getattr(previous, "jobs", {})

    def handle(stream, ident, parent):
        content = parent["content"]
        try:
            content = answer(answers, content["question"], content["seconds"])
        except TimeIsUp:
            content = {"status": "refused", "cause": "It took too long."}
        kernel.session.send(stream, REPLY, encodable(content), parent, ident=ident)
        # The kernel would send it only after it has waited for the thread that publishes output.
        stream.flush(zmq.POLLOUT)

    def changes(request):
        """The answer to a request whose code has run, before its reply. An expression of the request calls this."""
        content = answer(answers, {"changes": {"count": shell.execution_count - 1, "request": request}}, 0)
        return Told(json.dumps(encodable(content)))

    handle.jobs, handle.changes = answers.installer.jobs, changes
    kernel.control_handlers[REQUEST] = handle


def answered(variables, request):
    """The answer to a request as hexadecimal digits, for a kernel to which no handler can be added."""
    shell = types.SimpleNamespace(user_ns=variables, user_ns_hidden={}, execution_count=0)
    if "IPython" in sys.modules:
        known = sys.modules["IPython"].get_ipython()
        shell.user_ns_hidden = getattr(known, "user_ns_hidden", {})
    request = json.loads(request)
    content = answer(Answers(shell), request["question"], request["seconds"])
    return json.dumps(encodable(content)).encode().hex()
