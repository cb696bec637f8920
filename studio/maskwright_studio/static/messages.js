// What the page says of what was done, or did not work.
// @ts-check

/** A place of the shell. @param {string} id @returns {HTMLElement} */
export const element = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** Say in the line of messages, which screen readers read out. @param {string} text */
export const say = (text) => { element("said").textContent = text; };

/**
 * Say what did not work where it was asked for, and lead there.
 * @param {Element | null} at the button that was pressed; null where none was
 * @param {string} text
 * @param {[string, string][]} offers what can be done about it: labels and acts
 */
export function refuse(at, text, offers = []) {
  document.querySelectorAll(".told").forEach((each) => each.remove());
  say("");
  const told = document.createElement("div");
  told.className = "refusal told";
  told.setAttribute("role", "alert");
  told.tabIndex = -1;
  const words = document.createElement("p");
  words.textContent = text;
  told.append(words);
  for (const [label, work] of offers) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = label;
    button.setAttribute("data-act", work);
    told.append(button, " ");
  }
  const isRedrawn = at?.closest("[data-part]")?.querySelector("[data-again]"); // it would be gone in a moment
  if (at?.isConnected && at.closest("main") && !isRedrawn) at.after(told);
  else element("said").after(told);
  if (at) told.focus();
}

/** Say on a button which change it takes back. @param {"Undo" | "Redo"} name @param {string} change '' for none */
export function offer(name, change) {
  const button = /** @type {HTMLButtonElement} */ (element(name.toLowerCase()));
  button.disabled = !change;
  button.textContent = button.title = change ? `${name}: ${change}` : name;
}
