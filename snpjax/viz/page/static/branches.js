// The computations that were made: a tree whose branches can be walked, named and compared.

import { Refusal } from "./backend.js";
import { element, fill, find, hint } from "./dom.js";
import { areSame, splitOf } from "./run.js";
import { texts } from "./texts.js";

const MOST_BRANCHES = 200;
const MOST_DIFFERENCES = 8;

export class Branches {
  constructor(run, say) {
    this.run = run;
    this.say = say;
    this.place = find("history-branches");
    this.branches = [];
    run.addEventListener("opened", () => {
      this.branches = run.kept;
      this.show();
    });
    run.addEventListener("left", ({ detail }) => this.leave(detail));
    run.addEventListener("moved", () => this.show());
  }

  // A computation, which another one may replace from some step on, is a branch.
  leave(rows) {
    if (rows.length < 2 || this.branches.some((branch) => branch.rows.includes(rows.at(-1)))) return;
    const part = this.branches.find((branch) => rows.includes(branch.rows.at(-1)));
    if (part !== undefined) return void (part.rows = rows); // which goes on
    this.branches.push({ name: texts.branchNumber(this.branches.length + 1), rows });
    if (this.branches.length > MOST_BRANCHES) this.branches.shift();
  }

  // What goes on in the computation that is shown is a part of it.
  get others() {
    return this.branches.filter((branch) => this.run.rows.indexOf(branch.rows.at(-1)) < 0);
  }

  // The branch that is shown; none where that is only the beginning of others.
  get own() {
    return this.branches.find((branch) => this.run.rows.includes(branch.rows.at(-1)));
  }

  show() {
    const { run, others } = this;
    if (run.system === null) return fill(this.place);
    if (others.length === 0) {
      return fill(this.place, hint(texts.oneComputation));
    }
    this.leave([...run.rows]); // it has a name, too
    const name = this.own === undefined ? null : this.nameField(this.own);
    const own = element("li", { class: "own" }, name, element("strong", {}, texts.shownBranch), ` ${texts.steps(run.last)}`);
    fill(this.place, element("ul", { class: "branches" }, own, ...others.map((branch) => this.item(branch))));
    return undefined;
  }

  nameField(branch) {
    const name = element("input", {
      value: branch.name,
      "aria-label": texts.branchName,
      maxlength: 60,
      change: () => (branch.name = name.value.trim() || branch.name),
    });
    return name;
  }

  item(branch) {
    const { run } = this;
    const split = splitOf(branch.rows, run.rows);
    const name = this.nameField(branch);
    const [steps, isLonger] = [branch.rows.length - 1, split === run.last];
    const about = isLonger ? texts.branchGoesOn(steps - split) : texts.branchAbout(steps, split + 1);
    const walk = element("button", { click: () => this.walk(branch) }, texts.show);
    const difference = isLonger ? null : element("p", { class: "facts" }, this.difference(branch));
    return element("li", {}, name, element("span", { class: "facts" }, about), walk, difference);
  }

  // How the branch differs from what is shown, in the step that is shown.
  difference(branch) {
    const { run } = this;
    const other = branch.rows[run.position];
    if (other === undefined) return texts.hasNoStep(run.position);
    const names = run.names();
    const differs = run.row.spikes.flatMap((count, neuron) =>
      other.spikes[neuron] === count ? [] : [texts.insteadOf(names[neuron], other.spikes[neuron], count)],
    );
    if (differs.length === 0) {
      const same = run.words.same(run.position);
      return areSame(run.row, other) ? same : texts.otherConfiguration(same);
    }
    const more = differs.length - MOST_DIFFERENCES;
    const list = differs.slice(0, MOST_DIFFERENCES).join(", ");
    return texts.differsInStep(run.position, more > 0 ? `${list} ${texts.andMore(more)}` : list);
  }

  async walk(branch) {
    try {
      await this.run.walk(branch.rows, splitOf(branch.rows, this.run.rows));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.say(error.message);
    }
  }
}
