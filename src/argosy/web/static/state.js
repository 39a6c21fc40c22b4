// What the pages share: a scenario's text, and who wants to hear of its change.

/** A text that pages hold in common. */
export function store(text = "") {
  const listeners = new Set();
  return {
    text,
    /** Call `heard(text)` whenever the text changes; returns how to stop. */
    listen(heard) {
      listeners.add(heard);
      return () => listeners.delete(heard);
    },
    /** Put another text in place. */
    set(next) {
      if (next === this.text) return;
      this.text = next;
      for (const heard of listeners) heard(next);
    },
  };
}

/** The Plan page's scenario, whose permalink is the address; `damaged`: the permalink that was opened. */
export const state = Object.assign(store(), { starts: {}, choices: {}, damaged: false });
/** The Serving page's. */
export const service = store();

export const listen = (heard) => state.listen(heard);
export const set = (text) => state.set(text);
