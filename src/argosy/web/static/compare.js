// The Compare page: two scenarios side by side, and what differs.
import { post } from "./ask.js";
import { chart } from "./chart.js";
import { el, problems, table } from "./dom.js";
import { state } from "./state.js";
import { quantity } from "./format.js";
import { why } from "./why.js";
import { term, trail, word } from "./words.js";

let other = null;

/** A table's rows: figures and losses say what they come from. */
function rows({ title, rows: all }, diff) {
  const figures = new Map(diff.figures.map((each) => [each.label, each]));
  const lines = new Map(diff.ledger.map((each) => [each.path.replaceAll("_", " "), each]));
  return all.map(([name, ...cells]) => {
    if (title === "Figures" && figures.has(name)) {
      const { a, b, unit, law } = figures.get(name);
      return [term(name), ...[a, b].map((side, index) => why(cells[index], { title: term(name), shown: cells[index], law: term(law ?? ""), low: side.p10, high: side.p90, unit, note: word("compare.figure") }))];
    }
    if (lines.has(name)) {
      const { a, b } = lines.get(name);
      const inputs = [["A", a], ["B", b]].map(([side, amount]) => ({ name: side, shown: `${quantity(amount / 3600, "gpu_hours")} GPU-h` }));
      return [trail(name), ...cells.map((cell, index) => why(cell, { title: trail(name), shown: cell, law: word(`compare.law.${index}`), inputs }))];
    }
    return [term(name), ...cells.map(term)];
  });
}

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
      result.replaceChildren(el("h1", { id: "difference" }, term(found.headline)),
        ...found.tables.map((each) => el("section", {}, el("h2", {}, term(each.title)), table(each.heads.map(term), rows(each, found.diff), each.heads.map((_, index) => index).slice(1), term(each.title)))),
        el("div", { class: "two" }, Object.entries(found.charts).map(([name, each]) => chart(each, word(`side.${name}`)))));
    } catch (failure) {
      result.replaceChildren(problems(failure));
    }
  };
  root.replaceChildren(el("h1", {}, word("page.compare")), el("div", { class: "two" }, a.node, b.node),
    el("p", {}, el("button", { type: "button", id: "run", click: run }, word("compare.run"))), result);
}
