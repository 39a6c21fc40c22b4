// The Plan page: a form, and the answer that follows it: at once at the layout that is there, then by a new search.
import { post } from "./ask.js";
import { answer } from "./answer.js";
import { chart } from "./chart.js";
import { el, later, problems } from "./dom.js";
import { GROUPS, fields } from "./fields.js";
import { form } from "./form.js";
import { percent, duration } from "./format.js";
import { packed } from "./link.js";
import { facility, life } from "./opened.js";
import { listen, set, state } from "./state.js";
import { term, word } from "./words.js";

const SETTLED = 600; // ms without a change, before the search is asked again
let last = null; // the last whole answer, for its layouts

/** Show the page in `root`; returns what ends it. */
export async function show(root) {
  const inputs = form({ held: state, groups: GROUPS, listed: fields, starts: state.starts });
  const told = el("div", { id: "told", role: "status" });
  const result = el("div", { id: "answer" });
  const more = el("div", { id: "more" });
  root.replaceChildren(el("div", { class: "split" }, inputs.node, el("div", {}, copies(), told, result, more)));
  const ended = { value: false };
  let timer = 0, busy = false, wanted = null, searching = false;

  async function quick() { // one at a time, and only the latest
    if (!last || busy) return;
    busy = true;
    const text = wanted;
    wanted = null;
    try {
      const found = await post("/what-if", { text, layouts: last.layouts });
      if (!ended.value && text === state.text && !last.texts.has(text)) {
        result.replaceChildren(...answer(found, true));
        told.replaceChildren(word("held"));
      }
    } catch (failure) {
      if (text === state.text) told.replaceChildren(word("held.not"), problems(failure));
    }
    busy = false;
    if (wanted !== null) quick();
  }

  async function whole() { // one at a time too: the other worker is for the quick answers
    if (searching) return;
    searching = true;
    const text = state.text;
    try {
      const found = await post("/plan", { text });
      if (ended.value || text !== state.text) return;
      const before = last?.layouts;
      last = { layouts: Object.fromEntries(found.plan.training.map((job) => [job.name, job.stages.map((stage) => stage.layout)])), texts: new Set([text]) };
      result.replaceChildren(...answer(found));
      told.replaceChildren(...(state.damaged ? [problems({ message: word("link.damaged") })] : []), before && changed(before, last.layouts) ? word("searched.changed", { layouts: changed(before, last.layouts) }) : word("searched"));
      extras(more, text, found.plan);
    } catch (failure) {
      if (text === state.text && !ended.value) told.replaceChildren(problems(failure));
    } finally {
      searching = false;
      if (text !== state.text && !ended.value) { clearTimeout(timer); timer = setTimeout(whole, SETTLED); }
    }
  }

  const heard = () => {
    state.damaged = false;
    inputs.show();
    wanted = state.text;
    quick();
    clearTimeout(timer);
    timer = setTimeout(whole, SETTLED);
  };
  const stop = listen(heard);
  await inputs.show();
  if (state.damaged) told.replaceChildren(problems({ message: word("link.damaged") }));
  whole();
  return () => { ended.value = true; clearTimeout(timer); stop(); };
}

/** Which jobs' layouts differ, as text; empty where none does. */
function changed(before, now) {
  const shape = (layouts) => layouts?.map(({ tp, pp, cp, dp, micro_batch }) => `${tp} tp × ${cp} cp × ${pp} pp × ${dp} dp, micro-batch ${micro_batch}`).join("; ");
  return Object.keys(now).filter((job) => shape(before[job]) !== shape(now[job])).map((job) => `${shape(before[job]) ?? "–"} → ${shape(now[job])}`).join("; ");
}

/** What takes longer, asked for when it is opened. */
function extras(place, text, plan) {
  place.replaceChildren(...(plan.training.length ? [
    later(word("explorer"), () => explorer(text, plan)),
    later(word("timeline"), async () => {
      const found = await post("/timeline", { text, job: plan.training[0].name });
      return el("div", {}, el("p", {}, term(found.caption)), chart(found.chart, word("timeline"), null, { title: word("timeline"), shown: "", law: word("timeline.law"), inputs: stepOf(plan.training[0]) }));
    }),
    later(word("life"), async () => life(await post("/life", { text, replications: 500 }), plan)),
    later(word("facility"), async () => facility(await post("/facility", { text }), plan)),
  ] : []));
}

async function explorer(text, plan) {
  const { map, chart: picture } = await post("/layouts", { text, job: plan.training[0].name });
  const inspected = el("div", { id: "inspected", role: "status" }, word("explorer.click"));
  const inspect = ({ tp, pp }) => {
    const cell = map.cells.find((each) => each.tp === tp && each.pp === pp);
    if (!cell) return;
    const { layout } = cell;
    inspected.replaceChildren(el("h3", {}, `tp ${tp} × pp ${pp}`), layout
      ? el("p", {}, `MFU ${percent(cell.mfu)}, ${word("step")} ${duration(cell.step_time_s)}, ${word("fit", { fit: cell.fit, of: cell.candidates })}. `,
        el("button", { type: "button", click: () => hold(plan, layout) }, word("explorer.hold")))
      : el("p", {}, `${word("explorer.out")}: ${term(cell.reason)}${cell.peak_bytes ? ` (${(cell.peak_bytes / 2 ** 30).toFixed(1)} GiB / ${(map.capacity_bytes / 2 ** 30).toFixed(1)} GiB)` : ""}`));
  };
  const choice = el("select", { "aria-label": word("explorer.cell"), change: (event) => inspect(map.cells[Number(event.target.value)]) },
    map.cells.map((cell, index) => el("option", { value: String(index) }, `tp ${cell.tp} × pp ${cell.pp}: ${cell.mfu ? percent(cell.mfu) : "–"}`)));
  return el("div", {}, chart(picture, word("explorer"), inspect, { title: word("explorer"), shown: "", law: word("explorer.law"), inputs: [{ name: word("memory"), shown: `${(map.capacity_bytes / 2 ** 30).toFixed(1)} GiB` }] }), el("p", {}, choice), inspected);
}

/** What a step is made of, for its reason. */
const stepOf = (job) => Object.entries(job.breakdown_s).map(([name, value]) => ({ name: word(`part.${name}`), shown: duration(value ?? 0) }));

/** Put a layout into the scenario. */
async function hold(plan, layout) {
  const kept = ["tp", "pp", "vp", "cp", "ep", "etp", "micro_batch", "zero", "recompute"];
  const job = plan.training[0].name;
  const { text } = await post("/change", { text: state.text, changes: { [`training.${job || "0"}.layout`]: Object.fromEntries(kept.map((key) => [key, layout[key]])) } });
  set(text);
}

/** Buttons that carry the scenario elsewhere. */
function copies() {
  const told = el("span", { role: "status" });
  const copy = (key, make) => el("button", { type: "button", click: async () => {
    const text = await make();
    try { await navigator.clipboard.writeText(text); told.textContent = word("copied"); } catch { told.replaceChildren(el("input", { readonly: true, value: text, "aria-label": word(key) })); }
  } }, word(key));
  const keep = (form) => el("button", { type: "button", click: async () => {
    const blob = await post("/report", { text: state.text, form });
    const address = URL.createObjectURL(blob);
    el("a", { href: address, download: `plan.${form}` }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
  } }, word(`keep.${form}`));
  return el("p", { class: "copies" },
    copy("copy.link", async () => `${location.origin}/#/plan/${await packed(state.text)}`),
    copy("copy.yaml", () => state.text),
    copy("copy.python", () => `import argosy\n\nscenario = argosy.loads("""\n${state.text.replaceAll("\\", "\\\\").replaceAll('"""', '\\"\\"\\"')}""")\nargosy.plan(scenario)\n`),
    copy("copy.command", () => `cat > scenario.yaml <<'EOF'\n${state.text}EOF\nargosy plan scenario.yaml --html plan.html\n`),
    keep("html"), keep("md"), told);
}
