// Guided mode: which rule each neuron with a choice selects in the next step.

import { isRecorded } from "./backend.js";
import { element, fill, find, hint, plural, typeset } from "./dom.js";
import { CHOOSER } from "./run.js";

const MOST_NEURONS = 12;

export class Choices {
  constructor(run) {
    this.run = run;
    this.place = find("choices");
    this.selected = null;
    run.addEventListener("opened", () => this.show());
    run.addEventListener("moved", () => this.show());
    const seed = find("seed");
    const set = () => {
      const value = Number(seed.value);
      const isSeed = Number.isInteger(value) && value >= 0 && value < 2 ** 32 && seed.value !== "";
      seed.setCustomValidity(isSeed ? "" : "Write a number from 0 to 4294967295.");
      if (isSeed) run.rest = find("rest-first").checked ? "first" : value;
      else seed.reportValidity();
    };
    seed.addEventListener("focus", () => (find("rest-seed").checked = true));
    for (const id of ["seed", "rest-seed", "rest-first"]) find(id).addEventListener("change", set);
    if (isRecorded) find("panel-choices").querySelector(".rest").hidden = true;
  }

  select(neuron) {
    this.selected = neuron;
    this.show();
  }

  show() {
    const { run } = this;
    const { row } = run;
    if (run.system === null) return fill(this.place);
    if (row.isBlank) return fill(this.place, hint("Preparing the first step…"));
    if (row.halted) return fill(this.place, hint("It has halted: nothing can happen."));
    const names = run.names();
    const several = row.options.filter(([, rules]) => rules.length > 1);
    const next = run.rows[run.position + 1];
    if (several.length === 0) {
      const firing = row.options.length;
      const fires = `No neuron has a choice; ${plural(firing, "neuron")} will fire.`;
      const text = firing === 0 ? "No neuron fires; time goes on." : fires;
      return fill(this.place, hint(run.isNet ? this.onlyOne(row) : text));
    }
    // Of many the selected neuron comes first.
    several.sort(([a], [b]) => (b === this.selected) - (a === this.selected) || a - b);
    const groups = several
      .slice(0, MOST_NEURONS)
      .map(([neuron, rules]) => this.group(neuron, rules, names[neuron], next));
    const more = several.length - groups.length;
    return fill(
      this.place,
      ...groups,
      more > 0 ? hint(`and ${plural(more, "neuron")} more with a choice`) : null,
    );
  }

  onlyOne(row) {
    const [[, [transition]]] = row.options;
    return `Only ${this.run.text(CHOOSER, transition)} may fire.`;
  }

  group(neuron, rules, name, next) {
    const { run } = this;
    let taken = next?.done.get(neuron)?.[0];
    if (run.isNet && next) taken = [...next.done.keys()][0] - run.row.spikes.length;
    const option = (rule, text, isTaken) => {
      const input = element("input", {
        type: "radio",
        name: `choice-${neuron}`,
        checked: rule === (run.chosen.get(neuron) ?? null),
        disabled: isRecorded,
        change: () => run.choose(neuron, rule),
      });
      const label = element("span", { class: rule === null ? "free" : "rule-text" }, text);
      const mark = isTaken ? element("span", { class: "taken" }, "taken") : null;
      return element("label", { class: "option" }, input, label, mark);
    };
    return element(
      "fieldset",
      { class: "choice" },
      element("legend", {}, name ?? "transition"),
      isRecorded ? null : option(null, typeof run.rest === "number" ? "draw" : "first", false),
      ...rules.map((rule) => option(rule, typeset(run.text(neuron, rule)), rule === taken)),
    );
  }
}
