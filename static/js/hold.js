// What the operator is busy with must not change under their hands. Lists are marked data-hold by the server.
(() => {
  const hovers = matchMedia("(hover: hover)");

  // Why the fragment must wait, or "". A dialog holds everything, the rest holds the list that it is in.
  dtq.holdReason = (fragment) => {
    if (document.querySelector("dialog[open]")) return "a dialog is open";
    if (!fragment.hasAttribute("data-hold")) return "";
    const ticked = fragment.querySelectorAll("input[data-tick]:checked").length;
    if (ticked) return ticked === 1 ? "1 selected" : "some selected";
    // A button that was clicked keeps the focus; only a keyboard's focus says that somebody is still busy here.
    if (fragment.querySelector(":focus-visible")) return "a row has the focus";
    if (hovers.matches && fragment.matches(":hover")) return "the pointer is on the list";
    return "";
  };

  // One look after the hand has left; the flush itself asks again.
  const released = () => setTimeout(() => document.dispatchEvent(new Event("dtq:released")), 120);
  document.addEventListener("pointerout", (event) => {
    const list = event.target.closest?.("[data-hold]");
    if (list && !list.contains(event.relatedTarget)) released();
  });
  document.addEventListener("focusout", released);
  document.addEventListener("change", released);
  document.addEventListener("close", released, true);

  // The operator opened it, the operator closes it: morphing never touches what is open.
  htmx.registerExtension("dtq-keep", {
    htmx_before_morph_attr: (element, detail) => {
      if (detail.attrName === "open" && (element.tagName === "DETAILS" || element.tagName === "DIALOG")) return false;
      if (detail.attrName === "class" && element.tagName === "TR") {
        // The cursor and the selection are the browser's, the rest of a row's classes is the server's.
        const own = ["is-cursor", "is-selected"].filter((name) => element.classList.contains(name));
        element.className = [detail.newValue || "", ...own].join(" ").trim();
        return false;
      }
      if (detail.attrName === "data-aging" || detail.attrName === "data-local") return false;
      return true;
    },
  });
})();
