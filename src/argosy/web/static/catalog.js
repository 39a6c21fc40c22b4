// The Catalog: every fact with what it counts, its band, its sources, and where they disagree.
import { get } from "./ask.js";
import { el, later, problems, table } from "./dom.js";
import { measured } from "./format.js";
import { term, word } from "./words.js";

/** Show the page in `root`; `name`: an entry, an alias or a path to open at once. */
export async function show(root, name = "") {
  const found = el("div", { id: "entry", role: "status" });
  const open = async (asked) => {
    try {
      const { entries } = await get(`/catalog/${encodeURIComponent(asked)}`);
      found.replaceChildren(...entries.map(entry));
    } catch (failure) {
      found.replaceChildren(problems(failure));
    }
  };
  const input = el("input", { type: "search", id: "asked", value: name, autocomplete: "off" });
  const { sections, facts_date: date } = await get("/catalog");
  root.replaceChildren(el("h1", {}, word("page.catalog")), el("p", { class: "soft" }, word("catalog.date", { date })),
    el("form", { submit: (event) => { event.preventDefault(); if (input.value.trim()) open(input.value.trim()); } },
      el("p", {}, el("label", { for: "asked" }, word("catalog.ask")), input, el("button", {}, word("show")))), found,
    ...Object.entries(sections).map(([section, names]) => later(`${section} (${names.length})`, () => el("p", { class: "names" },
      names.map((each) => el("button", { type: "button", class: "link", click: () => { input.value = `${section}.${each}`; open(input.value); found.scrollIntoView(); } }, each))))));
  if (name) await open(name);
}

function entry(each) {
  const rows = Object.entries(each.facts).map(([name, fact]) => [name, measured(fact.value, fact.unit), fact.low === null ? "" : `${measured(fact.low, "")} – ${measured(fact.high, fact.unit)}`, term(fact.kind),
    el("span", { class: fact.assumption ? "assumed" : "" }, fact.assumption ? term(fact.source.startsWith("assumption") ? fact.source : `${word("assumption")}: ${fact.source}`) : fact.source), el("span", { class: "whole" }, fact.verified), fact.note ?? ""]);
  return el("section", {}, el("h2", {}, `${each.section}: ${each.name}`), each.aliases.length ? el("p", { class: "soft" }, each.aliases.join(", ")) : null,
    table([word("fact"), word("value"), word("band"), word("counts"), word("source"), word("date"), word("note")], rows, [1, 2], each.name));
}
