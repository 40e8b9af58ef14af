
# Adds the handler to the kernel, or answers without it.

import json
import threading

REQUEST, REPLY = "cellbridge_memory_request", "cellbridge_memory_reply"
# They are asked for after each run, and take no longer for what is in the variables.
BOUNDED = ("mark", "changes")
MAX_CAUSE = 500


class Limit:
    """Raises `TimeIsUp` in the thread that made it, unless it is over before."""

    def __init__(self, seconds):
        self.thread, self.lock, self.is_over = threading.get_ident(), threading.Lock(), False
        self.timer = threading.Timer(seconds, self.stop)
        self.timer.daemon = True

    def __enter__(self):
        self.timer.start()

    def __exit__(self, *_):
        with self.lock:
            self.is_over = True
        self.timer.cancel()

    def stop(self):
        import ctypes

        with self.lock:
            if not self.is_over:
                thread, raised = ctypes.c_ulong(self.thread), ctypes.py_object(TimeIsUp)
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


def install():
    from IPython import get_ipython

    shell = get_ipython()
    kernel = shell.kernel
    answers = Answers(shell)

    def handle(stream, ident, parent):
        content = parent["content"]
        try:
            content = answer(answers, content["question"], content["seconds"])
        except TimeIsUp:
            content = {"status": "refused", "cause": "It took too long."}
        kernel.session.send(stream, REPLY, encodable(content), parent, ident=ident)

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
