// Asking the server. A failure has `problems`, as the server tells them.
import { word } from "./words.js";

export class Failure extends Error {
  constructor(problems) {
    super(problems.map((each) => each.message).join("\n"));
    this.problems = problems;
  }
}

const status = () => document.getElementById("status");
let waiting = 0;

async function asked(path, options) {
  waiting += 1;
  status().textContent = word("computing");
  try {
    const response = await fetch(`/api${path}`, options);
    const kind = response.headers.get("content-type") ?? "";
    const body = kind.includes("json") ? await response.json() : await response.blob();
    if (!response.ok) throw new Failure(body.problems ?? [{ message: `${response.status} ${response.statusText}` }]);
    return body;
  } catch (failure) {
    if (failure instanceof Failure || failure.name === "AbortError") throw failure;
    throw new Failure([{ message: word("unreachable") }]);
  } finally {
    waiting -= 1;
    if (!waiting) status().textContent = "";
  }
}

export const get = (path) => asked(path);
export const post = (path, body, signal) =>
  asked(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body), signal });
export const send = (path, form) => asked(path, { method: "POST", body: form });
export const remove = (path) => asked(path, { method: "DELETE" });
