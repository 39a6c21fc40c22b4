// All interface text, one catalogue a language; and the terms of answers and charts that have a name in each.

let catalogue = { words: {}, terms: {} };
let patterns = []; // sentences with numbers in them: [expression, translation]

export const language = () => document.documentElement.lang.slice(0, 2);

/** Load a language's catalogue and put its words into the page's fixed parts. */
export async function speak(code) {
  catalogue = await (await fetch(`/static/words/${code}.json`)).json();
  patterns = Object.entries(catalogue.patterns ?? {}).map(([expression, translation]) => [new RegExp(`^${expression}$`), translation]);
  document.documentElement.lang = code === "zh" ? "zh-CN" : code;
  for (const node of document.querySelectorAll("[data-word]")) node.textContent = word(node.dataset.word);
  for (const node of document.querySelectorAll("[data-label]")) node.setAttribute("aria-label", word(node.dataset.label));
}

/** The word for a key, with {names} filled in; the key itself shows what is missing. */
export function word(key, values = {}) {
  return (catalogue.words[key] ?? key).replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
}

/** A term of the server (a ledger's line, a chart's axis) in the language of the page, or as it is. */
export function term(text) {
  if (text in catalogue.terms) return catalogue.terms[text];
  for (const [pattern, translated] of patterns) {
    const match = pattern.exec(text);
    if (match) return translated.replace(/\$(\d)/g, (_, group) => term(match[group] ?? ""));
  }
  return text;
}

/** A path through a ledger, each of its lines in the language of the page. */
export const trail = (text) => text.split("/").map(term).join(" / ");

const SHOWN = new Set(["title", "text", "values", "datasets", "domain", "sort"]); // where a specification has words for people
const NAMES = new Set(["field", "type", "op", "order"]); // and what in there names data

/** A copy of a chart's specification with the words that it shows in the language of the page; names of its data stay. */
export function inTerms(value, shown = false) {
  if (typeof value === "string") return shown ? term(value) : value;
  if (Array.isArray(value)) return value.map((each) => inTerms(each, shown));
  if (value && typeof value === "object")
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, NAMES.has(key) ? each : inTerms(each, shown || SHOWN.has(key))]));
  return value;
}
