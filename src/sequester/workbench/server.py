"""The server of the workbench: pages, actions and files, for this machine and who has the token."""

from __future__ import annotations

import inspect
import secrets
import socket
import tempfile
import webbrowser
from functools import cache
from http.cookies import CookieError, SimpleCookie
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import jinja2
import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.requests import Request  # noqa: TC002  (routes look at it)
from starlette.responses import (
    FileResponse,
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
)
from starlette.routing import Route

from sequester.errors import InputError, fault_of
from sequester.report.page import environment
from sequester.workbench.project import Workbench
from sequester.workbench.steps import data, release

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from sequester.workbench.jobs import WorkbenchJob
    from sequester.workbench.steps import Step


HOST = "127.0.0.1"
"""The only address that is listened at."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""What pages may load: nothing from another origin, no script in the page itself, and no frame around it."""
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Access:
    """ASGI middleware that lets only requests through that come from the page itself.

    The token comes in the address that was printed, and from then on as a cookie that scripts cannot read and
    that no other site can send. A page of another site that reaches this port by a name of its own is
    refused by its Host, and one that sends requests by its Origin; WebSockets are checked alike.
    """

    def __init__(self, app: ASGIApp, *, token: str, port: int) -> None:
        self._app = app
        self._token = token
        self._host = f"{HOST}:{port}"
        # A cookie is sent to all ports of a host, so that two workbenches need two names.
        self._cookie = f"sequester-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it with a refusal."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        answer: ASGIApp | None = self._refusal(scope)
        if answer is None and scope["type"] == "http":
            answer = self._welcome(scope)
        if answer is not None and scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await (answer or self._app)(scope, receive, send_guarded)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        headers = Headers(scope=scope)
        if headers.get("host") != self._host:
            return PlainTextResponse("This address is not that of the workbench.", 403)
        origin = headers.get("origin")
        is_reading = scope["type"] == "http" and scope["method"] in ("GET", "HEAD")
        if origin != f"http://{self._host}" and not (origin is None and is_reading):
            return PlainTextResponse("Requests from other pages are refused.", 403)
        if not (self._fits(self._kept(headers)) or self._fits(self._given(scope))):
            return PlainTextResponse(
                "This page needs its token: open the whole address that the terminal shows.", 403
            )
        return None

    def _welcome(self, scope: Scope) -> RedirectResponse | None:
        """Take the token out of the address, where it would stay in the browser's history."""
        if not self._fits(self._given(scope)):
            return None
        answer = RedirectResponse(scope["path"], 303)
        answer.set_cookie(self._cookie, self._token, httponly=True, samesite="strict")
        return answer

    def _kept(self, headers: Headers) -> str:
        try:
            found = SimpleCookie(headers.get("cookie", "")).get(self._cookie)
        except CookieError:
            return ""
        return "" if found is None else str(found.value)

    @staticmethod
    def _given(scope: Scope) -> str:
        query: str = scope["query_string"].decode("latin-1")
        return parse_qs(query).get("token", [""])[0]

    def _fits(self, token: str) -> bool:
        return secrets.compare_digest(token.encode(), self._token.encode())


_TEMPLATES = Path(__file__).parent / "templates"
_PAGES = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"
"""What reports may do: nothing but look as they do."""


STEPS: Mapping[str, Step] = {
    "data": data.DATA,
    "roles": data.ROLES_STEP,
    "hierarchies": data.HIERARCHIES,
    "risk": release.RISK,
    "promise": release.PROMISE,
    "explore": release.EXPLORE,
    "release": release.RELEASE,
    "check": release.CHECK,
    "history": release.HISTORY,
}
"""Name in the address to step, in the order of the steps."""


def serve(
    source: str | None = None,
    *,
    port: int | None = None,
    open_browser: bool = True,
    announce: Callable[[str], None] = print,
) -> None:
    """Serve the workbench until it is interrupted; `announce` is called with its address.

    Raises
    ------
    InputError
        If `source` cannot be used, or the port is taken.
    """
    bench = Workbench(source)
    # The first look at a page need not wait for its template.
    for step in STEPS.values():
        _environment().get_template(step.template)
    try:
        with socket.socket() as listening:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                listening.bind((HOST, port or 0))
            except OSError as error:
                msg = f"--port: cannot listen at {HOST}:{port}: {error.strerror}"
                raise InputError(msg) from None
            listening.listen()
            token = secrets.token_urlsafe(24)
            number = listening.getsockname()[1]
            address = f"http://{HOST}:{number}/?token={token}"
            announce(address)
            if open_browser:
                webbrowser.open(address)
            config = uvicorn.Config(
                make_app(bench, token=token, port=number),
                log_config=None,
                access_log=False,
                ws="none",
                lifespan="off",
                server_header=False,
                timeout_graceful_shutdown=1,
            )
            uvicorn.Server(config).run(sockets=[listening])
    finally:
        bench.project.jobs.close()


def make_app(bench: Workbench, *, token: str, port: int) -> Starlette:
    """Return the application; problems that are the user's to solve come back as lines."""

    def route(
        path: str, answer: Callable[[Workbench, Request], Awaitable[Response]], method: str = "GET"
    ) -> Route:
        async def endpoint(request: Request) -> Response:
            try:
                return await answer(bench, request)
            except InputError as error:
                lines, code = error.lines, 400
            except Exception as error:  # noqa: BLE001  (what it says may hold raw data)
                lines, code = (f"{fault_of(error)} (please report it)",), 500
            if method == "GET":
                return PlainTextResponse("\n".join(lines), code)
            return JSONResponse({"lines": lines}, code)

        return Route(path, endpoint, methods=[method])

    routes = [
        route("/", _home),
        route("/workbench.js", _script),
        route("/workbench.css", _style),
        route("/view/{step}", _view),
        route("/act/{step}/{action}", _act, "POST"),
        route("/upload/{name:path}", _upload, "PUT"),
        route("/file/{job}/{name:path}", _file),
        route("/{step}", _page),
    ]
    return Starlette(routes=routes, middleware=[Middleware(Access, token=token, port=port)])


async def _home(bench: Workbench, request: Request) -> Response:
    del bench, request
    return RedirectResponse("/data", 303)


async def _script(bench: Workbench, request: Request) -> Response:
    del bench, request
    return FileResponse(_TEMPLATES / "workbench.js", media_type="text/javascript")


async def _style(bench: Workbench, request: Request) -> Response:
    del bench, request
    return Response(_environment().get_template("workbench.css").render(), media_type="text/css")


async def _page(bench: Workbench, request: Request) -> Response:
    if request.path_params["step"] not in STEPS:
        return PlainTextResponse("There is no such page.", 404)
    return HTMLResponse(_environment().get_template("bench.html").render(_context(bench, request)))


async def _view(bench: Workbench, request: Request) -> Response:
    """Return the page's content where it has changed since the version that the browser has."""
    if request.path_params["step"] not in STEPS:
        return PlainTextResponse("There is no such page.", 404)
    bench.settle()
    if request.headers.get("x-version") == bench.project.version():
        return Response(status_code=204)
    return HTMLResponse(_environment().get_template("view.html").render(_context(bench, request)))


async def _act(bench: Workbench, request: Request) -> Response:
    step = STEPS.get(request.path_params["step"])
    action = None if step is None else step.actions.get(request.path_params["action"])
    if action is None:
        return JSONResponse({"lines": ["there is no such action"]}, 404)
    given = await request.json()
    try:
        inspect.signature(action).bind(bench, **given)
    except TypeError:
        return JSONResponse({"lines": ["this is not what the page sends"]}, 400)
    answer = action(bench, **given) or {}
    if "template" in answer:
        template = _environment().get_template(answer["template"])
        answer = {"target": answer["target"], "html": template.render(answer["context"])}
    return JSONResponse(answer)


async def _upload(bench: Workbench, request: Request) -> Response:
    """Save a file that was dropped on the page: beside the configuration, or a release among our notes."""
    name = PurePosixPath(request.path_params["name"])
    if name.is_absolute() or ".." in name.parts or not name.parts or "\0" in str(name):
        msg = "the name of the file cannot be used"
        raise InputError(msg)
    is_ours = request.query_params.get("kind") != "release"
    folder = bench.project.folder if is_ours else bench.project.notes / "received"
    path = folder / name
    if path.exists() and is_ours:
        msg = f"{name} exists already in the folder of the project; choose it there, or give it another name"
        raise InputError(msg)
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", suffix=".partial", delete=False)  # noqa: SIM115
    try:
        with aside:
            async for chunk in request.stream():
                aside.write(chunk)
        Path(aside.name).replace(path)
    finally:
        Path(aside.name).unlink(missing_ok=True)
    return JSONResponse({"path": bench.name(path)})


async def _file(bench: Workbench, request: Request) -> Response:
    """Return a page that a job has made."""
    number, name = request.path_params["job"], request.path_params["name"]
    known = {job.id: job for job in bench.project.jobs.all()}
    pages = _pages(known[number], bench.project.folder) if number in known else {}
    if name not in pages:
        return PlainTextResponse("There is no such page.", 404)
    return FileResponse(pages[name], media_type="text/html", headers={"Content-Security-Policy": _PAGES})


def _pages(job: WorkbenchJob, folder: Path) -> dict[str, Path]:
    """Return the pages that a job has made, by the names that the workbench has for them."""
    if job.state != "done":
        return {}
    if job.task == "protect":
        out = folder / job.arguments["out"]
        return {"release": out / "release" / "report.html", "internal": out / "internal" / "report.html"}
    if job.task == "inspect":
        return {"inspection": job.folder / "inspect.html"}
    return {}


def _context(bench: Workbench, request: Request) -> dict[str, Any]:
    bench.settle()
    name = request.path_params["step"]
    project = bench.project
    return {
        "steps": STEPS,
        "step": name,
        "project": project,
        "version": project.version(),
        "gaps": list(project.gaps()),
        **STEPS[name].context(bench, dict(request.query_params)),
    }


@cache
def _environment() -> jinja2.Environment:
    """Return the environment of the reports, with the workbench's own templates beside theirs."""
    shared = environment()
    loader = jinja2.ChoiceLoader(
        [jinja2.PackageLoader("sequester.workbench"), shared.loader or jinja2.DictLoader({})]
    )
    return shared.overlay(loader=loader)
