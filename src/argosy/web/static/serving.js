// The Serving page: a model, its load and promises on the left; the smallest fleet that keeps them on the right.
import { ledger, verdict } from "./answer.js";
import { post, send } from "./ask.js";
import { chart } from "./chart.js";
import { el, later, problems, table } from "./dom.js";
import { form } from "./form.js";
import { count, duration, measured, percent, plain, quantity } from "./format.js";
import { GROUPS, fields } from "./serving_fields.js";
import { service as held, state } from "./state.js";
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
const SETTLED = 900; // ms without a change, before the fleet is sized again
let trace = null; // requests that were given in a file, in place of rate and lengths

/** Show the page in `root`; returns what ends it. */
export async function show(root) {
  if (!held.text) held.text = START;
  const result = el("div", { id: "answer" });
  const told = el("div", { id: "told", role: "status" });
  const starts = Object.fromEntries(Object.entries(state.starts).filter(([, text]) => /^serving:/m.test(text)));
  const inputs = form({ held, groups: GROUPS, listed: fields, starts, more: upload(() => size()) });
  root.replaceChildren(el("h1", { class: "unseen" }, word("page.serving")), el("div", { class: "split" }, inputs.node, el("div", {}, copies(), told, result)));
  let ended = false, timer = 0, busy = false;

  async function size() { // one at a time, and the latest text at the end
    if (busy) return;
    busy = true;
    const text = held.text, given = trace;
    told.replaceChildren(word("sizing"));
    try {
      const found = await (given ? send("/serving/trace", posted(text, given)) : post("/serving", { text }));
      if (ended || text !== held.text || given !== trace) return;
      told.replaceChildren(given ? word("trace.used", { name: given.name }) : word("sized", { seeds: found.services[0].seeds?.length ?? "–" }));
      result.replaceChildren(...found.services.flatMap((each) => service(each, found.charts[each.name] ?? {}, found.services.length > 1)));
    } catch (failure) {
      if (!ended && text === held.text) told.replaceChildren(problems(failure));
    } finally {
      busy = false;
      if (!ended && (text !== held.text || given !== trace)) size();
    }
  }

  const stop = held.listen(() => { inputs.show(); clearTimeout(timer); timer = setTimeout(size, SETTLED); });
  await inputs.show();
  size();
  return () => { ended = true; clearTimeout(timer); stop(); };
}

function posted(text, file) {
  const body = new FormData();
  body.append("file", file, file.name);
  body.append("text", text);
  return body;
}

/** Where requests of one's own are given. */
function upload(changed) {
  const drop = el("button", { type: "button", hidden: trace === null, click: () => use(null) }, word("trace.drop"));
  const input = el("input", { type: "file", id: "trace", change: () => use(input.files[0] ?? null) });
  const use = (file) => { trace = file; drop.hidden = file === null; if (file === null) input.value = ""; changed(); };
  return el("fieldset", {}, el("legend", {}, word("group.trace")), el("p", {}, el("label", { for: "trace" }, word("trace.choose")), input, drop), el("p", { class: "soft" }, word("trace.what")));
}

function copies() {
  const told = el("span", { role: "status" });
  const copy = (key, make) => el("button", { type: "button", click: async () => {
    try { await navigator.clipboard.writeText(make()); told.textContent = word("copied"); } catch { told.replaceChildren(el("input", { readonly: true, value: make(), "aria-label": word(key) })); }
  } }, word(key));
  return el("p", { class: "copies" }, copy("copy.yaml", () => held.text),
    copy("copy.command", () => `cat > scenario.yaml <<'EOF'\n${held.text}EOF\nargosy serving scenario.yaml --html serving.html\n`), told);
}

/** A service's answer: the verdict, the numbers, the latencies, the pictures. */
function service(each, charts, several) {
  const name = several ? el("h2", {}, each.name) : "";
  if (!each.fleet) return [el("section", { class: "service" }, name, verdict(each))];
  const reasons = chartReasons(each);
  const picture = (key) => (charts[key] ? chart(charts[key], term(key), null, reasons[key]) : null);
  return [el("section", { class: "service" }, name, verdict(each),
    table(["", word("value")], figures(each), [1], each.name),
    el("h2", {}, word("serving.latency")), latencies(each), picture("latency"),
    later(word("serving.sentences"), () => el("ul", {}, [...each.sentences, ...each.gap].map((line) => el("li", {}, term(line)))))),
  el("section", {}, el("h2", {}, word("serving.frontier")), picture("throughput against speed"), picture("cost against latency"), later(word("serving.front"), () => front(each))),
  el("section", {}, el("h2", {}, word("serving.time")), picture("over time"), picture("queue")),
  charts.ledger ? ledger({ ledger: each.ledger, facts: [] }, charts) : "",
  el("section", {}, later(word("serving.laws"), () => laws(each)), later(word("serving.checks"), () => checks(each)),
    later(word("assumptions", { count: each.assumptions.length }), () => table([word("path"), word("value"), word("note")],
      each.assumptions.map((one) => [one.path, one.value === null ? "–" : typeof one.value === "object" ? JSON.stringify(one.value) : measured(one.value, one.unit), term(one.note)]))))];
}

const promised = (each) => each.objectives.map((promise) => ({ name: promise.name, shown: `${time(promise.reached_s)} / ${duration(promise.limit_s)}` }));
const asked = ({ traffic }) => [
  { name: word("serving.requests"), shown: count(traffic.requests) }, { name: word("serving.rate"), shown: `${plain(traffic.rate_per_s)} /s` }, { name: "CV", shown: traffic.arrival_cv.toFixed(2) },
  { name: word("field.input.mean"), shown: count(traffic.input_tokens_mean) }, { name: word("field.output.mean"), shown: count(traffic.output_tokens_mean) }];
const time = (seconds) => (seconds === null ? term("never") : duration(seconds));
const iteration = ({ replica }) => ({ name: word("serving.iteration"), shown: `${duration(replica.step_time_s.nominal)} (${duration(replica.step_time_s.p05)} – ${duration(replica.step_time_s.p95)})`, from: replica.grade });

/** The fleet's numbers, each with its reason. */
function figures(each) {
  const { fleet, cost, failures, replica } = each;
  const promises = promised(each), load = asked(each);
  const price = [{ name: word("per.gpu.hour"), shown: quantity(cost.usd_per_gpu_hour, "usd_per_gpu_hour") }, { name: word("serving.gpus"), shown: count(fleet.gpus) }, { name: word("serving.goodput"), shown: `${plain(fleet.goodput_requests_per_s)} /s` }];
  const row = (key, shown, inputs, band = null, unit = "") => [word(`serving.${key}`), why(shown, { title: word(`serving.${key}`), shown, law: word(`serving.law.${key}`), inputs, low: band?.p10, high: band?.p90, unit })];
  return [
    row("replicas", fleet.pools.map((pool) => count(pool.replicas)).join(" + "), [...promises, ...load, iteration(each)]),
    row("spares", count(fleet.spares), [{ name: word("serving.mtbf"), shown: failures.replica_mtbf_s.map((one) => time(one)).join(", ") }, { name: word("serving.promised"), shown: percent(failures.promised_availability) }]),
    row("gpus", count(fleet.gpus), fleet.pools.map((pool) => ({ name: `${pool.replicas} + ${pool.spares}`, shown: `× ${pool.gpus_per_replica}` }))),
    [word("serving.layout"), why(replica.label, { title: word("serving.layout"), shown: replica.label, law: word("serving.law.layout"), inputs: [iteration(each), { name: word("serving.options"), shown: count(each.search.evaluated) }, { name: word("serving.cache"), shown: count(replica.kv_capacity_tokens) }] })],
    row("goodput", `${plain(fleet.goodput_requests_per_s)} /s`, load, fleet.goodput_by_seed, "/s"),
    row("attainment", percent(fleet.slo_attainment), promises, fleet.attainment_by_seed, "fraction"),
    row("utilization", percent(fleet.utilization), load),
    row("output", quantity(cost.usd_per_million_output_tokens, "usd_per_million_tokens"), price),
    row("input", quantity(cost.usd_per_million_input_tokens, "usd_per_million_tokens"), price),
  ];
}

/** Percentiles over all arrivals beside what is promised. */
function latencies(each) {
  const rows = [["TTFT", "ttft_s"], ["TPOT", "tpot_s"], ["E2E", "e2e_s"]].map(([name, key]) => {
    const found = each.replica[key];
    const cells = ["p50", "p90", "p95", "p99"].map((share) => {
      const promise = each.objectives.find((one) => one.name === `${key.slice(0, -2)}_${share}`);
      const band = each.band.reached_s[promise?.name];
      return why(time(found[share]), { title: `${name} ${share.toUpperCase()}`, shown: time(found[share]), law: word("serving.law.percentile", { share: share.slice(1) }), unit: "s",
        inputs: [...asked(each), iteration(each), ...(promise ? [{ name: word("group.promises"), shown: duration(promise.limit_s) }] : []),
          ...(share === "p99" ? [{ name: word("serving.by.seed"), shown: `${time(found.p99_by_seed.p10)} – ${time(found.p99_by_seed.p90)}` }] : [])],
        low: band?.p10, high: band?.p90, note: band ? word("serving.band") : "" });
    });
    return [name, ...cells, each.objectives.filter((one) => one.name.startsWith(key.slice(0, -2))).map((one) => `${one.name.split("_")[1].toUpperCase()} ${duration(one.limit_s)}${one.met ? "" : ` (${word("missed")})`}`).join(", ")];
  });
  return table(["", "P50", "P90", "P95", "P99", word("group.promises")], rows, [1, 2, 3, 4], word("serving.latency"));
}

/** Why each picture looks as it does. */
function chartReasons(each) {
  const reason = (key, inputs) => ({ title: word(`serving.why.${key}`), shown: "", law: word(`serving.law.${key}`), inputs });
  return {
    latency: reason("latency", [...asked(each), ...promised(each)]),
    "throughput against speed": reason("frontier", [iteration(each), { name: word("serving.kept"), shown: count(each.replica.batch_within_promise) }, { name: word("field.batch.most"), shown: count(each.replica.max_batch) }]),
    "cost against latency": reason("front", [{ name: word("serving.options"), shown: count(each.search.evaluated) }, ...promised(each)]),
    "over time": reason("time", asked(each)),
    queue: reason("queue", [...asked(each), { name: "L = λ·W", shown: plain(each.laws.little.in_system) }]),
  };
}

function front(each) {
  return table([word("serving.layout"), word("serving.gpus"), "TTFT P99", "TPOT P95", word("serving.attainment"), "USD/M"], each.pareto.map((point) =>
    [point.label, count(point.gpus), time(point.ttft_p99_s), time(point.tpot_p95_s), percent(point.slo_attainment), quantity(point.usd_per_million_output_tokens_bearing_all, "usd_per_million_tokens")]), [1, 2, 3, 4, 5], word("serving.front"));
}

function laws(each) {
  const names = { little: "Little", mmc: "M/M/c", mgc: "M/G/c", simulated: word("serving.simulated") };
  return table([word("law"), word("value"), word("band")], Object.entries(names).map(([key, name]) => {
    const law = each.laws[key];
    return [name, key === "little" ? `${count(law.replicas)} ${word("serving.replicas")}` : law.mean_wait_s === null || law.mean_wait_s === undefined ? "–" : duration(law.mean_wait_s), term(law.validity)];
  }), [1], word("serving.laws"));
}

const checks = (each) => table(["", "", ""], each.checks.map((check) => [term(check.name), check.holds ? word("holds") : word("broken"), term(check.detail)]), [], word("serving.checks"));
