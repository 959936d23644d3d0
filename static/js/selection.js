// Ticking rows: one, a range with shift, the whole page. The style sheet shows the bar of actions while something is.
(() => {
  let last = null;
  const ticks = () => [...document.querySelectorAll("input[data-tick]")];
  const ticked = () => ticks().filter((box) => box.checked);

  function show() {
    const bar = document.getElementById("selection");
    if (!bar) return;
    const chosen = ticked();
    for (const box of ticks()) box.closest("tr").classList.toggle("is-selected", box.checked);
    bar.querySelector("[data-count]").textContent = `${chosen.length} selected on this page`;
    for (const button of bar.querySelectorAll("[data-bulk]")) {
      const able = chosen.filter((box) => (box.dataset.allows || "").split(" ").includes(button.dataset.bulk)).length;
      button.disabled = !able;
      button.querySelector("[data-able]").textContent = able < chosen.length ? ` ${able}` : "";
    }
    const all = document.getElementById("tick-all");
    if (all) {
      all.checked = chosen.length > 0 && chosen.length === ticks().length;
      all.indeterminate = chosen.length > 0 && chosen.length < ticks().length;
    }
  }

  function clear() {
    for (const box of ticks()) box.checked = false;
    last = null;
    show();
    document.dispatchEvent(new Event("dtq:released"));
  }
  dtq.clearSelection = () => ticked().length > 0 && (clear(), true);

  dtq.tick = (box, range) => {
    if (range && last && last !== box) {
      const boxes = ticks();
      const [from, to] = [boxes.indexOf(last), boxes.indexOf(box)].sort((a, b) => a - b);
      if (from >= 0) for (const between of boxes.slice(from, to + 1)) between.checked = box.checked;
    }
    last = box;
    show();
  };

  document.addEventListener("click", (event) => {
    const box = event.target;
    if (box.matches?.("input[data-tick]")) dtq.tick(box, event.shiftKey);
    if (box.id === "tick-all") {
      for (const each of ticks()) each.checked = box.checked;
      show();
      document.dispatchEvent(new Event("dtq:released"));
    }
    if (box.closest?.("[data-clear-selection]")) clear();
  });
  document.addEventListener("dtq:done", (event) => {
    if (event.detail.form.hasAttribute("data-clears")) clear();
  });
  document.addEventListener("htmx:after:settle", show);
  // A reload restores ticks in some browsers without telling anybody.
  show();
})();
