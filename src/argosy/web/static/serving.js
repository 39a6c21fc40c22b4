// The Serving page: a request load and promises in, the smallest fleet that keeps them out.
import { post } from "./ask.js";
import { chart } from "./chart.js";
import { el, problems, table } from "./dom.js";
import { count, duration, percent, quantity } from "./format.js";
import { state } from "./state.js";
import { why } from "./why.js";
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

/** The fleet's numbers, each with its reason. */
function figures(each) {
  const { fleet, cost, traffic, failures } = each;
  const promises = each.objectives.map((promise) => ({ name: promise.name, shown: `${duration(promise.reached_s)} / ${duration(promise.limit_s)}` }));
  const asked = [{ name: word("serving.requests"), shown: count(traffic.requests) }, { name: word("serving.rate"), shown: `${traffic.rate_per_s.toFixed(2)} /s` }, { name: "CV", shown: traffic.arrival_cv.toFixed(2) }];
  const price = [{ name: word("per.gpu.hour"), shown: quantity(cost.usd_per_gpu_hour, "usd_per_gpu_hour") }, { name: word("serving.gpus"), shown: count(fleet.gpus) }];
  const row = (key, shown, inputs, band = null, unit = "") => [word(`serving.${key}`), why(shown, { title: word(`serving.${key}`), shown, law: word(`serving.law.${key}`), inputs, low: band?.p10, high: band?.p90, unit })];
  return [
    row("replicas", count(fleet.replicas), [...promises, ...asked]),
    row("spares", count(fleet.spares), [{ name: word("serving.mtbf"), shown: duration(failures.replica_mtbf_s) }, { name: word("serving.promised"), shown: percent(failures.promised_availability) }]),
    row("gpus", count(fleet.gpus), fleet.pools.map((pool) => ({ name: `${pool.replicas} + ${pool.spares}`, shown: `× ${pool.gpus_per_replica}` }))),
    row("utilization", percent(fleet.utilization), asked),
    row("attainment", percent(fleet.slo_attainment), promises, fleet.attainment_by_seed, "fraction"),
    row("output", quantity(cost.usd_per_million_output_tokens, "usd_per_million_tokens"), price),
    row("input", quantity(cost.usd_per_million_input_tokens, "usd_per_million_tokens"), price),
  ];
}

function service(each, charts) {
  if (!each.fleet) return el("section", { class: "service" }, el("h2", {}, each.name), el("p", { class: "problems" }, word(`status.${each.verdict.status}`)), el("ul", {}, each.verdict.reasons.map((reason) => el("li", {}, reason))));
  const quantiles = (value) => (value ? ["p50", "p90", "p99"].map((key) => (value[key] === null ? "–" : duration(value[key]))) : ["–", "–", "–"]);
  return el("section", { class: "service" }, el("h2", {}, each.name), el("ul", {}, each.sentences.map((line) => el("li", {}, line))),
    table(["", word("value")], figures(each), [1], each.name),
    table(["", "P50", "P90", "P99"], [["TTFT", ...quantiles(each.replica.ttft_s)], ["TPOT", ...quantiles(each.replica.tpot_s)]], [1, 2, 3], word("serving.latency")),
    Object.entries(charts).map(([name, picture]) => chart(picture, term(name))));
}
