"""Files of the page, and the list of the interface."""

from __future__ import annotations

import html
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response

PAGE = Path(__file__).parent / "page"
"""The folder of the page."""

_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".json": "application/json",
    ".webmanifest": "application/manifest+json",
    ".woff2": "font/woff2",
    ".txt": "text/plain; charset=utf-8",
    ".md": "text/plain; charset=utf-8",
}
_INDEX = "index.html"
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem}"
    "code,pre{font-family:ui-monospace,monospace}h2{font-size:1.1rem;margin-top:2rem}"
    "pre{overflow-x:auto;padding:.5rem;background:color-mix(in srgb,currentColor 8%,transparent)}"
    ":root{color-scheme:light dark}"
)


def add_page(app: FastAPI, folder: Path = PAGE) -> None:
    """Serve the files of the page: only those that are there when the server begins.

    Arguments:
        app: The application.
        folder: Where they are; without it there is a list of the interface in their place.
    """
    files = _files(folder)

    @app.get("/", include_in_schema=False)
    async def index() -> Response:
        if _INDEX in files:
            return _file(files[_INDEX])
        return HTMLResponse(listing(app.openapi()))

    @app.get("/page/{path:path}", include_in_schema=False)
    async def page(path: str) -> Response:
        if path not in files:  # names are looked up, never opened: no path leads elsewhere
            raise HTTPException(404, "There is no such file")
        return _file(files[path])


def _files(folder: Path) -> dict[str, Path]:
    found = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {p.relative_to(folder).as_posix(): p for p in found if p.suffix in _TYPES}


def _file(path: Path) -> Response:
    headers = {"cache-control": "no-cache"}
    return Response(path.read_bytes(), media_type=_TYPES[path.suffix], headers=headers)


def listing(schema: Mapping[str, Any]) -> str:
    """Return a page that lists the interface, from its description."""
    parts = []
    for path, methods in schema["paths"].items():
        for method, about in methods.items():
            parts.append(f"<h2><code>{method.upper()} {html.escape(path)}</code></h2>")
            parts.append(f"<p>{html.escape(about.get('summary', ''))}.</p>")
            parts += [_field(field) for field in _fields(about)]
    title = f"{html.escape(schema['info']['title'])} {html.escape(schema['info']['version'])}"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head><body><h1>{title}</h1>"
        f"<p>{html.escape(schema['info']['description'])} The whole description is in "
        '<a href="/openapi.json">openapi.json</a>.</p>' + "".join(parts) + "</body></html>"
    )


def _fields(about: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the fields of the body of a request with what they are."""
    content = about.get("requestBody", {}).get("content", {})
    schema = content.get("application/json", {}).get("schema", {})
    properties = schema.get("properties", {}).items()
    return [(name, field.get("description", "")) for name, field in properties]


def _field(field: tuple[str, str]) -> str:
    name, description = map(html.escape, field)
    return f"<p><code>{name}</code>: {description}</p>"
