// A drawing of boxes and arrows: it moves, boxes can be dragged, focused and selected.

import { drawn, fill } from "./dom.js";
import { arrange } from "./layout.js";
import { Viewport } from "./viewport.js";

// Marked edges are moved above the others, unless that takes longer than it helps.
const MOST_LIFTED = 300;

let numDiagrams = 0;

export class Diagram extends EventTarget {
  // With `isHatched` there is a pattern of that name.
  constructor(svg, { isHatched = false } = {}) {
    super();
    this.svg = svg;
    this.marker = `arrow-${(numDiagrams += 1)}`;
    const kinds = ["plain", "sent", "path", "inhibitor"];
    const arrows = kinds.map((kind) => head(`${this.marker}-${kind}`, kind));
    this.edgeLayer = drawn("g", { class: "edges" });
    this.nodeLayer = drawn("g", { class: "nodes" });
    this.world = drawn("g", { class: "world" }, this.edgeLayer, this.nodeLayer);
    const patterns = isHatched ? [hatch()] : [];
    fill(svg, drawn("defs", {}, ...arrows, ...patterns), this.world);
    this.viewport = new Viewport(svg, this.world);
    this.nodes = new Map();
    this.edges = [];
    svg.addEventListener("keydown", (event) => this.key(event));
    svg.addEventListener("click", (event) => {
      if (event.target === svg) this.emit("select", null);
    });
  }

  // Nodes: {id, width, height, label, kind, paint(group)}; edges: {source, target, label, kind}.
  // Both are kept, and may be changed by `mark` later.
  draw(nodes, edges, { positions = null, keep = false } = {}) {
    const room = this.svg.parentNode.getBoundingClientRect();
    arrange(nodes, edges, { room, positions });
    this.nodes = new Map(nodes.map((node) => [node.id, node]));
    this.edges = edges;
    for (const node of nodes) node.edges = [];
    const both = new Set(edges.map((edge) => `${edge.source} ${edge.target}`));
    for (const edge of edges) {
      edge.from = this.nodes.get(edge.source);
      edge.to = this.nodes.get(edge.target);
      edge.isTwin = both.has(`${edge.target} ${edge.source}`);
      edge.from.edges.push(edge);
      if (edge.to !== edge.from) edge.to.edges.push(edge);
    }
    fill(this.nodeLayer, ...nodes.map((node) => this.nodeGroup(node)));
    fill(this.edgeLayer, ...edges.map((edge) => this.edgeGroup(edge)));
    this.focusable = nodes.find((node) => node.isTarget)?.id ?? null;
    this.nodes.get(this.focusable)?.group.setAttribute("tabindex", "0");
    if (!keep || this.viewport.isFitted) this.viewport.fit(this.bounds());
  }

  nodeGroup(node) {
    const attributes = { class: `node ${node.kind ?? ""}`, "data-id": node.id };
    if (node.isTarget) {
      Object.assign(attributes, { tabindex: "-1", role: "button", "aria-label": node.label });
    }
    node.group = drawn("g", attributes);
    node.paint(node.group, node);
    place(node);
    if (node.isTarget) {
      node.group.addEventListener("pointerdown", (event) => this.drag(event, node));
      node.group.addEventListener("focus", () => this.focused(node));
      node.group.addEventListener("click", () => this.emit("select", node.id));
    }
    return node.group;
  }

  edgeGroup(edge) {
    edge.path = drawn("path", { class: "line" });
    edge.text = edge.label ? drawn("text", { class: "weight" }, edge.label) : null;
    edge.group = drawn("g", { class: "edge" }, edge.path, ...(edge.text ? [edge.text] : []));
    this.mark(edge, edge.kind ?? "plain");
    route(edge);
    return edge.group;
  }

  // How an edge looks: "plain", "sent" or "path".
  mark(edge, kind) {
    if (edge.marked === kind) return;
    edge.marked = kind;
    edge.group.setAttribute("class", `edge ${kind} ${edge.shape ?? ""}`);
    const ending = edge.shape === "inhibitor" ? "inhibitor" : kind;
    edge.path.setAttribute("marker-end", `url(#${this.marker}-${ending})`);
    const isOnTop = kind !== "plain" && this.edges.length <= MOST_LIFTED;
    if (isOnTop && edge.group.parentNode) this.edgeLayer.append(edge.group);
  }

  bounds() {
    const all = [...this.nodes.values()];
    if (all.length === 0) return { x: 0, y: 0, width: 1, height: 1 };
    const points = this.edges.flatMap((edge) => edge.points ?? []);
    const xs = (sign) => all.map((n) => n.x + (sign * n.width) / 2).concat(points.map((p) => p.x));
    const ys = (sign) => all.map((n) => n.y + (sign * n.height) / 2).concat(points.map((p) => p.y));
    const x = Math.min(...xs(-1));
    const y = Math.min(...ys(-1)) - 8;
    return { x, y, width: Math.max(...xs(1)) - x, height: Math.max(...ys(1)) + 8 - y };
  }

  drag(event, node) {
    // A finger moves the drawing, of which boxes take most on a phone.
    if (event.button !== 0 || event.pointerType === "touch") return;
    let { clientX: x, clientY: y } = event;
    let far = false;
    const move = (moved) => {
      if (this.viewport.pointers.size > 1) return;
      far ||= Math.hypot(moved.clientX - event.clientX, moved.clientY - event.clientY) > 4;
      if (!far) return;
      node.x += (moved.clientX - x) / this.viewport.scale;
      node.y += (moved.clientY - y) / this.viewport.scale;
      [x, y] = [moved.clientX, moved.clientY];
      place(node);
      for (const edge of node.edges) {
        edge.points = null;
        route(edge);
      }
    };
    const end = () => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", end);
      removeEventListener("pointercancel", end);
      if (far) this.viewport.box = this.bounds();
    };
    event.stopPropagation(); // the drawing stays where it is
    addEventListener("pointermove", move);
    addEventListener("pointerup", end);
    addEventListener("pointercancel", end);
  }

  focused(node) {
    this.nodes.get(this.focusable)?.group.setAttribute("tabindex", "-1");
    this.focusable = node.id;
    node.group.setAttribute("tabindex", "0");
    this.emit("focus", node);
    this.viewport.reveal(boxOf(node));
  }

  // Arrows go to the nearest box in their direction, Enter selects.
  key(event) {
    const node = this.nodes.get(this.focusable);
    if (!node || !event.target.closest?.(".node")) return;
    const toward = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (event.key === "Enter" || event.key === " ") {
      this.emit("select", node.id);
    } else if (event.key in toward) {
      const [dx, dy] = toward[event.key];
      let best = null;
      let least = Infinity;
      for (const other of this.nodes.values()) {
        const ahead = (other.x - node.x) * dx + (other.y - node.y) * dy;
        const aside = Math.abs((other.x - node.x) * dy) + Math.abs((other.y - node.y) * dx);
        if (!other.isTarget || ahead <= 1 || ahead + 2 * aside >= least) continue;
        [best, least] = [other, ahead + 2 * aside];
      }
      best?.group.focus();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  emit(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }
}

function place(node) {
  const { x, y } = boxOf(node);
  node.group.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`);
}

export function boxOf(node) {
  const { x, y, width, height } = node;
  return { x: x - width / 2, y: y - height / 2, width, height };
}

function route(edge) {
  const { from, to } = edge;
  const points = from === to ? null : (edge.points ?? straight(from, to, edge.isTwin));
  const path = points === null ? loop(from) : smooth(points);
  edge.path.setAttribute("d", path.d);
  if (edge.text === null) return;
  edge.text.setAttribute("x", path.middle.x.toFixed(1));
  edge.text.setAttribute("y", (path.middle.y + 4).toFixed(1));
}

// From border to border; two that go to and fro bend apart.
function straight(from, to, isTwin) {
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  const bend = isTwin ? Math.min(26, length / 5) : 0;
  const aside = { x: (-(to.y - from.y) / length) * bend, y: ((to.x - from.x) / length) * bend };
  const beside = (node) => ({ x: node.x + aside.x, y: node.y + aside.y });
  const [start, end] = [border(from, beside(to)), border(to, beside(from))];
  const middle = { x: (start.x + end.x) / 2, y: (start.y + end.y) / 2 };
  return [start, beside(middle), end];
}

function border(node, toward) {
  const dx = toward.x - node.x;
  const dy = toward.y - node.y;
  if (dx === 0 && dy === 0) return { x: node.x, y: node.y };
  const across = Math.abs(dx) / (node.width / 2);
  const down = Math.abs(dy) / (node.height / 2);
  const part = 1 / Math.max(across, down, 1);
  return { x: node.x + dx * part, y: node.y + dy * part };
}

function smooth(points) {
  const at = ({ x, y }) => `${x.toFixed(1)} ${y.toFixed(1)}`;
  let d = `M${at(points[0])}`;
  for (let i = 1; i < points.length - 1; i += 1) {
    const [here, next] = [points[i], points[i + 1]];
    const isLast = i === points.length - 2;
    const end = isLast ? next : { x: (here.x + next.x) / 2, y: (here.y + next.y) / 2 };
    d += ` Q${at(here)} ${at(end)}`;
  }
  if (points.length === 2) d += ` L${at(points[1])}`;
  return { d, middle: points[Math.floor(points.length / 2)] };
}

function loop({ x, y, height, width }) {
  const top = y - height / 2;
  const right = x + width / 2;
  const d =
    `M${right - 34} ${top} C${right - 34} ${top - 34} ${right + 28} ${top - 26} ` +
    `${right} ${top + 16}`;
  return { d, middle: { x: right + 4, y: top - 18 } };
}

// An arrow, or the circle of an inhibitor arc.
function head(id, kind) {
  const size = { markerWidth: 9, markerHeight: 9, refX: 8, refY: 4.5, orient: "auto" };
  const units = { markerUnits: "userSpaceOnUse", viewBox: "0 0 9 9" };
  const shape =
    kind === "inhibitor"
      ? drawn("circle", { cx: 4.5, cy: 4.5, r: 3.4 })
      : drawn("path", { d: "M0 0.6 L8.6 4.5 L0 8.4 L2 4.5 Z" });
  return drawn("marker", { id, class: `head ${kind}`, ...size, ...units }, shape);
}

// What closed neurons are filled with.
function hatch() {
  const size = { width: 8, height: 8, patternUnits: "userSpaceOnUse" };
  const line = drawn("path", { class: "hatch-line", d: "M0 8 L8 0 M-2 2 L2 -2 M6 10 L10 6" });
  const ground = drawn("rect", { class: "hatch-ground", width: 8, height: 8 });
  return drawn("pattern", { id: "hatch", ...size }, ground, line);
}
