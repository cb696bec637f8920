// The script of the studio: it holds the key, fetches what pages show, and sends what is done on them.
// @ts-check

import { placeIn } from "./explorer.js";

/** @typedef {{title: string, html: string, pipeline: string, undo: boolean, redo: boolean}} View */
/** @typedef {{html: string, go: string, say: string, wrong: boolean, document: string}} Answer */

const KEY = "maskwright-key";
const given = new URLSearchParams(location.hash.slice(1)).get("key");
if (given) {
  sessionStorage.setItem(KEY, given);
  history.replaceState(null, "", location.pathname + location.search);
}

/** What belongs to one visit of a page: a late answer must not land on the next one. */
let visiting = new AbortController();

/** @param {string} id @returns {HTMLElement} */
const element = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** @param {string} text @param {boolean} wrong */
function say(text, wrong = false) {
  const said = element("said");
  said.textContent = text;
  said.className = wrong ? "wrong" : "";
}

/**
 * @param {string} address
 * @param {AbortSignal | null} signal
 * @param {unknown} [form]
 * @returns {Promise<string | null>} the body; null when there is no answer to show
 */
async function ask(address, signal, form) {
  const key = sessionStorage.getItem(KEY) ?? "";
  /** @type {RequestInit} */
  const request = { headers: { Authorization: `Studio ${key}` }, signal, cache: "no-store" };
  if (form !== undefined) {
    request.method = "POST";
    request.body = JSON.stringify(form);
    request.headers = { ...request.headers, "Content-Type": "application/json" };
  }
  try {
    const response = await fetch(address, request);
    if (response.ok) return await response.text(); // a visit can end before the body is whole
    say(response.status === 403
      ? "This page has no key: open the address that the terminal shows, in this tab."
      : `The studio could not answer (${response.status}); nothing was changed.`, true);
  } catch (error) {
    if (/** @type {Error} */ (error).name !== "AbortError")
      say("The studio does not answer: it has ended. Start it again with: maskwright studio", true);
  }
  return null;
}

/** @param {string} address @param {{push?: boolean, keep?: boolean}} how */
async function visit(address, { push = false, keep = false } = {}) {
  visiting.abort();
  visiting = new AbortController();
  const { signal } = visiting;
  const there = new URL(address, location.origin);
  if (there.pathname === "/") there.pathname = "/open";
  const response = await ask(`/view${there.pathname}${there.search}`, signal);
  if (response === null || signal.aborted) return;
  /** @type {View} */
  const view = JSON.parse(response);
  if (push) history.pushState(null, "", there.pathname + there.search);
  document.title = `${view.title} – Maskwright`;
  element("pipeline").textContent = view.pipeline;
  /** @type {HTMLButtonElement} */ (element("undo")).disabled = !view.undo;
  /** @type {HTMLButtonElement} */ (element("redo")).disabled = !view.redo;
  for (const link of document.querySelectorAll("nav a"))
    if (link.getAttribute("href") === there.pathname) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  const main = element("content");
  const heading = document.createElement("h1");
  heading.textContent = view.title;
  main.innerHTML = view.html;
  main.prepend(heading);
  const chosen = /** @type {HTMLElement | null} */ (main.querySelector("[data-focus]"));
  if (chosen && !keep) chosen.focus();
  else if (push && !keep) main.focus();
  enliven(main, signal);
}

/** Start what lives in a piece of the page. @param {Element} root @param {AbortSignal} signal */
function enliven(root, signal) {
  for (const part of root.querySelectorAll("[data-part]")) {
    const again = part.querySelector("[data-again]");
    if (part.childElementCount === 0) void refresh(part, signal);
    else if (again) setTimeout(() => void refresh(part, signal), Number(again.getAttribute("data-again")));
  }
}

/** @param {Element} part @param {AbortSignal} signal */
async function refresh(part, signal) {
  if (signal.aborted || !part.isConnected) return;
  const response = await ask(String(part.getAttribute("data-part")), signal);
  if (response === null || signal.aborted) return;
  put(part, response, signal);
  const again = part.querySelector("[data-again]");
  if (again) setTimeout(() => void refresh(part, signal), Number(again.getAttribute("data-again")));
}

/** Replace a piece of the page; what has the focus keeps it. @param {Element} into @param {string} html @param {AbortSignal} signal */
function put(into, html, signal) {
  const focused = into.contains(document.activeElement) ? document.activeElement?.getAttribute("data-act") : null;
  const open = [...into.querySelectorAll("details")].map((each) => each.open);
  into.innerHTML = html;
  into.querySelectorAll("details").forEach((each, at) => { if (at < open.length) each.open = open[at] ?? false; });
  if (focused) /** @type {HTMLElement | null} */ (into.querySelector(`[data-act="${focused}"]`))?.focus();
  else if ([element("content"), document.body].includes(/** @type {HTMLElement} */ (document.activeElement)))
    /** @type {HTMLElement | null} */ (into.querySelector("[data-focus]"))?.focus();
  enliven(into, signal);
}

/** @param {HTMLFormElement} form @param {HTMLElement | null} button */
function fields(form, button) {
  /** @type {Record<string, unknown>} */
  const found = {};
  const data = new FormData(form, /** @type {any} */ (button));
  for (const name of new Set(data.keys())) {
    const values = data.getAll(name).map(String);
    found[name] = values.length > 1 ? values : values[0];
  }
  return found;
}

/** @param {Element} at the form, field or button that names what is done @param {Record<string, unknown>} form */
async function act(at, form) {
  const { signal } = visiting;
  at.setAttribute("aria-busy", "true");
  const response = await ask(["data-act", "data-live", "data-plane"].map((name) => at.getAttribute(name)).find(Boolean) ?? "", signal, form);
  at.removeAttribute("aria-busy");
  if (response === null || signal.aborted) return;
  /** @type {Answer} */
  const answer = JSON.parse(response);
  const into = at.getAttribute("data-into");
  if (answer.say) say(answer.say, answer.wrong);
  if (answer.html && into) put(element(into), answer.html, signal);
  if (answer.document) window.open(answer.document, "_blank", "noopener");
  if (answer.go === "here") await visit(location.pathname + location.search, { keep: true });
  else if (answer.go) await visit(answer.go, { push: true });
}

document.addEventListener("click", (event) => {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
  const target = /** @type {Element} */ (event.target);
  const link = target.closest("a[href]");
  const address = link?.getAttribute("href") ?? "";
  if (link && address.startsWith("/") && !link.hasAttribute("download")) {
    event.preventDefault();
    say("");
    void visit(address, { push: true });
    return;
  }
  const plane = /** @type {SVGSVGElement | null} */ (target.closest("svg[data-plane]"));
  if (plane) {
    const place = placeIn(plane, event);
    const form = /** @type {HTMLFormElement} */ (element(String(plane.getAttribute("data-with"))));
    if (place) void act(plane, { ...fields(form, null), ...place });
    return;
  }
  const button = target.closest("button[data-act]");
  if (button) {
    event.preventDefault();
    const name = button.getAttribute("name");
    void act(button, name ? { [name]: button.getAttribute("value") } : {});
  }
});

document.addEventListener("submit", (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target);
  event.preventDefault();
  if (form.hasAttribute("data-act")) void act(form, fields(form, event.submitter));
  else void visit(`${location.pathname}?${new URLSearchParams(/** @type {any} */ (new FormData(form)))}`, { push: true });
});

/** @type {ReturnType<typeof setTimeout> | undefined} */
let waiting;
document.addEventListener("input", (event) => {
  const live = /** @type {Element} */ (event.target).closest("[data-live]");
  if (!live) return;
  clearTimeout(waiting);
  const form = /** @type {HTMLInputElement} */ (event.target).form;
  waiting = setTimeout(() => void act(live, form ? fields(form, null) : {}), 250);
});

document.addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
  const target = /** @type {Element} */ (event.target);
  if (target.closest("input, textarea, select")) return; // these undo their own typing
  const again = event.key === "y" || (event.key.toLowerCase() === "z" && event.shiftKey);
  if (again || event.key === "z") {
    event.preventDefault();
    const button = /** @type {HTMLButtonElement} */ (element(again ? "redo" : "undo"));
    if (!button.disabled) button.click();
  }
});

window.addEventListener("popstate", () => void visit(location.pathname + location.search));
void visit(location.pathname + location.search);
