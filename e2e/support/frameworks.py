"""What the memory handler says of arrays of jax and torch. A process of its own: both start threads, and jax minds forks after that.

`python -m e2e.support.frameworks jax` is a test (`e2e/local/test_memory.py`). The wheels of torch bring a GPU's libraries, which
no test needs, so `torch` is run by hand with a Python that has it, such as that of Debian's `python3-torch`.
"""

import sys

from e2e.support.memory_handler import Memory


def check_jax() -> None:
    import jax
    import jax.numpy as jnp

    memory = Memory(array=jnp.arange(12.0).reshape(3, 4), scalar=jnp.float32(1.5), key=jax.random.key(0), half=jnp.ones(2, jnp.bfloat16))
    memory.shell.user_ns["tree"] = {"weights": jnp.zeros((2, 2)), "jit": jax.jit(lambda it: it)}
    rows = memory.rows(kinds=["all"])
    assert (rows["array"]["size"], rows["array"]["value"]) == ("3×4", "of float32"), rows["array"]
    found = memory.inspect("array")
    assert found["facts"] == {"shape": "3×4", "type": "float32", "bytes": 48, "min": "0.0", "max": "11.0", "mean": "5.5"}, found
    assert found["items"][0] == ["0", "0.0, 1.0, 2.0, 3.0"], found
    assert memory.inspect("array", "[1, 2]")["value"] == "6.0"
    assert memory.inspect("array", "[1]")["facts"]["max"] == "7.0"
    assert memory.inspect("scalar")["facts"]["shape"] == "scalar"
    assert memory.inspect("half")["facts"]["type"] == "bfloat16"
    assert memory.inspect("tree", "['weights']")["size"] == "2×2"
    for name in memory.shell.user_ns:
        assert memory.inspect(name)["name"] == name


def check_torch() -> None:
    import torch

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU())
            self.register_buffer("steps", torch.zeros(1))

    memory = Memory(net=Net(), tensor=torch.arange(6.0).reshape(2, 3).requires_grad_(), half=torch.ones(2, dtype=torch.bfloat16))
    memory.shell.user_ns["meta"] = torch.empty(3, 3, device="meta")
    rows = memory.rows()
    assert (rows["tensor"]["size"], rows["tensor"]["value"]) == ("2×3", "of torch.float32 on cpu"), rows["tensor"]
    found = memory.inspect("tensor")
    assert (found["facts"]["requires_grad"], found["facts"]["max"], found["items"][1]) == (True, "5.0", ["1", "3.0, 4.0, 5.0"]), found
    assert memory.inspect("net", ".layers[0].weight")["facts"]["shape"] == "3×4"
    assert [row[0] for row in memory.inspect("net")["items"]].count(".layers") == 1
    assert memory.inspect("net", ".steps")["size"] == "1"
    assert memory.inspect("tensor", "[1]")["size"] == "3"
    for name in ("half", "meta"):
        found = memory.inspect(name)
        assert "are not shown" in found["note"] and "items" not in found, found


if __name__ == "__main__":
    {"jax": check_jax, "torch": check_torch}[sys.argv[1]]()
