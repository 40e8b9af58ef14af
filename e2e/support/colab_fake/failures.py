"""The documented failures of Google's APIs: as the answer of a request, and as the end of an operation."""

from dataclasses import dataclass

from starlette.responses import JSONResponse, Response

_ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo"


@dataclass(frozen=True)
class Failure:
    """The answer of a request."""

    status: int
    name: str
    message: str
    reason: str | None = None
    domain: str = "googleapis.com"

    def response(self) -> Response:
        error: dict[str, object] = {"code": self.status, "message": self.message, "status": self.name}
        if self.reason:
            metadata = {"service": "colaboratory.googleapis.com", "consumer": "projects/123456789012"}
            error["details"] = [
                {"@type": _ERROR_INFO, "reason": self.reason, "domain": self.domain, "metadata": metadata}
            ]
        return JSONResponse({"error": error}, status_code=self.status)


@dataclass(frozen=True)
class Refusal:
    """The end of an operation."""

    code: int
    message: str
    reason: str | None = None

    def json(self) -> dict[str, object]:
        error: dict[str, object] = {"code": self.code, "message": self.message}
        if self.reason:
            details = {"@type": _ERROR_INFO, "reason": self.reason, "domain": "colaboratory.googleapis.com"}
            error["details"] = [details]
        return error


UNAUTHORIZED = Failure(
    401, "UNAUTHENTICATED", "Request had invalid authentication credentials. Expected OAuth 2 access token."
)
NOT_ENABLED = Failure(
    403,
    "PERMISSION_DENIED",
    "Colab API has not been used in project 123456789012 before or it is disabled.",
    "SERVICE_DISABLED",
)
NOT_GRANTED = Failure(403, "PERMISSION_DENIED", "The caller does not have permission")
# What a project gets for which Google has not opened the API.
NOT_OPENED = Failure(404, "NOT_FOUND", "Method not found.")
SCOPE_INSUFFICIENT = Failure(
    403,
    "PERMISSION_DENIED",
    "Request had insufficient authentication scopes.",
    "ACCESS_TOKEN_SCOPE_INSUFFICIENT",
)
RATE_LIMITED = Failure(
    429, "RESOURCE_EXHAUSTED", "Quota exceeded for quota metric 'Requests'", "RATE_LIMIT_EXCEEDED"
)
INTERNAL = Failure(500, "INTERNAL", "Internal error encountered.")
UNAVAILABLE = Failure(503, "UNAVAILABLE", "The service is currently unavailable.")

ALREADY_EXISTS = Refusal(6, "Requested entity already exists")
RESOURCE_EXHAUSTED = Refusal(8, "Resource has been exhausted (e.g. check quota).")
TOO_MANY = Refusal(9, "Precondition check failed.", "TOO_MANY_ACTIVE_RUNTIMES")
DENYLISTED = Refusal(9, "Precondition check failed.", "DENYLISTED")
OUT_OF_TIME = Refusal(9, "Precondition check failed.", "QUOTA_EXCEEDED_USAGE_TIME")
# No machine with the accelerator is available now. The reason is one of several, and not documented.
NONE_FREE = Refusal(9, "Precondition check failed.", "NO_RUNTIMES")
