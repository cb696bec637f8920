// A table of fields: rows are filtered, sorted and selected in place; what is hidden is not selected.
// @ts-check

/** @param {string} id @returns {HTMLTableRowElement[]} */
const rowsOf = (id) => /** @type {HTMLTableRowElement[]} */ ([...document.querySelectorAll(`#${CSS.escape(id)} > tbody > tr`)]);

/** What a word with * or ? means, as in a list of the pipeline: names as a whole. @param {string} word */
const patternOf = (word) => /[*?]/.test(word)
  ? new RegExp(`^${word.replace(/[.+^${}()|[\]\\]/g, "\\$&").replaceAll("*", ".*").replaceAll("?", ".")}$`) : null;

/** Show the rows that hold all words. @param {HTMLInputElement} field */
function filter(field) {
  const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
  const patterns = words.map(patternOf);
  const rows = rowsOf(field.dataset.filter ?? "");
  for (const row of rows) {
    const text = row.querySelector("[data-words]")?.getAttribute("data-words") ?? "";
    const name = row.querySelector("th")?.textContent?.trim().toLowerCase() ?? "";
    row.hidden = !words.every((word, at) => patterns[at]?.test(name) ?? text.includes(word));
  }
  const counter = document.querySelector("[data-shown-rows]");
  if (counter) counter.textContent = words.length ? `${rows.filter((row) => !row.hidden).length} of ${rows.length}` : "";
}

/** What a cell is sorted by. @param {HTMLTableCellElement | undefined} cell */
function keyOf(cell) {
  const control = /** @type {HTMLSelectElement | null} */ (cell?.querySelector("select"));
  return cell?.dataset.key ?? (control ? control.selectedOptions[0]?.text : cell?.textContent)?.trim() ?? "";
}

/** Sort by the column of a heading; again, the other way. @param {Element} button */
function sort(button) {
  const heading = /** @type {HTMLTableCellElement} */ (button.closest("th"));
  const table = /** @type {HTMLTableElement} */ (button.closest("table"));
  const isRising = heading.getAttribute("aria-sort") !== "ascending";
  table.querySelectorAll("[aria-sort]").forEach((each) => each.removeAttribute("aria-sort"));
  heading.setAttribute("aria-sort", isRising ? "ascending" : "descending");
  const order = new Intl.Collator("en", { numeric: true }).compare;
  const keyed = rowsOf(table.id).map((row) => ({ row, key: keyOf(row.cells[heading.cellIndex]) }));
  keyed.sort((one, other) => (isRising ? 1 : -1) * order(one.key, other.key));
  table.tBodies[0]?.append(...keyed.map((each) => each.row));
}

/** What is typed waits for its end: of some hundred rows of fields the layout takes a while. @type {{timer: ReturnType<typeof setTimeout>, field: HTMLInputElement} | null} */
let typing = null;

/** Show at once the rows of what is typed. */
function filterNow() {
  if (!typing) return;
  clearTimeout(typing.timer);
  const { field } = typing;
  typing = null;
  filter(field);
}

document.addEventListener("input", (event) => {
  const field = /** @type {HTMLInputElement} */ (event.target);
  if (field.matches("[data-filter]")) {
    if (typing) clearTimeout(typing.timer);
    typing = { field, timer: setTimeout(filterNow, 150) };
  }
  if (field.matches("[data-every]")) {
    filterNow();
    selectAll(field);
  }
  if (field.type === "checkbox") countSelected(field);
}, { capture: true }); // before what is typed is kept

/** Select the rows that are shown, or none. @param {HTMLInputElement} field */
function selectAll(field) {
  for (const row of rowsOf(field.dataset.every ?? "")) {
    const box = /** @type {HTMLInputElement | null} */ (row.querySelector("input[type=checkbox]"));
    if (box) box.checked = field.checked && !row.hidden;
  }
}

/** Say how many rows are selected. @param {HTMLInputElement} field */
function countSelected(field) {
  const counter = document.querySelector("[data-selected-rows]");
  const count = field.closest("table")?.querySelectorAll("tbody input[type=checkbox]:checked").length ?? 0;
  if (counter) counter.textContent = count ? `${count} selected` : "";
}

document.addEventListener("click", (event) => {
  const button = /** @type {Element} */ (event.target).closest("[data-sort]");
  if (button) sort(button);
});
