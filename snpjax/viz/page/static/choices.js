// Guided mode: which rule each neuron with a choice selects in the next step.

import { isRecorded } from "./backend.js";
import { element, fill, find, hint, typeset } from "./dom.js";
import { CHOOSER } from "./run.js";
import { NO_RULE, Subsets } from "./subsets.js";
import { texts } from "./texts.js";

const MOST_NEURONS = 12;

export class Choices {
  constructor(run) {
    this.run = run;
    this.place = find("choices");
    this.selected = new Set();
    this.seen = null; // neurons on the screen, where there are many
    this.subsets = new Subsets(run);
    find("choice-filter").addEventListener("input", () => this.show());
    for (const name of ["opened", "moved"]) {
      run.addEventListener(name, () => {
        this.subsets.forget();
        this.show();
      });
    }
    run.addEventListener("chosen", () => this.mark());
    const seed = find("seed");
    const set = () => {
      const value = Number(seed.value);
      const isSeed = Number.isInteger(value) && value >= 0 && value < 2 ** 32 && seed.value !== "";
      seed.setCustomValidity(isSeed ? "" : texts.seedRange);
      if (!isSeed) return void seed.reportValidity();
      run.rest = find("rest-first").checked ? "first" : value;
      this.show(); // what happens to open choices
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
    if (text !== "") return several.filter(([chooser]) => this.nameOf(chooser, names).toLowerCase().includes(text));
    const { seen, selected } = this;
    return several.filter(([neuron]) => selected.has(neuron) || seen === null || seen.has(neuron) || neuron >= names.length);
  }

  show() {
    const { run } = this;
    const { row } = run;
    if (run.system === null) return fill(this.place);
    if (row.isBlank) return fill(this.place, hint(texts.preparing));
    if (row.halted) return fill(this.place, hint(run.isNet ? texts.netHasHalted : texts.hasHalted));
    const names = run.names();
    const end = run.isCut ? hint(texts.recordingEnds) : null;
    const several = choosers(row);
    const next = run.rows[run.position + 1];
    if (several.length === 0) {
      const firing = row.options.length;
      const text = firing === 0 ? texts.noneFires : texts.noChoice(firing);
      return fill(this.place, end, hint(run.isNet ? this.onlyOne(row) : text));
    }
    // What is selected comes first.
    const wanted = this.wanted(several, names);
    wanted.sort(([a], [b]) => this.selected.has(b) - this.selected.has(a) || a - b);
    const groups = wanted
      .slice(0, MOST_NEURONS)
      .map(([chooser, rules]) => this.group(chooser, rules, this.nameOf(chooser, names), next));
    const more = several.length - groups.length;
    return fill(
      this.place,
      end,
      ...groups,
      more > 0 ? hint(texts.moreChoices(more)) : null,
    );
  }

  // What was chosen elsewhere, by a click on a rule.
  mark() {
    for (const input of this.place.querySelectorAll("input[data-neuron]")) {
      const rule = input.value === "null" ? null : Number(input.value);
      input.checked = this.isChosen(Number(input.dataset.neuron), rule);
    }
    this.subsets.mark(this.place);
  }

  // `null` leaves the rule open, and the subset where there is no rule.
  isChosen(chooser, rule) {
    return rule === (this.run.chosen.get(chooser) ?? null) && !(rule === null && this.subsets.has(chooser, NO_RULE));
  }

  // Astrocytes are numbered after the neurons.
  nameOf(chooser, names) {
    if (chooser === CHOOSER) return texts.transition;
    return names[chooser] ?? texts.astrocyte(chooser - names.length + 1);
  }

  onlyOne(row) {
    const [[, [transition]]] = row.options;
    return texts.onlyMayFire(this.run.text(CHOOSER, transition));
  }

  group(neuron, rules, name, next) {
    const { run } = this;
    const offers = run.row.offers.get(neuron) ?? [];
    let taken = next?.done.get(neuron)?.[0];
    if (run.isNet && next) taken = [...next.done.keys()][0] - run.row.spikes.length;
    const option = (rule, text, isTaken) => {
      const input = element("input", {
        type: "radio",
        name: `choice-${neuron}`,
        value: String(rule),
        "data-neuron": neuron,
        checked: this.isChosen(neuron, rule),
        disabled: isRecorded,
        change: () => {
          this.subsets.forget(neuron);
          run.choose(neuron, rule);
        },
      });
      const label = element("span", { class: rule === null ? "free" : "rule-text" }, text);
      const mark = isTaken ? element("span", { class: "taken" }, texts.taken) : null;
      return element("label", { class: "option" }, input, label, mark);
    };
    return element(
      "fieldset",
      { class: "choice" },
      element("legend", {}, name),
      this.condition(neuron),
      isRecorded ? null : option(null, typeof run.rest === "number" ? texts.draw : texts.first, false),
      ...rules.flatMap((rule) => [
        option(rule, typeset(run.text(neuron, rule)), rule === taken),
        ...offers.filter(([own]) => own === rule).map((offer) => this.subset(neuron, offer, next, taken)),
      ]),
      ...offers.filter(([own]) => own === NO_RULE).map((offer) => this.subset(neuron, offer, next, NO_RULE)),
    );
  }

  // When an astrocyte decides.
  condition(chooser) {
    const { run } = this;
    const astrocyte = run.system.astrocytes[chooser - run.names().length];
    if (astrocyte === undefined) return null;
    const synapses = astrocyte.synapses.map((ends) => ends.join(" → ")).join(", ");
    return hint(texts.decidesAt(astrocyte.threshold, synapses));
  }

  subset(chooser, offer, next, ruleTaken) {
    const { run } = this;
    const names = run.names();
    const [rule, change, , candidates] = offer;
    if (change === "") {
      const isTaken = next?.taken.some(([own, number]) => own === chooser && number === 1);
      return this.subsets.group(chooser, offer, [texts.passes, texts.suppresses], new Set(isTaken ? [1] : []));
    }
    const taken = rule === ruleTaken ? changedTargets(chooser, run.row, next) : new Set();
    const titles = candidates.map((target) => names[target]);
    return this.subsets.group(chooser, offer, titles, taken);
  }
}

// Neurons with several applicable rules or subsets, and astrocytes that may decide.
function choosers(row) {
  const ofRules = row.options.filter(([neuron, rules]) => rules.length > 1 || row.offers.has(neuron));
  const firing = new Set(row.options.map(([neuron]) => neuron));
  const others = [...row.offers.keys()].filter((chooser) => !firing.has(chooser));
  return [...ofRules, ...others.map((chooser) => [chooser, []])];
}

// The neurons to which a neuron created or deleted its synapses in a step.
function changedTargets(neuron, before, after) {
  const [old, now] = [before, after].map((row) => {
    const own = row?.network?.synapses.filter(([source]) => source === neuron) ?? [];
    return new Set(own.map(([, target]) => target));
  });
  if (after === undefined) return new Set();
  return new Set([...[...old].filter((target) => !now.has(target)), ...[...now].filter((target) => !old.has(target))]);
}
