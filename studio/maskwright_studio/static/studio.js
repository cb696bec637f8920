// The script of the studio: it holds the key, fetches what pages show, and sends what is done on them.
// @ts-check

import { watchCut } from "./cut.js";
import "./matrix.js";
import { forgetTyped, isTyped, keepTyped, putBackTyped } from "./drafts.js";
import { placeIn } from "./explorer.js";
import { focusOn, opened, traceOf } from "./focus.js";
import { element, offer, refuse, say } from "./messages.js";

/** @typedef {{title: string, html: string, pipeline: string, time: string, undo: string, redo: string, shown: Record<string, string>}} View */
/** @typedef {{html: string, go: string, say: string, wrong: boolean, document: string, settled: boolean, offers: [string, string][], opened: boolean}} Answer */

const KEY = "maskwright-key";
const given = new URLSearchParams(location.hash.slice(1)).get("key");
if (given) {
  sessionStorage.setItem(KEY, given);
  history.replaceState(null, "", location.pathname + location.search);
}

/** What belongs to one visit of a page: a late answer must not land on the next one. */
let visiting = new AbortController();

/** What was pressed, one after the other: the next waits for the answer to the one before, and so does the next page. */
let doing = /** @type {Promise<unknown>} */ (Promise.resolve());

/** Milliseconds that a page waits for the answer to what was pressed before it; a long one shows the page anew. */
const PATIENCE = 3000;

/** How often what is shown became another by what was done here. */
let changes = 0;

/** What did not work, and could not be said on the page that asked for it: the next one says it. @type {Answer[]} */
let untold = [];

/** Which pipeline, in which state, the page shows: sent with all that it asks for, as another tab may open another one. */
let shown = /** @type {Record<string, string>} */ ({});

/** Whether the page was told that it shows something else than is open. */
let isStale = false;

/** Where the focus was before the page was shown anew, while the piece that holds the place is on its way. */
let wanted = /** @type {string[]} */ ([]);

/** Address of the page that is shown: that in the window is of the next one while it is on its way. */
const place = () => element("content").dataset.shows ?? "";

/** Whether the page is about to be another, or shown anew: what it says may be over. */
const isBeingLeft = () => element("content").hasAttribute("aria-busy");

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
  const request = { headers: { ...shown, Authorization: `Studio ${key}` }, signal, cache: "no-store" };
  if (form !== undefined) {
    request.method = "POST";
    request.body = JSON.stringify(form);
    request.headers = { ...request.headers, "Content-Type": "application/json" };
  }
  try {
    const response = await fetch(address, request);
    if (response.ok) return await response.text(); // a visit can end before the body is whole
    if (response.status === 409) {
      isStale = true;
      /** @type {Answer} */
      const answer = JSON.parse(await response.text());
      refuse(at, answer.say, answer.offers);
      return null;
    }
    refuse(at, response.status === 403
      ? "This page has no key, so it shows nothing. Go on in the tab in which the studio is open, or open the whole address that the terminal shows here: it ends in #key=..."
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
  const main = element("content");
  main.setAttribute("aria-busy", "true");
  const there = new URL(address, location.origin);
  if (there.pathname === "/") there.pathname = "/open";
  const asker = push ? document.activeElement : null;
  // What was saved a moment ago is to be seen on the next page, and a pipeline that was opened is the one it asks for.
  await Promise.race([doing, new Promise((resolve) => setTimeout(resolve, PATIENCE))]);
  if (signal.aborted) return;
  let [response, then] = /** @type {[string | null, number]} */ ([null, 0]);
  do {
    then = changes;
    response = await ask(`/view${there.pathname}${there.search}`, signal, undefined, asker);
    if (signal.aborted) return;
  } while (then !== changes);
  main.removeAttribute("aria-busy");
  if (response === null) {
    if (!isStale) enliven(main, signal); // the page stays, and what moves on it moves on
    return;
  }
  /** @type {View} */
  const view = JSON.parse(response);
  shown = view.shown;
  isStale = false;
  if (push) history.pushState(null, "", there.pathname + there.search);
  document.querySelectorAll(".told").forEach((each) => each.remove());
  document.title = `${view.title} – Maskwright`;
  element("pipeline").textContent = view.pipeline;
  element("printed").textContent = [view.pipeline, view.time].filter(Boolean).join(", ");
  offer("Undo", view.undo);
  offer("Redo", view.redo);
  for (const link of document.querySelectorAll("nav a"))
    if (link.getAttribute("href") === there.pathname) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  const heading = document.createElement("h1");
  heading.textContent = view.title;
  wanted = keep ? traceOf(document.activeElement) : [];
  // Pieces that are still on their way leave the page short, and a short page scrolls to its top.
  main.style.minHeight = keep ? `${main.offsetHeight}px` : "";
  main.innerHTML = view.html;
  main.dataset.shows = there.pathname + there.search;
  main.prepend(heading);
  putBackTyped(main);
  const chosen = /** @type {HTMLElement | null} */ (main.querySelector("[data-focus]"));
  if (keep) returnTo(main);
  else if (chosen) chosen.focus();
  else if (push) main.focus();
  if (push && !chosen) scrollTo(0, 0);
  for (const each of untold) refuse(null, each.say, each.offers);
  untold = [];
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
  watchCut();
  for (const part of root.querySelectorAll("[data-part]")) {
    const again = part.querySelector("[data-again]");
    if (part.childElementCount === 0) void refresh(part, signal);
    else if (again) setTimeout(() => void refresh(part, signal), Number(again.getAttribute("data-again")));
  }
}

/** What the pointer or the space bar holds down. @type {Element | null} */
let pressing = null;
document.addEventListener("pointerdown", (event) => { pressing = /** @type {Element} */ (event.target); });
document.addEventListener("keydown", (event) => { if (event.key === " ") pressing = document.activeElement; });
for (const end of ["pointerup", "pointercancel", "keyup", "blur"]) // the click comes right after
  window.addEventListener(end, () => setTimeout(() => { pressing = null; }));

/** @param {Element} part @param {AbortSignal} signal */
async function refresh(part, signal) {
  if (signal.aborted || !part.isConnected) return;
  const wasAtWork = part.querySelector("[data-again]") !== null;
  const response = await ask(String(part.getAttribute("data-part")), signal);
  if (signal.aborted) return;
  if (pressing && part.contains(pressing)) { // a button that is taken away under the pointer is not pressed
    setTimeout(() => void refresh(part, signal), 100);
    return;
  }
  if (response === null) {
    if (wasAtWork && !isStale) setTimeout(() => void refresh(part, signal), 2000); // one lost answer is not the end of the work
    return;
  }
  put(part, response, signal);
  const again = part.querySelector("[data-again]");
  if (wasAtWork && !again && part.getAttribute("data-then") === "here") {
    const end = part.querySelector("[data-end]")?.textContent ?? "";
    await visit(place(), { keep: true });
    if (end) say(end.trim());
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

/** Which answer to what is being typed counts: the last. @type {WeakMap<Element, AbortController>} */
const typing = new WeakMap();

/** What is done at an element. @param {Element} at */
const address = (at) => ["data-act", "data-live", "data-plane"].map((name) => at.getAttribute(name)).find(Boolean) ?? "";

/** Show at once what the typed text comes to. @param {Element} at the field @param {Record<string, unknown>} form */
async function count(at, form) {
  const into = document.getElementById(at.getAttribute("data-into") ?? "");
  if (isBeingLeft() || !at.isConnected || !into) return;
  const { signal } = visiting;
  typing.get(at)?.abort();
  const mine = new AbortController();
  typing.set(at, mine);
  into.setAttribute("aria-busy", "true");
  const response = await ask(address(at), AbortSignal.any([signal, mine.signal]), form);
  if (signal.aborted || mine.signal.aborted) return;
  into.removeAttribute("aria-busy");
  /** @type {Answer | null} */
  const answer = response === null ? null : JSON.parse(response);
  if (answer?.html) put(into, answer.html, signal);
  if (answer?.wrong) refuse(at, answer.say, answer.offers);
}

/**
 * Do what was pressed. It is never called off: what it does is done although its reader went on to another page.
 * @param {Element} at the form or button that names what is done, or the picture that was clicked
 * @param {Record<string, unknown>} form
 * @param {Element} pressed the button; of a form that was sent from a field, its own
 */
async function act(at, form, pressed = at) {
  if (isBeingLeft()) {
    say("Nothing was done: this page was about to be shown anew. Press again if that is still what you want.");
    return;
  }
  if (at.hasAttribute("aria-busy") && !at.hasAttribute("data-plane")) return; // it is on its way already
  const { signal } = visiting;
  const from = place();
  const into = document.getElementById(at.getAttribute("data-into") ?? "");
  const trace = traceOf(document.activeElement);
  at.setAttribute("aria-busy", "true");
  document.querySelectorAll(".told").forEach((each) => { if (!each.contains(pressed)) each.remove(); });
  const before = doing;
  const asked = (async () => {
    await before;
    return signal.aborted ? null : ask(address(at), null, form, pressed); // it was pressed on a page that is gone
  })();
  doing = asked;
  const response = await asked;
  at.removeAttribute("aria-busy");
  if (response === null) return;
  /** @type {Answer} */
  const answer = JSON.parse(response);
  if (answer.settled) forgetTyped(from);
  if (answer.go) changes += 1;
  if (answer.opened) shown = {}; // what is shown next is of the pipeline that this very page opened
  if (answer.document) window.open(answer.document, "_blank", "noopener");
  if (signal.aborted) {
    await leftBehind(answer, from);
    return;
  }
  if (answer.html && into) {
    document.querySelectorAll(".difference").forEach((each) => each.remove());
    put(into, answer.html, signal);
    opened(into, trace);
    const shown = /** @type {HTMLElement | null} */ (into.querySelector("[data-shown]"));
    if (shown) {
      shown.focus({ preventScroll: true });
      shown.scrollIntoView({ block: "nearest" });
    }
  }
  if (answer.wrong) refuse(pressed, answer.say, answer.offers);
  if (answer.go === "here") await visit(from, { keep: true });
  else if (answer.go) await visit(answer.go, { push: true });
  if (answer.say && !answer.wrong) say(answer.say);
}

/** Tell of what was done on a page that is gone. @param {Answer} answer @param {string} from its address */
async function leftBehind(answer, from) {
  if (answer.wrong && isBeingLeft()) untold.push(answer);
  else if (answer.wrong) refuse(null, answer.say, answer.offers);
  else if (answer.go) {
    if (!isBeingLeft()) await visit(place(), { keep: true }); // it was made before this was done
    say(answer.say);
  } else if (answer.html && from === place()) say("This page was shown anew meanwhile: press again to see the answer.");
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
  else void visit(`${place().split("?")[0]}?${new URLSearchParams(/** @type {any} */ (new FormData(form)))}`, { push: true });
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
  waiting = setTimeout(() => void count(live, form ? fields(form, null) : {}), 250);
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
