// Keeps fragments current: a stream names topics, fragments that depend on them become due, one request fetches them.
(() => {
  const POLL_MS = 5000; // without a stream
  const SAFETY_MS = 30000; // with one: an event that got lost costs this long
  const BEAT_MS = 10000; // the server sends a beat this often; two missed ones are late
  const GAP_MS = 500; // between two refreshes; grows under a storm of changes, as nobody reads two screens a second
  const LONGEST_GAP_MS = 2000;
  const SHARE = 40; // a tab takes at most a fortieth of a server thread: a slow server is asked less often
  const PATIENCE_MS = 5000;

  const source = document.getElementById("live");
  const stamp = document.getElementById("stamp");
  const due = new Set();
  dtq.stream = { up: false }; // stream.js, which may come later, keeps it
  let inFlight = false;
  let timer = 0;
  let lastRequest = 0;
  let lastGood = Date.now();
  let failure = "";
  let gap = GAP_MS;
  let tookMs = 0;

  const fragments = () => [...document.querySelectorAll("[data-fragment]")].filter((node) => node.dataset.topics);
  if (!source || !document.querySelector("[data-fragment]")) return;

  // The stamp ---------------------------------------------------------------

  function state() {
    if (failure) return ["down", failure];
    const held = fragments().map((node) => due.has(node.dataset.fragment) && dtq.holdReason(node)).find(Boolean);
    const late = Date.now() - lastGood > 2 * (dtq.stream.up ? BEAT_MS : POLL_MS) + 2000;
    const clock = new Date(lastGood).toLocaleTimeString(undefined, { hour12: false });
    if (late) return ["late", `late, as of ${clock}`];
    if (held) return ["held", `held: ${held}, as of ${clock}`];
    return ["live", `live, as of ${clock}`];
  }

  function show() {
    const [name, text] = state();
    if (stamp.dataset.state !== name) stamp.dataset.state = name;
    if (stamp.textContent !== text) stamp.textContent = text;
    stamp.title = dtq.stream.up ? "Updates arrive by event stream" : `Asked for every ${POLL_MS / 1000} s`;
    document.documentElement.toggleAttribute("data-down", name === "down");
    for (const button of document.querySelectorAll("[data-action]")) {
      if (name === "down" && !button.disabled) {
        button.disabled = true;
        button.dataset.wasLive = "1";
      } else if (name !== "down" && button.dataset.wasLive) {
        button.disabled = false;
        delete button.dataset.wasLive;
      }
    }
  }

  dtq.beat = () => {
    lastGood = Date.now();
    show();
  };

  // Refreshing --------------------------------------------------------------

  function matches(topics, node) {
    const names = node.dataset.topics.split(" ");
    // So many tasks changed at once that the server did not name them.
    if (topics.has("task:*") && names.some((name) => name.startsWith("task:"))) return true;
    return names.some((name) => topics.has(name));
  }

  dtq.changed = (names) => {
    const topics = new Set(names);
    for (const node of fragments()) {
      if (topics.has("*") || matches(topics, node)) due.add(node.dataset.fragment);
    }
    // Under a storm of changes open tabs spread their refreshes, so that watching does not take from the work watched.
    const storm = topics.has("task:*");
    if (!storm || !timer) soon(storm ? Math.random() * LONGEST_GAP_MS : 0);
  };

  function soon(wait) {
    clearTimeout(timer);
    const rest = Math.max(gap, Math.min(SHARE * tookMs, PATIENCE_MS));
    timer = setTimeout(() => {
      timer = 0;
      flush();
    }, Math.max(wait, lastRequest + rest - Date.now()));
  }

  // force: the operator has just acted, so their own change shows even in a held list.
  async function flush(force = false) {
    if (inFlight || document.hidden || (!force && !due.size)) return;
    const nodes = force ? [...document.querySelectorAll("[data-fragment]")] : fragments();
    const ready = nodes.filter((node) => due.has(node.dataset.fragment) && (force || !dtq.holdReason(node)));
    if (!ready.length) return show();
    inFlight = true;
    gap = Date.now() - lastRequest < 2 * gap + 500 ? Math.min(gap * 1.5, LONGEST_GAP_MS) : GAP_MS;
    lastRequest = Date.now();
    const url = new URL(location.href);
    url.hash = "";
    for (const node of ready) {
      due.delete(node.dataset.fragment);
      url.searchParams.append("fragment", node.dataset.fragment);
      const rows = [...node.querySelectorAll("tr[data-id]")].map((row) => row.dataset.id);
      if (rows.length && node.hasAttribute("data-hold")) url.searchParams.set("shown", rows.join(","));
    }
    try {
      // The swap is ours to keep out when the operator took hold of a list while the answer was on its way.
      await htmx.ajax("GET", url.href, { source, target: source, swap: "none" });
    } finally {
      inFlight = false;
      tookMs = Date.now() - lastRequest;
      if (due.size) soon(failure ? POLL_MS : 0);
    }
  }
  dtq.acted = () => {
    // A finished thing has no topics, yet an action can bring it back to life.
    for (const node of document.querySelectorAll("[data-fragment]")) due.add(node.dataset.fragment);
    if (inFlight) setTimeout(() => dtq.acted(), 50);
    else flush(true);
  };

  source.addEventListener("htmx:before:swap", (event) => {
    const tasks = event.detail.tasks;
    for (const task of [...tasks]) {
      const target = typeof task.target === "string" ? document.querySelector(task.target) : task.target;
      if (!target?.dataset?.fragment) continue;
      const acted = Date.now() - (dtq.lastAction || 0) < 3000;
      if (!acted && dtq.holdReason(target)) {
        due.add(target.dataset.fragment);
        tasks.splice(tasks.indexOf(task), 1);
      }
    }
  });

  source.addEventListener("htmx:finally:request", (event) => {
    const { ctx } = event.detail;
    const status = ctx.response?.status;
    if (status >= 200 && status < 300) {
      failure = "";
      lastGood = Date.now();
    } else if (status === 401) {
      failure = "signed out";
    } else if (status === 404) {
      failure = "gone";
    } else {
      failure = status === 503 ? "Redis does not answer" : status ? `the server answers ${status}` : "no connection";
      for (const node of fragments()) due.add(node.dataset.fragment);
    }
    show();
  });

  // Clocks ------------------------------------------------------------------

  let lastFull = Date.now();
  let lastTick = Date.now();
  setInterval(() => {
    show();
    if (document.hidden) return;
    if (inFlight || Date.now() - lastTick < POLL_MS) return;
    lastTick = Date.now() + Math.random() * 500; // many tabs must not ask in step
    const all = failure || !dtq.stream.up || lastTick - lastFull > SAFETY_MS;
    if (all) lastFull = lastTick;
    // "tick": what changes with time alone, or without an event, such as rates and workers.
    dtq.changed([all ? "*" : "tick"]);
  }, 1000);

  document.addEventListener("dtq:released", () => {
    show();
    if (due.size) soon(0);
  });
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) dtq.changed(["*"]);
  });
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) dtq.changed(["*"]);
  });
  document.addEventListener("DOMContentLoaded", show);
})();
