// Short messages. The server renders most of them; this dismisses them and makes the few that the browser says itself.
window.dtq = window.dtq || {};
(() => {
  const LIVES_MS = 7000;
  const box = () => document.getElementById("toasts");

  function age(node) {
    if (node.dataset.aging || node.classList.contains("tone-red")) return; // bad news stays until it is read
    node.dataset.aging = "1";
    let left = LIVES_MS;
    const timer = setInterval(() => {
      if (node.matches(":hover, :focus-within") || document.hidden) return;
      left -= 500;
      if (left > 0) return;
      clearInterval(timer);
      node.remove();
    }, 500);
  }

  dtq.toast = (text, tone = "grey", where = null) => {
    // The server's own markup, so that both kinds look the same.
    const node = document.getElementById(`toast-${tone}`).content.firstElementChild.cloneNode(true);
    node.querySelector("div").textContent = text;
    if (where) node.setAttribute("role", "alert"); // the box is a live region, other places are not
    (where || box()).append(node);
  };

  document.addEventListener("click", (event) => event.target.closest?.("[data-dismiss]")?.closest(".toast")?.remove());

  const watch = () => {
    for (const node of box().children) age(node);
    while (box().children.length > 5) box().firstElementChild.remove();
  };
  new MutationObserver(watch).observe(box(), { childList: true });
  watch();
})();
