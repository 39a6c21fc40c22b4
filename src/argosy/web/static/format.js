// Numbers as people read them: a few digits, a prefix, the unit always beside.
import { language } from "./words.js";

const PREFIXES = [[1e18, "E"], [1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];

/** A few digits: those of a measured number always, so that columns compare; a small count as it is; powers of ten beyond. */
export function plain(value, digits = 3) {
  const size = Math.abs(value);
  if (value !== 0 && (size < 1e-4 || size >= 1e9)) return value.toExponential(digits - 1);
  const least = Number.isInteger(value) && size < 10 ** digits ? 1 : digits;
  return value.toLocaleString(language() === "zh" ? "zh-CN" : "en", { minimumSignificantDigits: least, maximumSignificantDigits: digits });
}

export const count = (value) => Math.round(value).toLocaleString("en");
export const percent = (value) => `${(100 * value).toFixed(1).replace(/^-0\.0$/, "0.0")} %`;
export const gibibytes = (value) => `${(value / 2 ** 30).toFixed(1)} GiB`;

export function scaled(value, unit, digits = 3) {
  for (const [factor, prefix] of PREFIXES) if (Math.abs(value) >= factor) return `${plain(value / factor, digits)} ${prefix}${unit}`;
  return `${plain(value, digits)} ${unit}`.trim();
}

/** A fact's value: large ones of physical units with a prefix, others as they are. */
export function measured(value, unit) {
  if (typeof value !== "number") return `${Array.isArray(value) ? value.join(", ") : value ?? "–"} ${unit}`.trim();
  if (/^(FLOP|byte|bit|W)/.test(unit) && Math.abs(value) >= 1e4) return scaled(value, unit, Math.abs(value) >= 1e18 ? 3 : 4);
  return `${value.toLocaleString("en", { maximumSignificantDigits: 8 })} ${unit}`.trim();
}

export function dollars(value) {
  for (const [factor, suffix] of [[1e9, " B"], [1e6, " M"], [1e3, " k"]])
    if (Math.abs(value) >= factor) return `$${plain(value / factor)}${suffix}`;
  return `$${value.toFixed(2)}`;
}

export function duration(seconds) {
  if (Math.abs(seconds) < 1e-12) return "0 s";
  for (const [limit, factor, unit] of [[1e-3, 1e-6, "µs"], [1, 1e-3, "ms"], [120, 1, "s"], [7200, 60, "min"], [172800, 3600, "h"]])
    if (seconds < limit) return `${plain(seconds / factor)} ${unit}`;
  return `${plain(seconds / 86400)} d`;
}

const WRITERS = {
  days: (value) => plain(value), fraction: percent, usd: dollars, s: duration,
  gpu_hours: (value) => scaled(value, ""), w: (value) => scaled(value, "W"), kg: (value) => `${plain(value / 1e3)} t`,
  usd_per_million_tokens: (value) => `$${plain(value)}`, usd_per_gpu_hour: (value) => `$${plain(value)}`,
};

/** A number by the unit's key of the contract. */
export function quantity(value, unit) {
  if (value === null || value === undefined) return "–";
  return (WRITERS[unit] ?? ((each) => `${plain(each)} ${unit}`))(value);
}
