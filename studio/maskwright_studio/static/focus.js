// Where one was: the focus finds its place again when a page is shown anew.
// @ts-check

/** What opened a piece of the page, by the id of that piece. @type {Map<string, string[]>} */
const openers = new Map();

/** Selectors of an element, the surest first. @param {Element | null} element @returns {string[]} */
export function traceOf(element) {
  if (!element || element === document.body) return [];
  const found = element.id ? [`#${CSS.escape(element.id)}`] : [];
  for (const name of ["data-act", "href"]) {
    const value = element.getAttribute(name);
    const told = element.getAttribute("aria-label") ?? "";
    if (value) found.push(`[${name}="${CSS.escape(value)}"]${told ? `[aria-label="${CSS.escape(told)}"]` : ""}`);
  }
  const piece = element.closest(".difference, .told")?.parentElement?.closest("[id]");
  if (piece) found.push(...(openers.get(piece.id) ?? []));
  const form = element.closest("form[data-act]");
  if (form && !piece) found.push(`form[data-act="${CSS.escape(form.getAttribute("data-act") ?? "")}"] :is(button, input:not([type=hidden]), textarea)`);
  return found;
}

/** @param {Element} piece @param {string[]} trace of what opened it */
export const opened = (piece, trace) => { if (piece.id) openers.set(piece.id, trace); };

/** Give the focus to the first of some places that is there. @param {Element} root @param {string[]} trace */
export function focusOn(root, trace) {
  for (const each of trace) {
    const found = /** @type {HTMLElement | null} */ (root.querySelector(each));
    if (!found || found.matches(":disabled")) continue;
    const closed = found.closest("details:not([open])");
    if (closed && !found.closest("summary")) /** @type {HTMLDetailsElement} */ (closed).open = true;
    found.focus({ preventScroll: true });
    return true;
  }
  return false;
}
