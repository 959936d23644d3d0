// Ticks every <time data-ms data-rel>. Ages count by the server's clock: a browser with a wrong one shows the same.
(() => {
  const offset = Number(document.documentElement.dataset.now || Date.now()) - Date.now();
  const pad = (n) => String(n).padStart(2, "0");

  function coarse(ms) {
    if (ms < 1000) return "now";
    if (ms < 60e3) return `${Math.floor(ms / 1e3)}s`;
    if (ms < 3600e3) return `${Math.floor(ms / 60e3)}m`;
    if (ms < 172800e3) return `${Math.floor(ms / 3600e3)}h`;
    return `${Math.floor(ms / 86400e3)}d`;
  }

  function stopwatch(ms) {
    const seconds = Math.floor(Math.max(0, ms) / 1000);
    const [minutes, hours, days] = [60, 3600, 86400].map((size) => Math.floor(seconds / size));
    if (!minutes) return `${seconds}s`;
    if (!hours) return `${minutes}m ${pad(seconds % 60)}s`;
    if (!days) return `${hours}h ${pad(minutes % 60)}m`;
    return `${days}d ${hours % 24}h`;
  }

  function text(kind, ms, now) {
    if (kind === "for") return stopwatch(now - ms);
    if (kind === "left") return ms > now ? `${coarse(ms - now)} left` : "over";
    if (kind === "until") {
      const left = ms - now;
      if (left > 0) return `in ${coarse(left)}`;
      return left > -1000 ? "due now" : `due ${coarse(-left)} ago`;
    }
    const age = coarse(Math.max(0, now - ms));
    return age === "now" ? age : `${age} ago`;
  }

  function tick() {
    if (document.hidden) return;
    const now = Date.now() + offset;
    for (const node of document.querySelectorAll("time[data-rel]")) {
      const next = text(node.dataset.rel, Number(node.dataset.ms), now);
      if (node.textContent !== next) node.textContent = next;
    }
  }

  // The exact time is in the title in UTC; hovering adds the reader's own zone.
  document.addEventListener("pointerover", (event) => {
    const node = event.target.closest?.("time[data-ms]");
    if (!node || node.dataset.local) return;
    node.dataset.local = "1";
    node.title += `\n${new Date(Number(node.dataset.ms)).toLocaleString(undefined, { timeZoneName: "short" })} here`;
  });

  setInterval(tick, 1000);
  document.addEventListener("visibilitychange", tick);
  document.addEventListener("htmx:after:settle", tick);
})();
