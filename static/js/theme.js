// Runs before the first paint (not deferred), so that the page never flashes in the wrong theme.
(() => {
  const root = document.documentElement;
  const stored = () => {
    try {
      return localStorage.getItem("dtq-theme");
    } catch {
      return null; // storage can be forbidden; the system's choice is then the only one
    }
  };
  const system = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    const choice = stored() || "system";
    root.dataset.theme = choice === "system" ? (system.matches ? "dark" : "light") : choice;
    root.dataset.themeChoice = choice;
    document.dispatchEvent(new Event("dtq:theme"));
  };
  apply();
  root.dataset.js = "on";
  system.addEventListener("change", apply);
  window.addEventListener("storage", apply);

  const order = { system: "light", light: "dark", dark: "system" };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-theme-toggle]");
    if (!button) return;
    const next = order[root.dataset.themeChoice] || "light";
    try {
      if (next === "system") localStorage.removeItem("dtq-theme");
      else localStorage.setItem("dtq-theme", next);
    } catch {
      root.dataset.theme = next === "dark" ? "dark" : "light";
    }
    apply();
    button.setAttribute("aria-label", `Theme: ${root.dataset.themeChoice}. Change`);
  });
})();
