// Guided mode: which rule each neuron with a choice selects in the next step.

import { isRecorded } from "./backend.js";
import { element, fill, find, hint, typeset } from "./dom.js";
import { CHOOSER } from "./run.js";
import { texts } from "./texts.js";

const MOST_NEURONS = 12;

export class Choices {
  constructor(run) {
    this.run = run;
    this.place = find("choices");
    this.selected = new Set();
    this.seen = null; // neurons on the screen, where there are many
    find("choice-filter").addEventListener("input", () => this.show());
    run.addEventListener("opened", () => this.show());
    run.addEventListener("moved", () => this.show());
    run.addEventListener("chosen", () => this.mark());
    const seed = find("seed");
    const set = () => {
      const value = Number(seed.value);
      const isSeed = Number.isInteger(value) && value >= 0 && value < 2 ** 32 && seed.value !== "";
      seed.setCustomValidity(isSeed ? "" : texts.seedRange);
      if (isSeed) run.rest = find("rest-first").checked ? "first" : value;
      else seed.reportValidity();
    };
    seed.addEventListener("focus", () => (find("rest-seed").checked = true));
    for (const id of ["seed", "rest-seed", "rest-first"]) find(id).addEventListener("change", set);
    if (isRecorded) find("panel-choices").querySelector(".rest").hidden = true;
  }

  select(neurons) {
    this.selected = neurons;
    this.show();
  }

  see(neurons) {
    this.seen = neurons;
    clearTimeout(this.later);
    this.later = setTimeout(() => this.show(), 200);
  }

  // Of many neurons with a choice: those that are on the screen or selected, and whose names match.
  wanted(several, names) {
    const filter = find("choice-filter");
    filter.hidden = several.length <= MOST_NEURONS;
    if (filter.hidden) return several;
    const text = filter.value.trim().toLowerCase();
    if (text !== "") return several.filter(([neuron]) => names[neuron]?.toLowerCase().includes(text));
    const { seen, selected } = this;
    return several.filter(([neuron]) => selected.has(neuron) || seen === null || seen.has(neuron));
  }

  show() {
    const { run } = this;
    const { row } = run;
    if (run.system === null) return fill(this.place);
    if (row.isBlank) return fill(this.place, hint(texts.preparing));
    if (row.halted) return fill(this.place, hint(texts.hasHalted));
    const names = run.names();
    const several = row.options.filter(([, rules]) => rules.length > 1);
    const next = run.rows[run.position + 1];
    if (several.length === 0) {
      const firing = row.options.length;
      const text = firing === 0 ? texts.noneFires : texts.noChoice(firing);
      return fill(this.place, hint(run.isNet ? this.onlyOne(row) : text));
    }
    // What is selected comes first.
    const wanted = this.wanted(several, names);
    wanted.sort(([a], [b]) => this.selected.has(b) - this.selected.has(a) || a - b);
    const groups = wanted
      .slice(0, MOST_NEURONS)
      .map(([neuron, rules]) => this.group(neuron, rules, names[neuron], next));
    const more = several.length - groups.length;
    return fill(
      this.place,
      ...groups,
      more > 0 ? hint(texts.moreChoices(more)) : null,
    );
  }

  // What was chosen elsewhere, by a click on a rule.
  mark() {
    for (const input of this.place.querySelectorAll("input[data-neuron]")) {
      const chosen = this.run.chosen.get(Number(input.dataset.neuron)) ?? null;
      input.checked = String(chosen) === input.value;
    }
  }

  onlyOne(row) {
    const [[, [transition]]] = row.options;
    return texts.onlyMayFire(this.run.text(CHOOSER, transition));
  }

  group(neuron, rules, name, next) {
    const { run } = this;
    let taken = next?.done.get(neuron)?.[0];
    if (run.isNet && next) taken = [...next.done.keys()][0] - run.row.spikes.length;
    const option = (rule, text, isTaken) => {
      const input = element("input", {
        type: "radio",
        name: `choice-${neuron}`,
        value: String(rule),
        "data-neuron": neuron,
        checked: rule === (run.chosen.get(neuron) ?? null),
        disabled: isRecorded,
        change: () => run.choose(neuron, rule),
      });
      const label = element("span", { class: rule === null ? "free" : "rule-text" }, text);
      const mark = isTaken ? element("span", { class: "taken" }, texts.taken) : null;
      return element("label", { class: "option" }, input, label, mark);
    };
    return element(
      "fieldset",
      { class: "choice" },
      element("legend", {}, name ?? texts.transition),
      isRecorded ? null : option(null, typeof run.rest === "number" ? texts.draw : texts.first, false),
      ...rules.map((rule) => option(rule, typeset(run.text(neuron, rule)), rule === taken)),
    );
  }
}
