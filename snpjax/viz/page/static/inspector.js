// The selected neuron: what it is doing, and its spikes and rules to be changed.

import { ask, isRecorded, Refusal } from "./backend.js";
import { changesOf } from "./changes.js";
import { arrivals, element, fill, find, findingItem, hint, typeset } from "./dom.js";
import { aboutFold } from "./folds.js";
import { texts } from "./texts.js";

const CHECK_AFTER = 180; // milliseconds without a key
const MOST_LISTED = 50;

export class Inspector {
  constructor(run) {
    this.name = null; // of the neuron whose fields are there
    this.of = null; // the system that it is in
    this.drafts = new Map(); // what is typed and not applied, by the names of neurons
    this.sent = new WeakMap(); // what was sent of the text of fields, which are left then
    this.run = run;
    this.place = find("neuron");
    this.neuron = null;
    this.fold = null; // the box that is shown instead
    this.place.addEventListener("keydown", (event) => this.key(event));
    run.addEventListener("opened", () => this.show(null));
    run.addEventListener("moved", () => this.state());
  }

  // Enter, and Ctrl+Enter in the rules, apply what was written, at once; Escape goes back to the drawing.
  key(event) {
    const { key, target } = event;
    const isRules = target === this.rules;
    if (key === "Escape") {
      event.stopPropagation();
      if (target.form && !target.form.contains(this.rules)) target.value = target.defaultValue; // it is not applied
      this.leave(target, this.fold?.members[0] ?? this.neuron);
    } else if (key === "Enter" && (isRules ? event.ctrlKey || event.metaKey : target === this.spikes)) {
      event.preventDefault();
      if (this.typed !== null) this.submit(event);
      else this.leave(target, this.neuron);
    }
  }

  // `count`: how many are selected, of which this is the last.
  show(neuron, count = 1) {
    if (this.of === this.run.system && this.name !== this.of?.neurons[neuron]?.name) this.commit();
    else this.store(); // it is edited
    this.name = null;
    this.of = this.run.system;
    this.neuron = neuron;
    this.fold = null;
    clearTimeout(this.timer);
    const { run } = this;
    if (run.system === null || neuron === null) return this.clear();
    const initial = run.system.neurons[neuron];
    this.now = element("p", { class: "now" });
    const others = count > 1 ? hint(texts.andMore(count - 1)) : null;
    const about = [element("h3", {}, run.names()[neuron]), others, this.now];
    // What is edited is the beginning: not what a neuron became by division.
    if (isRecorded || initial?.spikes === undefined || !run.isInitial(neuron)) {
      const beats = this.beatsForm(neuron);
      const rules = run.rules(neuron).map((rule) => element("li", {}, typeset(rule)));
      const list = beats === null ? element("ul", { class: "rules" }, ...rules) : null;
      fill(this.place, ...about, list, this.arcs(neuron), this.nameForm(neuron), beats, this.rankForm(neuron), this.foldButton(neuron));
      return this.state();
    }
    this.onSynapses = run.system.hasSynapseRules;
    const spikes = { id: "edit-spikes", value: String(initial.spikes), inputmode: "numeric", autocomplete: "off", "aria-describedby": "edit-findings" };
    this.spikes = element("input", { ...spikes, input: () => this.changed() });
    this.rules = element("textarea", {
      id: "edit-rules",
      rows: Math.min(Math.max(run.rules(neuron).length + 1, 3), 9),
      spellcheck: "false",
      autocapitalize: "off",
      wrap: "off",
      "aria-describedby": "edit-findings",
      disabled: this.onSynapses,
      input: () => this.changed(),
    });
    this.rules.value = this.onSynapses
      ? texts.rulesOnSynapses
      : run.rules(neuron).join("\n");
    this.before = this.rules.value;
    this.findings = element("ol", { id: "edit-findings", class: "findings", role: "status" });
    this.apply = element("button", { class: "primary", disabled: true }, texts.apply);
    const shared = run.system.neurons.filter((other) => other.label === initial.label).length;
    this.name = initial.name;
    const draft = this.drafts.get(initial.name);
    if (draft !== undefined) {
      this.spikes.value = draft.spikes;
      if (draft.rules !== null) this.rules.value = draft.rules;
      this.changed();
    }
    const form = element(
      "form",
      {
        submit: (event) => this.submit(event),
        mousedown: (event) => event.target.closest("button") && event.preventDefault(), // the field keeps the focus
        // Whether another window has the focus then is known a moment later.
        focusout: ({ relatedTarget }) => {
          if (form.contains(relatedTarget) || relatedTarget?.closest("#incoming")) return; // which decides of it
          setTimeout(() => {
            const isThere = this.name !== null && form.contains(this.spikes);
            if (isThere && document.hasFocus() && !form.contains(document.activeElement)) this.commit();
          });
        },
      },
      element("label", { for: "edit-spikes" }, run.words.beginning),
      this.spikes,
      ...(run.isNet ? [] : [element("label", { for: "edit-rules" }, texts.rulesField), this.rules]),
      shared > 1 ? hint(texts.sharedRules(shared, initial.label)) : null,
      this.findings,
      element("div", { class: "row" }, this.apply, element("button", { type: "button", click: () => this.reset(neuron) }, texts.reset)),
    );
    fill(this.place, ...about, form, this.arcs(neuron), this.nameForm(neuron), this.endsForm(neuron));
    return this.state();
  }

  // A box of folded neurons, and its name, which is no part of the model.
  showFold(fold) {
    this.show(null); // what is typed for a neuron is applied
    this.fold = fold;
    const [neuron] = fold.members;
    this.now = element("p", { class: "now" });
    const title = element("h3", {}, fold.name);
    const field = element("input", { id: "edit-name", value: fold.name, autocomplete: "off", spellcheck: "false", maxlength: 60 });
    const rename = (event) => {
      event.preventDefault();
      const name = field.value.trim() || fold.name;
      field.value = field.defaultValue = name;
      if (name !== fold.name) this.onfoldname?.(fold, name);
      title.textContent = name;
      if (event.type === "submit") this.leave(field, neuron);
    };
    field.addEventListener("change", rename);
    const form = element("form", { submit: rename }, element("label", { for: field.id }, texts.nameOfBox), field);
    const more = fold.names.length - MOST_LISTED;
    const members = fold.names.slice(0, MOST_LISTED).join(", ") + (more > 0 ? ` ${texts.andMore(more)}` : "");
    fill(this.place, title, this.now, hint(members), form, this.foldButton(neuron));
    this.state();
  }

  // The arcs of a place or transition, each a way to its weight.
  arcs(neuron) {
    const { run } = this;
    if (!run.isNet) return null;
    const names = run.names();
    const own = run.synapses().filter(([source, target]) => source === neuron || target === neuron);
    const items = own.slice(0, MOST_LISTED).map(([source, target, weight, , shape]) => {
      const text = texts.edge(run.words.edgeOf(shape), names[source], names[target], weight, 0);
      const go = () => this.onpick?.({ source, target, shape });
      return element("li", {}, element("button", { type: "button", class: "link", click: go }, text));
    });
    return element("ul", { class: "edges" }, ...items);
  }

  // A page without a server has no tools above the drawing.
  foldButton(neuron) {
    if (!isRecorded) return null;
    const attributes = { type: "button", id: "fold-selected", title: texts.foldTip, click: () => this.onfold?.() };
    return element("button", attributes, this.isFolded?.(neuron) ? texts.unfold : texts.fold);
  }

  // The name, changed when it is left or with Enter.
  nameForm(neuron) {
    const { run } = this;
    if (isRecorded || !run.isInitial(neuron)) return null;
    let name = run.names()[neuron];
    const field = element("input", { id: "edit-name", value: name, autocomplete: "off", spellcheck: "false", maxlength: 200 });
    const rename = (event) => {
      event.preventDefault();
      if (field.value.trim() === name) {
        if (event.type === "submit") this.leave(field, neuron); // as after a change
        return;
      }
      name = field.value.trim(); // Enter also changes the field
      this.send(field);
      const before = this.name;
      const isFree = run.names().every((other) => other !== name);
      const wanted = name;
      if (isFree && before !== null) this.move(before, wanted); // it is shown next with what is typed
      const keep = (text) => {
        if (isFree && before !== null) this.move(wanted, before);
        if (field.isConnected) refuse(text);
        else this.onrefused?.(text);
      };
      this.onchange?.([{ do: "rename", neuron, name: field.value }], { select: [neuron], refuse: keep });
    };
    const { problem, refuse } = problemOf(field);
    field.addEventListener("change", rename);
    return element("form", { submit: rename }, element("label", { for: "edit-name" }, texts.name), field, problem);
  }

  // The transitions over which one has priority.
  beatsForm(neuron) {
    const { run } = this;
    const { beats } = run.system.neurons[neuron] ?? {};
    if (isRecorded || beats === undefined) return null;
    const names = run.names();
    const attributes = { id: "edit-beats", rows: Math.min(Math.max(beats.length + 1, 2), 9), wrap: "off", spellcheck: "false", autocapitalize: "off" };
    const field = element("textarea", attributes, beats.map((other) => names[other]).join("\n"));
    const numbers = new Map(names.map((name, node) => [name.trim(), node]).filter(([, node]) => "beats" in run.system.neurons[node]));
    return this.fieldForm(neuron, field, texts.beatsField, () => {
      const wanted = field.value.split("\n").map((line) => line.trim()).filter(Boolean);
      const unknown = wanted.find((name) => !numbers.has(name));
      if (unknown !== undefined) return texts.notATransition(unknown);
      const others = wanted.map((name) => numbers.get(name));
      const pairs = (from, without) => from.filter((other) => !without.includes(other)).map((other) => [neuron, other]);
      return [
        { do: "priority", pairs: pairs(beats, others), is_on: false },
        { do: "priority", pairs: pairs(others, beats) },
      ].filter((operation) => operation.pairs.length > 0);
    });
  }

  // The position of a transition in a total order.
  rankForm(neuron) {
    const { neurons } = this.run.system;
    const { rank } = neurons[neuron] ?? {};
    if (isRecorded || rank === undefined) return null;
    const most = neurons.filter((other) => other.rank !== undefined).length;
    const field = this.numberField("edit-rank", rank);
    return this.fieldForm(neuron, field, texts.rankField, () => {
      const wanted = /^\d+$/.test(field.value.trim()) ? Number(field.value) : 0;
      if (wanted < 1 || wanted > most) return texts.notAPosition(most);
      return wanted === rank ? [] : [{ do: "order", neuron, rank: wanted }];
    });
  }

  // A field that is applied when it is left, or with Enter, and with Ctrl+Enter where it has lines. `read`
  // gives the operations, or what is wrong with the text.
  fieldForm(neuron, field, label, read) {
    let sent = field.defaultValue;
    const { problem, accept, refuse } = problemOf(field);
    const apply = (event) => {
      event.preventDefault();
      if (field.value === sent) {
        if (event.type === "submit") this.leave(field, neuron); // as after a change
        return;
      }
      const operations = read();
      if (typeof operations === "string") return void refuse(operations);
      accept();
      sent = field.value; // Enter also changes the field
      this.send(field);
      const keep = (text) => {
        sent = null;
        if (field.isConnected) refuse(text);
        else this.onrefused?.(text);
      };
      if (operations.length > 0) this.onchange?.(operations, { select: [neuron], refuse: keep });
    };
    const form = element("form", { submit: apply }, element("label", { for: field.id }, label), field, problem);
    field.addEventListener("change", apply);
    field.addEventListener("keydown", (event) => {
      const isApplied = field.rows !== undefined && event.key === "Enter" && (event.ctrlKey || event.metaKey);
      if (!isApplied) return;
      event.preventDefault();
      form.requestSubmit();
    });
    return form;
  }

  // The neuron has another name, also for an edit that is on its way.
  move(before, name) {
    const draft = this.drafts.get(before);
    this.drafts.delete(before);
    if (draft !== undefined) this.drafts.set(name, draft);
    if (this.name === before) this.name = name;
  }

  leave(field, neuron) {
    field.blur();
    this.onleave?.(neuron);
  }

  // Whether the neuron is an input, and with which train, and whether it is an output.
  endsForm(neuron) {
    const { run } = this;
    if (run.isNet) return null;
    const name = run.names()[neuron];
    let train = run.system.input[name];
    const field = element("input", { id: "edit-input", value: train?.join(" ") ?? "", placeholder: texts.inputExample, autocomplete: "off" });
    const change = (operation, options) => this.onchange?.([{ neuron, ...operation }], { select: [neuron], ...options });
    const give = (event) => {
      event.preventDefault();
      const counts = field.value.split(/[\s,]+/).filter(Boolean);
      if (counts.join(" ") === (train?.join(" ") ?? "")) return;
      const isRight = counts.every((count) => /^-?\d+$/.test(count));
      if (!isRight && event.type === "change") this.onrefused?.(texts.notTaken(name, texts.notATrain)); // it was left
      if (!isRight) return refuse(texts.notATrain);
      train = counts;
      this.send(field);
      accept();
      change({ do: "input", train: counts.length === 0 ? null : counts.map((count) => (Number.isSafeInteger(Number(count)) ? Number(count) : count)) }, { refuse });
    };
    const { problem, accept, refuse } = problemOf(field);
    field.addEventListener("change", give);
    const box = element("input", {
      id: "edit-output",
      type: "checkbox",
      checked: run.system.output.includes(name),
      change: () => change({ do: "output", is_output: box.checked }),
    });
    return element(
      "form",
      { submit: give },
      element("label", { for: "edit-input" }, texts.inputField),
      field,
      problem,
      element("label", { class: "check" }, box, ` ${texts.outputField}`),
    );
  }

  // A synapse or an arc: its weight, its delay, and a button that removes it. Several that are drawn as one
  // are listed.
  showEdge(edge) {
    this.commit();
    this.neuron = this.name = this.fold = null;
    if (edge.merged) return this.listEdges(edge);
    const { run } = this;
    const names = [edge.source, edge.target].map((end) => run.names()[end]);
    const about = element("p", { class: "now" }, edge.title);
    const title = element("h3", {}, names.join(" → "));
    if (isRecorded || !run.isInitialEdge(edge)) return fill(this.place, title, about); // plasticity created it
    const weight = this.numberField("edit-weight", edge.weight);
    const delay = run.system.delays ? this.numberField("edit-delay", edge.delay) : null;
    const change = (event) => {
      event.preventDefault();
      const areRight = [weight, delay].filter(Boolean).map((field) => {
        const isRight = /^-?\d+$/.test(field.value.trim());
        field.setAttribute("aria-invalid", String(!isRight));
        return isRight;
      });
      if (!areRight.every(Boolean)) return;
      const of = (field) => (Number.isSafeInteger(Number(field.value)) ? Number(field.value) : field.value.trim());
      const ends = [edge.source, edge.target];
      const operations = [{ do: "connect", kind: edge.shape ?? "", synapses: [[...ends, of(weight)]] }];
      if (delay && of(delay) !== edge.delay) operations.push({ do: "delay", synapses: [[...ends, of(delay)]] });
      this.send(...[weight, delay].filter(Boolean));
      this.onchange?.(operations, { edge });
    };
    const form = element(
      "form",
      { submit: change },
      element("label", { for: "edit-weight" }, texts.weight),
      weight,
      delay && element("label", { for: "edit-delay" }, texts.delay),
      delay,
      element(
        "div",
        { class: "row" },
        element("button", { class: "primary" }, texts.apply),
        element("button", { type: "button", id: "edge-remove", click: () => this.onremove?.() }, texts.remove),
      ),
    );
    return fill(this.place, title, about, form);
  }

  numberField(id, value) {
    return element("input", { id, value: String(value), inputmode: "numeric", autocomplete: "off" });
  }

  // The synapses of one arrow to or from a box.
  listEdges({ title, merged }) {
    const items = merged.slice(0, MOST_LISTED).map((edge) => {
      const go = () => this.onpick?.(edge);
      return element("li", {}, element("button", { type: "button", class: "link", click: go }, edge.title));
    });
    const more = merged.length - items.length;
    fill(this.place, element("h3", {}, title), element("ul", { class: "edges" }, ...items), more > 0 ? hint(texts.andMore(more)) : null);
  }

  state() {
    const { run, neuron, fold } = this;
    if (run.system === null || (neuron === null && fold === null)) return;
    const { row } = run;
    if (fold !== null) return void (this.now.textContent = aboutFold(fold, row, run.isNet));
    if (neuron >= run.names().length) return this.clear();
    const timer = row.timer.get(neuron) ?? 0;
    const count = row.spikes[neuron];
    const parts = count === undefined ? [] : [texts.inStep(run.words.counted(count), row.step)];
    if (count === undefined && row.can.has(neuron)) parts.push(texts.mayFire);
    if (timer > 0) parts.push(texts.closedFor(timer));
    if (row.waiting.has(neuron)) parts.push(texts.waitingToLeave(row.waiting.get(neuron)));
    if (row.due.has(neuron)) parts.push(arrivals(row.due.get(neuron)));
    // What divided is shown by its children.
    const fired = changesOf(run.rows, run.position).born.has(neuron) ? undefined : row.done.get(neuron);
    if (fired !== undefined) parts.push(run.isNet ? fired[1] : texts.selectedRule(typeset(fired[1])));
    this.now.textContent = parts.join(" · ");
  }

  get question() {
    const rules = this.onSynapses || this.rules.value === this.before ? null : this.rules.value;
    return { model: this.run.model, neuron: this.neuron, spikes: this.spikes.value, rules };
  }

  // Whether a field holds something that is not applied.
  get isChanged() {
    const fields = [...this.place.querySelectorAll("input:not([type=checkbox]), textarea")];
    return fields.some((field) => this.differs(field));
  }

  // Whether a field holds something else than the system.
  differs(field) {
    return field.value !== (field === this.rules ? this.before : field.defaultValue);
  }

  // The field that has the focus, or null; one whose text was sent is left.
  get field() {
    const field = document.activeElement.closest("#neuron :is(input:not([type=checkbox]), textarea)");
    return field === null || this.sent.get(field) === field.value ? null : field;
  }

  // Type a text again in a field that was rebuilt. Browsers take it for its own text, not for a change.
  retype(field, text) {
    field.value = text;
    const change = () => field.isConnected && field.dispatchEvent(new Event("change"));
    field.addEventListener("blur", () => setTimeout(change), { once: true });
  }

  send(...fields) {
    for (const field of fields) this.sent.set(field, field.value);
  }

  // Whether something is not applied, of this neuron or of another one.
  get holdsText() {
    const isThere = (name) => this.run.system?.neurons.some((neuron) => neuron.name === name);
    return this.isChanged || [...this.drafts.keys()].some(isThere);
  }

  // Check again what could not be checked.
  again() {
    if (this.isChanged && this.place.contains(this.spikes)) this.check();
  }

  changed() {
    clearTimeout(this.timer);
    this.apply.disabled = true;
    this.timer = setTimeout(() => this.check(), CHECK_AFTER);
  }

  // What is typed in the fields of a neuron and not applied.
  get typed() {
    if (this.name === null) return null;
    const rules = this.onSynapses || this.rules.value === this.before ? null : this.rules.value;
    if (rules === null && this.spikes.value === this.spikes.defaultValue) return null;
    return { name: this.name, spikes: this.spikes.value, rules };
  }

  store() {
    const { typed, name } = this;
    const known = this.drafts.get(name);
    if (typed === null) this.drafts.delete(name);
    else if (known?.spikes === typed.spikes && known.rules === typed.rules) return known;
    else this.drafts.set(name, typed);
    return typed;
  }

  // Apply what was typed, since its fields are left.
  async commit() {
    const typed = this.store();
    if (typed !== null) await this.put(typed);
  }

  // Apply what was typed for a neuron; what is wrong with it stays with the neuron. It is listed at the
  // fields that were submitted if they are still there.
  async put(typed, { isSubmitted = false } = {}) {
    clearTimeout(this.timer);
    const nameNow = () => [...this.drafts.keys()].find((key) => this.drafts.get(key) === typed);
    const isHere = () => isSubmitted && this.name === nameNow();
    await this.next(async () => {
      const neuron = this.run.system?.neurons.findIndex(({ name }) => name === nameNow()) ?? -1;
      if (neuron < 0) return; // it was removed, or typed again
      try {
        const answer = await this.askEdit("edit", { model: this.run.model, neuron, spikes: typed.spikes, rules: typed.rules });
        const own = nameNow();
        if (own === undefined) return;
        if (!answer.read && isHere()) return void this.say(answer.findings);
        if (!answer.read) throw new Refusal(answer.findings[0].message);
        const show = isHere() ? this.onedit : this.onleft;
        this.drafts.delete(own);
        if (this.name === own) this.settle(typed);
        show?.(answer, neuron);
      } catch (error) {
        if (isHere()) return void this.fail(error);
        if (!(error instanceof Refusal)) throw error;
        this.onrefused?.(texts.notApplied(nameNow() ?? typed.name, error.message));
      }
    });
  }

  // What was typed is applied.
  settle({ spikes, rules }) {
    this.spikes.defaultValue = spikes;
    if (rules !== null) this.before = rules;
  }

  clear() {
    this.neuron = this.name = null;
    clearTimeout(this.timer);
    fill(this.place, hint(isRecorded ? texts.selectSomething : texts.selectToChange));
  }

  reset(neuron) {
    this.drafts.delete(this.name);
    this.name = null;
    this.show(neuron);
  }

  // Nothing that is typed is kept.
  forget() {
    this.clear();
    this.drafts.clear();
  }

  // What is wrong is said while it is written.
  async check() {
    const { question } = this;
    try {
      const { findings } = await ask("check", question);
      if (JSON.stringify(question) !== JSON.stringify(this.question)) return;
      this.say(findings);
      this.apply.disabled = findings.some((finding) => finding.severity === "error");
    } catch (error) {
      this.fail(error);
    }
  }

  async submit(event) {
    event.preventDefault();
    const typed = this.store();
    if (typed === null) return;
    this.send(this.spikes, this.rules);
    await this.put(typed, { isSubmitted: true });
  }

  say(findings) {
    const isWrong = (part) => findings.some((f) => f.part === part && f.severity === "error");
    this.spikes.setAttribute("aria-invalid", String(isWrong("spikes")));
    this.rules.setAttribute("aria-invalid", String(isWrong("rules")));
    fill(this.findings, ...findings.map((finding) => this.finding(finding)));
  }

  finding(finding) {
    const { part, line, column } = finding;
    const where = line === null ? null : texts.position(line, column);
    const go = () => {
      const field = part === "spikes" ? this.spikes : this.rules;
      field.focus();
      if (line !== null) selectPlace(field, line, column);
    };
    return findingItem(finding, where, go);
  }

  fail(error) {
    if (!(error instanceof Refusal)) throw error;
    this.say([{ part: "system", line: null, column: null, message: error.message, severity: "error" }]);
  }
}

// A place below a field for what is wrong with it.
function problemOf(field) {
  const problem = element("p", { id: `${field.id}-problem`, class: "problem", role: "status", hidden: true });
  field.setAttribute("aria-describedby", problem.id);
  const tell = (text) => {
    field.setAttribute("aria-invalid", String(text !== ""));
    problem.textContent = text;
    problem.hidden = text === "";
  };
  return { problem, accept: () => tell(""), refuse: tell };
}

// Put the cursor of a text field at a place, which is 1-based in characters.
export function selectPlace(field, line, column) {
  const lines = field.value.split("\n");
  const before = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
  const characters = [...(lines[line - 1] ?? "")];
  const own = characters.slice(0, column - 1).join("").length;
  const size = characters[column - 1]?.length ?? 0;
  field.setSelectionRange(before + own, before + own + size);
  const height = field.scrollHeight / Math.max(lines.length, 1);
  field.scrollTop = Math.max(0, (line - 1) * height - field.clientHeight / 2);
}
