// Finding neurons by their names, and steps by a condition.

import { isRecorded, Refusal } from "./backend.js";
import { find } from "./dom.js";
import { texts } from "./texts.js";

export class Search {
  constructor(run, network) {
    this.run = run;
    this.network = network;
    this.at = -1;
    find("find").addEventListener("submit", (event) => {
      event.preventDefault();
      this.next();
    });
    find("search").addEventListener("input", () => this.mark());
    find("search").addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      find("search").value = "";
      this.mark();
      find("search").blur();
    });
    network.addEventListener("drawn", () => this.mark());
  }

  get text() {
    return find("search").value.trim();
  }

  // Whether it is a condition, not a part of a name.
  get isCondition() {
    return /[<>=]|^halted$/.test(this.text) && !isRecorded;
  }

  // Neurons whose names match, while it is written.
  mark() {
    const { network, text } = this;
    this.at = -1;
    const wanted = text.toLowerCase();
    const isWanted = (node) => wanted !== "" && !this.isCondition && node.label.toLowerCase().includes(wanted);
    for (const node of network.neurons ?? []) {
      node.isFound = isWanted(node);
      node.group?.classList.toggle("found", node.isFound);
    }
    for (const node of network.boxes ?? []) {
      node.isFound = node.fold.members.some((neuron) => network.neurons[neuron].isFound);
      node.group?.classList.toggle("found", node.isFound);
    }
    this.found = (network.neurons ?? []).filter((node) => node.isFound);
    // Exact names come first.
    this.found.sort((a, b) => (b.label === text) - (a.label === text));
    find("found").textContent = wanted === "" || this.isCondition ? "" : texts.found(this.found.length);
    network.diagram.overview.request();
  }

  async next() {
    if (this.text === "") return;
    if (this.isCondition) return void (await this.nextStep());
    if (this.found.length === 0) return;
    this.at = (this.at + 1) % this.found.length;
    const node = this.found[this.at];
    find("found").textContent = texts.foundAt(this.at + 1, this.found.length);
    this.network.diagram.bring(this.network.nodeOf(node.neuron));
    this.network.choose([node.neuron]);
  }

  // The next step among those that were made in which the condition holds.
  async nextStep() {
    const { run, text } = this;
    try {
      const steps = await run.where(text);
      const later = steps.find((step) => step > run.position) ?? steps[0];
      if (later === undefined) {
        find("found").textContent = texts.foundNever(run.rows.length);
        return;
      }
      run.show(later);
      find("found").textContent = texts.foundInStep(later, steps.indexOf(later) + 1, steps.length);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      find("found").textContent = error.message.split("\n")[0];
    }
  }
}
