"""What the made-up shop does. Whether a task fails is in its payload, as with the test cards of a payment provider.

So the same task always ends the same way, and a requeued one shows what requeueing it really does.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import time
from typing import Any

from tasks_app.domain.retry import RetryPolicy
from tasks_app.handlers.context import TaskContext
from tasks_app.handlers.errors import PermanentError, RetryableError
from tasks_app.handlers.registry import Registry

UNKNOWN_DOMAIN = "nowhere.invalid"
BUSY_DOMAIN = "greylist.example"
DECLINED_CARD = "4000 0000 0000 0002"
BUSY_CARD = "4000 0000 0000 0119"
DEAD_CARD = "4000 0000 0000 0341"
CORRUPT_SUFFIX = ".corrupt.jpg"


class MailboxUnknown(PermanentError):
    """The recipient does not exist."""


class MailServerBusy(RetryableError):
    """The mail server asks to come again."""


class CardDeclined(PermanentError):
    """The bank says no."""


class GatewayUnavailable(RetryableError):
    """The payment provider does not answer."""


class CorruptImage(PermanentError):
    """The upload is no picture."""


_shop = Registry()


def register_shop(registry: Registry) -> None:
    """Declare the shop's handlers in ``registry``."""
    for name in _shop.names():
        handler = _shop.get(name)
        assert handler is not None
        registry.add(handler)


@_shop.task("email.send", queue="emails", max_attempts=4, timeout=10, retry=RetryPolicy(base=2.0, maximum=30.0))
async def send_email(payload: dict[str, Any], ctx: TaskContext) -> dict[str, str]:
    """Deliver ``template`` to ``to``."""
    to = _text(payload, "to")
    domain = to.rpartition("@")[2]
    await asyncio.sleep(0.05 + _share(to) * 0.3)
    if domain == UNKNOWN_DOMAIN:
        ctx.log(f"RCPT TO:<{to}> was refused")
        raise MailboxUnknown("550 5.1.1 recipient unknown")
    if domain == BUSY_DOMAIN and ctx.attempt <= 2:
        raise MailServerBusy(f"451 4.7.1 greylisted, try again in {ctx.attempt * 2} seconds")
    ctx.log(f"accepted by mx1.{domain}")
    return {"message_id": f"<{ctx.task_id[-12:]}@shop.example>"}


@_shop.task("payment.capture", queue="payments", priority=8, max_attempts=3, timeout=15)
async def capture_payment(payload: dict[str, Any], ctx: TaskContext) -> dict[str, Any]:
    """Take ``amount`` cents from ``card``."""
    card, amount = _text(payload, "card"), _number(payload, "amount")
    ctx.progress(0.3, "asking the bank")
    await asyncio.sleep(0.1 + _share(card + str(amount)) * 0.4)
    if card == DECLINED_CARD:
        raise CardDeclined(f"Card ending {card[-4:]} was declined: insufficient funds for {amount / 100:.2f} EUR")
    if card == DEAD_CARD or (card == BUSY_CARD and ctx.attempt == 1):
        raise GatewayUnavailable("POST /v2/captures: 503 Service Unavailable")
    ctx.progress(1.0, "captured")
    return {"captured": amount, "authorisation": f"A{ctx.task_id[-6:].upper()}"}


@_shop.task("report.build", queue="reports", priority=3, max_attempts=2, timeout=60)
async def build_report(payload: dict[str, Any], ctx: TaskContext) -> dict[str, Any]:
    """Write ``pages`` pages of ``kind``, telling how far it is."""
    kind, pages = _text(payload, "kind"), int(_number(payload, "pages"))
    ctx.log(f"building {kind} with {pages} pages")
    for page in range(1, pages + 1):
        await asyncio.sleep(0.25)
        ctx.progress(page / pages, f"page {page} of {pages}")
        if page % 10 == 0:
            ctx.log(f"{page} pages written")
    return {"kind": kind, "pages": pages, "file": f"reports/{kind}-{ctx.task_id[-8:]}.pdf"}


@_shop.task("image.resize", queue="images", max_attempts=3, timeout=20)
def resize_image(payload: dict[str, Any], ctx: TaskContext) -> dict[str, Any]:
    """Scale ``file`` to each of ``widths``: honest work in a thread."""
    file = _text(payload, "file")
    ctx.log(f"reading {file}")
    if file.endswith(CORRUPT_SUFFIX):
        raise CorruptImage("Not a JPEG file: starts with 0x3c 0x21")
    widths = [int(width) for width in payload.get("widths", [])]
    for done, width in enumerate(widths, start=1):
        ctx.raise_if_cancelled()
        _burn(width / 20_000)
        ctx.progress(done / len(widths), f"{width} px")
    return {"file": file, "sizes": [{"width": width, "height": width * 2 // 3} for width in widths]}


@_shop.task("cache.warm", priority=1, timeout=5)
async def warm_cache(payload: dict[str, Any], ctx: TaskContext) -> dict[str, int]:
    """Fetch ``urls`` pages of ``section``."""
    urls = int(_number(payload, "urls"))
    await asyncio.sleep(urls * 0.004)
    return {"fetched": urls}


@_shop.task("stock.sync", max_attempts=2, timeout=1, retry=RetryPolicy(base=3.0))
async def sync_stock(payload: dict[str, Any], ctx: TaskContext) -> dict[str, int]:
    """Ask the warehouse for ``items`` counts; too many take longer than its timeout."""
    items = int(_number(payload, "items"))
    ctx.log(f"asking for {items} items")
    await asyncio.sleep(items / 400)
    return {"updated": items}


def _text(payload: dict[str, Any], name: str) -> str:
    value = payload.get(name)
    if not isinstance(value, str):
        raise PermanentError(f"{name} must be text")
    return value


def _number(payload: dict[str, Any], name: str) -> float:
    value = payload.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1_000_000:
        raise PermanentError(f"{name} must be a number 0..1000000")
    return value


def _share(text: str) -> float:
    """A number 0..1 that looks random and is the same each time."""
    return hashlib.sha256(text.encode()).digest()[0] / 255


def _burn(seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        math.sqrt(sum(range(200)))
