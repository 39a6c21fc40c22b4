// The page's frame: which page is shown, the language, the theme, the scenario in the address.
import { get } from "./ask.js";
import { redrawAll } from "./chart.js";
import { el, problems } from "./dom.js";
import { packed, unpacked } from "./link.js";
import { listen, set, state } from "./state.js";
import { speak, word } from "./words.js";

const PAGES = ["plan", "compare", "diagnose", "serving", "handbook", "catalog"];
const LANGUAGES = ["en", "zh"];
const main = document.getElementById("main");
let leave = () => {};

/** What the address asks for: a page, and what stands behind it. */
function asked() {
  const [, page, ...rest] = location.hash.split("/");
  let behind = rest.join("/");
  try { behind = decodeURIComponent(behind); } catch { /* no such encoding: as it stands */ }
  return { page: PAGES.includes(page) ? page : "plan", rest: behind };
}

async function show() {
  const { page, rest } = asked();
  if (page === "plan" && rest) {
    const text = await unpacked(rest);
    if (text !== null) set(text);
    state.damaged = text === null;
  }
  leave();
  leave = () => {};
  document.title = `Argosy: ${word(`page.${page}`)}`;
  document.getElementById("pages").replaceChildren(...PAGES.map((each) =>
    el("a", { href: `#/${each}`, "aria-current": each === page ? "page" : null }, word(`page.${each}`))));
  document.getElementById("about").textContent = word("about", state.about ?? {});
  try {
    const { show: shown } = await import(`/static/${page}.js`);
    leave = (await shown(main, rest)) ?? (() => {});
  } catch (failure) {
    main.replaceChildren(problems(failure));
  }
}

function themed(choice) {
  document.documentElement.dataset.theme = choice;
  localStorage.setItem("theme", choice);
  redrawAll();
}

async function begin() {
  const theme = document.getElementById("theme"), language = document.getElementById("language");
  theme.value = localStorage.getItem("theme") ?? "auto";
  themed(theme.value);
  const wanted = localStorage.getItem("language") ?? navigator.language.slice(0, 2);
  language.value = LANGUAGES.includes(wanted) ? wanted : "en";
  await speak(language.value);
  theme.addEventListener("change", () => themed(theme.value));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redrawAll);
  language.addEventListener("change", async () => {
    localStorage.setItem("language", language.value);
    await speak(language.value);
    await show();
  });
  [state.starts, state.choices] = await Promise.all([get("/starts"), get("/choices")]);
  state.text = Object.values(state.starts)[0] ?? "";
  listen(async (text) => { if (asked().page === "plan") history.replaceState(null, "", `#/plan/${await packed(text)}`); });
  addEventListener("hashchange", async () => { await show(); main.focus({ preventScroll: true }); scrollTo(0, 0); });
  await show();
}

begin().catch((failure) => main.replaceChildren(problems(failure)));
