// The Handbook: numbers to know, claims with verdicts and reasons, exercises to vary, the guide, the words.
import { get, post } from "./ask.js";
import { el, later, problems, table } from "./dom.js";
import { scaled } from "./format.js";
import { why } from "./why.js";
import { language, learn, term, word } from "./words.js";

const shown = (value, unit) => (typeof value === "number" ? `${Number.isInteger(value) && Math.abs(value) < 1e6 ? value.toLocaleString("en") : scaled(value, "", 4)} ${term(unit ?? "")}`.trim() : value === null || value === undefined ? "–" : Array.isArray(value) ? value.map((each) => shown(each)).join(" – ") : typeof value === "object" ? Object.entries(value).map(([name, each]) => `${name} ${shown(each)}`).join(", ") : term(String(value)));

/** Show the page in `root`. */
export async function show(root) {
  await learn("handbook");
  root.replaceChildren(el("h1", {}, word("page.handbook")),
    later(word("card"), card, true), later(word("claims"), () => claims(false)), later(word("errors"), () => claims(true)),
    later(word("exercises"), exercises), later(word("guide"), guide), later(word("glossary"), glossary));
}

async function card() {
  const { card: rows, tables } = await get("/handbook/numbers");
  const row = (each) => [term(each.label), why(shown(each.value, each.unit), { title: term(each.label), shown: shown(each.value, each.unit), law: each.formula, inputs: (each.laws ?? []).map((law) => ({ name: word("law"), shown: law })), note: [term(each.use), term(each.direction), each.date, each.source].filter(Boolean).join("; ") }), each.printed ?? "–", term(each.use) ?? ""];
  return el("div", {}, table([word("quantity"), word("value"), word("printed"), word("use")], rows.map(row), [1, 2], word("card")),
    tables.map((each) => later(term(each.title), () => numbered(each))));
}

/** A table of the documents, its columns with their units. */
function numbered({ title, note, columns, rows, source }) {
  const heads = columns.map(({ name, unit }) => (unit ? `${term(name)}, ${term(unit)}` : term(name)));
  const right = columns.map((_, index) => index).filter((index) => index && rows.some((row) => typeof row[index] === "number"));
  return el("div", {}, table(heads, rows.map((row) => row.map((cell) => shown(cell))), right, term(title)), el("p", { class: "soft" }, term(note)), el("p", { class: "soft" }, source));
}

/** Any list of records as a table with their common keys, or with the ones wanted. */
function listing(rows, wanted = null) {
  const keys = wanted ?? [...new Set(rows.flatMap((row) => Object.keys(row)))].filter((key) => rows.some((row) => typeof row[key] !== "object" || row[key] === null));
  return table(keys.map((key) => term(key.replaceAll("_", " "))), rows.map((row) => keys.map((key) => shown(row[key]))));
}

const RIGHT = ["reproduces", "rounds", "not-checkable"]; // verdicts that find no fault

async function claims(wrongOnly) {
  const { claims: all, counts } = await get("/handbook/claims");
  const list = el("div", {});
  const search = el("input", { type: "search", "aria-label": word("search"), placeholder: word("search"), input: () => fill() });
  const text = new Map(all.map((each) => [each, JSON.stringify([each, term(each.statement), term(each.explanation)]).toLowerCase()]));
  const fill = () => {
    const asked = search.value.toLowerCase();
    const found = all.filter((each) => !(wrongOnly && RIGHT.includes(each.verdict)) && text.get(each).includes(asked));
    list.replaceChildren(table([word("claim"), word("claimed"), word("computed"), word("verdict")], found.map((each) => [
      el("span", {}, term(each.statement), el("br"), el("span", { class: "soft" }, term(each.explanation))), shown(each.claimed_value, each.unit),
      why(shown(each.computed_value, each.unit), { title: each.id, shown: shown(each.correct_value ?? each.computed_value, each.unit), law: each.formula, inputs: Object.entries(each.inputs ?? {}).map(([name, value]) => ({ name, shown: shown(value) })), note: [term(each.explanation), term(each.tempting), each.source].filter(Boolean).join(" ") }),
      term(each.verdict)]), [1, 2], word("claims")));
  };
  fill();
  return el("div", {}, el("p", { class: "soft" }, Object.entries(counts).map(([name, count]) => `${term(name)}: ${count}`).join(", ")), search, list);
}

async function exercises() {
  const { exercises: all } = await get("/handbook/exercises");
  return el("div", {}, all.map((each) => later(`${each.id}. ${term(each.title)}`, () => exercise(each))));
}

function exercise(first) {
  const result = el("div", { role: "status" });
  const fill = (solved) => result.replaceChildren(el("p", {}, term(solved.question)), el("p", {}, el("code", {}, solved.formula)),
    table(["", word("formula"), word("value")], solved.steps.map((step) => [term(step.text), el("code", {}, step.formula), shown(step.value, step.unit)]), [2], term(solved.title)));
  const inputs = Object.entries(first.givens).map(([name, given]) => [name, el("input", { id: `given-${first.id}-${name}`, value: `${given.value}`, autocomplete: "off" }), given]);
  const told = el("div", {});
  const ask = async (seed) => {
    try {
      const settings = seed === null ? Object.fromEntries(inputs.filter(([, input, given]) => input.value !== `${given.value}`).map(([name, input]) => [name, input.value])) : {};
      const { exercise: solved } = await post(`/handbook/exercises/${encodeURIComponent(first.id)}`, { settings, seed });
      for (const [name, input] of inputs) if (seed !== null && solved.givens[name]) input.value = `${solved.givens[name].value}`;
      told.replaceChildren();
      fill(solved);
    } catch (failure) {
      told.replaceChildren(problems(failure));
    }
  };
  fill(first);
  return el("div", {}, el("form", { class: "givens", submit: (event) => { event.preventDefault(); ask(null); } },
    inputs.map(([name, input, given]) => el("p", {}, el("label", { for: input.id }, `${given.symbol ?? name}${given.unit ? `, ${term(given.unit)}` : ""}`), input)),
    el("p", {}, el("button", {}, word("solve")), el("button", { type: "button", click: () => ask(Math.floor(Math.random() * 2 ** 31)) }, word("vary")))), told, result);
}

async function guide() {
  const { questions, paradigms, takeaways } = await get("/handbook/guide");
  const one = (each) => el("div", {},
    el("dl", {}, [["symptom", each.symptom], ["constraint", each.constraint], ["lever", each.lever]].map(([key, text]) => [el("dt", {}, word(key)), el("dd", {}, term(text))])),
    table(["", word("formula"), word("value")], each.steps.map((step) => [term(step.text), el("code", {}, step.formula), shown(step.value, step.unit)]), [2], term(each.question)),
    each.advice.length ? el("p", {}, word("levers.tried")) : null, each.advice.length ? listing(each.advice) : null);
  return el("div", {}, questions.map((each) => later(term(each.question), () => one(each))),
    later(word("paradigms"), () => listing(paradigms.dimensions, ["name", "hpc", "wsc", "ml", "remark"])), later(word("takeaways"), () => listing(takeaways, ["says", "holds"])));
}

async function glossary() {
  const { quantities } = await get("/handbook/words");
  const name = (each) => (language() === "zh" ? `${each.zh} (${each.en})` : `${each.en} (${each.zh})`);
  return table([word("quantity"), word("symbol"), word("unit"), word("formula"), word("definition")],
    quantities.map((each) => [name(each), each.symbol, term(each.unit), el("code", {}, each.formula ?? ""), term(each.definition)]), [], word("glossary"));
}
