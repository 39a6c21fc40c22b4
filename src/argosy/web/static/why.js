// "Why this number?": formula, inputs, source, date, uncertainty, in one dialog.
import { el } from "./dom.js";
import { measured, quantity } from "./format.js";
import { term, word } from "./words.js";

const dialog = () => document.getElementById("why");

/** A number that opens its reason. `reason`: {title, shown, law, inputs, facts, low, high, unit, note}. */
export function why(shown, reason) {
  return el("button", { type: "button", class: "why", title: word("why"), click: () => open(reason) }, shown);
}

function open(reason) {
  const parts = [el("h2", { id: "why-title" }, reason.title), ...(reason.shown ? [el("p", { class: "big" }, reason.shown)] : [])];
  if (reason.law) parts.push(el("p", {}, el("b", {}, word("why.formula")), ` ${term(reason.law)}`));
  if (reason.low !== undefined && reason.low !== null)
    parts.push(el("p", {}, el("b", {}, word("why.band")), ` ${quantity(reason.low, reason.unit)} – ${quantity(reason.high, reason.unit)} (P10 – P90)`));
  if (reason.inputs?.length)
    parts.push(el("h3", {}, word("why.inputs")), el("ul", {}, reason.inputs.map((each) =>
      el("li", {}, el("b", {}, term(each.name)), ` ${term(each.shown)}`, each.from ? el("span", { class: "soft" }, ` — ${term(each.from)}`) : null))));
  if (reason.note) parts.push(el("p", { class: "soft" }, term(reason.note)));
  if (reason.facts?.length)
    parts.push(el("h3", {}, word("why.facts")), el("ul", {}, reason.facts.map(fact)));
  parts.push(el("form", { method: "dialog" }, el("button", {}, word("close"))));
  dialog().replaceChildren(...parts);
  dialog().showModal();
}

/** One fact with its band, source and date. */
export function fact(each) {
  const band = each.low !== null && each.low !== undefined ? ` (${measured(each.low, "")} – ${measured(each.high, each.unit)})` : "";
  const from = each.source ? term(each.source) : word("assumption");
  return el("li", {}, el("a", { href: `#/catalog/${encodeURIComponent(each.path)}`, click: () => dialog().close() }, each.path),
    ` ${measured(each.value, each.unit)}${band}`, each.kind ? `, ${term(each.kind)}` : "", el("span", { class: "soft" }, ` — ${from}${each.verified ? `, ${each.verified}` : ""}`));
}
