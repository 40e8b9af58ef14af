"""Python's blocking client, on the kernel of a connection file.

A number on standard input asks for that many executions of `1+1`, one after the other; the answer is their times in
nanoseconds.
"""

import queue
import sys
import time

from jupyter_client import BlockingKernelClient


def execute(client: BlockingKernelClient) -> int:
    """Runs `1+1` and takes everything that comes of it, as little as a client can do."""
    start = time.perf_counter_ns()
    ident = client.execute("1+1")
    results = []
    while True:
        message = client.get_iopub_msg(timeout=10)
        if message["parent_header"].get("msg_id") != ident:
            continue
        kind, content = message["msg_type"], message["content"]
        if kind == "execute_result":
            results.append(content["data"]["text/plain"])
        if kind == "status" and content["execution_state"] == "idle":
            break
    reply = client.get_shell_msg(timeout=10)
    taken = time.perf_counter_ns() - start
    assert reply["content"]["status"] == "ok" and results == ["2"], (reply, results)
    return taken


def catch_up(client: BlockingKernelClient) -> None:
    """Passes over what was published for others."""
    try:
        while True:
            client.get_iopub_msg(timeout=0)
    except queue.Empty:
        pass


client = BlockingKernelClient(connection_file=sys.argv[1])
client.load_connection_file()
client.start_channels()
client.wait_for_ready(timeout=30)
print("ready", flush=True)
for line in sys.stdin:
    catch_up(client)
    execute(client)
    print(*[execute(client) for _ in range(int(line))], flush=True)
