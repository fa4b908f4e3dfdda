// The computations that were made: a tree whose branches can be walked, named and compared.

import { Refusal } from "./backend.js";
import { element, fill, find, hint } from "./dom.js";
import { areSame, splitOf } from "./run.js";
import { differencesOf, happenedIn } from "./steps.js";
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
    this.isLate = false; // whether they changed while they were hidden
    new ResizeObserver(() => this.isLate && this.show()).observe(this.place);
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

  // Where there are others, the computation that is shown has a name, too.
  nameOwn() {
    if (this.others.length > 0) this.leave([...this.run.rows]);
  }

  show() {
    this.isLate = this.place.clientWidth === 0;
    if (this.isLate) return undefined;
    const { run, others } = this;
    if (run.system === null) return fill(this.place);
    if (others.length === 0) {
      return fill(this.place, hint(texts.oneComputation));
    }
    this.nameOwn();
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
    const facts = isLonger ? [] : [this.otherStep(branch, split + 1), this.difference(branch)];
    const lines = facts.filter(Boolean).map((text) => element("p", { class: "facts" }, text));
    return element("li", {}, name, element("span", { class: "facts" }, about), walk, ...lines);
  }

  // What the first step that differs did in the branch, and what it did in the one that is shown.
  otherStep(branch, step) {
    const { run } = this;
    if (step >= branch.rows.length || step >= run.rows.length) return "";
    const [there, here] = [branch.rows, run.rows].map((rows) => happenedIn(run, rows, step));
    const only = (own, others) => cut(own.filter((one) => !others.includes(one)));
    const [theirs, ours] = [only(there, here), only(here, there)];
    return theirs === "" && ours === "" ? "" : texts.didInsteadOf(step, theirs, ours);
  }

  // How the branch differs from what is shown, in the step that is shown.
  difference(branch) {
    const { run } = this;
    const other = branch.rows[run.position];
    if (other === undefined) return texts.hasNoStep(run.position);
    const same = run.words.same(run.position);
    if (areSame(run.row, other)) return same;
    const { spikes, rest } = differencesOf(run, run.row, other);
    if (spikes.length > 0) return texts.differsInStep(run.position, cut([...spikes, ...rest]));
    return texts.otherConfiguration(same, cut(rest) || texts.otherNext);
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

// The first ones of a list.
function cut(list) {
  const more = list.length - MOST_DIFFERENCES;
  const first = list.slice(0, MOST_DIFFERENCES).join(", ");
  return more > 0 ? `${first} ${texts.andMore(more)}` : first;
}
