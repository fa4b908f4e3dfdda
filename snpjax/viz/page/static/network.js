// The network as a drawing: neurons with their spikes and rules, and what happens in a step.

import { isRecorded } from "./backend.js";
import { changesOf, keyOf, parentsOf } from "./changes.js";
import { boxOf, Diagram } from "./diagrams.js";
import { arrivals, drawn, find, short, shortened, typeset } from "./dom.js";
import { foldNode, Folds, population, updateFold } from "./folds.js";
import { handle } from "./handle.js";
import { freePlace, Places } from "./places.js";
import { texts } from "./texts.js";

// With more neurons their rules are shown of the selected one only.
const MOST_WITH_RULES = 60;
const MOST_RULES = 8;
const MOST_LETTERS = 34;
const GAP = 36; // between neurons and their copies
const MOST_FAR = 8;
const NEW_IN_NET = { width: 80, height: 64 }; // a place or a transition
// Drawings that are kept, of models that undo leads to, and the neurons in all of them.
const [MOST_DRAWINGS, MOST_DRAWN] = [200, 500_000];
const MOST_WIDTHS = 20_000;
export const ROUNDING = 0.06; // positions differ by less than that when they are rounded to 0.1
const FONTS = {
  name: "600 13px system-ui, sans-serif",
  rule: "12px ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace",
};
const PAD = 12;
const LINE = 17;
const HEAD = 34;

const pen = document.createElement("canvas").getContext("2d");

const widths = { name: new Map(), rule: new Map() };

function width(text, font) {
  const known = widths[font].get(text);
  if (known !== undefined) return known;
  pen.font = FONTS[font];
  const measured = pen.measureText(text).width;
  if (widths[font].size >= MOST_WIDTHS) widths[font].clear();
  widths[font].set(text, measured);
  return measured;
}

export class Network extends EventTarget {
  constructor(run) {
    super();
    this.run = run;
    this.diagram = new Diagram(find("network"), { isHatched: true });
    this.selection = { nodes: new Set(), edge: null };
    this.drawnFor = null;
    this.drawings = new Map(); // of models, where neurons and arrows were drawn
    this.before = null; // of those the one before an edit
    this.standing = null; // where they and their synapses were drawn in this computation
    this.at = 0; // the step that was shown
    this.folds = new Folds();
    this.diagram.addEventListener("select", ({ detail }) => this.pick(detail));
    this.diagram.addEventListener("pick", ({ detail }) => this.choose([], detail.merged?.length === 1 ? detail.merged[0] : detail));
    this.diagram.viewport.onspan = (from, to) => this.span(from, to);
    this.diagram.viewport.onspanned = (from, to) => this.spanned(from, to);
    this.diagram.addEventListener("focus", ({ detail }) => describe(detail, run.row));
    this.diagram.addEventListener("near", ({ detail }) => this.renew(detail));
    for (const name of ["opened", "placed"]) {
      run.addEventListener(name, () => {
        this.standing = null;
        this.draw(false); // all of it, so that boxes know where their neurons stand
        this.folds.renumber(run.names());
        if (this.folds.list.length > 0) this.draw(true);
      });
    }
    run.addEventListener("moved", () => this.show());
    run.addEventListener("chosen", () => this.show());
  }

  draw(keep) {
    const { run, held } = this;
    this.drawnFor = run.row.network;
    const names = run.names();
    const folds = this.standing === null ? new Folds() : this.folds;
    this.isCompact = names.length > MOST_WITH_RULES; // boxes keep their sizes when some are folded
    const neurons = names.map((name, neuron) => this.neuron(name, neuron));
    const nodes = neurons.filter((node) => !folds.of.has(node.neuron));
    this.boxes = folds.list.map(foldNode);
    nodes.push(...this.boxes);
    const outputs = new Set(run.system.output);
    const delays = new Map((run.system.delays ?? []).map(([source, target, delay]) => [keyOf([source, target]), delay]));
    const synapses = run.synapses().map(([source, target, weight, rules, shape]) => {
      const delay = delays.size === 0 ? 0 : (delays.get(keyOf([source, target])) ?? 0);
      const facts = [weight === 1 ? "" : `×${short(weight)}`, delay === 0 ? "" : texts.delayNote(delay), ...this.onSynapse(rules)];
      const title = texts.edge(run.words.edgeOf(shape), names[source], names[target], weight, delay);
      const { edgeStates: states } = run.words;
      return { source, target, shape, weight, delay, isTarget: true, title, states, label: facts.filter(Boolean).join("  ") };
    });
    const edges = folds.merged(synapses, run.words.edges, (id) => folds.find(id)?.name ?? names[id]);
    const onEnvironment = new Map(run.system.environment);
    this.ends = new Map();
    names.forEach((name, neuron) => {
      if (folds.of.has(neuron)) return; // what happens at its ends stands in the panel
      const label = run.system.grows ? run.label(neuron) : name; // what inputs and outputs name
      if (run.system.input[label] !== undefined) {
        nodes.push(endNode(`in ${neuron}`, texts.input, neuron, true));
        edges.push({ source: `in ${neuron}`, target: neuron, label: "" });
      }
      if (outputs.has(label)) {
        const node = endNode(`out ${neuron}`, texts.output, neuron, false);
        nodes.push(node);
        const rules = this.onSynapse(onEnvironment.get(neuron) ?? []);
        edges.push({ source: neuron, target: `out ${neuron}`, label: rules.join("  ") });
        this.ends.set(neuron, node);
      }
    });
    const { standing } = this;
    const isForward = run.position === this.at + 1;
    standing?.remember(this.diagram);
    this.neurons = neurons;
    for (const [neuron, fold] of folds.of) {
      [neurons[neuron].x, neurons[neuron].y] = standing.spots.get(neuron) ?? fold.spot ?? [0, 0];
    }
    for (const node of this.boxes) node.near = middleOf(node.fold.members.map((neuron) => neurons[neuron]));
    for (const { fold } of this.boxes) if (fold.spot !== null) standing.spots.set(fold.id, fold.spot);
    const { positions, isExact, routes } = standing === null ? this.known(names, nodes.filter((node) => node.beside !== undefined)) : {};
    const parents = new Map([...parentsOf(run.rows, run.position)].map(([child, parent]) => [child, folds.shown(parent)]));
    // What is edited stays in sight as it is.
    this.diagram.draw(nodes, edges, { positions, isExact, routes, keep: keep || isExact, places: standing, parents });
    if (standing === null) this.keep();
    if (isExact) this.reveal(names);
    this.standing = standing ?? new Places();
    this.show();
    this.selection.edge = this.sameEdge(this.selection.edge);
    this.mark();
    if (held !== null) this.refocus(names.indexOf(held));
    this.dispatchEvent(new Event("drawn"));
    if (isForward) this.animate(parents);
  }

  // What an edit added is seen: with all others where these can be read then.
  reveal(names) {
    const { diagram } = this;
    const { viewport } = diagram;
    const fresh = this.neurons.filter((_, neuron) => !this.before.places.has(names[neuron]));
    const isSeen = (node) => (viewport.isFitted ? viewport.shows(boxOf(node)) : viewport.sees(boxOf(node)));
    if (fresh.length === 0 || fresh.some(isSeen)) return;
    if (viewport.isLegible(diagram.bounds())) diagram.fit();
    else viewport.reveal(boxOf(fresh[0]));
  }

  // The name of the neuron that has the focus, or one of whose synapses or whose box has it, or null.
  get held() {
    const group = document.activeElement?.closest?.("#network .node, #network .edge") ?? null;
    if (group === null) return null;
    const node = [...this.diagram.nodes.values()].find((own) => own.group === group);
    const edge = this.diagram.edges.find((own) => own.group === group);
    const neuron = edge ? (edge.merged?.[0] ?? edge).source : (node?.fold?.members[0] ?? node?.neuron);
    return this.neurons[neuron]?.label ?? null;
  }

  refocus(neuron) {
    const node = neuron < 0 ? undefined : this.nodeOf(neuron);
    if (node !== undefined) this.diagram.hold(node);
  }

  // What the step changed in the network, as it happens.
  animate(parents) {
    const { born, deleted } = this.changes;
    const { nodes } = this.diagram;
    for (const neuron of born) {
      if (parents.has(neuron) && nodes.has(neuron)) this.diagram.emerge(nodes.get(neuron), nodes.get(parents.get(neuron)));
    }
    for (const [source, target] of deleted) {
      const [from, to] = [nodes.get(source), nodes.get(target)]; // nothing fades in boxes
      if (from && to) this.diagram.fade({ source, target, from, to, label: "" });
    }
  }

  // Where the neurons and arrows stand: where this model was drawn before, or where they were before an
  // edit, or as the model says.
  known(names, ends) {
    const { run, before } = this;
    const expected = this.expected ?? [];
    this.expected = [];
    const { positions } = run.system;
    const own = this.drawings.get(run.model);
    const places = own?.places ?? before?.places ?? new Map();
    if (before === null || !isSameDrawing(names, places, positions)) return { positions, isExact: false };
    const place = (name, index) => places.get(name) ?? positions?.[index] ?? expected.shift() ?? this.free([0, 0]);
    const { offsets, routes, sizes } = own ?? before;
    names.forEach((name, neuron) => {
      const node = this.neurons[neuron];
      const [width, height] = sizes.get(name) ?? [Infinity, Infinity];
      node.hasGrown = node.width > width + 1 || node.height > height + 1;
    });
    for (const node of ends) node.offset = offsets.get(endOf(node, names));
    return { positions: names.map(place), isExact: true, routes };
  }

  // The places of all neurons, in order, as files keep them.
  positions() {
    return this.neurons.map(({ x, y }) => [x, y].map((part) => Math.round(part * 10) / 10));
  }

  // Keep the places for the drawing after an edit.
  remember() {
    if (this.run.system === null) return; // a text with errors was opened
    const { system } = this.run;
    this.before = this.standings();
    if (system.grows) this.keep(); // it takes no positions: a movement is no edit
    this.rememberBoxes();
  }

  // Where neurons, by their names of the beginning, their ends and arrows stand.
  standings() {
    const { neurons } = this.run.system;
    const place = ({ label, x, y }, neuron) => [neurons[neuron]?.name ?? label, [x, y]];
    const names = this.run.names();
    const ends = [...this.diagram.nodes.values()].filter((node) => node.beside !== undefined);
    const offset = (node) => [node.x - this.neurons[node.beside].x, node.y - this.neurons[node.beside].y];
    return {
      places: new Map(this.neurons.map(place)),
      sizes: new Map(this.neurons.map((node, neuron) => [neurons[neuron]?.name ?? node.label, [node.width, node.height]])),
      offsets: new Map(ends.map((node) => [endOf(node, names), offset(node)])),
      routes: this.diagram.routes(),
    };
  }

  // Undo leads back to what this model looked like.
  keep() {
    const { drawings } = this;
    drawings.delete(this.run.model); // it becomes the latest one
    drawings.set(this.run.model, this.standings());
    let drawn = [...drawings.values()].reduce((sum, { places }) => sum + places.size, 0);
    for (const [model, { places }] of drawings) {
      if (drawings.size === 1 || (drawings.size <= MOST_DRAWINGS && drawn <= MOST_DRAWN)) break;
      drawings.delete(model);
      drawn -= places.size;
    }
  }

  // Undo leads to a model whose drawing is no longer kept: it stands where its text says, if it does.
  expectModel({ model, system }) {
    if (!this.drawings.has(model) && system.positions) this.before = null;
  }

  // A model that was read again has another number, and is drawn as it was.
  renumber(model, other) {
    const drawing = this.drawings.get(model);
    if (drawing === undefined) return;
    this.drawings.delete(model);
    this.drawings.set(other, drawing);
  }

  rememberBoxes() {
    for (const { fold, x, y } of this.boxes ?? []) fold.spot = [x, y];
  }

  // Fold what is selected into a box, or the population of one neuron; boxes are unfolded. Whether there
  // was something to fold.
  fold() {
    const { run, folds } = this;
    let chosen = [...this.selection.nodes];
    if (chosen.length === 0) return false;
    this.rememberBoxes();
    const isFolded = chosen.some((neuron) => folds.of.has(neuron));
    if (isFolded) {
      folds.remove(chosen);
    } else {
      const members = chosen.length > 1 ? chosen : population(chosen[0], run);
      if (members.length < 2) return false;
      folds.add(members, run.names());
      chosen = members;
    }
    this.draw(true);
    const box = this.nodeOf(chosen.at(-1));
    this.diagram.viewport.reveal(boxOf(box));
    this.choose(chosen);
    return true;
  }

  // The box that is selected alone, or null.
  get selectedFold() {
    const { nodes } = this.selection;
    const fold = this.selected === null ? undefined : this.folds.of.get(this.selected);
    return fold?.members.length === nodes.size && fold.members.every((neuron) => nodes.has(neuron)) ? fold : null;
  }

  renameFold(fold, name) {
    fold.name = name;
    this.draw(true);
  }

  // The neurons that a node shows.
  membersOf(id) {
    return this.folds.find(id)?.members ?? [id];
  }

  // The box that shows a neuron.
  nodeOf(neuron) {
    return this.diagram.nodes.get(this.folds.shown(neuron));
  }

  // Another model has nothing to do with the places of this one.
  forget(neurons = null) {
    if (neurons === null) {
      this.before = null;
      this.drawings.clear();
      this.folds.clear();
    } else for (const neuron of neurons) this.before.places.delete(this.neurons[neuron]?.label);
  }

  expect(places) {
    this.expected = places;
  }

  // How far copies of neurons stand from them: near by, and on no other box.
  besides(neurons) {
    const own = neurons.map((neuron) => this.neurons[neuron]);
    const [across, down] = [["x", "width"], ["y", "height"]].map(([at, size]) => {
      const ends = own.flatMap((node) => [node[at] - node[size] / 2, node[at] + node[size] / 2]);
      return Math.max(...ends) - Math.min(...ends) + GAP;
    });
    const others = [...this.diagram.nodes.values()];
    const isFree = ([i, j]) =>
      !own.some(({ x, y, width, height }) => others.some((node) => areNear(node, { x: x + i, y: y + j, width, height })));
    for (let far = 1; far <= MOST_FAR; far += 1) {
      const spots = [[0, far * down], [far * across, 0], [-far * across, 0], [0, -far * down]];
      const spot = spots.find(isFree);
      if (spot) return spot;
    }
    return [0, MOST_FAR * down];
  }

  // A point near that one where no neuron is, in what is seen if there is room.
  free(point) {
    return freePlace([...this.diagram.nodes.values()], point, this.diagram.viewport.part(), this.run.isNet ? NEW_IN_NET : undefined);
  }

  onSynapse(rules) {
    if (this.isCompact || rules.length === 0) return [];
    return [shortened(rules.map(typeset).join(", "), MOST_LETTERS)];
  }

  neuron(name, neuron) {
    const count = this.run.system.neurons[neuron]?.spikes;
    if (this.run.isNet && count !== undefined) return placeNode(name, neuron);
    const isTransition = this.run.isNet;
    const all = this.isCompact ? [] : this.run.rules(neuron);
    const rules = all.slice(0, MOST_RULES).map((rule) => shortened(typeset(rule), MOST_LETTERS));
    if (all.length > MOST_RULES) rules.push(texts.moreRules(all.length - MOST_RULES));
    const title = shortened(name, this.isCompact ? 14 : 28);
    const widest = Math.max(0, ...rules.map((rule) => width(rule, "rule") + 18));
    const node = {
      id: neuron,
      neuron,
      label: name,
      title,
      called: isTransition ? texts.transition : texts.neuron,
      counted: texts.spikes,
      isTarget: true,
      kind: isTransition ? "neuron transition" : "neuron",
      width: Math.max(
        width(title, "name") + (isTransition ? 0 : 48),
        widest,
        isTransition ? 40 : this.isCompact ? 76 : 104,
      ) + 2 * PAD,
      height: HEAD + (rules.length > 0 ? rules.length * LINE + 12 : 0),
      paint: (group) => {
        paintNeuron(group, node, title, rules, isTransition);
        node.rules.forEach((line, rule) => line.addEventListener("click", (event) => this.chooseRule(event, neuron, rule)));
      },
      shown: {},
    };
    return node;
  }

  // Only what differs from what is drawn is touched: of thousands of neurons few change in a step.
  show() {
    const { run } = this;
    const { row } = run;
    this.changes = changesOf(run.rows, run.position);
    if (row.network !== this.drawnFor) return this.draw(true);
    this.at = run.position;
    const { born, created } = this.changes;
    for (const neuron of this.neurons) neuron.isNew = born.has(neuron.neuron);
    for (const node of this.neurons) this.update(node, row);
    for (const node of this.boxes) updateFold(node, row, run.isNet);
    // A firing moves tokens along arcs to and from its transition; others are conditions only.
    const carries = ({ source, target, shape }) => row.sent.has(source) || (run.isNet && !shape && row.sent.has(target));
    for (const edge of this.diagram.edges) {
      const own = edge.merged ?? [edge];
      const isSent = own.some(carries);
      const isCreated = created.size > 0 && own.some(({ source, target }) => created.has(keyOf([source, target])));
      this.diagram.mark(edge, isCreated ? "created" : isSent ? "sent" : "plain");
    }
    for (const [neuron, node] of this.ends) {
      const sent = row.sent.get(neuron) ?? 0;
      node.sent = sent;
      node.look = sent === 0 ? "plain" : "fired";
      showSent(node);
    }
    this.diagram.renew();
    return undefined;
  }

  // In a neuron that is selected, a click on an applicable rule chooses it for the next step, and a
  // second one takes that back.
  chooseRule(event, neuron, rule) {
    const { run } = this;
    const can = run.row.can.get(neuron) ?? [];
    if (isRecorded || !this.selection.nodes.has(neuron) || can.length < 2 || !can.includes(rule)) return;
    event.stopPropagation();
    run.choose(neuron, run.chosen.get(neuron) === rule ? null : rule);
  }

  // A box that became an element shows what it would show if it had been one before.
  renew(node) {
    if (node.kind === "end") return showSent(node);
    if (node.fold) {
      updateFold(node, this.run.row, this.run.isNet);
      node.group.classList.toggle("found", node.isFound === true);
      return void node.group.classList.toggle("selected", node.isSelected === true);
    }
    node.shown = {};
    this.update(node, this.run.row);
    this.markNode(node);
    return describe(node, this.run.row);
  }

  update(node, row) {
    const { neuron, shown } = node;
    const count = row.spikes[neuron];
    const timer = row.timer.get(neuron) ?? 0;
    const pending = row.waiting.get(neuron) ?? 0;
    const can = row.can.get(neuron) ?? [];
    const fired = node.isNew ? -1 : (row.done.get(neuron)?.[0] ?? -1); // what divided is shown by its children
    node.look = fired >= 0 ? "fired" : timer > 0 ? "closed" : can.length > 0 ? "may" : "plain";
    node.holds = count !== undefined && count !== 0;
    node.number = count === undefined ? undefined : short(count);
    if (!node.group) return;
    if (shown.count !== count && count !== undefined) node.showCount(count);
    const due = row.due.get(neuron);
    const state = `${timer} ${pending} ${due ?? ""}`;
    if (shown.state !== state) {
      node.group.classList.toggle("closed", timer > 0);
      const waits = pending === 0 ? "" : ` · ${texts.waitingNote(short(pending))}`;
      const notes = [timer > 0 ? `${texts.closedNote(timer)}${waits}` : "", due ?? ""];
      node.note.textContent = notes.filter(Boolean).join(" · ");
    }
    const chosen = this.run.chosen.get(neuron) ?? -1;
    const rules = `${fired} ${can.join(",")} ${chosen} ${node.isNew}`;
    if (shown.rules !== rules) {
      node.group.classList.toggle("new", node.isNew === true);
      node.group.classList.toggle("fired", fired >= 0);
      node.group.classList.toggle("may", can.length > 0);
      const able = new Set(can);
      node.rules.forEach((line, rule) => {
        line.setAttribute(
          "class",
          ["rule", able.has(rule) && "can", able.has(rule) && able.size > 1 && "free", fired === rule && "fired", chosen === rule && "chosen"]
            .filter(Boolean)
            .join(" "),
        );
      });
    }
    node.shown = { count, state, rules };
    if (shown.count === count && shown.state === state && shown.rules === rules) return;
    // Of thousands, one is described when it is focused.
    if (!this.isCompact) describe(node, row);
  }

  // ---- what is selected ----

  pick({ id, isMore }) {
    const fold = this.folds.find(id);
    if (fold === undefined && typeof id === "string") return; // an input or output of the network
    if (id !== null && this.takes?.(this.membersOf(id))) return;
    if (fold !== undefined) return this.choose(isMore ? [...this.selection.nodes, ...fold.members] : fold.members);
    const { nodes } = this.selection;
    if (id === null) this.choose([]);
    else if (!isMore) this.choose([id]);
    else this.choose(nodes.has(id) ? [...nodes].filter((other) => other !== id) : [...nodes, id]);
  }

  // Select neurons, the last of which is shown in full, or a synapse.
  choose(neurons, edge = null) {
    const count = this.neurons?.length ?? 0;
    this.selection = { nodes: new Set(neurons.filter((neuron) => neuron < count)), edge };
    this.mark();
    if (this.selected !== null) this.diagram.enterAt(this.nodeOf(this.selected));
    this.dispatchEvent(new Event("selected"));
  }

  get selected() {
    return [...this.selection.nodes].at(-1) ?? null;
  }

  // Where nothing outside of the drawing has the focus, that neuron has it, or else the one that had it.
  focus(neuron) {
    const { svg, nodes, focusable } = this.diagram;
    const isInside = svg.contains(document.activeElement);
    if (document.activeElement !== document.body && !isInside) return;
    const node = neuron === undefined ? nodes.get(focusable) : this.nodeOf(neuron);
    if (node !== undefined && !(isInside && neuron === undefined)) this.diagram.hold(node);
  }

  // The selected synapse has the focus.
  focusEdge() {
    const { edge } = this.selection;
    if (edge !== null) this.diagram.approachEdge(this.arrowOf(edge));
  }

  // The synapse of this drawing with the ends and the kind of another one, or null.
  sameEdge(edge) {
    if (edge === null) return null;
    const isSame = (own) => ["source", "target", "shape"].every((part) => own[part] === edge[part]);
    return this.diagram.edges.flatMap((own) => [own, ...(own.merged ?? [])]).find(isSame) ?? null;
  }

  // The arrow that shows a synapse, or null.
  arrowOf(edge) {
    return this.diagram.edges.find((own) => own === edge || own.merged?.includes(edge)) ?? null;
  }

  // Select a synapse, and focus it where the drawing has the focus.
  chooseEdge(edge) {
    const own = this.sameEdge(edge);
    if (own === null) return;
    if (this.diagram.svg.contains(document.activeElement)) this.diagram.approachEdge(this.arrowOf(own));
    this.choose([], own);
  }

  // Move the selected neurons, or else the one that has the focus; the boxes that were moved.
  shift(across, down) {
    const { selection, diagram } = this;
    const node = diagram.nodes.get(diagram.focusable);
    const chosen = [...selection.nodes].map((neuron) => this.nodeOf(neuron));
    const moved = [...new Set(chosen.length > 0 ? chosen : node?.group?.matches(":focus") ? [node] : [])];
    diagram.shift(moved, across, down);
    if (moved.length > 0) diagram.settle();
    return moved;
  }

  mark() {
    for (const node of this.neurons ?? []) {
      const isSelected = this.selection.nodes.has(node.neuron);
      if (node.isSelected === isSelected && !node.group) continue;
      node.isSelected = isSelected;
      this.markNode(node);
    }
    for (const node of this.boxes ?? []) {
      node.isSelected = node.fold.members.every((neuron) => this.selection.nodes.has(neuron));
      node.group?.classList.toggle("selected", node.isSelected);
    }
    const shown = this.selection.edge === null ? null : this.arrowOf(this.selection.edge);
    this.diagram.raise(shown);
    for (const edge of this.diagram.edges) edge.group?.classList.toggle("selected", edge === shown);
    this.diagram.renew();
  }

  markNode(node) {
    if (!node.group) return;
    node.group.classList.toggle("selected", node.isSelected === true);
    node.group.classList.toggle("found", node.isFound === true);
    const isOnly = node.isSelected && this.selection.nodes.size === 1 && !isRecorded && this.run.isInitial(node.neuron);
    const known = node.group.querySelector(".handle");
    if (isOnly && !known) {
      const emit = (detail) => this.diagram.emit("connect", detail);
      node.group.append(handle(this.diagram, node, this.run.words.dragToEnd, emit));
    } else if (!isOnly) {
      known?.remove();
    }
  }

  // A rectangle that is drawn with the shift key selects what is in it.
  span(from, to) {
    const [x1, y1] = this.diagram.pointOf(from);
    const [x2, y2] = this.diagram.pointOf(to);
    this.band ??= drawn("rect", { class: "band" });
    const box = { x: Math.min(x1, x2), y: Math.min(y1, y2), width: Math.abs(x2 - x1), height: Math.abs(y2 - y1) };
    for (const [name, value] of Object.entries(box)) this.band.setAttribute(name, value);
    this.diagram.world.append(this.band);
  }

  spanned(from, to) {
    this.band?.remove();
    const [x1, y1] = this.diagram.pointOf(from);
    const [x2, y2] = this.diagram.pointOf(to);
    const isIn = ({ x, y }) => x >= Math.min(x1, x2) && x <= Math.max(x1, x2) && y >= Math.min(y1, y2) && y <= Math.max(y1, y2);
    const inside = [...this.diagram.nodes.values()].filter(isIn);
    this.choose(inside.flatMap((node) => node.fold?.members ?? node.neuron ?? []));
  }
}

// Whether two boxes meet, or nearly do.
function areNear(one, other) {
  const isApart = (at, size) => Math.abs(one[at] - other[at]) >= (one[size] + other[size]) / 2 + GAP / 3;
  return !isApart("x", "width") && !isApart("y", "height");
}

// Whether a model is that which was drawn, but for an edit: most neurons have their names, or all that have
// stand where they stood. What is drawn on an empty page has positions.
function isSameDrawing(names, places, positions) {
  if (places.size === 0) return positions?.length === names.length;
  const known = names.flatMap((name, neuron) => (places.has(name) ? [neuron] : []));
  if (known.length * 2 >= names.length) return true;
  const stands = (neuron) => places.get(names[neuron]).every((part, axis) => Math.abs(part - positions[neuron][axis]) < ROUNDING);
  return known.length > 0 && positions?.length === names.length && known.every(stands);
}

// An input or output, by the name of its neuron.
const endOf = ({ beside, isBefore }, names) => `${isBefore ? "in" : "out"} ${names[beside]}`;

function middleOf(nodes) {
  const [x, y] = ["x", "y"].map((axis) => nodes.reduce((sum, node) => sum + node[axis], 0) / nodes.length);
  return { x, y };
}

// What a screen reader says of a neuron.
function describe(node, row) {
  if (node.fold) return; // it says all of itself
  const { neuron } = node;
  const can = row.can.get(neuron) ?? [];
  const timer = row.timer.get(neuron) ?? 0;
  const count = row.spikes[neuron];
  const parts = count === undefined ? [] : [node.counted(count)];
  if (timer > 0) parts.push(texts.closedFor(timer));
  if (row.due.has(neuron)) parts.push(arrivals(row.due.get(neuron)));
  if (can.length > 0) parts.push(node.called === texts.transition ? texts.mayFire : texts.applicableRules(can.length));
  if (row.done.has(neuron) && !node.isNew) parts.push(texts.fired);
  if (node.isNew) parts.push(texts.isNew);
  node.group.setAttribute("aria-label", texts.described(node.called, node.label, parts.join(", ")));
}

function paintNeuron(group, node, title, rules, isTransition) {
  const { width: across, height } = node;
  node.pillSize = node.isZero = null;
  const pill = drawn("rect", { class: "pill", y: 6, height: 22, rx: 11 });
  const text = drawn("text", { class: "count", y: 21.5 }, " ");
  node.showCount = (count) => {
    text.firstChild.data = short(count);
    const size = Math.max(24, width(short(count), "name") + 14);
    if (size !== node.pillSize) {
      node.pillSize = size;
      pill.setAttribute("width", size);
      pill.setAttribute("x", across - PAD - size + 3);
      text.setAttribute("x", across - PAD - size / 2 + 3);
    }
    toggleZero(node, count, pill, text);
  };
  node.note = drawn("text", { class: "note", x: across / 2, y: height + 14 });
  const lines = rules.map((rule, index) => {
    const y = HEAD + 6 + index * LINE;
    const mark = drawn("rect", { class: "mark", x: 5, y, width: across - 10, height: LINE - 2, rx: 4 }); // no frame meets the next rule
    const dot = drawn("circle", { class: "dot", cx: across - PAD - 1, cy: y + 7.5, r: 3 });
    return drawn("g", { class: "rule" }, mark, drawn("text", { x: PAD, y: y + 12 }, rule), dot);
  });
  group.append(
    drawn("title", {}, node.label),
    drawn("rect", { class: "body", width: across, height, rx: isTransition ? 3 : 10 }),
    drawn("text", { class: "name", x: PAD, y: 21.5 }, title),
    ...(isTransition ? [] : [pill, text]),
    node.note,
  );
  if (rules.length > 0) {
    group.append(drawn("path", { class: "divider", d: `M0.5 ${HEAD} H${across - 0.5}` }));
  }
  group.append(...lines);
  node.rules = isTransition ? [] : lines; // what a transition beats is no rule
}

// What an output sent in this step.
function showSent(node) {
  if (!node.group) return;
  node.text.textContent = node.sent === 0 ? texts.output : texts.sent(short(node.sent));
  node.group.classList.toggle("fires", node.sent !== 0);
}

function toggleZero(node, count, ...parts) {
  if (node.isZero === (count === 0)) return;
  node.isZero = count === 0;
  for (const part of parts) part.classList.toggle("zero", node.isZero);
}

// A place of a net: a circle with its tokens, and its name below.
function placeNode(name, neuron) {
  const title = shortened(name, 16);
  const node = {
    id: neuron,
    neuron,
    label: name,
    title,
    called: texts.place,
    counted: texts.tokens,
    isTarget: true,
    kind: "neuron place",
    width: Math.max(46, width(title, "name") + 4),
    height: 64,
    circle: { down: -10, radius: 23, nameWidth: width(title, "name") },
    shown: {},
    rules: [],
    paint: (group) => {
      node.isZero = null;
      const middle = node.width / 2;
      const body = drawn("rect", { class: "body", y: 0, height: 44, rx: 22 });
      const text = drawn("text", { class: "count", x: middle, y: 27 }, " ");
      node.note = drawn("text", { class: "note" });
      node.showCount = (count) => {
        text.firstChild.data = short(count);
        const size = Math.max(44, width(short(count), "name") + 18);
        body.setAttribute("width", size);
        body.setAttribute("x", middle - size / 2);
        toggleZero(node, count, text, body);
      };
      const below = drawn("text", { class: "below", x: middle, y: 60 }, title);
      group.append(drawn("title", {}, name), body, text, below, node.note);
    },
  };
  return node;
}

// Where spikes come from, or go to, outside of the network.
function endNode(id, text, beside, isBefore) {
  const node = {
    id,
    label: text,
    title: text,
    beside,
    isBefore,
    kind: "end",
    width: 54,
    height: 26,
    sent: 0,
    paint: (group) => {
      node.text = drawn("text", { class: "count", x: 27, y: 17.5 }, text);
      group.append(drawn("rect", { class: "body", width: 54, height: 26, rx: 13 }), node.text);
    },
  };
  return node;
}
