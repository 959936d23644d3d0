// The keyboard map (see the help dialog). Silent while typing and with modifier keys.
(() => {
  let pendingGo = 0;
  let leaving = false;
  window.addEventListener("pageshow", () => (leaving = false));
  const rows = () => [...document.querySelectorAll("tr[data-id], tr[data-row]")];
  const current = () => document.querySelector("tr.is-cursor");

  function move(step) {
    const all = rows();
    if (!all.length) return;
    const at = all.indexOf(current());
    const next = all[at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(all.length - 1, Math.max(0, at + step))];
    current()?.classList.remove("is-cursor");
    next.classList.add("is-cursor");
    next.querySelector("a[data-open]")?.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  }

  function select(range) {
    const box = current()?.querySelector("input[data-tick]");
    if (!box) return;
    box.checked = !box.checked;
    dtq.tick(box, range);
  }

  function back() {
    if (document.activeElement && document.activeElement !== document.body) document.activeElement.blur();
    if (current()) return current().classList.remove("is-cursor");
    const up = document.querySelector("[data-up]");
    if (!up || leaving) return;
    leaving = true; // a second press must not go back once more
    // Coming from that list, its filter and page are worth keeping.
    const from = document.referrer && new URL(document.referrer);
    if (from && from.origin === location.origin && from.pathname === new URL(up.href).pathname) history.back();
    else location.href = up.href;
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const typing = event.target.matches?.("input:not([type=checkbox]), textarea, select, [contenteditable]");
    if (event.key === "Escape") {
      if (document.querySelector("dialog[open]")) return; // the browser closes it
      if (typing) return event.target.blur();
      if (!dtq.clearSelection()) back();
      return;
    }
    if (typing || document.querySelector("dialog[open]")) return;
    if (pendingGo && Date.now() - pendingGo < 1500) {
      pendingGo = 0;
      const link = document.querySelector(`[data-go="${CSS.escape(event.key)}"]`);
      if (link) {
        event.preventDefault();
        location.href = link.href;
      }
      return;
    }
    const act = {
      "/": () => document.getElementById("search").select(),
      "?": () => document.getElementById("help").showModal(),
      g: () => (pendingGo = Date.now()),
      j: () => move(1),
      k: () => move(-1),
      x: () => select(false),
      X: () => select(true),
    }[event.key];
    if (act) {
      event.preventDefault();
      act();
    } else if (event.key === "Enter" && event.target.matches?.("[data-tick]")) {
      event.preventDefault(); // it would send the form that the box belongs to
    } else if (event.key === "Enter" && current() && !event.target.closest("a, button, summary, input")) {
      current().querySelector("a[data-open]")?.click();
    }
  });
})();
