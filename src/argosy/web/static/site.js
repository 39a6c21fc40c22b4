// What a plan's site draws, costs and is wired with; each number with its reason.
import { chart } from "./chart.js";
import { el, table } from "./dom.js";
import { count, dollars, percent, plain, scaled } from "./format.js";
import { why } from "./why.js";
import { term, word } from "./words.js";

/** The plan's facts below some paths. */
export const below = (plan, ...starts) => plan.facts.filter((each) => starts.some((start) => each.path.startsWith(start)));

/** Power, racks, water and carbon. */
export function power(plan) {
  const site = plan.facility;
  const heads = new Map(plan.headline.map((row) => [row.label, row]));
  const row = (key, shown, reason) => [word(key), why(shown, { title: word(key), shown, ...reason })];
  const of = (key, label, shown, facts) => {
    const { law, inputs } = heads.get(label) ?? { law: label, inputs: [] };
    return row(key, shown, { law: term(law), inputs, facts, note: site.boundary });
  };
  const extra = Object.entries(site.overhead_w_per_it_w).map(([name, value]) => ({ name, shown: `${plain(value)} W/W` }));
  const mean = { name: word("power.mean"), shown: scaled(site.facility_mean_w, "W") };
  return el("section", {}, el("h2", {}, word("power")), table(["", ""], [
    of("power.mean", "facility power, mean", scaled(site.facility_mean_w, "W"), below(plan, "facility.activity", "nodes.", "facility.it")),
    of("power.peak", "facility power, peak", scaled(site.facility_peak_w, "W"), below(plan, "nodes.")),
    row("pue", site.pue.toFixed(3), { law: word("pue.law"), inputs: extra, facts: below(plan, "cooling.", "power.", "facility.plant") }),
    row("energy", scaled(site.energy_kwh * 1e3, "Wh"), { law: word("energy.law"), inputs: [mean] }),
    row("racks", `${count(site.racks)} × ${site.rack_kw.toFixed(1)} kW, ${word(`cooling.${site.cooling}`)}`, { law: word("racks.law"), inputs: [
      { name: word("racks.nodes"), shown: plain(site.rack_nodes) }, { name: word("racks.limit"), shown: term(site.rack_limited_by) }], facts: below(plan, "rack.", "cooling.") }),
    row("water", `${count(site.water_kg / 1e3)} t`, { law: word("water.law"), facts: below(plan, "cooling.") }),
    of("carbon", "carbon, location-based", `${count(site.carbon_kg / 1e3)} t`, below(plan, "regions.", "facility.grid")),
  ], [1], word("power")), el("p", { class: "soft" }, term(site.carbon_basis)));
}

/** The bill by line. */
export function money(plan) {
  const { lines, total_usd: total, usd_per_gpu_hour: hourly, boundary } = plan.cost;
  const each = lines.map((line) => ({ name: line.name, shown: dollars(line.usd) }));
  const reason = (title, shown, law, inputs) => why(shown, { title, shown, law, inputs, note: term(boundary), facts: below(plan, "prices.", "facility.money") });
  return el("section", {}, el("h2", {}, word("money")), table(["", "USD", "%"], [
    ...lines.map((line) => [term(line.name), reason(term(line.name), dollars(line.usd), word("money.line"), []), total ? percent(line.usd / total) : "–"]),
    [word("total"), reason(word("total"), dollars(total), word("money.total"), each), ""],
    [word("per.gpu.hour"), reason(word("per.gpu.hour"), `$${hourly.toFixed(3)}`, word("money.hour"), [{ name: word("total"), shown: dollars(total) }]), ""],
  ], [1, 2], word("money")));
}

/** Every fabric: what it is, what it carries, what it costs, its tiers drawn. */
export function fabrics(plan, charts) {
  return el("section", {}, el("h2", {}, word("fabric")), plan.fabrics.map((fabric, index) => {
    const facts = below(plan, "switches.", "optics.", "links.");
    const row = (key, shown, law, inputs) => [word(key), why(shown, { title: `${term(fabric.role)}: ${word(key)}`, shown, law: word(law), inputs, facts })];
    const tiers = fabric.tiers.map((tier) => ({ name: `${term(tier.name)} (${term(tier.switch)})`, shown: `${count(tier.switches)}, ${word("cables", { count: count(tier.links) })}` }));
    const bill = fabric.bill.map((line) => ({ name: `${count(line.count)} × ${term(line.item)}`, shown: dollars(line.usd ?? 0) }));
    return el("div", {}, el("p", {}, `${term(fabric.role)}: ${term(fabric.topology)}, ${count(fabric.endpoints)} ${word("endpoints")}`), table(["", ""], [
      row("bisection", scaled(fabric.bisection_bps_per_direction ?? 0, "b/s"), "bisection.law", [{ name: word("link"), shown: scaled(fabric.link_bps ?? 0, "b/s") }, ...tiers]),
      ...(fabric.usd ? [row("money", dollars(fabric.usd), "fabric.usd.law", bill)] : []),
      ...(fabric.w ? [row("fabric.w", scaled(fabric.w, "W"), "fabric.w.law", fabric.bill.filter((line) => line.w).map((line) => ({ name: `${count(line.count)} × ${term(line.item)}`, shown: scaled(line.w, "W") })))] : []),
    ], [1], `${term(fabric.role)} ${word("fabric")}`),
    charts.fabrics[index] ? chart(charts.fabrics[index], `${term(fabric.role)} ${word("fabric")}`, null, { title: `${term(fabric.role)} ${word("fabric")}`, shown: "", law: word("fabric.law"), inputs: tiers, facts }) : null);
  }));
}
