// The frame: dialogs open and close, and the strip of pages shows the one that is open.
(() => {
  document.addEventListener("click", (event) => {
    const opener = event.target.closest?.("[data-opens]");
    if (opener) document.getElementById(opener.dataset.opens)?.showModal();
    if (event.target.closest?.("[data-help]")) document.getElementById("help").showModal();
    const closer = event.target.closest?.("[data-closes]");
    if (closer) closer.closest("dialog").close();
    if (event.target instanceof HTMLDialogElement && event.target.open) event.target.close(); // a click on the scrim
  });

  // The page of an outage tries again by itself, but not while somebody types into the search box.
  const retry = document.querySelector("[data-retry-ms]");
  if (retry) setInterval(() => document.activeElement.matches("input") || location.reload(), Number(retry.dataset.retryMs));

  const strip = document.querySelector(".nav");
  if (!strip) return;
  const FADE = 28; // as in frame.css
  const first = strip.querySelector("li:has(+ li > [aria-current])") ?? strip.querySelector("li");
  strip.scrollLeft += first.getBoundingClientRect().left - strip.getBoundingClientRect().left - FADE;
  const fade = () => {
    strip.toggleAttribute("data-before", strip.scrollLeft > 1);
    strip.toggleAttribute("data-after", strip.scrollLeft + strip.clientWidth < strip.scrollWidth - 1);
  };
  strip.addEventListener("scroll", fade, { passive: true });
  addEventListener("resize", fade);
  fade();
})();
