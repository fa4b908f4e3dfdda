// Properties and numbers: what is known of all computations, and the one that shows it.

import { ask, isFramed, Refusal } from "./backend.js";
import { element, fill, find } from "./dom.js";
import { texts } from "./texts.js";

export class Properties {
  constructor(run) {
    this.run = run;
    this.place = find("verdict");
    this.found = null; // the last verdict, or numbers
    this.search = null; // the one that runs: { model }
    run.addEventListener("proved", ({ detail: { status, text, rows } }) => {
      this.answer({ status, text }, rows === null ? "" : texts.witnessShown);
    });
    find("prove").addEventListener("submit", (event) => {
      event.preventDefault();
      this.check();
    });
    find("numbers").addEventListener("click", () => this.numbers());
    run.addEventListener("opened", () => {
      this.abandon();
      this.found = null;
      this.say(null);
      for (const part of document.querySelectorAll(".numbers")) part.hidden = run.isNet;
    });
  }

  async check() {
    const query = find("property").value.trim();
    if (this.run.model === null) return this.say("refused", texts.unreadable);
    if (query === "") return undefined;
    return this.attempt(() => this.run.prove(query));
  }

  async numbers() {
    const { model, computation } = this.run;
    if (model === null) return this.say("refused", texts.unreadable);
    const most = Math.max(Number(find("most-number").value) || 1, 1);
    return this.attempt(async () => {
      const { numbers, complete } = await ask("numbers", { model, most });
      if (computation !== this.run.computation) return;
      const found = numbers.join(", ");
      const text = complete >= most ? texts.numbers(most, found) : texts.someNumbers(most, found, complete);
      this.answer({ status: "numbers", text });
    });
  }

  async attempt(action) {
    if (this.search !== null) return; // one answer replaces no other that is awaited
    const search = { model: this.run.model };
    this.begin(search);
    this.say("working", texts.working);
    // Python answers a notebook only when it has ended what it does.
    if (!isFramed) this.place.append(element("button", { type: "button", click: () => this.cancel() }, texts.cancel));
    try {
      await action();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      if (search === this.search) this.say("refused", error.message);
    } finally {
      if (search === this.search) this.begin(null);
    }
  }

  begin(search) {
    this.search = search;
    for (const button of [find("numbers"), find("prove").querySelector("button.primary")]) button.disabled = search !== null;
  }

  // The answer is then what was found until now.
  cancel() {
    ask("cancel", { model: this.search.model }).catch((error) => {
      if (!(error instanceof Refusal)) throw error;
    });
  }

  // Another model is shown, whose steps do not wait for the search.
  abandon() {
    if (this.search === null) return;
    if (!isFramed) this.cancel();
    this.begin(null);
  }

  // What was found, here or before it was recorded.
  answer(found, more = "") {
    this.found = found;
    this.say(found.status, found.text, more);
  }

  say(status, text = "", more = "") {
    this.place.hidden = status === null;
    this.place.dataset.status = status ?? "";
    fill(this.place, element("pre", {}, text), more === "" ? null : element("p", {}, more));
  }
}
