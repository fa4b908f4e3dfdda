// The explored configuration graph, and the way to any configuration in it.

import { ask, isRecorded, Refusal } from "./backend.js";
import { Diagram } from "./diagrams.js";
import { drawn, find, shortened } from "./dom.js";
import { texts } from "./texts.js";

const MOST_LETTERS = 40;
const LETTER = 7.3;

export class GraphView {
  constructor(run) {
    this.run = run;
    this.diagram = new Diagram(find("graph"));
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
    const { model } = run;
    if (model === null) return;
    this.status.textContent = texts.exploring;
    try {
      const found = await ask("explore", { model, most: Number(find("most").value) || 1 });
      if (model === run.model) this.show(found);
    } catch (error) {
      this.fail(error);
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
        isTarget: true,
        kind: `state${halting.has(id) ? " halting" : ""}${open.has(id) ? " open" : ""}`,
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
    this.diagram.draw(nodes, edges);
    const sizes = texts.explored(nodes.length, found.choices, found.halting.length);
    const whole = found.complete ? texts.complete : texts.notComplete(found.stop);
    const hidden = found.choices > 0 && edges.length === 0 ? texts.tooManyChoices : "";
    this.status.textContent = `${sizes} · ${whole}${hidden}`;
    this.mark();
  }

  // The way to the configuration that was asked for, while it is shown.
  mark() {
    if (this.found === null) return;
    const { run, path } = this;
    const isPath = path !== null && this.rows[run.position] === run.row;
    const here = path?.[run.position];
    for (const [id, node] of this.diagram.nodes) {
      node.group.classList.toggle("here", isPath && id === here);
    }
    for (const edge of this.diagram.edges) {
      const at = isPath ? path.indexOf(edge.source) : -1;
      const isOn = at >= 0 && at < run.position && path[at + 1] === edge.target;
      this.diagram.mark(edge, isOn ? "path" : "plain");
    }
  }

  async go(id) {
    if (id === null || this.found === null || isRecorded) return;
    try {
      this.path = await this.run.go(id);
      this.rows = [...this.run.rows];
      this.mark();
      this.status.textContent = texts.configurationShown(id, this.run.position);
    } catch (error) {
      this.fail(error);
    }
  }

  fail(error) {
    if (!(error instanceof Refusal)) throw error;
    this.status.textContent = error.message;
  }
}

function paintState(group, node, text) {
  const { width, height } = node;
  const outer = drawn("rect", { class: "outer", x: -3.5, y: -3.5, width: width + 7, height: height + 7, rx: 11 });
  const label = drawn("text", { class: "spikes", x: width / 2, y: 20.5 }, text);
  const body = drawn("rect", { class: "body", width, height, rx: 8 });
  group.append(drawn("title", {}, node.label), outer, body, label);
}
