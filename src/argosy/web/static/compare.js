// The Compare page: two scenarios side by side, and what differs.
import { post } from "./ask.js";
import { chart } from "./chart.js";
import { el, problems, table } from "./dom.js";
import { state } from "./state.js";
import { term, word } from "./words.js";

let other = null;

/** Show the page in `root`. */
export async function show(root) {
  other ??= state.text;
  const side = (name, value) => {
    const area = el("textarea", { id: `side-${name}`, rows: "16", spellcheck: "false" });
    area.value = value;
    const start = el("select", { "aria-label": `${word("start")} ${name.toUpperCase()}`, change: (event) => { if (event.target.value) area.value = state.starts[event.target.value]; } },
      el("option", { value: "" }, word("start.choose")), Object.keys(state.starts).map((each) => el("option", { value: each }, each)));
    return { area, node: el("div", {}, el("p", {}, el("label", { for: `side-${name}` }, word(`side.${name}`)), start), area) };
  };
  const a = side("a", state.text), b = side("b", other);
  const result = el("div", { id: "answer" });
  const run = async () => {
    other = b.area.value;
    result.replaceChildren(el("p", {}, word("computing")));
    try {
      const found = await post("/compare", { a: a.area.value, b: b.area.value });
      result.replaceChildren(el("h1", { id: "difference" }, found.headline),
        ...found.tables.map((each) => el("section", {}, el("h2", {}, term(each.title)), table(each.heads.map(term), each.rows.map((row) => row.map(term)), each.heads.map((_, index) => index).slice(1), term(each.title)))),
        el("div", { class: "two" }, Object.entries(found.charts).map(([name, each]) => chart(each, word(`side.${name}`)))));
    } catch (failure) {
      result.replaceChildren(problems(failure));
    }
  };
  root.replaceChildren(el("h1", {}, word("page.compare")), el("div", { class: "two" }, a.node, b.node),
    el("p", {}, el("button", { type: "button", id: "run", click: run }, word("compare.run"))), result);
}
