// The form on the left: every field with its unit, a slider where a number can slide, and the YAML text itself.
import { post } from "./ask.js";
import { el, problems } from "./dom.js";
import { place, valueAt } from "./fields.js";
import { state } from "./state.js";
import { term, word } from "./words.js";

/**
 * The form for the scenario that `held` stores; it writes its changes there. `listed(inputs, choices)` says what can be
 * set, in `groups`; `starts`: texts to start from by name; `more`: what stands below the fields.
 */
export function form({ held, groups, listed, starts, more = null }) {
  const told = el("div", {});
  // A field that is being typed into, or slid, is not replaced under the hand: the form follows when it is left.
  let typing = null, postponed = false;
  const box = el("div", { class: "fields", input: (event) => { typing = event.target; }, change: () => { typing = null; },
    focusout: () => { typing = null; if (postponed) show(); } });
  const area = el("textarea", { id: "yaml", rows: "18", spellcheck: "false", "aria-label": word("yaml"), input: () => soon() });
  const closed = new Set(matchMedia("(max-width: 820px)").matches ? groups : []); // on a phone the answer is near
  let timer = 0, last = Promise.resolve();
  const taken = () => { clearTimeout(timer); if (timer) { timer = 0; held.set(area.value); } };
  const soon = () => { clearTimeout(timer); timer = setTimeout(taken, 700); };
  const choice = el("select", { id: "start", change: (event) => event.target.value && held.set(starts[event.target.value]) },
    el("option", { value: "" }, word("start.choose")), Object.keys(starts).map((name) => el("option", { value: name }, name)));

  async function show() {
    if (area.value !== held.text) area.value = held.text;
    const { text } = held;
    try {
      const { inputs } = await post("/check", { text });
      if (text !== held.text) return;
      told.replaceChildren();
      if (box.contains(typing)) postponed = true;
      else rebuild(listed(inputs, state.choices));
    } catch (failure) {
      if (text === held.text) told.replaceChildren(problems(failure));
    }
  }

  function rebuild(found) {
    postponed = false;
    const focused = document.activeElement?.id;
    box.replaceChildren(...groups.filter((group) => found.some((each) => each.group === group)).map((group) => el("details", { class: "group", open: !closed.has(group), toggle: (event) => (event.target.open ? closed.delete(group) : closed.add(group)) }, el("summary", {}, word(`group.${group}`)),
      found.filter((each) => each.group === group).map((each) => one(each, change)))));
    if (focused && focused !== "yaml") document.getElementById(focused)?.focus();
  }

  /** Change a field of the text as it is when its turn comes: no change, and nothing typed into the text, is lost to another. */
  function change(field, value) {
    const changes = { [field.path]: field.written ? field.written(value) : value === "" ? null : value, ...(field.also ?? {}) };
    last = last.then(() => changed(changes));
  }

  async function changed(changes) {
    try {
      let from, text;
      do {
        taken();
        from = held.text;
        ({ text } = await post("/change", { text: from, changes }));
        taken();
      } while (from !== held.text);
      held.set(text);
    } catch (failure) {
      told.replaceChildren(problems(failure));
    }
  }

  const node = el("form", { class: "form", submit: (event) => event.preventDefault() },
    el("p", {}, el("label", { for: "start" }, word("start")), choice), box, told, more,
    el("details", { class: "text" }, el("summary", {}, word("yaml")), area));
  return { node, show };
}

/** One field: its label, what can be typed or chosen, and its slider. */
function one(field, change) {
  const id = `field-${field.key}`;
  const name = field.of ? word(`field.${field.key}`, { of: field.of }) : word(`field.${field.key}`);
  const label = el("label", { for: id }, name);
  if (field.choices) {
    const options = field.choices.includes(field.value ?? "") || field.value === null ? field.choices : [field.value, ...field.choices];
    const select = el("select", { id, change: (event) => change(field, typed(event.target.value)) },
      options.map((each) => el("option", { value: each, selected: each === (field.value ?? "") }, each === "" ? word(field.empty ?? "auto") : term(String(each)))));
    return el("p", { class: "field" }, label, select);
  }
  const shown = field.value === null || field.value === undefined ? "" : field.shown ? field.shown(field.value) : String(field.value);
  const input = el("input", { id, value: shown, placeholder: word(field.empty ?? "auto"), autocomplete: "off", change: (event) => change(field, typed(event.target.value.trim())) });
  if (!field.slider) return el("p", { class: "field" }, label, input);
  const slider = el("input", {
    type: "range", min: "0", max: "1000", "aria-label": name, "aria-valuetext": shown || word(field.empty ?? "auto"), tabindex: "0", id: `${id}-slider`,
    value: String(field.value === null || field.value === undefined ? 500 : place(field.slider, field.value)),
    input: (event) => { input.value = field.slider.written(valueAt(field.slider, Number(event.target.value))); event.target.setAttribute("aria-valuetext", input.value); },
    change: (event) => change(field, typed(String(field.slider.written(valueAt(field.slider, Number(event.target.value)))))),
  });
  return el("p", { class: "field" }, label, input, slider);
}

/** A number where the text is one: the file then has a number, not text. */
const typed = (text) => (text !== "" && !Number.isNaN(Number(text)) ? Number(text) : text);
