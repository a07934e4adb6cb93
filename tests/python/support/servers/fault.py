"""What is asked of FaultServer, and what goes wrong with it."""
import dataclasses


@dataclasses.dataclass
class Request:
    """What was asked and what was sent: `sent` counts bytes of the body."""
    method: str
    path: str  # decoded, from "/"
    query: str
    range: str
    headers: dict
    connection: int
    began: float
    status: int = 0
    sent: int = 0
    done: bool = False

    @property
    def user_agent(self):
        return self.headers.get("user-agent", "")


@dataclasses.dataclass
class Fault:
    """What goes wrong with requests for a path. All that apply to a request are joined."""
    pattern: str
    times: int | None = 1       # None: always
    skip: int = 0               # requests that are left alone before
    # instead of the file
    status: int | None = None   # an error
    headers: dict = dataclasses.field(default_factory=dict)  # such as Retry-After
    body: bytes = b"no\n"
    redirect: str | None = None  # to this URL, by `status` or 302
    # the answer
    latency_ms: float = 0
    whole: bool = False         # a range is ignored: 200 with the whole file
    content_range: str | None = None  # instead of the right one
    no_etag: bool = False
    no_modified: bool = False
    weak_etag: bool = False
    ignore_conditions: bool = False   # If-Match and the like
    gzip: bool = False
    chunked: bool = False
    until_close: bool = False   # no length: the body ends with the connection
    # the body
    flip: int | None = None     # a bit of the byte at this offset of the file; applies to answers that have it
    cut: int | None = None      # only so many bytes, then the connection is closed
    reset: bool = False         # ... by a reset
    stall: int | None = None    # after so many bytes; -1: before the header
    stall_s: float = 3600
    bytes_per_s: int | None = None
    before: object = None       # called first
    after: object = None        # called when the answer was sent


def joined(faults):
    """One fault with what any of several has; the first wins."""
    one = Fault("")
    for field in dataclasses.fields(Fault)[3:]:
        values = [getattr(fault, field.name) for fault in faults]
        default = {} if field.name == "headers" else field.default
        setattr(one, field.name, next((value for value in values if value != default), default))
    return one
