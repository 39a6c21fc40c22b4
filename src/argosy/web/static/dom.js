// Building elements: no text of a server or a file ever becomes markup.
import { term } from "./words.js";

/** An element: `tag` with attributes (functions become listeners) and children (text, elements, or nothing). */
export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.flat(3).filter((each) => each !== null && each !== undefined && each !== false));
  return node;
}

/** A table: heads, and rows of text or elements; columns in `right` hold numbers. */
export function table(heads, rows, right = [], caption = null) {
  const place = (index) => (right.includes(index) ? "n" : null);
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption ?? heads.filter(Boolean).join(", ") },
    el("table", {},
      caption ? el("caption", { class: "unseen" }, caption) : null,
      el("thead", {}, el("tr", {}, heads.map((head, index) =>
        head === "" ? el("td", {}) : el("th", { class: place(index), scope: "col" }, head)))),
      el("tbody", {}, rows.map((row) => el("tr", {}, row.map((cell, index) =>
        index === 0 ? el("th", { scope: "row" }, cell) : el("td", { class: place(index) }, cell)))))));
}

/** A section that opens: its content is made when it is first opened. */
export function later(title, make, open = false) {
  const body = el("div", { class: "later" });
  let made = false;
  const fill = async () => {
    if (made) return;
    made = true;
    try {
      body.replaceChildren(await make());
    } catch (failure) {
      made = false;
      body.replaceChildren(problems(failure));
    }
  };
  const details = el("details", { open, toggle: () => details.open && fill() }, el("summary", {}, title), body);
  if (open) fill();
  return details;
}

/** What a request's failure says, each problem with its place and what to write instead. */
export function problems(failure) {
  const list = failure.problems ?? [{ message: String(failure.message ?? failure) }];
  return el("ul", { class: "problems", role: "alert" }, list.map((each) =>
    el("li", {},
      each.line ? el("code", {}, `${each.line}:${each.column} `) : null,
      each.path ? el("code", {}, `${each.path}: `) : null,
      term(each.message), each.instead ? `; ${term(each.instead)}` : null)));
}
