// The fields of the Serving page: where each stands in a scenario, as fields.js has them for a plan.
import { perHour, rounded, seconds } from "./fields.js";

export const GROUPS = ["replica", "load", "promises", "engine", "price"];

const short = (value) => (value < 1 ? `${rounded(1e3 * value)} ms` : seconds(value));
const per = (value) => `${rounded(value)} req/s`;
const DEGREES = ["", 1, 2, 4, 8, 16];
// The percentile of each latency that the form shows where the file promises none.
const USUAL = { ttft: "p99", tpot: "p95", e2e: "p95" };
const SPANS = { ttft: [0.05, 60], tpot: [0.005, 1], e2e: [0.5, 600] };

/** All fields of the first service of a scenario's canonical `inputs`; none where it has no service. */
export function fields(inputs, choices) {
  const job = inputs.serving?.[0];
  if (!job) return [];
  const at = "serving.0";
  const { traffic, objectives, engine, replica } = job;
  const lengths = (key, group) => [
    { key: `${key}.mean`, group, path: `${at}.traffic.${key}.0.mean`, value: traffic[key]?.[0]?.mean ?? null,
      slider: { low: 16, high: 131072, log: true, written: (value) => rounded(value, 2) } },
    { key: `${key}.cv`, group, path: `${at}.traffic.${key}.0.cv`, value: traffic[key]?.[0]?.cv ?? null, slider: { low: 0, high: 4, written: (value) => rounded(value, 2) } }];
  return [
    { key: "model", group: "replica", path: `${at}.model`, value: job.model.name, choices: choices.models },
    { key: "accelerator", group: "replica", path: "fleet.accelerator", value: inputs.fleet.accelerator.name, choices: choices.accelerators, also: { "fleet.node": null } },
    { key: "fleet", group: "replica", path: "fleet.count", value: inputs.fleet.count,
      slider: { low: 8, high: 16384, log: true, written: (value) => 8 * Math.round(2 ** (Math.round(Math.log2(value) * 2) / 2) / 8) } },
    { key: "accelerators", group: "replica", path: `${at}.accelerators`, value: job.accelerators, empty: "size.it" },
    { key: "tp", group: "replica", path: `${at}.replica.tp`, value: replica.tp, choices: DEGREES, empty: "searched.it" },
    { key: "pp", group: "replica", path: `${at}.replica.pp`, value: replica.pp, choices: DEGREES, empty: "searched.it" },
    { key: "precision", group: "replica", path: `${at}.precision`, value: job.precision ?? "", choices: ["", ...choices.formats], empty: "searched.it", written: (value) => value || "auto" },
    { key: "cache", group: "replica", path: `${at}.kv_precision`, value: job.kv_precision, choices: choices.formats },
    { key: "rate", group: "load", path: `${at}.traffic.rate`, value: traffic.rate, shown: per,
      slider: { low: 0.1, high: 2000, log: true, written: (value) => per(rounded(value, 2)) } },
    { key: "cv", group: "load", path: `${at}.traffic.cv`, value: traffic.cv, slider: { low: 0, high: 6, written: (value) => rounded(value, 2) } },
    ...lengths("input", "load"), ...lengths("output", "load"),
    { key: "prefix", group: "load", path: `${at}.traffic.prefix_share`, value: traffic.prefix_share, slider: { low: 0, high: 1, written: (value) => rounded(value, 2) } },
    ...["ttft", "tpot", "e2e"].map((metric) => promise(metric, at, objectives)),
    { key: "availability", group: "promises", path: `${at}.objectives.availability`, value: objectives.availability, shown: (value) => `${rounded(100 * value, 6)} %`, empty: "availability.usual" },
    { key: "engine", group: "engine", path: `${at}.engine.name`, value: engine.name, choices: choices.engines },
    { key: "batch.most", group: "engine", path: `${at}.engine.max_batch`, value: engine.max_batch, empty: "searched.it" },
    { key: "chunk", group: "engine", path: `${at}.engine.chunk`, value: engine.chunk },
    { key: "fraction", group: "engine", path: `${at}.engine.memory_fraction`, value: engine.memory_fraction },
    { key: "router", group: "engine", path: `${at}.router`, value: job.router, choices: choices.routers },
    { key: "draft", group: "engine", path: `${at}.speculative.draft_length`, value: job.speculative?.draft_length ?? "", choices: ["", 1, 2, 3, 4], empty: "none",
      ...(job.speculative ? { path: `${at}.speculative`, written: (value) => (value === "" ? null : { ...kept(job.speculative), draft_length: value }) } : {}) },
    { key: "pools", group: "engine", path: `${at}.disaggregation`, value: job.disaggregation ? "two pools" : "", choices: ["", "two pools"], empty: "none",
      written: (value) => (value ? { exposed: 1 } : null) },
    { key: "rent", group: "price", path: "prices.accelerator_hour", value: perHour(inputs.prices.accelerator_hour), shown: (value) => `${rounded(value)} USD/h`,
      slider: { low: 0.2, high: 20, log: true, written: (value) => `${rounded(value, 2)} USD/h` } },
  ];
}

const kept = (section) => Object.fromEntries(Object.entries(section).filter(([, value]) => value !== null));

/** The promise of one latency: the percentile that the file names, or the usual one. */
function promise(metric, at, objectives) {
  const given = Object.keys(objectives).find((name) => name.startsWith(`${metric}_`) && objectives[name] !== null) ?? `${metric}_${USUAL[metric]}`;
  const [low, high] = SPANS[metric];
  return { key: metric, group: "promises", of: given.split("_")[1].toUpperCase(), path: `${at}.objectives.${given}`, value: objectives[given], shown: short, empty: "no.promise",
    slider: { low, high, log: true, written: (value) => short(rounded(value, 2)) } };
}
