// All interface text, one catalogue a language; and the terms of answers and charts that have a name in each.

let catalogue = { words: {}, terms: {} };
let patterns = []; // sentences with numbers in them: [expression, translation]
let said = new Map(); // terms that were looked up before

export const language = () => document.documentElement.lang.slice(0, 2);

/** Load a language's catalogue and put its words into the page's fixed parts. */
export async function speak(code) {
  catalogue = await (await fetch(`/static/words/${code}.json`)).json();
  patterns = compiled(catalogue);
  said = new Map();
  document.documentElement.lang = code === "zh" ? "zh-CN" : code;
  for (const node of document.querySelectorAll("[data-word]")) node.textContent = word(node.dataset.word);
  for (const node of document.querySelectorAll("[data-label]")) node.setAttribute("aria-label", word(node.dataset.label));
}

const compiled = ({ patterns: given }) => Object.entries(given ?? {}).map(([expression, translation]) => [new RegExp(`^${expression}$`), translation]);

/** Load more terms of the page's language, those that one page alone needs; English needs none. */
export async function learn(name) {
  if (language() === "en" || catalogue[name]) return;
  const more = await (await fetch(`/static/words/${name}.${language()}.json`)).json();
  catalogue = { ...catalogue, terms: { ...catalogue.terms, ...more.terms }, [name]: true };
  patterns = [...compiled(more), ...patterns];
  said = new Map();
}

/** The word for a key, with {names} filled in; the key itself shows what is missing. */
export function word(key, values = {}) {
  return (catalogue.words[key] ?? key).replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
}

/** A term of the server (a ledger's line, a chart's axis) in the language of the page, or as it is. */
export function term(text) {
  if (typeof text !== "string" || !patterns.length) return text;
  if (!said.has(text)) said.set(text, translated(text.trim()));
  return said.get(text);
}

function translated(text) {
  if (Object.hasOwn(catalogue.terms, text)) return catalogue.terms[text];
  for (const [pattern, sentence] of patterns) {
    const match = pattern.exec(text);
    if (match) return sentence.replace(/\$(\d)/g, (_, group) => term(match[group] ?? ""));
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
