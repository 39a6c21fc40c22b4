// The Diagnose page: drop a cluster's files, get findings with evidence. They stay on this machine until deleted.
import { remove, send } from "./ask.js";
import { chart } from "./chart.js";
import { el, problems, table } from "./dom.js";
import { duration, percent } from "./format.js";
import { state } from "./state.js";
import { why } from "./why.js";
import { term, word } from "./words.js";

/** Show the page in `root`. */
export async function show(root) {
  const result = el("div", { id: "answer" });
  const against = el("input", { type: "checkbox", id: "against" });
  const files = el("input", { type: "file", id: "files", multiple: true, change: () => run([...files.files]) });
  const run = async (chosen) => {
    if (!chosen.length) return;
    const form = new FormData();
    for (const file of chosen) form.append("files", file, file.name);
    if (against.checked) form.append("text", state.text);
    result.replaceChildren(el("p", {}, word("computing")));
    try {
      result.replaceChildren(...findings(await send("/diagnose", form), result));
    } catch (failure) {
      result.replaceChildren(problems(failure));
    }
  };
  const drop = el("div", { class: "drop", dragover: (event) => event.preventDefault(), drop: (event) => { event.preventDefault(); run([...event.dataTransfer.files]); } },
    el("p", {}, el("label", { for: "files" }, word("diagnose.drop"))), files);
  root.replaceChildren(el("h1", {}, word("page.diagnose")), el("p", { class: "tools" }, word("diagnose.what")), drop,
    el("p", { class: "tools" }, against, el("label", { for: "against" }, word("diagnose.against"))), result);
}

function findings({ id, diagnosis, headline, charts, captions }, place) {
  const forget = el("button", { type: "button", click: async () => { await remove(`/diagnose/${encodeURIComponent(id)}`); place.replaceChildren(el("p", {}, word("deleted"))); } }, word("delete"));
  const one = (each) => el("article", { class: `finding ${each.severity}` },
    el("h3", {}, term(each.title)), el("p", { class: "soft" }, [term(each.id), word("confidence", { share: percent(each.confidence) }), each.share_of_time === null ? "" : word("share", { share: percent(each.share_of_time) }), each.time_saved_s ? word("saves", { time: duration(each.time_saved_s) }) : ""].filter(Boolean).join("; ")),
    each.advice ? el("p", {}, term(each.advice)) : null,
    el("ul", {}, each.evidence.map((where) => el("li", {}, el("code", {}, [where.path, where.line ?? where.event].filter((part) => part !== null && part !== undefined).join(":"))))));
  const lines = [];
  const spent = (amount) => duration(Math.abs(amount) < 1e-9 * diagnosis.ledger.amount ? 0 : amount);
  const walk = (node, level) => {
    const reason = { title: term(node.name), shown: spent(node.amount), law: node.law ? term(node.law) : word("diagnose.law"), inputs: node.children.map((child) => ({ name: child.name, shown: spent(child.amount) })), note: word("diagnose.gpu.time") };
    lines.push([el("span", { class: `level-${Math.min(level, 4)}` }, term(node.name)), why(spent(node.amount), reason), diagnosis.ledger.amount ? percent(node.amount / diagnosis.ledger.amount) : "–"]);
    node.children.forEach((child) => walk(child, level + 1));
  };
  if (diagnosis.ledger) walk(diagnosis.ledger, 0);
  return [el("p", { class: "tools" }, forget), el("h1", { id: "findings" }, term(headline)), el("h2", {}, word("findings", { count: diagnosis.findings.length })),
    ...(diagnosis.findings.length ? diagnosis.findings.map(one) : [el("p", {}, word("findings.none"))]),
    ...(diagnosis.ledger ? [el("h2", {}, word("ledger")), table(["", word("gpu.time"), "%"], lines, [1, 2], word("ledger"))] : []),
    ...Object.entries(charts).map(([name, each]) => el("section", {}, chart(each, term(captions[name])), el("p", { class: "soft" }, term(captions[name])))),
    el("h2", {}, word("inputs")), table([word("path"), word("kind"), word("verdict"), word("events"), word("note")],
      diagnosis.inputs.map((each) => [each.path, term(each.kind), term(each.status), each.events.toLocaleString("en"), each.problems.map((problem) => term(typeof problem === "string" ? problem : problem.message)).slice(0, 3).join("; ")]), [3], word("inputs"))];
}
