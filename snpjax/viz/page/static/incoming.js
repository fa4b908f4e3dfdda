// A system that Python or another view of the notebook shows: at once, or when somebody decided
// between it and what was typed here and not read yet.

import { find } from "./dom.js";

export class Incoming {
  // `isTyped()` says whether there is something to lose; `show(answer)` and `keep(answer)` do what
  // was decided.
  constructor({ isTyped, show, keep }) {
    Object.assign(this, { isTyped, show, keep });
    this.revision = 0; // of the latest system that arrived
    this.answer = null; // what waits for a decision
    find("incoming-show").addEventListener("click", () => this.decide(show));
    find("incoming-keep").addEventListener("click", () => this.decide(keep));
  }

  get waits() {
    return this.answer !== null;
  }

  arrive(answer, revision) {
    if (revision <= this.revision) return; // it was sent twice
    this.revision = revision;
    if (!this.isTyped()) return void this.show(answer);
    this.answer = answer;
    find("incoming").hidden = false;
  }

  decide(action) {
    const { answer } = this;
    if (answer === null) return;
    this.answer = null;
    find("incoming").hidden = true;
    action(answer);
  }
}
