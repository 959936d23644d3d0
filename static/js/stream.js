// One event stream for all tabs of a browser. HTTP/1.1 allows six connections to a host, and a seventh tab would hang:
// the visible tab that holds a lock owns the stream and passes events on to the others.
(() => {
  const root = document.getElementById("live");
  const FIRST_RETRY_MS = 2000;
  const LAST_RETRY_MS = 60000;
  const SILENT_MS = 25000; // two beats and a half: a stream that says nothing for so long is dead, whatever it claims
  const state = dtq.stream;
  if (!root || !document.querySelector("[data-fragment]")) return;

  const url = root.dataset.events;
  const channel = "BroadcastChannel" in window ? new BroadcastChannel(`dtq:${url}`) : null;
  let element = null;
  let waiting = null;
  let release = null;
  let retry = 0;
  let retryMs = FIRST_RETRY_MS;
  let heardAt = 0;

  function hear(kind, detail) {
    heardAt = Date.now();
    if (kind === "changed") dtq.changed(detail.topics || ["*"]);
    // Of what happened before the first word, since the page was made, nobody has told this tab.
    if (kind === "resync" || (kind !== "down" && !state.up)) dtq.changed(["*"]);
    if (kind === "down") state.up = false;
    else state.up = true;
    if (kind !== "down" && detail.redis !== false) dtq.beat();
  }

  function tell(kind, detail = {}) {
    hear(kind, detail);
    channel?.postMessage({ kind, detail });
  }

  channel?.addEventListener("message", (event) => hear(event.data.kind, event.data.detail));

  function parsed(text) {
    try {
      return JSON.parse(text);
    } catch {
      return {};
    }
  }

  function open() {
    clearTimeout(retry);
    if (element || document.hidden) return;
    element = document.createElement("div");
    element.hidden = true;
    element.setAttribute("hx-sse:connect", url);
    element.setAttribute("hx-swap", "none");
    for (const kind of ["hello", "beat", "changed", "resync"]) {
      element.addEventListener(kind, (event) => {
        retryMs = FIRST_RETRY_MS;
        tell(kind === "hello" ? "resync" : kind, parsed(event.detail.data));
      });
    }
    // The extension reconnects a stream that broke; one that never opened is ours to try again.
    element.addEventListener("htmx:sse:error", () => tell("down"));
    element.addEventListener("htmx:finally:request", (event) => {
      const type = event.detail.ctx.response?.headers?.get("Content-Type") || "";
      if (!type.startsWith("text/event-stream")) again();
    });
    root.after(element);
    htmx.process(element);
  }

  function close() {
    clearTimeout(retry);
    if (!element) return;
    const old = element;
    element = null;
    old.removeAttribute("hx-sse:connect");
    htmx.process(old, true); // lets the extension end its connection
    old.remove();
  }

  function again() {
    close();
    tell("down");
    retry = setTimeout(open, retryMs * (0.7 + Math.random() * 0.6));
    retryMs = Math.min(retryMs * 2, LAST_RETRY_MS);
  }

  setInterval(() => {
    if (!state.up || document.hidden || Date.now() - heardAt < SILENT_MS) return;
    if (element) again();
    else state.up = false; // another tab's stream: poll until it is heard again
  }, 5000);

  function lead() {
    if (document.hidden || waiting) return;
    if (!navigator.locks || !channel) return open(); // plain http away from localhost: a stream a visible tab
    waiting = new AbortController();
    navigator.locks
      .request(`dtq:${url}`, { signal: waiting.signal }, () => new Promise((done) => {
        release = done;
        open();
      }))
      .catch((error) => {
        if (error.name !== "AbortError") throw error;
      });
  }

  function resign() {
    close();
    state.up = false;
    release?.();
    release = null;
    waiting?.abort();
    waiting = null;
  }

  document.addEventListener("visibilitychange", () => (document.hidden ? resign() : lead()));
  window.addEventListener("pagehide", resign);
  window.addEventListener("pageshow", (event) => event.persisted && lead());
  lead();
})();
