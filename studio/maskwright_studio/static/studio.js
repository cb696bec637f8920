// The script of the studio: it holds the key, fetches what pages show, and sends what is done on them.
// @ts-check

import { forgetTyped, isTyped, keepTyped, putBackTyped } from "./drafts.js";
import { placeIn } from "./explorer.js";
import { focusOn, opened, traceOf } from "./focus.js";

/** @typedef {{title: string, html: string, pipeline: string, undo: boolean, redo: boolean}} View */
/** @typedef {{html: string, go: string, say: string, wrong: boolean, document: string, settled: boolean, offers: [string, string][]}} Answer */

const KEY = "maskwright-key";
const given = new URLSearchParams(location.hash.slice(1)).get("key");
if (given) {
  sessionStorage.setItem(KEY, given);
  history.replaceState(null, "", location.pathname + location.search);
}

/** What belongs to one visit of a page: a late answer must not land on the next one. */
let visiting = new AbortController();

/** Where the focus was before the page was shown anew, while the piece that holds the place is on its way. */
let wanted = /** @type {string[]} */ ([]);

/** @param {string} id @returns {HTMLElement} */
const element = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** @param {string} text */
const say = (text) => { element("said").textContent = text; };

/**
 * Say what did not work where it was asked for, and lead there.
 * @param {Element | null} at the button that was pressed; null where none was
 * @param {string} text
 * @param {[string, string][]} offers what can be done about it: labels and acts
 */
function refuse(at, text, offers = []) {
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
  if (at?.isConnected && at.closest("main")) at.after(told);
  else element("said").after(told);
  if (at) told.focus();
}

/**
 * @param {string} address
 * @param {AbortSignal | null} signal
 * @param {unknown} [form]
 * @param {Element | null} [at] the button that asks
 * @returns {Promise<string | null>} the body; null when there is no answer to show
 */
async function ask(address, signal, form, at = null) {
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
    refuse(at, response.status === 403
      ? "This page has no key: open the address that the terminal shows, in this tab."
      : `The studio could not answer (${response.status}); nothing was changed.`);
  } catch (error) {
    if (/** @type {Error} */ (error).name !== "AbortError")
      refuse(at, "The studio does not answer: it has ended. Start it again with: maskwright studio");
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
  document.querySelectorAll(".told").forEach((each) => each.remove());
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
  wanted = keep ? traceOf(document.activeElement) : [];
  // Pieces that are still on their way leave the page short, and a short page scrolls to its top.
  main.style.minHeight = keep ? `${main.offsetHeight}px` : "";
  main.innerHTML = view.html;
  main.prepend(heading);
  putBackTyped(main);
  const chosen = /** @type {HTMLElement | null} */ (main.querySelector("[data-focus]"));
  if (keep) returnTo(main);
  else if (chosen) chosen.focus();
  else if (push) main.focus();
  if (push && !chosen) scrollTo(0, 0);
  enliven(main, signal);
}

/** Put the focus back where it was; until that place is there, on the content. @param {Element} root */
function returnTo(root) {
  if (!wanted.length) return;
  if (focusOn(root, wanted)) wanted = [];
  else if (document.activeElement === document.body) element("content").focus({ preventScroll: true });
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
  const wasAtWork = part.querySelector("[data-again]") !== null;
  const response = await ask(String(part.getAttribute("data-part")), signal);
  if (signal.aborted) return;
  if (response === null) {
    if (wasAtWork) setTimeout(() => void refresh(part, signal), 2000); // one lost answer is not the end of the work
    return;
  }
  put(part, response, signal);
  const again = part.querySelector("[data-again]");
  if (wasAtWork && !again && part.getAttribute("data-then") === "here") {
    const end = part.querySelector("[data-end]")?.textContent ?? "";
    await visit(location.pathname + location.search, { keep: true });
    say(end.trim());
  } else if (again) setTimeout(() => void refresh(part, signal), Number(again.getAttribute("data-again")));
}

/** Replace a piece of the page; what has the focus keeps it. @param {Element} into @param {string} html @param {AbortSignal} signal */
function put(into, html, signal) {
  const focused = into.contains(document.activeElement) ? document.activeElement?.getAttribute("data-act") : null;
  const open = [...into.querySelectorAll("details")].map((each) => each.open);
  const chosen = document.activeElement?.matches("[data-focus]") && isInView(document.activeElement) ? document.activeElement : null;
  into.innerHTML = html;
  into.querySelectorAll("details").forEach((each, at) => { if (at < open.length) each.open = open[at] ?? false; });
  if (focused) /** @type {HTMLElement | null} */ (into.querySelector(`[data-act="${focused}"]`))?.focus();
  else if (wanted.length) returnTo(into);
  else if ([element("content"), document.body].includes(/** @type {HTMLElement} */ (document.activeElement)))
    /** @type {HTMLElement | null} */ (into.querySelector("[data-focus]"))?.focus();
  putBackTyped(into);
  // A piece above what was chosen may arrive after it, and push it out of sight.
  if (chosen?.isConnected && !isInView(chosen)) chosen.scrollIntoView({ block: "center" });
  enliven(into, signal);
}

/** @param {Element} element */
function isInView(element) {
  const { top, bottom } = element.getBoundingClientRect();
  return top >= 0 && bottom <= innerHeight;
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

/**
 * @param {Element} at the form, field or button that names what is done
 * @param {Record<string, unknown>} form
 * @param {Element} pressed the button; of a form that was sent from a field, its own
 */
async function act(at, form, pressed = at) {
  const { signal } = visiting;
  const isLive = at.hasAttribute("data-live");
  const into = document.getElementById(at.getAttribute("data-into") ?? "");
  const trace = traceOf(document.activeElement);
  const busy = isLive && into ? into : at;
  busy.setAttribute("aria-busy", "true");
  document.querySelectorAll(".told").forEach((each) => { if (!each.contains(pressed)) each.remove(); });
  const address = ["data-act", "data-live", "data-plane"].map((name) => at.getAttribute(name)).find(Boolean) ?? "";
  const response = await ask(address, signal, form, isLive ? null : pressed);
  if (response === null || signal.aborted) {
    busy.removeAttribute("aria-busy");
    return;
  }
  /** @type {Answer} */
  const answer = JSON.parse(response);
  if (answer.html || !isLive) busy.removeAttribute("aria-busy"); // a later count is on its way
  if (answer.settled) forgetTyped();
  if (answer.html && into) {
    if (!isLive) document.querySelectorAll(".difference").forEach((each) => each.remove());
    put(into, answer.html, signal);
    opened(into, trace);
    const shown = /** @type {HTMLElement | null} */ (into.querySelector("[data-shown]"));
    if (shown && !isLive) {
      shown.focus({ preventScroll: true });
      shown.scrollIntoView({ block: "nearest" });
    }
  }
  if (answer.wrong) refuse(pressed, answer.say, answer.offers);
  if (answer.document) window.open(answer.document, "_blank", "noopener");
  if (answer.go === "here") await visit(location.pathname + location.search, { keep: true });
  else if (answer.go) await visit(answer.go, { push: true });
  if (answer.say && !answer.wrong) say(answer.say);
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
  if (link && address.startsWith("#")) {
    event.preventDefault(); // a fragment in the address would show the page anew
    const there = document.getElementById(address.slice(1));
    there?.focus({ preventScroll: true });
    there?.scrollIntoView();
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
  const pressed = event.submitter ?? form.querySelector("button:not([type=button])") ?? form;
  if (form.hasAttribute("data-act")) void act(form, fields(form, event.submitter), pressed);
  else void visit(`${location.pathname}?${new URLSearchParams(/** @type {any} */ (new FormData(form)))}`, { push: true });
});

/** @type {ReturnType<typeof setTimeout> | undefined} */
let waiting;
document.addEventListener("input", (event) => {
  const typed = /** @type {Element} */ (event.target).closest("form");
  if (typed?.hasAttribute("data-draft")) keepTyped(typed);
  const live = /** @type {Element} */ (event.target).closest("[data-live]");
  if (!live) return;
  clearTimeout(waiting);
  const form = /** @type {HTMLInputElement} */ (event.target).form;
  waiting = setTimeout(() => void act(live, form ? fields(form, null) : {}), 250);
});

document.addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.altKey) return;
  const printing = /** @type {HTMLButtonElement | null} */ (document.querySelector("[data-print] button"));
  if (event.key === "p" && printing) {
    event.preventDefault(); // a frame is cut off on paper: the report has a window of its own
    printing.click();
    return;
  }
  const target = /** @type {Element} */ (event.target);
  if (target.closest("input, textarea, select")) return; // these undo their own typing
  const again = event.key === "y" || (event.key.toLowerCase() === "z" && event.shiftKey);
  if (again || event.key === "z") {
    event.preventDefault();
    const button = /** @type {HTMLButtonElement} */ (element(again ? "redo" : "undo"));
    if (!button.disabled) button.click();
  }
});

window.addEventListener("beforeunload", (event) => { if (isTyped()) event.preventDefault(); });
window.addEventListener("popstate", () => void visit(location.pathname + location.search));
void visit(location.pathname + location.search);
