"""Google's Colab API, v1beta. It refuses what Google's documents do not name, and does what tests script.

https://developers.google.com/colab/api/reference/rest
"""

import asyncio
import json
import re
import secrets
import uuid
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from e2e.support.colab_fake.failures import ALREADY_EXISTS, TOO_MANY, UNAUTHORIZED, Failure, Refusal
from e2e.support.colab_fake.machine import ColabMachine, Spec
from e2e.support.colab_fake.sign_in import COLAB, GoogleSignIn
from e2e.support.waiting import LONG

CPU, T4 = Spec("CPU"), Spec("GPU", "T4")
# The kinds that the API names, and whether an account of the free tier may have them.
SPECS = {
    CPU: True,
    Spec("CPU", shape="HIGHMEM"): False,
    T4: True,
    Spec("GPU", "T4", "HIGHMEM"): False,
    Spec("GPU", "L4", "HIGHMEM"): False,
    Spec("GPU", "A100"): False,
    Spec("TPU", "V5E1", "HIGHMEM"): True,
    Spec("TPU", "V6E1", "HIGHMEM"): False,
}
_UUID4 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_MACHINE_ID = re.compile(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?")
_DURATION = re.compile(r"(\d+(?:\.\d{1,9})?)s")
_TYPES = "type.googleapis.com/google.colab.v1beta."


@dataclass
class Recorded:
    """A request, and the status of its answer, which is 0 without one."""

    method: str
    path: str
    query: dict[str, str]
    body: Any = None
    status: int = 0


@dataclass
class _Operation:
    name: str
    machine: ColabMachine | None
    refusal: Refusal | None
    # How often it is asked for before it is done.
    pending: int

    def json(self) -> dict[str, object]:
        answer: dict[str, object] = {"name": self.name, "metadata": {"@type": f"{_TYPES}CreateRuntimeMetadata"}}
        if self.pending:
            return answer
        if self.refusal:
            return answer | {"done": True, "error": self.refusal.json()}
        assert self.machine
        return answer | {"done": True, "response": {"@type": f"{_TYPES}Runtime", **self.machine.json()}}


@dataclass
class ColabApi:
    """The API for the account of a sign-in, whose machines keep their files below `folder`."""

    sign_in: GoogleSignIn
    folder: Path
    tier: str = "FREE"
    specs: dict[Spec, bool] = field(default_factory=lambda: dict(SPECS))
    most_machines: int = 2
    # What every creation is refused with.
    refusal: Refusal | None = None
    # What the next requests are answered with: a method, or `None` for any, and the failure.
    failures: list[tuple[str | None, Failure]] = field(default_factory=list)
    # Whether a creation may name the machine. None of Google's clients does, though it is documented.
    takes_ids: bool = True
    # How often an operation is asked for before it is done. Each question is answered at once, as the API may.
    polls: int = 1
    # What waits for the test: a creation before the machine exists (`request`), its answer (`answer`), or the operation (`operation`).
    # It goes on for a client that has gone, too.
    holds: str | None = None
    # How many creations end with a closed connection instead of an answer.
    hang_ups: int = 0
    lists_connections: bool = True
    # What the first requests to each new machine are answered with.
    boot: list[int] = field(default_factory=list)
    requests: list[Recorded] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    machines: dict[str, ColabMachine] = field(default_factory=dict)
    # Those that are gone, whose addresses answer 404.
    gone: list[ColabMachine] = field(default_factory=list)
    _operations: dict[str, _Operation] = field(default_factory=dict)
    _created: dict[str, tuple[object, str]] = field(default_factory=dict)

    def routes(self) -> list[Route]:
        return [
            Route("/v1beta/runtimespecs", self._answer(self._specs), methods=["GET"]),
            Route("/v1beta/runtimes", self._answer(self._list), methods=["GET"]),
            Route("/v1beta/runtimes", self._answer(self._create), methods=["POST"]),
            Route("/v1beta/runtimes/{id}", self._answer(self._get), methods=["GET"]),
            Route("/v1beta/runtimes/{id}", self._answer(self._delete), methods=["DELETE"]),
            Route("/v1beta/subscription", self._answer(self._subscription), methods=["GET"]),
            Route("/v1/operations/{id}:wait", self._answer(self._wait), methods=["GET"]),
            Route("/v1/operations/{id}", self._answer(self._operation), methods=["GET"]),
        ]

    def fail(self, failure: Failure, times: int = 1, method: str | None = None) -> None:
        """Answers the next requests of a method with a failure."""
        self.failures += [(method, failure)] * times

    def add_machine(self, spec: Spec = CPU, name: str | None = None) -> ColabMachine:
        """A machine that the person has started in the browser."""
        machine = ColabMachine(name or f"r-{uuid.uuid4()}", spec, self.folder, self.sign_in.issued, self.violations)
        machine.proxy.boot = list(self.boot)
        self.machines[machine.name] = machine
        return machine

    def reclaim(self, machine: ColabMachine) -> None:
        """Google takes a machine, with everything on it."""
        self.gone.append(self.machines.pop(machine.name))
        machine.end()

    def stop(self) -> None:
        """Ends everything."""
        for machine in [*self.machines.values(), *self.gone]:
            machine.close()

    def count(self, method: str, path: str = "") -> int:
        """How many requests there were, by a method and a part of the path."""
        return sum(each.method == method and path in each.path for each in self.requests)

    def _answer(self, handle: Any) -> Any:
        """What all methods have in common."""

        async def answer(request: Request) -> Response:
            recorded = Recorded(request.method, request.url.path, dict(request.query_params))
            self.requests.append(recorded)
            body = await request.body()
            response = self._refused(request, body, recorded)
            if response is None:
                response = await handle(request, recorded)
            if response is None:
                # The transport has no other name here.
                request.receive.__self__.transport.abort()  # type: ignore[attr-defined]
                return PlainTextResponse("")
            recorded.status = response.status_code
            return response

        return answer

    def _refused(self, request: Request, body: bytes, recorded: Recorded) -> Response | None:
        if {"access_token", "key", "oauth_token"} & recorded.query.keys():
            self.violations.append(f"a secret in the address of {recorded.path}")
        if len(request.query_params.multi_items()) != len(recorded.query):
            return _invalid("a repeated query parameter")
        if (request.method == "POST") != bool(body):
            return _invalid("a body where none may be, or none where one must be")
        if body:
            if request.headers.get("content-type", "").split(";")[0] != "application/json":
                return _invalid("the body is not JSON")
            try:
                recorded.body = json.loads(body)
            except ValueError:
                return _invalid("Invalid JSON payload received.")
        scopes = self.sign_in.scopes_of(request.headers.get("authorization"))
        if scopes is None:
            return UNAUTHORIZED.response()
        if COLAB not in scopes:
            self.violations.append("a token without the scope")
        for index, (method, failure) in enumerate(self.failures):
            if method in (None, request.method):
                del self.failures[index]
                return failure.response()
        return None

    async def _specs(self, request: Request, recorded: Recorded) -> Response:
        if problem := _unknown(recorded):
            return problem
        specs = [{"key": spec.json(), "eligible": True} if may else {"key": spec.json()} for spec, may in self.specs.items()]
        return JSONResponse({"runtimeSpecs": specs})

    async def _subscription(self, request: Request, recorded: Recorded) -> Response:
        return _unknown(recorded) or JSONResponse({"name": "subscription", "tier": f"SUBSCRIPTION_TIER_{self.tier}"})

    async def _list(self, request: Request, recorded: Recorded) -> Response:
        if problem := _unknown(recorded):
            return problem
        listed = [machine.json(self.lists_connections) for machine in self.machines.values()]
        # An empty list is no member of the message.
        return JSONResponse({"runtimes": listed} if listed else {})

    async def _get(self, request: Request, recorded: Recorded) -> Response:
        machine = self.machines.get(request.path_params["id"])
        return _unknown(recorded) or (JSONResponse(machine.json()) if machine else _missing())

    async def _delete(self, request: Request, recorded: Recorded) -> Response:
        if problem := _unknown(recorded, "allowMissing"):
            return problem
        machine = self.machines.get(request.path_params["id"])
        if machine is None:
            return JSONResponse({}) if recorded.query.get("allowMissing") == "true" else _missing()
        await asyncio.to_thread(self.reclaim, machine)
        return JSONResponse({})

    async def _create(self, request: Request, recorded: Recorded) -> Response | None:
        query = recorded.query
        if problem := _unknown(recorded, "requestId", "runtimeId"):
            return problem
        if not _UUID4.fullmatch(query.get("requestId", "")):
            return _invalid("requestId is not a UUID4")
        if "runtimeId" in query and not self.takes_ids:
            return _invalid('Invalid JSON payload received. Unknown name "runtimeId": Cannot bind query parameter.')
        name = query.get("runtimeId", f"r-{uuid.uuid4()}")
        if "runtimeId" in query and not _MACHINE_ID.fullmatch(name):
            return _invalid("runtimeId is not as RFC 1034 wants it")
        body = recorded.body
        spec = _spec(body)
        if spec is None:
            return _invalid("not a Runtime: Cannot find field")
        if not self.specs.get(spec):
            self.violations.append(f"{spec} was asked for, which the account may not have")
            return _invalid("the account may not have this machine")
        if known := self._created.get(query["requestId"]):
            if known[0] != (body, query):
                self.violations.append("a request id was used for another request")
            return JSONResponse(self._operations[known[1]].json())
        await self._held("request")
        operation = self._start(name, spec)
        self._created[query["requestId"]] = ((body, query), operation.name)
        await self._held("answer")
        if self.hang_ups:
            self.hang_ups -= 1
            return None
        return JSONResponse(operation.json())

    def _start(self, name: str, spec: Spec) -> _Operation:
        refusal = self.refusal
        if name in self.machines:
            refusal = ALREADY_EXISTS
        elif refusal is None and len(self.machines) >= self.most_machines:
            refusal = TOO_MANY
        machine = None if refusal else self.add_machine(spec, name)
        identity = f"operations/{secrets.token_hex(8)}"
        # A name that is taken is found at once.
        pending = 0 if refusal is ALREADY_EXISTS else self.polls
        self._operations[identity] = _Operation(identity, machine, refusal, pending)
        return self._operations[identity]

    async def _operation(self, request: Request, recorded: Recorded) -> Response:
        return _unknown(recorded) or self._polled(request.path_params["id"])

    async def _wait(self, request: Request, recorded: Recorded) -> Response:
        if problem := _unknown(recorded, "timeout"):
            return problem
        if not (timeout := _DURATION.fullmatch(recorded.query.get("timeout", "60s"))):
            return _invalid("Illegal duration format; duration must end with 's'")
        await self._held("operation", min(float(timeout[1]), 60))
        return self._polled(request.path_params["id"])

    async def _held(self, stage: str, within: float = LONG) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                while self.holds == stage:
                    await asyncio.sleep(0.02)

    def _polled(self, identity: str) -> Response:
        operation = self._operations.get(f"operations/{identity}")
        if operation is None:
            return _missing()
        if operation.pending and self.holds != "operation":
            operation.pending -= 1
        return JSONResponse(operation.json())


def _unknown(recorded: Recorded, *known: str) -> Response | None:
    """The refusal of query parameters that the method does not have."""
    # Google's Python client sends `alt=json`.
    for name in recorded.query.keys() - {*known, "alt"}:
        return _invalid(f'Invalid JSON payload received. Unknown name "{name}": Cannot bind query parameter.')
    return None


def _spec(body: Any) -> Spec | None:
    """What a `Runtime` asks for, if it has no field that only the API sets."""
    if not isinstance(body, dict) or not {"runtimeSpec"} <= body.keys() <= {"runtimeSpec", "version"}:
        return None
    return Spec.parse(body["runtimeSpec"])


def _invalid(message: str) -> Response:
    return Failure(400, "INVALID_ARGUMENT", message).response()


def _missing() -> Response:
    return Failure(404, "NOT_FOUND", "Requested entity was not found.").response()
