// What the output neurons sent to the environment, step by step.

import { element, fill, find, hint, short } from "./dom.js";
import { texts } from "./texts.js";

const MOST_STEPS = 120;
const MOST_OUTPUTS = 12;

export class Trains {
  constructor(run) {
    this.run = run;
    this.place = find("trains");
    run.addEventListener("opened", () => this.show());
    run.addEventListener("moved", () => this.show());
  }

  show() {
    const { run } = this;
    if (run.system === null) return fill(this.place);
    find("panel-trains").hidden = run.isNet;
    const { output } = run.system;
    if (output.length === 0) return fill(this.place, hint(texts.noOutput));
    const shown = output.slice(0, MOST_OUTPUTS).map((name, index) => this.train(name, index));
    const more = output.length - shown.length;
    return fill(this.place, ...shown, more > 0 ? hint(texts.moreOutputs(more)) : null);
  }

  train(name, index) {
    const { run } = this;
    const made = run.rows.slice(1, run.position + 1);
    const times = made.filter((row) => row.outputs[index] !== 0).map((row) => row.step);
    const from = Math.max(0, made.length - MOST_STEPS);
    const cells = made.slice(from).map((row) => this.cell(row, row.outputs[index]));
    const number = times.length >= 2 ? texts.numberIs(times[1] - times[0]) : null;
    const facts = [texts.emissions(times.length), number].filter(Boolean).join(" · ");
    const strip = element("div", { class: "strip-of-train" }, ...cells);
    requestAnimationFrame(() => (strip.scrollLeft = strip.scrollWidth));
    return element(
      "div",
      { class: "train" },
      element("p", {}, element("strong", {}, name), element("span", { class: "facts" }, facts)),
      cells.length > 0 ? strip : hint(texts.nothingYet),
    );
  }

  cell(row, count) {
    const attributes = {
      class: count === 0 ? "tick" : "tick on",
      title: texts.sentInStep(row.step, count),
      click: () => this.run.show(row.step),
    };
    return element("span", attributes, short(count));
  }
}
