// What a chooser takes besides its rule: neurons to which plasticity creates or deletes synapses, and
// the decision of an astrocyte.

import { isRecorded } from "./backend.js";
import { element } from "./dom.js";
import { texts } from "./texts.js";

// The rule of an astrocyte, or of the second turn of a rule.
export const NO_RULE = -1;

export class Subsets {
  constructor(run) {
    this.run = run;
    this.ticks = new Map(); // candidates by chooser and rule
    this.sizes = new Map(); // how many are taken
  }

  forget(chooser = null) {
    for (const key of [...this.ticks.keys()]) {
      if (chooser === null || key.startsWith(`${chooser} `)) this.ticks.delete(key);
    }
  }

  has(chooser, rule) {
    return (this.ticks.get(`${chooser} ${rule}`)?.size ?? 0) > 0;
  }

  // The candidates of one rule, of which that many are ticked; what a known step took is marked.
  group(chooser, [rule, change, size, candidates], titles, taken) {
    const key = `${chooser} ${rule}`;
    const isOne = size === 1;
    this.sizes.set(key, size);
    const options = candidates.map((candidate, index) => {
      const input = element("input", {
        type: isOne ? "radio" : "checkbox",
        name: `subset-${key}`,
        "data-subset": key,
        "data-candidate": candidate,
        checked: this.ticks.get(key)?.has(candidate) ?? false,
        disabled: isRecorded,
        change: () => this.tick(chooser, rule, candidate, size),
      });
      const mark = taken.has(candidate) ? element("span", { class: "taken" }, texts.taken) : null;
      return element("label", { class: "option" }, input, element("span", {}, titles[index]), mark);
    });
    const about = { "+": texts.creates, "-": texts.deletes }[change]?.(size) ?? null;
    const attributes = { class: "subset", role: isOne ? "radiogroup" : "group", "aria-label": about ?? texts.decides };
    return element("div", attributes, about === null ? null : element("p", {}, about), ...options, this.left(key));
  }

  // What happens to a subset that is ticked in part only.
  left(key) {
    return element("p", { class: "left", role: "status", "data-left": key }, this.leftText(key));
  }

  leftText(key) {
    const ticked = this.ticks.get(key)?.size ?? 0;
    const missing = ticked === 0 ? 0 : this.sizes.get(key) - ticked;
    if (missing === 0) return "";
    return typeof this.run.rest === "number" ? texts.tickOrDraw(missing) : texts.tickOrFirst(missing);
  }

  // Of more than fit the first one is given up, so that every candidate can be ticked.
  tick(chooser, rule, candidate, size) {
    const { run } = this;
    const key = `${chooser} ${rule}`;
    const ticked = this.ticks.get(key) ?? new Set();
    if (!ticked.delete(candidate) || size === 1) ticked.add(candidate);
    while (ticked.size > size) ticked.delete([...ticked][0]);
    this.ticks.set(key, ticked);
    run.chooseSubset(chooser, rule, ticked.size === size ? [...ticked] : null);
  }

  // A rule that was chosen elsewhere has other subsets.
  mark(place) {
    for (const key of [...this.ticks.keys()]) {
      const [chooser, rule] = key.split(" ").map(Number);
      if (rule !== NO_RULE && this.run.chosen.get(chooser) !== rule) this.ticks.delete(key);
    }
    for (const input of place.querySelectorAll("input[data-subset]")) {
      const { subset, candidate } = input.dataset;
      input.checked = this.ticks.get(subset)?.has(Number(candidate)) ?? false;
    }
    for (const hint of place.querySelectorAll("[data-left]")) hint.textContent = this.leftText(hint.dataset.left);
  }
}
