// Copies text to the clipboard, also where the clipboard API is refused (plain http away from localhost).
(() => {
  async function write(text) {
    if (navigator.clipboard && window.isSecureContext) return navigator.clipboard.writeText(text);
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "sr-only";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    if (!done) throw new Error("refused");
  }

  async function textFor(button) {
    if (button.dataset.copyUrl) {
      const answer = await fetch(button.dataset.copyUrl);
      if (!answer.ok) throw new Error(String(answer.status));
      return answer.text();
    }
    return button.dataset.copy ?? document.getElementById(button.dataset.copyFrom).textContent;
  }

  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.("[data-copy], [data-copy-from], [data-copy-url]");
    if (!button) return;
    try {
      await write(await textFor(button));
      button.dataset.copied = "1";
      setTimeout(() => delete button.dataset.copied, 2000);
      dtq.toast("Copied.", "green");
    } catch {
      dtq.toast("The browser did not allow copying. Select the text and copy it by hand.", "red");
    }
  });
})();
