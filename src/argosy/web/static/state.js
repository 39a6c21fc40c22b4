// What the pages share: the scenario's text, and who wants to hear of its change.

export const state = { text: "", starts: {}, choices: {}, damaged: false }; // damaged: the permalink that was opened
const listeners = new Set();

/** Call `heard(text)` whenever the text changes; returns how to stop. */
export function listen(heard) {
  listeners.add(heard);
  return () => listeners.delete(heard);
}

/** Put another text in place; the address follows with a permalink. */
export function set(text) {
  if (text === state.text) return;
  state.text = text;
  for (const heard of listeners) heard(text);
}
