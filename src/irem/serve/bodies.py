"""Bodies of requests, read up to a limit."""

from __future__ import annotations

import asyncio
import io
import math
import time
from collections.abc import AsyncIterator
from typing import Any

import numpy as np
from starlette.requests import ClientDisconnect, Request

from irem.json_text import parse
from irem.serve.limits import Limits, Refusal, malformed, too_large

JSON = "application/json"
ARRAYS = ("application/x-npy", "application/octet-stream")


def content_type(request: Request) -> str:
    """Return what a body is said to be, without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


async def read_body(request: Request, limits: Limits) -> bytes:
    """Return the body of a request; one that is too large is not read, a slow one is given up.

    Raises:
        Refusal: It is too large, or takes too long.
    """
    said = request.headers.get("content-length")
    if said is not None and (not said.isdecimal() or int(said) > limits.body):
        raise _too_large(limits)
    deadline = time.monotonic() + limits.reading
    found = bytearray()
    chunks = aiter(_chunks(request))
    while True:
        try:
            left = deadline - time.monotonic()
            chunk = await asyncio.wait_for(anext(chunks), max(left, 0.001))
        except StopAsyncIteration:
            return bytes(found)
        except TimeoutError:
            raise Refusal(
                408, "too_slow", f"The body did not arrive within {limits.reading:g} seconds."
            ) from None
        found += chunk
        if len(found) > limits.body:
            raise _too_large(limits)


async def _chunks(request: Request) -> AsyncIterator[bytes]:
    try:
        async for chunk in request.stream():
            yield chunk
    except ClientDisconnect:
        raise malformed("The client went away before the end of the body.") from None


def _too_large(limits: Limits) -> Refusal:
    return too_large(
        f"The body is larger than {limits.body:,} bytes; send fewer or smaller problems at a time."
    )


def parse_json(body: bytes) -> Any:
    """Return the values of a body of JSON.

    Raises:
        Refusal: It is none, holds NaN or infinity, or is nested too deeply.
    """
    try:
        return parse(body.decode("utf-8"))
    except ValueError as error:
        raise malformed(
            f"The body is not JSON that can be read ({error}); write null for a missing number."
        ) from error


def parse_array(body: bytes) -> np.ndarray:
    """Return the array of a body in the format of NumPy, without running anything in it.

    Raises:
        Refusal: It is none, or does not hold numbers.
    """
    file = io.BytesIO(body)
    try:
        version = np.lib.format.read_magic(file)
        read = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        shape, _, dtype = read(file)
    except (ValueError, KeyError, SyntaxError, TypeError) as error:
        raise malformed(f"The body is not an array as `numpy.save` writes it ({error}).") from error
    if dtype.hasobject or dtype.kind not in "fiub":
        raise malformed(f"An array of problems holds numbers, got one of {dtype}.")
    if any(n < 0 for n in shape) or math.prod(shape) * dtype.itemsize != len(body) - file.tell():
        raise malformed(
            f"The array is said to have the shape {shape}, and the body has another number of "
            "bytes; send it whole."
        )
    file.seek(0)
    return np.load(file, allow_pickle=False)
