// Neurons that are drawn as one box. This is a view: the model stays as it is.

import { drawn, short, shortened } from "./dom.js";
import { texts } from "./texts.js";

const WIDTH = 150;
const LETTER = 6.6; // pixels
const HEIGHT = 62;
const MOST_LETTERS = 18;
const MOST_SHOWN = "9999999"; // spikes; more are rounded

export class Folds {
  constructor() {
    this.list = []; // {id, name, names, members, spot}
    this.next = 0;
    this.of = new Map(); // the fold of each neuron in one
  }

  clear() {
    this.list = [];
    this.index();
  }

  // Fold neurons, which leave the boxes that they were in.
  add(members, names) {
    this.remove(members);
    const own = members.map((neuron) => names[neuron]);
    this.next += 1;
    const name = stemOf(own) ?? texts.box(this.next);
    this.list.push({ id: `fold ${this.next}`, name, names: own, members, spot: null });
    this.index();
  }

  // Unfold the boxes of these neurons.
  remove(neurons) {
    const gone = new Set(neurons.map((neuron) => this.of.get(neuron)));
    this.list = this.list.filter((fold) => !gone.has(fold));
    this.index();
  }

  // After an edit neurons are found by their names.
  renumber(names) {
    const numbers = new Map(names.map((name, neuron) => [name, neuron]));
    for (const fold of this.list) {
      fold.names = fold.names.filter((name) => numbers.has(name));
      fold.members = fold.names.map((name) => numbers.get(name));
    }
    this.list = this.list.filter((fold) => fold.members.length > 1);
    this.index();
  }

  index() {
    this.of = new Map(this.list.flatMap((fold) => fold.members.map((neuron) => [neuron, fold])));
  }

  // What is drawn for a neuron: itself, or its box.
  shown(neuron) {
    return this.of.get(neuron)?.id ?? neuron;
  }

  find(id) {
    return this.list.find((fold) => fold.id === id);
  }

  // Arrows between what is drawn. Several from or to a box become one with their number; one alone stays
  // what it is. `counted(n)` counts them in words, `nameOf(id)` names what is drawn.
  merged(edges, counted, nameOf) {
    if (this.list.length === 0) return edges;
    const found = [];
    const ofBoxes = new Map();
    for (const edge of edges) {
      const [source, target] = [this.shown(edge.source), this.shown(edge.target)];
      if (source === edge.source && target === edge.target) {
        found.push(edge);
      } else if (source !== target) {
        const { shape, isTarget, states } = edge;
        const key = `${source} ${target} ${shape ?? ""}`;
        const one = ofBoxes.get(key) ?? { source, target, shape, isTarget, states, merged: [] };
        one.merged.push(edge);
        ofBoxes.set(key, one);
      }
    }
    for (const edge of ofBoxes.values()) {
      const { source, target, merged } = edge;
      const [first] = merged;
      edge.label = merged.length > 1 ? counted(merged.length) : first.label;
      edge.title = merged.length > 1 ? texts.edges(counted(merged.length), nameOf(source), nameOf(target)) : first.title;
      found.push(edge);
    }
    return found;
  }
}

// The neurons that are folded together with one: those of its population, or of its label.
export function population(neuron, run) {
  const names = run.names();
  const own = withoutIndex(names[neuron]);
  const label = run.label(neuron);
  const isAlike = (name, other) => withoutIndex(name) === own || run.label(other) === label;
  return names.flatMap((name, other) => (isAlike(name, other) ? [other] : []));
}

// The population of a name such as p[3].
const withoutIndex = (name) => name.replace(/(\[\d+\]|\{\d+(,\d+)*\})$/, "");

// What names have in common but for their numbers.
function stemOf(names) {
  const stems = new Set(names.map((name) => withoutIndex(name).replace(/[_ ]?\d+$/, "")));
  const [only] = stems;
  return stems.size === 1 && only !== "" ? only : null;
}

// The box, and what it shows in a configuration.
export function foldNode(fold) {
  const title = shortened(fold.name, MOST_LETTERS);
  const width = Math.max(WIDTH, LETTER * texts.ofBox(fold.members.length, MOST_SHOWN).length + 24);
  const node = {
    id: fold.id,
    fold,
    label: fold.name,
    title,
    isTarget: true,
    kind: "neuron fold",
    width,
    height: HEIGHT,
    paint: (group) => {
      node.about = drawn("text", { class: "fact", x: 12, y: 50 });
      group.append(
        drawn("title", {}, fold.name),
        drawn("rect", { class: "under", x: 5, y: 5, width, height: HEIGHT, rx: 10 }),
        drawn("rect", { class: "body", width, height: HEIGHT, rx: 10 }),
        drawn("text", { class: "name", x: 12, y: 23 }, title),
        node.about,
      );
    },
  };
  return node;
}

function sumOf({ members }, row) {
  return members.reduce((all, neuron) => all + BigInt(row.spikes[neuron] ?? 0), 0n);
}

// How much is folded, and what it holds.
export function aboutFold(fold, row, isNet) {
  return (isNet ? texts.ofBoxOfNet : texts.ofBox)(fold.members.length, short(sumOf(fold, row)));
}

export function updateFold(node, row, isNet) {
  const { members } = node.fold;
  const sum = sumOf(node.fold, row);
  const hasFired = members.some((neuron) => row.done.has(neuron));
  const may = members.some((neuron) => (row.can.get(neuron) ?? []).length > 0);
  node.look = hasFired ? "fired" : may ? "may" : "plain";
  node.holds = sum !== 0n;
  node.number = short(sum);
  if (!node.group) return;
  const about = aboutFold(node.fold, row, isNet);
  node.about.textContent = about;
  node.group.classList.toggle("fired", hasFired);
  node.group.classList.toggle("may", may);
  const state = hasFired ? `${about}, ${texts.fired}` : about;
  node.group.setAttribute("aria-label", texts.described(texts.boxWord, node.label, state));
}
