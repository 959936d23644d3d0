// Actions: one request however often they are clicked, an answer where the operator looks, dialogs from the server.
(() => {
  const dialog = document.getElementById("dialog");

  // Actions are forms marked data-acts by the server; htmx posts them, this keeps books about it.
  document.addEventListener("htmx:before:request", (event) => {
    if (!event.target.matches?.("form[data-acts]")) return;
    dtq.lastAction = Date.now();
  });

  document.addEventListener("htmx:finally:request", (event) => {
    const form = event.target;
    if (!form.matches?.("form[data-acts]")) return;
    const { ctx } = event.detail;
    const status = ctx.response?.status;
    form.querySelector(".toast")?.remove();
    if (!status) {
      // What was typed into a dialog stays, and so does the dialog: behind it nobody would read the message.
      const within = form.closest("dialog[open]") && form;
      dtq.toast("No answer from the server. Nothing is known to have happened; try again.", "red", within);
    } else if (status === 403 && !ctx.text?.includes("hx-partial")) {
      dtq.toast("Nothing was done: this page is from an earlier session. Reload it and try again.", "red");
    } else if (status >= 500 && !ctx.text?.includes("hx-partial")) {
      dtq.toast(`The server failed (${status}). Try again.`, "red");
    }
    dtq.lastAction = Date.now();
    if (status && status !== 428) {
      form.closest("dialog[open]")?.close();
      if (status < 300) document.dispatchEvent(new CustomEvent("dtq:done", { detail: { form } }));
      dtq.acted?.();
    }
  });

  // A confirmation arrives as the dialog's content (428: the server wants to be asked again, knowingly).
  document.addEventListener("htmx:after:swap", () => {
    if (dialog.childElementCount && dialog.dataset.fresh !== dialog.firstElementChild.dataset.key) {
      dialog.dataset.fresh = dialog.firstElementChild.dataset.key;
      if (dialog.open) dialog.querySelector("[autofocus]")?.focus(); // one question followed another
      else dialog.showModal();
    }
  });
  // What a form sent and the server took is not typed text any more, also when a question came in between.
  document.addEventListener("dtq:done", (event) => {
    for (const form of document.querySelectorAll("form[data-resets]")) {
      if (form.action === event.detail.form.action) form.reset();
    }
  });
  dialog.addEventListener("close", () => {
    dialog.replaceChildren();
    delete dialog.dataset.fresh;
  });

  // Filters apply when they change; without a script there is a button.
  document.addEventListener("change", (event) => {
    const form = event.target.closest?.("form[data-auto]");
    if (form && event.target.matches("select, input[type=checkbox]")) form.requestSubmit();
  });
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method !== "get") return;
    // Empty fields have no business in an address.
    for (const field of form.elements) if (field.name && !field.value) field.disabled = true;
    setTimeout(() => { for (const field of form.elements) field.disabled = false; });
  });
})();
