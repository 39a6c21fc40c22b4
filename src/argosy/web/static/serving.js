// The Serving page: a request load and promises in, the smallest fleet that keeps them out.
import { post } from "./ask.js";
import { chart } from "./chart.js";
import { el, problems, table } from "./dom.js";
import { count, duration, percent, quantity } from "./format.js";
import { state } from "./state.js";
import { term, word } from "./words.js";

const START = `name: chat
fleet: {accelerator: H100-SXM, count: 64}
serving:
  name: chat
  model: llama-3.1-70b
  traffic: {rate: 20 req/s, cv: 2.0, input: {mean: 1200, cv: 1.1}, output: {mean: 250, cv: 1.3}}
  objectives: {ttft_p99: 2 s, tpot_p95: 50 ms}
`;
let text = START;

/** Show the page in `root`. */
export async function show(root) {
  const area = el("textarea", { id: "service", rows: "14", spellcheck: "false", "aria-label": word("yaml") });
  area.value = text;
  const withService = Object.entries(state.starts).filter(([, each]) => /^serving:/m.test(each));
  const start = el("select", { id: "service-start", change: (event) => { if (event.target.value) area.value = state.starts[event.target.value]; } },
    el("option", { value: "" }, word("start.choose")), withService.map(([name]) => el("option", { value: name }, name)));
  const result = el("div", { id: "answer" });
  const run = async () => {
    text = area.value;
    result.replaceChildren(el("p", {}, word("computing")));
    try {
      const found = await post("/serving", { text });
      result.replaceChildren(...found.services.map((each) => service(each, found.charts[each.name] ?? {})));
    } catch (failure) {
      result.replaceChildren(problems(failure));
    }
  };
  root.replaceChildren(el("h1", {}, word("page.serving")), el("p", {}, el("label", { for: "service-start" }, word("start")), start), area,
    el("p", {}, el("button", { type: "button", id: "run", click: run }, word("serving.run"))), result);
}

function service(each, charts) {
  if (!each.fleet) return el("section", { class: "service" }, el("h2", {}, each.name), el("p", { class: "problems" }, word(`status.${each.verdict.status}`)), el("ul", {}, each.verdict.reasons.map((reason) => el("li", {}, reason))));
  const quantiles = (value) => (value ? ["p50", "p90", "p99"].map((key) => (value[key] === null ? "–" : duration(value[key]))) : ["–", "–", "–"]);
  return el("section", { class: "service" }, el("h2", {}, each.name), el("ul", {}, each.sentences.map((line) => el("li", {}, line))),
    table(["", word("value")], [
      [word("serving.replicas"), count(each.fleet.replicas)], [word("serving.spares"), count(each.fleet.spares)], [word("serving.gpus"), count(each.fleet.gpus)],
      [word("serving.utilization"), percent(each.fleet.utilization)], [word("serving.attainment"), percent(each.fleet.slo_attainment)],
      [word("serving.output"), quantity(each.cost.usd_per_million_output_tokens, "usd_per_million_tokens")], [word("serving.input"), quantity(each.cost.usd_per_million_input_tokens, "usd_per_million_tokens")],
    ], [1], each.name),
    table(["", "P50", "P90", "P99"], [["TTFT", ...quantiles(each.replica.ttft_s)], ["TPOT", ...quantiles(each.replica.tpot_s)]], [1, 2, 3], word("serving.latency")),
    Object.entries(charts).map(([name, picture]) => chart(picture, term(name))));
}
