// What a plan opens on demand: the job's simulated lives, and its facility second by second; every number and picture with its reason.
import { chart } from "./chart.js";
import { el, later, table } from "./dom.js";
import { count, duration, percent, plain, quantity, scaled } from "./format.js";
import { below } from "./site.js";
import { why } from "./why.js";
import { term, word } from "./words.js";

/** A row of a table: a name, and a number that opens its reason. */
const row = (key, shown, reason) => [word(key), why(shown, { title: word(key), shown, law: word(`${key}.law`), ...reason })];

/** The charts of an answer, each with its reason where there is one. */
const drawn = (charts, part, reasons) => Object.entries(charts).map(([name, picture]) =>
  chart(picture, word(`${part}.${name}`), null, { title: word(`${part}.${name}`), shown: "", law: word(`${part}.${name}.law`), ...reasons[name] }));

/** Simulated lives: how much of the time is productive, when the job finishes, what to mend first. */
export function life({ life: found, charts }, plan) {
  const facts = below(plan, "reliability.", "storage.");
  const { goodput, days, recovery_s: recovery } = found;
  const lives = { name: word("life.lives"), shown: count(found.replications) };
  const settings = [lives, { name: word("interval"), shown: duration(found.interval_s) }, { name: word("life.detection"), shown: duration(recovery.detection) },
    { name: word("life.restart"), shown: duration(recovery.restart) }, { name: word("life.repair"), shown: duration(recovery.repair) }, { name: word("field.spares"), shown: plain(found.spares) }, { name: word("field.policy"), shown: found.policy }];
  const lost = Object.entries(found.ledger_gpu_s).map(([name, spent]) => ({ name: name.replaceAll("_", " "), shown: `${scaled(spent / 3600, "")} GPU-h, ${percent(spent / found.total_gpu_s)}` }));
  const failures = Object.values(found.failures);
  const total = (key) => plain(failures.reduce((sum, each) => sum + each[key], 0));
  return el("div", {}, table(["", word("value")], [
    row("life.goodput", percent(goodput.mean), { inputs: [...lost, { name: word("life.stderr"), shown: percent(goodput.stderr) }], low: goodput.p10, high: goodput.p90, unit: "fraction", facts }),
    row("life.closed", found.closed_form_goodput === null ? "–" : percent(found.closed_form_goodput), { inputs: settings, facts, note: found.beyond_closed_form.map(term).join(", ") }),
    row("life.days", days ? plain(days.p50) : "–", { inputs: settings, low: days?.p10, high: days?.p90, unit: "days" }),
    row("life.failed", total("mean"), { inputs: Object.entries(found.failures).map(([name, each]) => ({ name, shown: `${plain(each.mean)} (${word("life.expected")} ${plain(each.expected)})` })), facts }),
    row("life.mtbf", found.mtbf_s === null ? "–" : duration(found.mtbf_s), { inputs: [{ name: word("failures"), shown: total("expected") }], facts }),
  ], [1], word("life")),
  ...drawn(charts, "life", { ledger: { inputs: lost }, finish: { inputs: settings, low: days?.p10, high: days?.p90, unit: "days" }, life: { inputs: settings, facts }, fixes: { inputs: settings, facts },
    spares: { inputs: settings, facts }, interval: { inputs: [...settings, { name: word("life.best"), shown: found.interval_curve ? duration(found.interval_curve.recommended_s) : "–" }], facts } }),
  later(word("notes"), () => el("ul", {}, found.notes.map((each) => el("li", {}, term(each))))));
}

/** The facility: what trips first, how the power swings, what cooling takes, what a cap would give. */
export function facility({ facility: found, charts }, plan) {
  const { waveform, cooling, racks, levels, power_cap: cap } = found;
  const nodes = below(plan, "nodes.", "facility.it", "facility.activity");
  const air = below(plan, "cooling.", "facility.plant", "sites.", "climate.");
  const swings = waveform ? [
    row("facility.swing", scaled(waveform.swing_w, "W"), { inputs: [{ name: word("facility.mean"), shown: scaled(waveform.mean_w, "W") }, { name: word("facility.steady"), shown: scaled(waveform.steady_w, "W") }], facts: nodes, note: waveform.boundary, ...band(waveform.quantiles?.swing_w, "w") }),
    row("facility.ramp", `${scaled(waveform.ramp_1s_w_per_s, "W")}/s`, { facts: nodes, note: waveform.boundary }),
    row("facility.frequency", waveform.dominant_hz === null ? "–" : `${plain(waveform.dominant_hz)} Hz`, { inputs: [{ name: word("step"), shown: duration(waveform.period_s) }, { name: word("facility.share"), shown: percent(waveform.band_share) }] })] : [];
  const overhead = Object.entries(cooling.overhead_w_per_it_w).map(([name, value]) => ({ name, shown: `${plain(value)} W/W` }));
  return el("div", {}, table(["", word("value")], [
    row("facility.trips", found.trips_first ? term(found.trips_first) : "–", { inputs: levels.map((each) => ({ name: each.name, shown: `${scaled(each.peak_w, "W")} / ${scaled(each.usable_w, "W")}`, from: each.origin })), facts: below(plan, "power.") }),
    ...swings,
    row("facility.cooling", word(`cooling.${cooling.class}`), { inputs: [{ name: word("facility.rack"), shown: scaled(cooling.rack_w, "W") }, { name: word("facility.rack.most"), shown: scaled(cooling.rack_limit_w, "W") }], note: cooling.why, facts: air }),
    row("pue", cooling.pue.toFixed(3), { inputs: overhead, facts: air, ...band(cooling.pue_quantiles, "") }),
    row("facility.pue.peak", cooling.pue_peak.toFixed(3), { inputs: overhead, facts: air }),
    row("facility.racks", count(racks.count), { inputs: Object.entries(racks.nodes_by_limit).map(([name, nodesPer]) => ({ name, shown: `${plain(nodesPer)} ${word("racks.nodes")}` })), facts: below(plan, "rack.", "cooling.") }),
  ], [1], word("facility")),
  cap?.answer ? el("p", {}, term(cap.answer)) : null,
  ...drawn(charts, "facility", { tree: { inputs: levels.map((each) => ({ name: each.name, shown: `${scaled(each.peak_w, "W")} / ${scaled(each.usable_w, "W")}` })), facts: below(plan, "power.") }, waveform: { note: waveform?.boundary, facts: nodes }, spectrum: { note: waveform?.boundary },
    pue: { inputs: overhead, facts: air }, cap: { inputs: cap ? [{ name: word("facility.envelope"), shown: scaled(cap.envelope_w, "W") }, { name: word("facility.best"), shown: cap.best ? quantity(cap.best.cap_w, "w") : "–" }] : [], facts: nodes } }),
  waveform ? later(word("facility.mend"), () => table(["", word("facility.swing"), word("facility.ramp"), word("facility.slower"), "USD", word("note")], waveform.mitigations.map((each) =>
    [term(each.name), scaled(each.swing_w, "W"), `${scaled(each.ramp_1s_w_per_s, "W")}/s`, percent(each.slowdown), quantity(each.usd, "usd"), term(each.how)]), [1, 2, 3, 4], word("facility.mend"))) : null);
}

const band = (quantiles, unit) => (quantiles ? { low: quantiles.p10, high: quantiles.p90, unit } : {});
