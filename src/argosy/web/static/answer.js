// A plan as people read it: the answer first, then its reasons.
import { chart } from "./chart.js";
import { el, later, table } from "./dom.js";
import { count, duration, gibibytes, measured, percent, quantity, scaled } from "./format.js";
import { fabrics, money, power } from "./site.js";
import { why } from "./why.js";
import { term, word } from "./words.js";

/** Everything of a plan that the server answered with: {plan, charts}; `held` where the layout is kept. */
export function answer({ plan, charts }, held = false) {
  return [verdict(plan), headline(plan, held), ...(charts.ledger ? [ledger(plan, charts)] : []),
    ...plan.training.map((job) => jobOf(plan, job, charts.jobs[job.name] ?? {})),
    ...(plan.facility ? [power(plan)] : []), ...(plan.cost ? [money(plan)] : []),
    ...(plan.fabrics.length ? [fabrics(plan, charts)] : []), rests(plan)];
}

/** Whether it runs, what binds, and why. */
export function verdict(plan) {
  const { status, binding, margin, reasons } = plan.verdict;
  const rest = binding ? `; ${word("binds", { what: term(binding) })}${margin === null ? "" : `, ${word("margin", { share: percent(margin) })}`}` : "";
  return el("div", { class: `verdict ${status}` },
    el("h1", { id: "verdict" }, `${plan.scenario.name}: `, el("span", {}, word(`status.${status}`)), rest),
    reasons.length ? el("ul", {}, reasons.map((each) => el("li", {}, term(each)))) : null);
}

function headline(plan, held) {
  const rows = plan.headline.map((row) => {
    const value = (key) => (row[key] === null ? "–" : quantity(row[key], row.unit));
    const reason = { title: term(row.label), shown: value("nominal"), law: term(row.law), inputs: row.inputs, low: row.p10, high: row.p90, unit: row.unit, note: held ? word("held.note") : "" };
    const cells = held ? [why(value("nominal"), reason)] : [value("p10"), why(value("p50"), reason), value("p90")];
    return [term(row.label), ...cells];
  });
  const heads = held ? ["", word("nominal")] : ["", "P10", "P50", "P90"];
  return rows.length ? el("section", { id: "headline" }, table(heads, rows, [1, 2, 3], word("headline"))) : "";
}

/** Where every GPU-second goes: the waterfall, and its lines with reasons. */
export function ledger(plan, charts) {
  const whole = plan.ledger.amount;
  const facts = new Map(plan.facts.map((each) => [each.path, each]));
  const lines = [];
  const walk = (node, level) => {
    const reason = { title: term(node.name), shown: `${scaled(node.amount / 3600, "")} GPU-h`, law: term(node.law), facts: node.facts.map((path) => facts.get(path)).filter(Boolean) };
    lines.push([el("span", { class: `level-${Math.min(level, 4)}` }, term(node.name)), why(scaled(node.amount / 3600, ""), reason), percent(node.amount / whole)]);
    node.children.forEach((child) => walk(child, level + 1));
  };
  walk(plan.ledger, 0);
  return el("section", {}, el("h2", {}, word("ledger")), chart(charts.ledger, word("ledger"), null, { title: word("ledger"), shown: `${scaled(whole / 3600, "")} GPU-h`, law: term(plan.ledger.law), inputs: plan.ledger.children.map((child) => ({ name: child.name, shown: `${scaled(child.amount / 3600, "")} GPU-h, ${percent(child.amount / whole)}` })) }),
    later(word("ledger.table"), () => table(["", "GPU-h", "%"], lines, [1, 2], word("ledger"))));
}

function jobOf(plan, job, charts) {
  const factors = ["tp", "cp", "pp", "dp"].filter((key) => job.layout[key] > 1 || key === "dp").map((key) => `${job.layout[key]} ${key}`);
  const peak = `${scaled(job.mfu.peak_flops, "FLOP/s")} ${job.mfu.peak_dtype}`;
  const of = (...starts) => plan.facts.filter((each) => starts.some((start) => each.path.startsWith(start)));
  const facts = of("accelerators.");
  const mfu = (key) => why(percent(job.mfu[key]), { title: `MFU: ${word(`mfu.${key}`)}`, shown: percent(job.mfu[key]), law: "FLOP per token × tokens/s ÷ (n × peak)", inputs: [
    { name: "tokens/s", shown: count(job.tokens_per_s) }, { name: "peak", shown: peak }, { name: "N", shown: scaled(job.mfu.parameters, "") }], facts });
  const memory = job.memory_bytes;
  const stepReason = { title: word("step"), shown: duration(job.step_time_s.nominal), law: word("step.law"), facts, low: job.step_time_s.p10, high: job.step_time_s.p90, unit: "s",
    inputs: Object.entries(job.breakdown_s).map(([name, value]) => ({ name: word(`part.${name}`), shown: duration(value ?? 0) })) };
  const memoryReason = { title: word("memory"), shown: gibibytes(memory.peak_reserved), law: word("memory.law"),
    inputs: ["weights", "gradients", "optimizer", "activations", "buffers", "overhead"].map((name) => ({ name: word(`part.${name}`), shown: gibibytes(memory[name] ?? 0) })) };
  return el("section", { id: `job-${job.name}` }, el("h2", {}, word("layout.of", { job: job.name })),
    el("p", { class: "big" }, `${count(job.layout.gpus)} = ${factors.join(" × ")}`),
    el("p", { class: "soft" }, `vp ${job.layout.vp}, micro-batch ${job.layout.micro_batch}, ${word("accumulation")} ${job.layout.grad_accumulation}, ${term(job.layout.schedule)}, ${word("recompute")} ${term(job.layout.recompute)}; ${word("grade")}: ${word(`grade.${job.grade}`)}`),
    table(["", ""], [
      [word("step"), why(duration(job.step_time_s.nominal), stepReason)],
      [word("tokens.gpu"), why(`${count(job.tokens_per_gpu_s)} /s`, { title: word("tokens.gpu"), shown: `${count(job.tokens_per_gpu_s)} /s`, law: word("tokens.gpu.law"), inputs: [
        { name: "tokens/s", shown: count(job.tokens_per_s), from: "global batch ÷ step time" }, { name: "accelerators", shown: count(job.layout.gpus) }] })],
      [word("mfu.parameters_only"), mfu("parameters_only")], [word("mfu.attention_causal"), mfu("attention_causal")], [word("mfu.attention_full"), mfu("attention_full")],
      [word("memory"), why(`${gibibytes(memory.peak_reserved)} / ${gibibytes(memory.capacity)}`, memoryReason)],
      [word("failures"), job.goodput.failures_expected === null ? "–" : why(count(job.goodput.failures_expected), { title: word("failures"), shown: count(job.goodput.failures_expected), law: word("failures.law"), facts: of("reliability.") })],
      [word("interval"), why(duration(job.goodput.checkpoint_interval_s), { title: word("interval"), shown: duration(job.goodput.checkpoint_interval_s), law: word("interval.law"), inputs: [
        { name: "failures expected", shown: count(job.goodput.failures_expected ?? 0) }], facts: of("reliability.checkpoint.", "storage.") })],
    ], [1], word("layout.of", { job: job.name })),
    charts.step ? chart(charts.step, word("step"), null, stepReason) : null,
    charts.memory ? chart(charts.memory, word("memory"), null, memoryReason) : null,
    charts.layouts ? later(word("layouts.best"), () => chart(charts.layouts, word("layouts.best"), null, { title: word("layouts.best"), shown: "", law: word("explorer.law"), inputs: [{ name: word("layouts.count"), shown: count(job.search.evaluated) }] })) : null);
}

function rests(plan) {
  return el("section", {},
    later(word("assumptions", { count: plan.assumptions.length }), () => table([word("path"), word("value"), word("note")],
      plan.assumptions.map((each) => [each.path, each.value === null ? "–" : typeof each.value === "object" ? JSON.stringify(each.value) : measured(each.value, each.unit), term(each.note)]), [], word("assumptions", { count: plan.assumptions.length }))),
    later(word("facts", { count: plan.facts.length }), () => table([word("path"), word("value"), word("source")],
      plan.facts.map((each) => [each.path, measured(each.value, each.unit), `${each.source ? term(each.source) : word("assumption")} ${each.verified ?? ""}`]), [], word("facts", { count: plan.facts.length }))),
    plan.notes.length ? later(word("notes"), () => el("ul", {}, plan.notes.map((each) => el("li", {}, term(each))))) : null);
}
