// The explored configuration graph, and the way to any configuration in it.

import { ask, isRecorded, Refusal } from "./backend.js";
import { keyOf } from "./changes.js";
import { boxOf, Diagram } from "./diagrams.js";
import { drawn, find, raised, shortened } from "./dom.js";
import { texts } from "./texts.js";

const MOST_LETTERS = 40;
const LETTER = 7.3;

export class GraphView {
  constructor(run) {
    this.run = run;
    this.diagram = new Diagram(find("graph"), { isRead: true });
    this.diagram.addEventListener("near", ({ detail }) => this.look(detail));
    this.status = find("graph-status");
    this.diagram.addEventListener("select", ({ detail }) => this.go(detail.id));
    find("explore").addEventListener("submit", (event) => {
      event.preventDefault();
      this.explore();
    });
    run.addEventListener("opened", () => this.clear());
    run.addEventListener("moved", () => this.mark());
  }

  clear() {
    this.found = null;
    this.path = null;
    this.diagram.draw([], []);
    this.status.textContent = "";
  }

  async explore() {
    const { run } = this;
    const { model, computation } = run;
    if (model === null) return void (this.status.textContent = texts.unreadable);
    this.status.textContent = texts.exploring;
    try {
      const found = await ask("explore", { model, most: Number(find("most").value) || 1 });
      if (computation === run.computation) this.show(found);
    } catch (error) {
      this.fail(error, computation === run.computation);
    }
  }

  show(found) {
    this.found = found;
    this.path = null;
    const halting = new Set(found.halting);
    const open = new Set(found.open);
    const nodes = found.configurations.map((text, id) => {
      const own = shortened(text, MOST_LETTERS);
      const node = {
        id,
        label: texts.configuration(id, text, halting.has(id)),
        title: own,
        isTarget: true,
        kind: ["state", id === 0 && "initial", halting.has(id) && "halting", open.has(id) && "open"].filter(Boolean).join(" "),
        width: own.length * LETTER + 26,
        height: 32,
        paint: (group) => paintState(group, node, own),
      };
      return node;
    });
    const edges = found.edges.map(([source, target, label]) => ({
      source,
      target,
      label: shortened(label, 24),
    }));
    this.next = new Map();
    for (const { source, target } of edges) this.next.set(source, [...(this.next.get(source) ?? []), target]);
    this.diagram.draw(nodes, edges);
    const sizes = texts.explored(nodes.length, found.choices, found.halting.length);
    const whole = found.complete ? texts.complete : texts.notComplete(found.stop);
    const hidden = found.choices > 0 && edges.length === 0 ? texts.tooManyChoices : "";
    this.status.textContent = `${sizes} · ${whole}${hidden}`;
    this.mark();
  }

  // The computation that is shown, as far as it runs in the graph: it may be a witness, or have been
  // made step by step.
  mark() {
    if (this.found === null) return;
    const { run, path } = this;
    const isPath = path !== null && this.rows[run.position] === run.row;
    const way = isPath ? path.slice(0, run.position + 1) : this.walked(run.rows.slice(0, run.position + 1));
    const here = way.length === run.position + 1 ? way.at(-1) : null;
    if (here !== null && here !== this.here) this.diagram.viewport.reveal(boxOf(this.diagram.nodes.get(here)));
    this.here = here;
    for (const node of this.diagram.nodes.values()) this.look(node);
    const steps = new Set(way.slice(1).map((id, at) => keyOf([way[at], id])));
    for (const edge of this.diagram.edges) {
      this.diagram.mark(edge, steps.has(keyOf([edge.source, edge.target])) ? "path" : "plain");
    }
    this.diagram.renew();
  }

  look(node) {
    const isHere = node.id === this.here;
    node.look = isHere ? "may" : "plain";
    node.isSelected = isHere || node.id === 0; // among shapes it has a border
    node.group?.classList.toggle("here", isHere);
  }

  // The configurations of a computation, by number, until one is not known.
  walked(rows) {
    const { found } = this;
    const next = found.edges.length > 0 ? this.next : null;
    const way = [];
    for (const row of rows) {
      const own = way.length === 0 ? [0] : next === null ? [] : (next.get(way.at(-1)) ?? []);
      const alike = own.filter((id) => hasCounts(found.configurations[id], row));
      const text = alike.length > 1 ? textOf(row) : null;
      const same = alike.filter((id) => found.configurations[id] === text);
      const [only, ...others] = same.length > 0 ? same : alike;
      if (only === undefined || others.length > 0) break;
      way.push(only);
    }
    return way;
  }

  async go(id) {
    if (id === null || this.found === null) return;
    if (isRecorded) return this.goRecorded(id);
    const { found } = this;
    try {
      const path = await this.run.go(id);
      if (path === null || found !== this.found) return; // another model was opened
      this.path = path;
      this.rows = [...this.run.rows];
      this.mark();
      this.status.textContent = texts.configurationShown(id, this.run.position);
    } catch (error) {
      this.fail(error, found === this.found);
    }
  }

  // Without a server: the step of the run that was recorded, or of the first branch that has one.
  async goRecorded(id) {
    const { run } = this;
    const computations = [run.rows, ...run.kept.map(({ rows }) => rows)];
    const rows = computations.find((own) => this.walked(own).includes(id));
    if (rows === undefined) return void (this.status.textContent = texts.notRecorded(id));
    if (rows !== run.rows) await run.walk(rows);
    run.show(this.walked(rows).indexOf(id));
    this.status.textContent = texts.configurationShown(id, run.position);
    return undefined;
  }

  fail(error, isShown) {
    if (!(error instanceof Refusal)) throw error;
    if (isShown) this.status.textContent = error.message;
  }
}

// Whether a configuration as the graph writes it, which may be cut, has the counts of a row.
function hasCounts(text, { spikes }) {
  const isCut = text.endsWith("...");
  const own = text.replace(/ [^,]*→.*$/, "").replace(/⁽[^⁾]*⁾?/g, "").replace(/[^,<]*:(-?\d+)(?=, |>)/g, "$1");
  const counts = own.replace(isCut ? /,[^,]*$/ : ">", "").slice(1).replaceAll(", ", ",");
  return isCut ? `${spikes},`.startsWith(`${counts},`) : String(spikes) === counts;
}

// What a row is where nothing is in flight: counts, and the timers of closed neurons.
function textOf({ spikes, timer }) {
  const noted = (count, i) => String(count) + (timer.has(i) ? `⁽${raised(timer.get(i))}⁾` : "");
  return `<${spikes.map(noted).join(",")}>`;
}

function paintState(group, node, text) {
  const { width, height } = node;
  const outer = drawn("rect", { class: "outer", x: -3.5, y: -3.5, width: width + 7, height: height + 7, rx: 11 });
  const label = drawn("text", { class: "spikes", x: width / 2, y: 20.5 }, text);
  const body = drawn("rect", { class: "body", width, height, rx: 8 });
  group.append(drawn("title", {}, node.label), outer, body, label);
}
