// Tables and pictures that are wider than the window say that they scroll.
// @ts-check

/** @param {Element} each */
const mark = (each) => each.classList.toggle("cut", each.scrollWidth > each.clientWidth + 1);

// What is marked grows by a line: marking it at once would be a change of size within the news of one.
const watching = new ResizeObserver((found) => requestAnimationFrame(() => {
  for (const { target } of found) mark(target.classList.contains("scroll") ? target : target.parentElement ?? target);
}));

/** Watch what scrolls sideways on the page, as it is now. */
export function watchCut() {
  watching.disconnect();
  for (const each of document.querySelectorAll(".scroll")) {
    watching.observe(each);
    if (each.firstElementChild) watching.observe(each.firstElementChild);
  }
}
