// Charts: the report's own Vega-Lite specifications, drawn here without evaluating text as script.
import { el } from "./dom.js";
import { why } from "./why.js";
import { inTerms, word } from "./words.js";

let loaded = null;
const vega = () => (loaded ??= import("/vega.js"));
const drawn = new Set();

// Greys of the charts that would not be seen on a dark ground, by the theme's own.
const GREYS = { "#eef2f5": "--raised", "#555": "--soft", "#555555": "--soft", "#c9ccd1": "--bar", black: "--ink", "#111": "--ink" };

function recoloured(value, style) {
  if (typeof value === "string") return GREYS[value] ? style.getPropertyValue(GREYS[value]).trim() : value;
  if (Array.isArray(value)) return value.map((each) => recoloured(each, style));
  if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, recoloured(each, style)]));
  return value;
}

function themed(given) {
  const style = getComputedStyle(document.documentElement);
  const specification = recoloured(given, style);
  const ink = style.getPropertyValue("--ink").trim();
  const line = style.getPropertyValue("--line").trim();
  const config = specification.config ?? {};
  return {
    ...specification,
    config: {
      ...config,
      axis: { ...config.axis, labelColor: ink, titleColor: ink, gridColor: line, domainColor: line, tickColor: line },
      legend: { ...config.legend, labelColor: ink, titleColor: ink },
      title: { ...config.title, color: ink },
      text: { ...config.text, color: ink },
    },
  };
}

/**
 * A figure of a specification; `clicked(datum)` hears clicks on marks; `reason`: where its numbers come from, as `why` takes it.
 * Pictures can be kept as SVG or PNG.
 */
export function chart(specification, caption, clicked = null, reason = null) {
  const place = el("div", { class: "drawing", role: "img", "aria-label": caption });
  const keep = el("p", { class: "keep" });
  const figure = el("figure", { tabindex: "0", "aria-label": caption }, place, keep);
  const draw = async () => {
    const { vegaEmbed } = await vega();
    const { view } = await vegaEmbed(place, themed(inTerms(specification)), {
      ast: true, renderer: "svg", actions: false, defaultStyle: false,
      tooltip: (handler, event, item, value) => tooltip(event, value),
    });
    place.querySelector("svg")?.setAttribute("aria-hidden", "true");
    if (clicked) view.addEventListener("click", (event, item) => item?.datum && clicked(item.datum));
    keep.replaceChildren(...(reason ? [why(word("why.these"), reason)] : []), ...["svg", "png"].map((kind) => el("button", { type: "button", class: "link", click: () => save(view, kind) },
      word("keep.picture", { kind: kind.toUpperCase() }))));
  };
  figure.redraw = () => draw().catch((failure) => place.replaceChildren(String(failure)));
  drawn.add(new WeakRef(figure));
  figure.redraw();
  return figure;
}

/** Draw all charts of the page again: the theme or the language changed. */
export function redrawAll() {
  for (const each of drawn) {
    const figure = each.deref();
    if (figure?.isConnected) figure.redraw();
    else drawn.delete(each);
  }
}

async function save(view, kind) {
  const address = await view.toImageURL(kind, 2);
  el("a", { href: address, download: `argosy.${kind}` }).click();
}

const bubble = el("div", { class: "bubble", role: "tooltip", hidden: true });
document.body.append(bubble);

function tooltip(event, value) {
  const entries = value && typeof value === "object" ? Object.entries(value) : value ? [["", String(value)]] : [];
  bubble.hidden = !entries.length;
  if (bubble.hidden) return;
  bubble.replaceChildren(...entries.map(([name, text]) => el("p", {}, name ? el("b", {}, `${name}: `) : null, String(text))));
  const width = document.documentElement.clientWidth;
  bubble.style.left = `${Math.max(4, Math.min(event.pageX + 12, width - bubble.offsetWidth - 8))}px`;
  bubble.style.top = `${event.pageY + 12}px`;
}
