// Changes of the drawing: what is added, connected, renamed and removed, and the way back.

import { ask, isRecorded, Refusal } from "./backend.js";
import { keyOf, renumbering } from "./changes.js";
import { TOWARD } from "./diagrams.js";
import { element, fill, find } from "./dom.js";
import { ROUNDING } from "./network.js";
import { texts } from "./texts.js";

// What a page without a server can do as well.
const WITHOUT_EDITS = ["fold", "selectAll", "escape", "rename"];
const [COARSE, FINE] = [24, 4]; // how far a key moves a neuron
const [MOST_UNDONE, MOST_HELD] = [100, 500_000]; // answers, and neurons in all of them
const MOVED_AFTER = 500; // milliseconds without a key

export class Editing {
  // `show(answer, selected)` shows another model, `say(text)` a message.
  constructor({ run, network, show, say }) {
    Object.assign(this, { run, network, show, say });
    this.now = null; // the answer that is shown
    this.before = [];
    this.after = [];
    this.going = Promise.resolve();
    this.nudged = null; // the timer of a movement by keys
    this.movesNeurons = false; // that movement, not only boxes of folded ones
    this.origin = 0; // counts the systems that changes of the drawing did not make
    this.sources = null; // of the synapses that are being drawn
    this.pointer = null;
    addEventListener("keydown", (event) => this.key(event));
    const { diagram } = network;
    diagram.addEventListener("enter", () => this.rename());
    diagram.addEventListener("unconnected", ({ detail }) => say(texts.unconnected(detail.label)));
    if (isRecorded) return void (find("tools").hidden = true);
    diagram.addEventListener("moved", ({ detail }) => (detail.fold ? network.rememberBoxes() : this.moved()));
    diagram.addEventListener("place", ({ detail }) => this.add(detail));
    diagram.addEventListener("connect", ({ detail }) => {
      this.connect([detail.from], network.membersOf(detail.to));
    });
    // Where it is, not the event, which would keep what it was on.
    diagram.svg.addEventListener("pointermove", ({ clientX, clientY }) => (this.pointer = { clientX, clientY }));
    diagram.svg.addEventListener("pointerleave", () => (this.pointer = null));
    const buttons = {
      "tool-add": () => this.add(null),
      "tool-transition": () => this.add(null, "transitions"),
      "tool-connect": () => this.begin(),
      "tool-copy": () => this.duplicate(),
      "tool-remove": () => this.remove(),
      "tool-fold": () => this.fold(),
      "tool-undo": () => this.undo(),
      "tool-redo": () => this.redo(),
    };
    for (const [id, action] of Object.entries(buttons)) find(id).addEventListener("click", action);
    find("module").addEventListener("change", () => this.insert());
    network.addEventListener("selected", () => this.renew());
  }

  palette(modules) {
    const options = modules.map(({ name, title, help }) => element("option", { value: name, title: help }, title));
    fill(find("module"), element("option", { value: "" }, texts.chooseModule), ...options);
    this.modules = new Map(modules.map((module) => [module.name, module]));
  }

  // Another model is shown: one that was opened, or one that an edit made, perhaps a change of the drawing.
  shown(answer, { isEdit = false, isChange = false } = {}) {
    if (!isChange) this.origin += 1;
    if (!isEdit) this.before = [];
    else if (this.now !== null && !this.now.isDraft) this.keep(this.now);
    clearTimeout(this.nudged); // it moved what is no longer shown
    this.nudged = null;
    this.movesNeurons = false;
    this.after = [];
    this.now = answer;
    this.cancel();
    this.renew();
  }

  // A text with errors, opened or typed, takes the place of what is shown; undo takes that back.
  drafted(draft) {
    if (this.now.isDraft && this.now.text === draft.text) return; // it was restored
    if (!this.now.isDraft) this.keep(this.now);
    this.after = [];
    this.now = draft;
    this.renew();
  }

  renew() {
    if (isRecorded) return;
    const isRead = this.run.system !== null;
    const { isNet } = this.run;
    const { selection } = this.network;
    find("tools").hidden = !isRead;
    find("tool-transition").hidden = !isNet;
    find("module").hidden = isNet;
    find("tool-copy").hidden = isNet;
    find("tool-add").textContent = isNet ? texts.addPlace : texts.addNeuron;
    find("tool-add").title = isNet ? texts.addPlaceTip : texts.addTip;
    find("tool-connect").disabled = selection.nodes.size === 0;
    find("tool-copy").disabled = selection.nodes.size === 0;
    find("tool-remove").disabled = selection.nodes.size === 0 && selection.edge === null;
    const { folds } = this.network;
    const isFolded = [...selection.nodes].some((neuron) => folds.of.has(neuron));
    find("tool-fold").disabled = selection.nodes.size === 0;
    find("tool-fold").textContent = isFolded ? texts.unfold : texts.fold;
    find("tool-undo").disabled = this.before.length === 0;
    find("tool-redo").disabled = this.after.length === 0;
    find("tool-connect").setAttribute("aria-pressed", String(this.sources !== null));
  }

  // ---- what can be done ----

  add(at, kind = this.run.isNet ? "places" : "neurons") {
    const { pointer } = this;
    return this.queue(({ neurons }) => {
      const place = at ?? this.place(pointer);
      const tokens = neurons.filter((node) => node.spikes !== undefined).length;
      const added = kind === "places" ? tokens : neurons.length; // places stand before transitions
      return [[{ do: "add", [kind]: [{ at: place }] }], { select: [added], places: [place] }];
    });
  }

  // Where something new stands: under the pointer, or else in the middle of what is seen.
  place(pointer) {
    const { svg, viewport } = this.network.diagram;
    const box = svg.getBoundingClientRect();
    const [x, y] = pointer
      ? [pointer.clientX - box.left, pointer.clientY - box.top]
      : [box.width / 2, box.height / 2];
    const [left, top] = [(x - viewport.x) / viewport.scale, (y - viewport.y) / viewport.scale];
    return this.network.free([left, top]);
  }

  insert() {
    const { value } = find("module");
    find("module").value = "";
    if (value === "") return;
    const { sizes, title } = this.modules.get(value);
    const operation = { do: "insert", module: value };
    if (sizes !== null) {
      const [least, usual, most] = sizes;
      const size = prompt(texts.moduleSize(title, least, most), usual);
      if (size === null) return;
      operation.size = Number(size);
    }
    const { pointer } = this;
    this.queue(({ neurons }) => [[{ ...operation, at: this.place(pointer) }], { fromNumber: neurons.length }]);
  }

  // What is selected is connected to what is selected next.
  begin() {
    const { nodes } = this.network.selection;
    if (nodes.size === 0 || !this.areInitial(nodes)) return;
    this.sources = [...nodes];
    this.say(this.run.isNet ? texts.selectArcEnds(nodes.size) : texts.selectSynapseEnds(nodes.size));
    this.renew();
  }

  // Whether a selection was the end of synapses.
  ends(neurons) {
    if (this.sources === null) return false;
    const { sources } = this;
    this.cancel();
    this.connect(sources, neurons);
    return true;
  }

  cancel() {
    if (this.sources !== null) this.say("");
    this.sources = null;
    this.renew();
  }

  // Connect each source with each target: a box stands for all of its neurons. What is connected stays so.
  connect(sources, targets) {
    const before = this.run.system;
    return this.queue((system) => {
      const [from, to] = [sources, targets].map((ends) => ends.map(renumbering(before, system)));
      return [...from, ...to].includes(undefined) ? null : this.connection(from, to); // some were removed
    });
  }

  connection(sources, targets) {
    const { run } = this;
    if (!this.areInitial([...sources, ...targets])) return null;
    const known = new Set(run.synapses().filter((synapse) => !synapse[4]).map(keyOf));
    const several = sources.length * targets.length > 1;
    const pairs = sources.flatMap((source) => targets.map((target) => [source, target]));
    const fresh = pairs.filter((ends) => !known.has(keyOf(ends)) && !(several && ends[0] === ends[1]));
    if (fresh.length === 0) {
      const [[source, target]] = pairs;
      this.network.chooseEdge({ source, target, shape: run.isNet ? "" : undefined });
      this.say(texts.connectedBefore);
      return null;
    }
    const isBoxed = [...sources, ...targets].some((neuron) => this.network.folds.of.has(neuron));
    const note = several ? texts.connected(run.words.edges(fresh.length), isBoxed) : null;
    return [[{ do: "connect", synapses: fresh.map((ends) => [...ends, 1]) }], { select: targets, note }];
  }

  remove() {
    return this.queue(() => {
      const { nodes, edge } = this.network.selection;
      if ((nodes.size === 0 && edge === null) || !this.areInitial(nodes)) return null;
      const gone = edge === null ? [] : (edge.merged ?? [edge]);
      if (!gone.every((own) => this.run.isInitialEdge(own))) {
        this.say(texts.synapseWasCreated);
        return null;
      }
      const synapses = gone.map(({ source, target }) => [source, target]);
      const operation = { do: "remove", neurons: [...nodes], synapses, kind: edge?.shape };
      return [[operation], { select: gone.slice(0, 1).map(({ source }) => source), gone: nodes }];
    });
  }

  duplicate() {
    return this.queue(({ neurons }) => {
      const { nodes } = this.network.selection;
      if (nodes.size === 0 || this.run.isNet || !this.areInitial(nodes)) return null;
      const operation = { do: "duplicate", neurons: [...nodes], by: this.network.besides([...nodes]) };
      return [[operation], { fromNumber: neurons.length }];
    });
  }

  // Whether the system begins with these neurons; others cannot be edited.
  areInitial(neurons) {
    const created = [...neurons].find((neuron) => !this.run.isInitial(neuron));
    if (created !== undefined) this.say(texts.wasCreated(this.run.names()[created]));
    return created === undefined;
  }

  moved(note = null) {
    if (!this.hasPositions) return this.network.remember();
    const { origin } = this;
    return this.queue(() => {
      if (this.origin !== origin) return null; // it is no longer shown
      const positions = this.network.positions();
      return [[{ do: "move", positions }], { select: [...this.network.selection.nodes], note }];
    });
  }

  // Whether the model takes positions: what grows has its own ones.
  get hasPositions() {
    return !this.run.system.grows;
  }

  // ---- how ----

  // Make operations; select these neurons then, or all from a number on.
  change(operations, options = {}) {
    return this.queue(() => [operations, options]);
  }

  // Make the operations that `read(system)` gives with their options, unless it gives null. It is called when
  // the edits before are made: they number neurons again.
  queue(read) {
    return this.next(() => {
      const { system } = this.run;
      const asked = system === null ? null : read(system);
      return asked === null ? undefined : this.make(...asked);
    });
  }

  async make(operations, { select = [], fromNumber = null, gone = new Set(), places = [], edge = null, note = null, refuse = this.say }) {
    const { run, network } = this;
    const positions = this.hasPositions ? network.positions() : null;
    const isPlaced = positions === null || operations[0].do === "move" || areAt(positions, run.system.positions);
    const all = isPlaced ? operations : [{ do: "move", positions }, ...operations];
    try {
      const answer = await this.askEdit("change", { model: run.model, operations: all });
      if (!answer.read) return void refuse(answer.findings.map((f) => f.message).join(" · "));
      this.settle(); // what was moved meanwhile
      network.remember();
      if (gone.size > 0) network.forget(gone);
      network.expect(places);
      const count = answer.system.neurons.length;
      const chosen = fromNumber === null ? select : Array.from({ length: count - fromNumber }, (_, i) => fromNumber + i);
      this.show(answer, chosen, { isEdit: true, isChange: true, note });
      if (edge !== null) network.chooseEdge(edge);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      refuse(error.message);
    }
    return undefined;
  }

  undo() {
    return this.next(() => this.turn("before", "after"));
  }

  redo() {
    return this.next(() => this.turn("after", "before"));
  }

  // When all edits are made.
  done() {
    this.settle();
    return this.going;
  }

  // One after the other: keys may be faster than the answers. A movement by keys is made before.
  next(action) {
    this.settle();
    const done = this.going.then(action);
    this.going = done.catch(() => {});
    return done;
  }

  // Models that the server no longer keeps are read again.
  async turn(from, to) {
    if (this[from].length === 0) return;
    const held = this.isHeld?.();
    if (held) return void this.say(held);
    if (this[from].at(-1).isDraft) {
      const draft = this[from].pop();
      if (this.now.isDraft) {
        this[to].push(this.now);
        this.now = draft;
      }
      this.restore(draft);
      return void this.renew();
    }
    let answer = null;
    try {
      answer = await this.kept(this[from].at(-1));
      this[from].splice(-1, 1, answer);
      const late = this.isHeld?.(); // typed meanwhile
      if (late) throw new Refusal(late);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return void this.say(error.message);
    }
    this[from].pop();
    this[to].push(this.now);
    const [before, after] = [[...this.before], [...this.after]]; // which a new system changes
    if (this.stem(answer.name) === this.stem(this.now.name)) this.network.remember();
    else this.network.forget(); // of another file
    this.network.expectModel(answer);
    this.show(answer, [], { isEdit: true });
    [this.before, this.after] = [before, after];
    this.renew();
    return undefined;
  }

  // What was not shown, or a text that was not read, comes back by undo.
  keep(answer) {
    this.before.push(answer);
    const size = (own) => own.system?.neurons.length ?? 0;
    let total = this.before.reduce((sum, own) => sum + size(own), 0);
    while (this.before.length > 1 && (this.before.length > MOST_UNDONE || total > MOST_HELD)) total -= size(this.before.shift());
    this.renew();
  }

  // Of each other file to which undo and redo lead, its latest model, and its texts with errors.
  others() {
    const files = [];
    let last = null;
    for (const answer of [...this.before, this.now, ...this.after.toReversed()]) {
      const isSame = last !== null && !answer.isOpened && this.stem(answer.name) === this.stem(last.name);
      if (isSame) files.at(-1).push(answer);
      else files.push([answer]);
      last = answer;
    }
    return files.filter((own) => !own.includes(this.now)).flatMap((own) => {
      const latest = own.findLast((answer) => !answer.isDraft);
      return own.filter((answer) => answer.isDraft || answer === latest);
    });
  }

  async kept(answer) {
    try {
      await ask("check", { model: answer.model, neuron: 0, spikes: "0", rules: null });
      return answer;
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      const again = await ask("open", { name: answer.name, text: answer.text, format: answer.format });
      this.network.renumber(answer.model, again.model);
      return again;
    }
  }

  key(event) {
    const { target, key } = event;
    if (target.closest("input, textarea, select, dialog[open]")) return;
    if (document.body.dataset.view !== "system" || this.run.system === null) return;
    const hasModifier = event.ctrlKey || event.metaKey;
    const [across, down] = (event.altKey && !hasModifier && TOWARD[key]) || [0, 0];
    const keys = hasModifier
      ? { z: event.shiftKey ? "redo" : "undo", Z: "redo", y: "redo", a: "selectAll" }
      : { a: "add", c: "begin", d: "duplicate", Delete: "remove", Backspace: "remove", g: "fold", Escape: "escape", F2: "rename", r: "rename", i: "edit" };
    const action = event.altKey || !Object.hasOwn(keys, key) ? null : keys[key];
    const isMove = across !== 0 || down !== 0;
    if (!isMove && (action === null || (isRecorded && !WITHOUT_EDITS.includes(action)))) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (isMove) this.nudge(across, down, event.shiftKey);
    else if (action === "add") this.add(null);
    else this[action]();
  }

  // Move what is selected; the model learns of it when no key follows.
  nudge(across, down, isFine) {
    const by = isFine ? FINE : COARSE;
    const moved = this.network.shift(across * by, down * by);
    if (moved.length === 0) return void this.say(texts.nothingToMove);
    this.movesNeurons ||= moved.some((node) => !node.fold);
    const note = texts.movedBy(moved.length, texts.directions[`${across} ${down}`]);
    this.say(note);
    if (isRecorded) return;
    clearTimeout(this.nudged);
    this.nudged = setTimeout(() => this.settle(note), MOVED_AFTER);
  }

  // A movement by keys that the model does not know of yet becomes an edit.
  settle(note = null) {
    if (this.nudged === null) return;
    clearTimeout(this.nudged);
    this.nudged = null;
    this.network.rememberBoxes();
    const { movesNeurons } = this;
    this.movesNeurons = false;
    return movesNeurons ? this.moved(note) : undefined;
  }

  selectAll() {
    this.network.choose(this.run.system.neurons.map((_, neuron) => neuron));
  }

  fold() {
    if (!this.network.fold()) this.say(this.run.words.nothingToFold);
  }

  escape() {
    if (this.sources !== null) this.cancel();
    else this.network.choose([]);
  }

  // The rules of what is selected, or its first field.
  edit() {
    const place = find("neuron");
    this.enter(place.querySelector("textarea:not(:disabled)") ?? place.querySelector("input"));
  }

  // What the selected thing is called, or the weight of a synapse.
  rename() {
    const field = find("edit-name") ?? find("edit-weight");
    this.enter(field);
    field?.select();
  }

  // Go to a field, or say why there is none.
  enter(field) {
    if (field === null) this.say(this.reasonForNoField());
    else field.focus();
  }

  reasonForNoField() {
    const { nodes, edge } = this.network.selection;
    if (nodes.size === 0 && edge === null) return texts.nothingToEdit;
    if (isRecorded) return texts.recordedIsFixed;
    if (edge?.merged) return texts.oneOfSeveral;
    return edge === null ? texts.wasCreated(this.run.names()[[...nodes].at(-1)]) : texts.synapseWasCreated;
  }
}

// Whether a model has these positions, but for rounding.
function areAt(positions, known) {
  return known !== null && positions.every((place, i) => place.every((part, k) => Math.abs(part - known[i][k]) < ROUNDING));
}
