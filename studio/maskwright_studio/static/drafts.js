// What is typed and not saved: it is kept with its page while the tab is open, and put back when the page is shown again.
// @ts-check

/** @typedef {HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement} Control */
/** @typedef {{name: string, value: string, checked: boolean | null}} Typed */

const KEPT = "maskwright-typed ";

/** Of a page, in the pipeline that is open; the address in the window may be that of the next one already. */
const here = (place = document.getElementById("content")?.dataset.shows ?? "") =>
  `${KEPT}${document.getElementById("pipeline")?.textContent} ${place} `;

/** @param {HTMLFormElement} form */
const keyOf = (form) => here() + form.getAttribute("data-act");

/** @param {HTMLFormElement} form @returns {Control[]} */
const controls = (form) => /** @type {Control[]} */ ([...form.elements].filter((each) => each.matches("input:not([type=hidden]), textarea, select")));

/** @param {Control} control */
function isChanged(control) {
  if (control instanceof HTMLSelectElement) {
    const first = [...control.options].find((each) => each.defaultSelected) ?? control.options[0];
    return control.value !== first?.value;
  }
  if (control instanceof HTMLInputElement && ["checkbox", "radio"].includes(control.type))
    return control.checked !== control.defaultChecked;
  return control.value !== control.defaultValue;
}

/** Keep what a form says otherwise than the page did. @param {HTMLFormElement} form */
export function keepTyped(form) {
  /** @type {Typed[]} */
  const typed = controls(form).filter(isChanged).map((each) => ({
    name: each.name, value: each.value,
    checked: each instanceof HTMLInputElement && ["checkbox", "radio"].includes(each.type) ? each.checked : null,
  }));
  if (typed.length) sessionStorage.setItem(keyOf(form), JSON.stringify(typed));
  else sessionStorage.removeItem(keyOf(form));
}

/** Put back what was typed into the forms of a piece of the page, and say so. @param {Element} root */
export function putBackTyped(root) {
  for (const form of /** @type {NodeListOf<HTMLFormElement>} */ (root.querySelectorAll("form[data-draft]"))) {
    const kept = sessionStorage.getItem(keyOf(form));
    if (!kept || form.querySelector(".typed")) continue;
    let found = false;
    for (const each of /** @type {Typed[]} */ (JSON.parse(kept)))
      for (const control of controls(form)) {
        if (control.name !== each.name || (each.checked !== null && control.value !== each.value)) continue;
        if (each.checked !== null) /** @type {HTMLInputElement} */ (control).checked = each.checked;
        else control.value = each.value;
        found ||= isChanged(control);
      }
    if (!found) continue;
    const said = document.createElement("p");
    said.className = "typed";
    said.append("What you typed here before is put back; it is not saved. ");
    const button = document.createElement("button");
    button.type = "button";
    button.className = "plain";
    button.textContent = "Forget it";
    button.addEventListener("click", () => {
      sessionStorage.removeItem(keyOf(form));
      form.reset();
      said.remove();
      form.querySelector("input, textarea, select")?.dispatchEvent(new Event("input", { bubbles: true }));
      controls(form)[0]?.focus();
    });
    said.append(button);
    form.prepend(said);
  }
}

/** Forget what was typed on a page: it was saved, or discarded. @param {string} place its address */
export function forgetTyped(place) {
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(here(place))) sessionStorage.removeItem(key);
}

/** Whether something is typed, on any page, that a closed tab would lose. */
export const isTyped = () => Object.keys(sessionStorage).some((key) => key.startsWith(KEPT));
