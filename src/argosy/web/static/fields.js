// The form's fields: where each stands in a scenario, how its value is read, and what its slider writes.

export const GROUPS = ["fleet", "training", "life", "site"];
const GB = 1e9;
export const rounded = (value, digits = 3) => Number(value.toPrecision(digits));
export const perHour = (value) => (value === null ? null : value * 3600); // the file speaks in hours, the schema in seconds
const perKilowattHour = (value) => (value === null ? null : value * 3.6e6);
export const seconds = (value) => (value < 120 ? `${rounded(value)} s` : value < 7200 ? `${rounded(value / 60)} min` : `${rounded(value / 3600)} h`);

/**
 * All fields for a scenario's canonical `inputs`: {key, group, path, value, shown, choices | slider}.
 * A slider has low, high, log, step, and `written(number)`: what goes into the file.
 */
export function fields(inputs, choices) {
  const job = inputs.training?.[0];
  const found = [
    { key: "accelerator", group: "fleet", path: "fleet.accelerator", value: inputs.fleet.accelerator.name,
      choices: choices.accelerators, also: { "fleet.node": null } },
    { key: "count", group: "fleet", path: "fleet.count", value: inputs.fleet.count,
      slider: { low: 8, high: 131072, log: true, written: (value) => 8 * Math.round(2 ** (Math.round(Math.log2(value) * 2) / 2) / 8) } },
    { key: "spares", group: "fleet", path: "fleet.spares.nodes", value: inputs.fleet.spares.nodes,
      slider: { low: 0, high: 128, written: (value) => Math.round(value) } },
    { key: "storage", group: "fleet", path: "fleet.storage.bandwidth", value: inputs.fleet.storage.bandwidth,
      shown: (value) => `${rounded(value / GB)} GB/s`,
      slider: { low: 10 * GB, high: 10_000 * GB, log: true, written: (value) => `${rounded(value / GB, 2)} GB/s` } },
  ];
  if (job) {
    const at = `training.${job.name || "0"}`;
    const stage = job.stages[0];
    found.push(
      { key: "model", group: "training", path: `${at}.model`, value: job.model.name, choices: choices.models },
      { key: "tokens", group: "training", path: `${at}.stages.0.tokens`, value: stage.tokens, shown: (value) => value.toExponential(2),
        slider: { low: 1e10, high: 1e14, log: true, written: (value) => rounded(value, 2) } },
      { key: "sequence", group: "training", path: `${at}.stages.0.sequence_length`, value: stage.sequence_length,
        choices: [2048, 4096, 8192, 16384, 32768, 65536, 131072] },
      { key: "batch", group: "training", path: `${at}.stages.0.global_batch`, value: stage.global_batch, shown: (value) => `${value} sequences`,
        slider: { low: 16, high: 16384, log: true, written: (value) => `${2 ** Math.round(Math.log2(value))} sequences` } },
      { key: "compute", group: "training", path: `${at}.precision.compute`, value: job.precision.compute, choices: choices.compute },
      { key: "recompute", group: "training", path: `${at}.layout.recompute`, value: job.layout.recompute, choices: ["", "none", "selective", "full"] });
  }
  found.push(
    { key: "policy", group: "life", path: "reliability.policy", value: inputs.reliability.policy, choices: choices.policies },
    { key: "detection", group: "life", path: "reliability.detection", value: inputs.reliability.detection, shown: seconds,
      slider: { low: 1, high: 3600, log: true, written: (value) => seconds(rounded(value, 2)) } },
    { key: "restart", group: "life", path: "reliability.restart", value: inputs.reliability.restart.total, shown: seconds,
      slider: { low: 10, high: 7200, log: true, written: (value) => seconds(rounded(value, 2)) } },
    { key: "checkpoint", group: "life", path: "reliability.checkpoint.mode", value: inputs.reliability.checkpoint.mode, choices: choices.checkpoint },
    { key: "site", group: "site", path: "facility.site", value: inputs.facility.site?.name ?? "", choices: choices.sites },
    { key: "cooling", group: "site", path: "facility.cooling", value: inputs.facility.cooling, choices: choices.cooling },
    { key: "rent", group: "site", path: "prices.accelerator_hour", value: perHour(inputs.prices.accelerator_hour), shown: (value) => `${rounded(value)} USD/h`,
      slider: { low: 0.2, high: 20, log: true, written: (value) => `${rounded(value, 2)} USD/h` } },
    { key: "electricity", group: "site", path: "prices.electricity", value: perKilowattHour(inputs.prices.electricity), shown: (value) => `${rounded(value)} USD/kWh`,
      slider: { low: 0.01, high: 0.5, log: true, written: (value) => `${rounded(value, 2)} USD/kWh` } });
  return found;
}

/** Where a value stands on a slider of 0 to 1000. */
export function place({ low, high, log }, value) {
  const bounded = Math.min(Math.max(value, low), high);
  return Math.round(1000 * (log ? Math.log(bounded / low) / Math.log(high / low) : (bounded - low) / (high - low)));
}

/** The value at a place of a slider. */
export function valueAt({ low, high, log }, where) {
  const share = where / 1000;
  return log ? low * (high / low) ** share : low + (high - low) * share;
}
