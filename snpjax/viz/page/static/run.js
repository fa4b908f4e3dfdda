// One computation of the opened model: its configurations, the one that is shown, and the choices
// for the step after it.

import { ask, isRecorded, recording, Refusal } from "./backend.js";
import { texts } from "./texts.js";

// Who chooses in a net: nobody in particular.
export const CHOOSER = -1;

// What the server says of a configuration; the rest is derived.
const FIELDS = ["step", "spikes", "timers", "pending", "flights", "options", "subsets", "taken", "texts", "halted", "fired", "emitted", "outputs", "network", "parents"];

// What a configuration is, with what may happen next.
const CONFIGURATION = ["spikes", "timers", "pending", "flights", "network", "options", "subsets"];

// What a step has done.
const STEP = ["fired", "taken", "emitted"];

const OF_SYSTEM = {
  counted: texts.spikes,
  beginning: texts.spikesInBeginning,
  same: texts.sameSpikes,
  moreToSelect: texts.moreNeuronsToSelect,
  nothingToFold: texts.nothingToFold,
  dragToEnd: texts.dragToEnd,
  edges: texts.synapses,
  edgeOf: () => texts.synapse,
  edgeStates: { sent: texts.legendOfSystem.sent, created: texts.legendOfChanges.new },
};
const OF_NET = {
  counted: texts.tokens,
  beginning: texts.tokensInBeginning,
  same: texts.sameTokens,
  moreToSelect: texts.morePlacesToSelect,
  nothingToFold: texts.nothingToFoldInNet,
  dragToEnd: texts.dragToArcEnd,
  edges: texts.arcs,
  edgeOf: (shape) => texts.arcKinds[shape ?? ""],
  edgeStates: { sent: texts.legendOfNet.sent },
};

export class Run extends EventTarget {
  constructor() {
    super();
    this.clear();
  }

  clear() {
    this.model = null;
    this.computation = null; // its number, which models share that differ in positions only
    this.system = null;
    this.rows = [];
    this.position = 0;
    this.chosen = new Map(); // neuron to rule, for the next step
    this.subsets = new Map(); // chooser to what its subset holds
    this.rest = 0; // a seed, or "first"
    this.until = ""; // the condition at which a run pauses
    this.reached = false; // whether the last answer ended there
    this.kept = []; // the branches; at first those that a file holds
    this.loop = null; // the row that the last one repeats, if they go round for ever
    this.loops = new WeakMap(); // the same by the last row
    this.busy = false;
    this.isStuck = false; // because nobody answered in the beginning
  }

  // A model that was read: its description, before anything of it was run. Of a model with other
  // positions only, the computation stays. Whether another one begins.
  begin(opened) {
    if (this.computation !== null && opened.computation === this.computation) {
      this.model = opened.model;
      this.system = opened.system;
      this.announce("placed");
      return false;
    }
    const { rest, until } = this;
    this.clear();
    this.rest = opened.rest ?? rest;
    this.until = until;
    this.model = opened.model;
    this.computation = opened.computation ?? null;
    this.system = opened.system;
    // Transitions of nets have no tokens; they stand after the places.
    const { neurons } = opened.system;
    const spikes = neurons.map((neuron) => neuron.spikes).filter((count) => count !== undefined);
    this.rows = [blank(spikes)];
    this.announce("opened");
    return true;
  }

  async first() {
    const { model, rows: begun } = this;
    this.isStuck = false;
    const stuck = (error) => {
      this.isStuck = begun === this.rows;
      throw error;
    };
    const { rows, refused, branches, branch, loop, verdict } = isRecorded ? recording() : await ask("first", { model }).catch(stuck);
    if (begun !== this.rows) return null; // another one was opened meanwhile, or the same one again
    for (const { name, from, rows: own } of branches ?? []) {
      const before = rows.slice(0, from + 1);
      this.take(0, [...before, ...own]);
      this.kept.push({ name, rows: [...this.rows] });
    }
    this.take(0, rows, loop ?? null);
    if (branch) this.kept.push({ name: branch, rows: [...this.rows] });
    this.announce("moved");
    return refused ?? summaryOf(verdict); // why a run that was exported ends, or what it shows
  }

  get row() {
    return this.rows[this.position];
  }

  get last() {
    return this.rows.length - 1;
  }

  get isHalted() {
    return this.rows[this.last].halted;
  }

  // Whether the next row is that after the beginning of the loop.
  get repeats() {
    return this.loop !== null && this.position === this.last && !this.hasChoice;
  }

  // Whether there are no more steps because nobody can make them.
  get isCut() {
    return isRecorded && this.position === this.last && !this.row.halted && !this.repeats;
  }

  // Whether something was chosen for the next step.
  get hasChoice() {
    return this.chosen.size > 0 || this.subsets.size > 0;
  }

  // Whether what was chosen is not what the next step that is known has done.
  get leadsElsewhere() {
    const next = this.rows[this.position + 1];
    if (next === undefined || this.subsets.size > 0) return this.hasChoice;
    const size = this.row.spikes.length;
    const isDone = ([chooser, rule]) => (chooser === CHOOSER ? next.done.has(size + rule) : next.done.get(chooser)?.[0] === rule);
    return ![...this.chosen].every(isDone);
  }

  // Steps that one of these computations has after the same ones stay the same rows.
  known(row, computations) {
    const at = this.rows.length;
    const isSame = (other) => areSame(row, other) && STEP.every((name) => JSON.stringify(row[name]) === JSON.stringify(other[name]));
    const after = computations.filter((rows) => rows.length > at && rows[at - 1] === this.rows[at - 1]);
    return [...new Set(after.map((rows) => rows[at]))].find(isSame) ?? row;
  }

  // Rows from a number on; what was there is forgotten.
  take(from, rows, loop = null) {
    this.loop = loop;
    const before = [...this.rows];
    if (from < before.length && !this.row.isBlank) {
      this.dispatchEvent(new CustomEvent("left", { detail: before }));
    }
    const computations = [before, ...this.kept.map((branch) => branch.rows)];
    this.rows.length = from;
    for (const row of rows) {
      row.network ??= this.rows.at(-1)?.network ?? null;
      row.by ??= chosenIn(row); // how it can be made again
      row.timer = new Map(row.timers);
      row.waiting = new Map(row.pending);
      row.due = dueOf(row.flights);
      row.can = new Map(row.options);
      for (const transition of row.can.get(CHOOSER) ?? []) {
        row.can.set(row.spikes.length + transition, [0]);
      }
      row.offers = offersOf(row.subsets ?? []);
      row.done = new Map(row.fired.map(([neuron, ...rest]) => [neuron, rest]));
      row.sent = new Map(row.emitted);
      this.rows.push(this.known(row, computations));
    }
    if (loop !== null) this.loops.set(this.rows.at(-1), loop);
  }

  choose(neuron, rule) {
    if (rule === null) this.chosen.delete(neuron);
    else this.chosen.set(neuron, rule);
    this.subsets.delete(neuron);
    this.announce("chosen");
  }

  // The subset that a chooser takes, with the rule that takes it, if there is one.
  chooseSubset(chooser, rule, subset) {
    if (rule >= 0) this.chosen.set(chooser, rule);
    if (subset === null) this.subsets.delete(chooser);
    else this.subsets.set(chooser, subset);
    this.announce("chosen");
  }

  // Nothing is chosen for the next step.
  leaveOpen() {
    this.chosen.clear();
    this.subsets.clear();
  }

  show(position) {
    const next = Math.max(0, Math.min(position, this.last));
    if (next === this.position) return;
    this.position = next;
    this.leaveOpen();
    this.announce("moved");
  }

  // The next configuration: one that is known, unless a choice leads elsewhere.
  async step(count = 1) {
    if (this.busy || this.model === null) return null;
    if (!this.leadsElsewhere && this.position < this.last) {
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
    if (isRecorded || (this.loop !== null && !this.hasChoice)) return this.show(this.last);
    let refused = null;
    let left = most;
    this.reached = false;
    if (this.hasChoice) {
      refused = await this.extend(this.position, Math.min(left, 1), true);
    }
    while (left > 0 && refused === null && !this.isHalted && !this.busy && !this.reached) {
      const before = this.last;
      refused = await this.extend(this.last, Math.min(left, 500), true);
      if (this.last <= before) break;
      left -= this.last - before;
    }
    this.show(this.last);
    const isCut = left === 0 && refused === null && !this.isHalted && !this.reached;
    return isCut ? texts.stepsMade(most) : refused;
  }

  // Another computation that was made before, whose first steps are those of this one.
  async walk(rows, split) {
    if (isRecorded) {
      this.take(0, []);
      this.rows = [...rows];
      this.loop = this.loops.get(rows.at(-1)) ?? null;
      this.position = Math.min(this.position, this.last);
      return this.announce("moved");
    }
    if (this.busy) throw new Refusal(texts.stepIsMade);
    const steps = rows.slice(split + 1).map((row) => row.by);
    if (steps.includes(undefined)) throw new Refusal(texts.notStepByStep);
    const position = Math.min(this.position, rows.length - 1);
    const answer = await this.asked("replay", { at: split, steps }, split + 1, true);
    if (answer === null) return undefined;
    this.position = position;
    const isSame = rows.every((row, at) => areSame(row, this.rows[at]));
    if (isSame) {
      this.rows = [...rows]; // the same ones as before, not their like
      this.loop = this.loops.get(rows.at(-1)) ?? null;
    }
    this.announce("moved");
    if (!isSame) throw new Refusal(texts.madeAtRandom);
    return undefined;
  }

  async extend(at, count, toEnd) {
    const { rest, until } = this;
    const question = { at, count, chosen: [...this.chosen], subsets: [...this.subsets], rest, until };
    const answer = await this.asked("step", question, at + 1, toEnd);
    this.reached = answer?.reached ?? false;
    return answer?.refused ?? null;
  }

  // The steps in which a condition holds, by number.
  async where(query) {
    const { model, computation, last } = this;
    const { steps } = await ask("where", { model, query, last });
    return computation === this.computation ? steps.filter((step) => step <= this.last) : [];
  }

  // The shortest path to a configuration of the graph; its configurations by number.
  async go(configuration) {
    // The server knows one computation, and answers in the order in which it is asked.
    if (this.busy) throw new Refusal(texts.stepIsMade);
    const answer = await this.asked("go", { configuration }, 0, true);
    return answer?.path ?? null;
  }

  // What is known of a property; its witness becomes the computation that is shown.
  async prove(query) {
    if (this.busy) throw new Refusal(texts.stepIsMade);
    const answer = await this.asked("property", { query }, 0, false);
    if (answer !== null) this.dispatchEvent(new CustomEvent("proved", { detail: answer }));
    return answer;
  }

  // The computation that decides a query, from its beginning; the verdict in one line.
  async witness(query) {
    await this.first();
    return summaryOf(await this.prove(query));
  }

  // The answer to a question for rows from a number on, of which the first or the last is shown; null
  // where another model was opened meanwhile.
  async asked(call, question, from, toEnd) {
    this.busy = true;
    this.announce("busy");
    const { model, rows } = this;
    try {
      const answer = await ask(call, { model, ...question });
      if (rows !== this.rows) return null;
      if (answer.rows === null) return answer;
      this.take(from, answer.rows, answer.loop ?? null);
      if (call === "step") this.mark(from, question);
      this.position = toEnd ? this.last : from;
      this.leaveOpen();
      this.announce("moved");
      return answer;
    } finally {
      if (rows === this.rows) {
        this.busy = false;
        this.announce("busy");
      }
    }
  }

  // All that a file needs to show this computation, its name as a branch if it has one, the other
  // branches, and what else was found.
  recorded(branch, branches, found) {
    const plain = (rows) => rows.map((row) => Object.fromEntries(FIELDS.filter((name) => name in row).map((name) => [name, row[name]])));
    const others = branches.map(({ name, rows }) => {
      const from = splitOf(rows, this.rows);
      return { name, from, rows: plain(rows.slice(from + 1)) };
    });
    return { rows: plain(this.rows), branch, branches: others, ...found, rest: this.rest, loop: this.loop };
  }

  // How rows were made, so that they can be made again.
  mark(from, { chosen, subsets, rest }) {
    for (let at = from; at <= this.last; at += 1) {
      this.rows[at].by = at === from ? { chosen, subsets, rest } : { chosen: [], subsets: [], rest };
    }
  }

  announce(name) {
    this.dispatchEvent(new Event(name));
  }

  // ---- what is shown ----

  get isNet() {
    return this.system?.kind === "net";
  }

  // What is counted.
  get words() {
    return this.isNet ? OF_NET : OF_SYSTEM;
  }

  names(row = this.row) {
    return row.network?.names ?? this.system.neurons.map((neuron) => neuron.name);
  }

  // Whether a neuron is one that the system begins with, and not one that a step created: that one can be
  // edited.
  isInitial(neuron) {
    const own = this.system.neurons[neuron];
    return own !== undefined && this.label(neuron) === own.label;
  }

  isInitialEdge({ source, target, shape }) {
    return this.system.synapses.some(([s, t, , , kind]) => s === source && t === target && kind === shape);
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
    const rules = this.row.texts;
    if (rules === undefined) return this.rules(neuron)[rule] ?? "";
    const [, own] = rules.find(([other]) => other === neuron);
    return own[this.row.can.get(neuron).indexOf(rule)];
  }

  synapses() {
    return this.row.network?.synapses ?? this.system.synapses;
  }
}

// The first line of a verdict.
function summaryOf(verdict) {
  return verdict?.text.split("\n")[0] ?? null;
}

// What is in flight, by neuron, as the trace says it: "1 in 3, 2 in 4".
function dueOf(flights) {
  const due = new Map();
  for (const [neuron, steps, count] of flights) {
    const before = due.has(neuron) ? `${due.get(neuron)}, ` : "";
    due.set(neuron, before + texts.arrives(count, steps));
  }
  return due;
}

// What choosers may take besides rules, by chooser: [rule, change, size, candidates] of each.
function offersOf(subsets) {
  const offers = new Map();
  for (const [chooser, ...offer] of subsets) {
    offers.set(chooser, [...(offers.get(chooser) ?? []), offer]);
  }
  return offers;
}

// The initial configuration before the server said what applies in it.
function blank(spikes) {
  const none = new Map();
  return {
    step: 0,
    spikes,
    options: [],
    taken: [],
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
    offers: none,
    done: none,
    sent: none,
  };
}

// Whether two rows are the same configuration, not only the same spikes.
export function areSame(row, other) {
  if (row === other || other === undefined) return row === other;
  const isSame = (name) => row[name] === other[name] || JSON.stringify(row[name]) === JSON.stringify(other[name]);
  return CONFIGURATION.every(isSame);
}

// The last step that two computations share.
export function splitOf(rows, others) {
  let at = 0;
  while (at + 1 < Math.min(rows.length, others.length) && rows[at + 1] === others[at + 1]) at += 1;
  return at;
}

// All rules that were selected, and the subsets that they took: they make a step again that a graph or
// a proof found.
function chosenIn(row) {
  const size = row.spikes.length;
  const chosen = row.fired.map(([neuron, rule]) => (neuron >= size ? [CHOOSER, neuron - size] : [neuron, rule]));
  return { chosen, subsets: row.taken ?? [], rest: "first" };
}
