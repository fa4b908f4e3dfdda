// One computation of the opened model: its configurations, the one that is shown, and the choices
// for the step after it.

import { ask, isRecorded, recording, Refusal } from "./backend.js";

// Who chooses in a net: nobody in particular.
export const CHOOSER = -1;

export class Run extends EventTarget {
  constructor() {
    super();
    this.clear();
  }

  clear() {
    this.model = null;
    this.system = null;
    this.rows = [];
    this.position = 0;
    this.loop = null; // the row that the last one repeats, if they go round for ever
    this.chosen = new Map(); // neuron to rule, for the next step
    this.rest = 0; // a seed, or "first"
    this.busy = false;
  }

  // A model that was read: its description, before anything of it was run.
  begin(opened) {
    const { rest } = this;
    this.clear();
    this.rest = opened.rest ?? rest;
    this.model = opened.model;
    this.system = opened.system;
    // Transitions of nets have no tokens; they stand after the places.
    const { neurons } = opened.system;
    const spikes = neurons.map((neuron) => neuron.spikes).filter((count) => count !== undefined);
    this.rows = [blank(spikes)];
    this.announce("opened");
  }

  async first() {
    const { model } = this;
    const { rows, refused } = isRecorded ? recording() : await ask("first", { model });
    if (model !== this.model) return null; // another one was opened meanwhile
    this.take(0, rows);
    this.announce("moved");
    return refused ?? null; // why a run that was exported ends
  }

  get row() {
    return this.rows[this.position];
  }

  get last() {
    return this.rows.length - 1;
  }

  // Whether the next row is that after the beginning of the loop.
  get repeats() {
    return this.loop !== null && this.position === this.last && this.chosen.size === 0;
  }

  get isHalted() {
    return this.rows[this.last].halted;
  }

  // Rows from a number on; what was there is forgotten.
  take(from, rows, loop = null) {
    this.rows.length = from;
    this.loop = loop;
    for (const row of rows) {
      row.network ??= this.rows.at(-1)?.network ?? null;
      row.timer = new Map(row.timers);
      row.waiting = new Map(row.pending);
      row.due = dueOf(row.flights);
      row.can = new Map(row.options);
      for (const transition of row.can.get(CHOOSER) ?? []) {
        row.can.set(row.spikes.length + transition, [0]);
      }
      row.done = new Map(row.fired.map(([neuron, ...rest]) => [neuron, rest]));
      row.sent = new Map(row.emitted);
      this.rows.push(row);
    }
  }

  choose(neuron, rule) {
    if (rule === null) this.chosen.delete(neuron);
    else this.chosen.set(neuron, rule);
    this.announce("chosen");
  }

  show(position) {
    const next = Math.max(0, Math.min(position, this.last));
    if (next === this.position) return;
    this.position = next;
    this.chosen.clear();
    this.announce("moved");
  }

  // The next configuration: one that is known, unless a choice leads elsewhere.
  async step(count = 1) {
    if (this.busy || this.model === null) return null;
    if (this.chosen.size === 0 && this.position < this.last) {
      this.show(this.position + 1);
      return null;
    }
    if (this.repeats) return this.show(this.loop + 1);
    if (this.row.halted || isRecorded) return null;
    return this.extend(this.position, count, count > 1);
  }

  // As far as it goes, up to that many steps.
  async finish(most) {
    if (this.busy || this.model === null) return null;
    if (isRecorded || (this.loop !== null && this.chosen.size === 0)) return this.show(this.last);
    let refused = null;
    let left = most;
    if (this.chosen.size > 0) {
      refused = await this.extend(this.position, Math.min(left, 1), true);
    }
    while (left > 0 && refused === null && !this.isHalted && !this.busy) {
      const before = this.last;
      refused = await this.extend(this.last, Math.min(left, 500), true);
      if (this.last <= before) break;
      left -= this.last - before;
    }
    this.show(this.last);
    return refused;
  }

  async extend(at, count, toEnd) {
    const question = { at, count, chosen: [...this.chosen], rest: this.rest };
    const answer = await this.asked("step", question, at + 1, toEnd);
    return answer?.refused ?? null;
  }

  // The shortest path to a configuration of the graph; its configurations by number.
  async go(configuration) {
    // The server knows one computation, and answers in the order in which it is asked.
    if (this.busy) throw new Refusal("A step is being made. Wait for it.");
    const answer = await this.asked("go", { configuration }, 0, true);
    return answer?.path ?? null;
  }

  // The computation that decides a query, from its beginning, and the verdict.
  async witness(query) {
    await this.first();
    const answer = await this.asked("query", { query }, 0, false);
    return answer?.verdict ?? null;
  }

  // The answer to a question for rows from a number on, of which the first or the last is shown; null
  // where another model was opened meanwhile.
  async asked(call, question, from, toEnd) {
    this.busy = true;
    this.announce("busy");
    const { model } = this;
    try {
      const answer = await ask(call, { model, ...question });
      if (model !== this.model) return null;
      this.take(from, answer.rows, answer.loop ?? null);
      this.position = toEnd ? this.last : from;
      this.chosen.clear();
      this.announce("moved");
      return answer;
    } finally {
      this.busy = false;
      this.announce("busy");
    }
  }

  announce(name) {
    this.dispatchEvent(new Event(name));
  }

  // ---- what is shown ----

  get isNet() {
    return this.system?.kind === "net";
  }

  // What is counted, and where.
  get words() {
    return this.isNet ? { count: "token", node: "place" } : { count: "spike", node: "neuron" };
  }

  names() {
    return this.row.network?.names ?? this.system.neurons.map((neuron) => neuron.name);
  }

  label(neuron) {
    const { network } = this.row;
    // Where none divides, a network has names for labels.
    const isInitial = network === null || !this.system.grows;
    return isInitial ? this.system.neurons[neuron].label : network.labels[neuron];
  }

  rules(neuron) {
    return this.system.rules[this.label(neuron)] ?? [];
  }

  // A rule that a neuron may select now.
  text(neuron, rule) {
    const { texts } = this.row;
    if (texts === undefined) return this.rules(neuron)[rule] ?? "";
    const [, own] = texts.find(([other]) => other === neuron);
    return own[this.row.can.get(neuron).indexOf(rule)];
  }

  synapses() {
    return this.row.network?.synapses ?? this.system.synapses;
  }
}

// What is in flight, by neuron, as the trace says it: "1 in 3, 2 in 4".
function dueOf(flights) {
  const due = new Map();
  for (const [neuron, steps, count] of flights) {
    const before = due.has(neuron) ? `${due.get(neuron)}, ` : "";
    due.set(neuron, `${before}${count} in ${steps}`);
  }
  return due;
}

// The initial configuration before the server said what applies in it.
function blank(spikes) {
  const none = new Map();
  return {
    step: 0,
    spikes,
    options: [],
    fired: [],
    emitted: [],
    outputs: null,
    halted: false,
    isBlank: true,
    network: null,
    timer: none,
    waiting: none,
    due: none,
    can: none,
    done: none,
    sent: none,
  };
}
