// A drawing of boxes and arrows: it moves, boxes can be dragged, focused and selected.

import { drawn, fill } from "./dom.js";
import { placeLabels, sampled } from "./labels.js";
import { arrange, labelSize } from "./layout.js";
import { MiniMap } from "./minimap.js";
import { Overview } from "./overview.js";
import { endsOf, makeRoom } from "./places.js";
import { curvesOf, pointsAround, written } from "./routes.js";
import { Viewport } from "./viewport.js";

// With more boxes only those that are near are elements; all are shapes on a canvas below.
const MOST_ELEMENTS = 150;
const MOST_AVOIDED = 50_000; // pairs of an arrow and a box for which ways around boxes are sought
const NEAR = 0.5; // the scale from which on they are

// Marked edges are moved above the others, unless that takes longer than it helps.
const MOST_LIFTED = 300;

// The directions of the arrow keys.
export const TOWARD = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

// Below a neuron stands what it waits for.
const NOTE = 20;

let numDiagrams = 0;

export class Diagram extends EventTarget {
  // With `isHatched` there is a pattern of that name; with `isRead` many boxes stay in layers, of which
  // a part is shown that can be read.
  constructor(svg, { isHatched = false, isRead = false } = {}) {
    super();
    this.isRead = isRead;
    this.svg = svg;
    this.marker = `arrow-${(numDiagrams += 1)}`;
    const kinds = ["plain", "sent", "created", "path", "inhibitor"];
    const arrows = kinds.map((kind) => head(`${this.marker}-${kind}`, kind));
    this.edgeLayer = drawn("g", { class: "edges" });
    this.nodeLayer = drawn("g", { class: "nodes" });
    this.world = drawn("g", { class: "world" }, this.edgeLayer, this.nodeLayer);
    const patterns = isHatched ? [hatch()] : [];
    fill(svg, drawn("defs", {}, ...arrows, ...patterns), this.world);
    this.overview = new Overview(svg.parentNode);
    this.viewport = new Viewport(svg, this.world);
    this.viewport.onmove = () => {
      this.moved();
      this.map.request();
    };
    this.nodes = new Map();
    this.edges = [];
    this.raised = null; // the arrow that is an element even among many
    this.map = new MiniMap(this);
    svg.addEventListener("keydown", (event) => this.key(event));
    svg.addEventListener("click", (event) => {
      if (event.target !== svg || this.viewport.wasMoved) return;
      this.emit("select", { id: this.nodeAt(event)?.id ?? null, isMore: event.shiftKey });
    });
    svg.addEventListener("dblclick", (event) => {
      if (event.target === svg && this.nodeAt(event) === null) this.emit("place", this.pointOf(event));
    });
  }

  // Nodes: {id, width, height, label, kind, paint(group)}; edges: {source, target, label, kind}.
  // Both are kept, and may be changed by `mark` later. What was drawn before stays where it is if
  // `places` know it.
  draw(nodes, edges, { positions = null, isExact = false, routes = null, keep = false, places = null, parents = null } = {}) {
    const own = this.svg.parentNode.getBoundingClientRect();
    const { width, height } = this.svg.closest(".stage").getBoundingClientRect();
    // It may be hidden, or narrow next to the text.
    const room = { width, height: own.height > 0 ? own.height : height };
    if (places === null) {
      arrange(nodes, edges, { room, positions, isExact, isRead: this.isRead });
      makeRoom(nodes, nodes.filter((node) => node.hasGrown));
    } else {
      places.arrange(nodes, edges, parents);
    }
    this.nodes = new Map(nodes.map((node) => [node.id, node]));
    this.edges = edges;
    this.raised = null;
    for (const node of nodes) node.edges = [];
    const both = new Set(edges.map((edge) => `${edge.source} ${edge.target}`));
    for (const edge of edges) {
      edge.from = this.nodes.get(edge.source);
      edge.to = this.nodes.get(edge.target);
      edge.isTwin = both.has(`${edge.target} ${edge.source}`);
      edge.from.edges.push(edge);
      if (edge.to !== edge.from) edge.to.edges.push(edge);
    }
    this.isLarge = nodes.length > MOST_ELEMENTS;
    this.focusable = nodes.find((node) => node.isTarget)?.id ?? null;
    this.svg.tabIndex = this.isLarge ? 0 : -1; // where nothing is near it has the focus itself
    fill(this.nodeLayer);
    fill(this.edgeLayer);
    this.overview.load(this.isLarge ? nodes : [], this.isLarge ? edges : []);
    if (routes !== null) this.restore(routes);
    this.avoidBoxes();
    if (!this.isLarge) this.drawAll();
    this.map.load();
    const isSeen = places !== null && this.viewport.contains(this.bounds());
    if (!keep || (places !== null && this.viewport.isFitted && !isSeen)) {
      this.fit();
    } else {
      this.viewport.box = this.bounds();
      this.moved();
    }
  }

  // Show all, or of a drawing with texts the part around its first box that can be read.
  fit() {
    const isText = this.isRead || !this.isLarge;
    const [first] = this.nodes.values();
    this.viewport.fit(this.bounds(), isText && first ? { x: first.x, y: first.y } : null);
  }

  // The points of arrows.
  routes() {
    return new Map(this.edges.filter(({ points }) => points).map((edge) => [routeOf(edge), edge.points]));
  }

  // Arrows whose ends stand where they did run as they did.
  restore(routes) {
    for (const edge of this.edges) edge.points = routes.get(routeOf(edge)) ?? null;
  }

  // Arrows between boxes that were moved run around the others.
  avoidBoxes() {
    if (this.isLarge) return;
    const boxes = [...this.nodes.values()];
    const isDense = this.edges.length * boxes.length > MOST_AVOIDED;
    for (const edge of this.edges) edge.points = pointsAround(edge, boxes, isDense);
  }

  // Elements for all boxes and arrows.
  drawAll() {
    fill(this.nodeLayer, ...[...this.nodes.values()].map((node) => this.nodeGroup(node)));
    fill(this.edgeLayer, ...this.edges.map((edge) => this.edgeGroup(edge)));
    this.placeLabels();
    this.nodes.get(this.focusable)?.group.setAttribute("tabindex", "0");
  }

  // All as elements, for a picture, until something is moved.
  whole() {
    if (!this.isLarge) return;
    this.drawAll();
    for (const node of this.nodes.values()) this.emit("near", node);
  }

  // Another part is seen: of many boxes the near ones become elements, and others cease to be.
  moved() {
    if (!this.isLarge) return;
    const { scale, x, y } = this.viewport;
    const { width, height } = this.svg.getBoundingClientRect();
    const isSeen = (node) => {
      const [across, down] = [(node.width / 2) * scale, (node.height / 2) * scale];
      const [left, top] = [node.x * scale + x, node.y * scale + y];
      return left + across > 0 && top + down > 0 && left - across < width && top - down < height;
    };
    this.seen = [...this.nodes.values()].filter(isSeen);
    const { raised } = this;
    if (this.edgeLayer.childElementCount > (raised === null ? 0 : 1)) {
      fill(this.edgeLayer, raised?.group ?? null);
      for (const edge of this.edges) if (edge !== raised) edge.group = edge.path = null;
    }
    const near = new Set(scale >= NEAR && this.seen.length <= MOST_ELEMENTS ? this.seen : []);
    for (const node of this.nodes.values()) {
      if (node.group && !near.has(node) && !node.group.matches(":focus")) {
        node.group.remove();
        node.group = null;
      } else if (!node.group && near.has(node)) {
        this.nodeLayer.append(this.nodeGroup(node));
        this.emit("near", node);
      }
    }
    this.overview.see({ scale, x, y, width, height });
    this.emit("seen", this.seen);
  }

  // The box under a pointer where there is no element for it.
  nodeAt(event) {
    return this.isLarge ? this.boxAt(...this.pointOf(event)) : null;
  }

  // Where a pointer is in the drawing.
  pointOf(event) {
    const { scale, x, y } = this.viewport;
    const { left, top } = this.svg.getBoundingClientRect();
    return [(event.clientX - left - x) / scale, (event.clientY - top - y) / scale];
  }

  // The box at a point, or near by.
  boxAt(px, py) {
    const reach = 5 / this.viewport.scale;
    let best = null;
    let least = Infinity;
    for (const node of this.nodes.values()) {
      if (!node.isTarget) continue;
      const away = Math.max(Math.abs(node.x - px) - node.width / 2, Math.abs(node.y - py) - node.height / 2);
      if (away < Math.min(reach, least)) [best, least] = [node, away];
    }
    return best;
  }

  // Bring a box into sight; of many, so near that it is an element.
  bring(node) {
    if (this.isLarge) this.viewport.approach(boxOf(node), NEAR * 1.6);
    else this.viewport.reveal(boxOf(node));
  }

  // Bring a box into sight and focus it.
  approach(node) {
    this.bring(node);
    node.group?.focus();
  }

  // Focus a box, or the drawing itself where the box is too far for an element.
  hold(node) {
    this.focusable = node.id;
    (node.group ?? this.svg).focus();
  }

  // Make an element for one arrow, which stays one among many.
  raise(edge) {
    if (!this.isLarge || this.raised === edge) return;
    const { raised } = this;
    this.raised = edge;
    if (raised !== null) this.moved();
    if (edge !== null && !edge.group) this.edgeLayer.append(this.edgeGroup(edge));
  }

  // Focus an arrow, which selects it.
  approachEdge(edge) {
    this.raise(edge);
    edge.group.focus();
    this.emit("pick", edge);
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
      node.group.addEventListener("click", (event) => {
        this.emit("select", { id: node.id, isMore: event.shiftKey });
      });
    }
    return node.group;
  }

  edgeGroup(edge) {
    edge.path = drawn("path", { class: "line" });
    edge.text = edge.label ? drawn("text", { class: "weight" }, edge.label) : null;
    const label = [];
    if (edge.text !== null) {
      edge.size = labelSize(edge.label);
      const [width, height] = edge.size;
      edge.leader = drawn("path", { class: "leader" });
      edge.paper = drawn("rect", { class: "paper", width, height, rx: 3 });
      label.push(edge.leader, edge.paper, edge.text);
    }
    edge.group = drawn("g", { class: "edge" }, edge.path, ...label);
    if (edge.isTarget) {
      const attributes = { tabindex: "-1", role: "button" };
      for (const [name, value] of Object.entries(attributes)) edge.group.setAttribute(name, value);
      edge.grip = drawn("path", { class: "grip" });
      edge.group.append(edge.grip);
      edge.group.addEventListener("click", (event) => {
        event.stopPropagation();
        this.emit("pick", edge);
      });
    }
    const kind = edge.marked ?? edge.kind ?? "plain";
    edge.marked = undefined; // the element is new
    this.mark(edge, kind);
    route(edge);
    return edge.group;
  }

  // No label meets a node or another label, wherever nodes were dragged to.
  placeLabels() {
    const taken = [...this.nodes.values()].map((node) => {
      const { x, y, width, height } = boxOf(node);
      return [x, y, x + width, y + height + (node.note ? NOTE : 0)];
    });
    const paths = this.edges.map((edge) => edge.sampled);
    const sizes = this.edges.map((edge) => edge.size ?? null);
    placeLabels(paths, sizes, taken).forEach((place, index) => {
      if (place !== null) putLabel(this.edges[index], place);
    });
  }

  // A new box comes from its parent, and its arrows appear.
  emerge(node, parent) {
    if (!node.group || !moves()) return;
    const [start, end] = [parent, node].map(({ x, y }) => `translate(${x - node.width / 2}px, ${y - node.height / 2}px)`);
    node.group.animate([{ transform: start, opacity: 0.2 }, { transform: end, opacity: 1 }], { duration: 450, easing: "ease-out" });
    for (const edge of node.edges) edge.group?.animate([{ opacity: 0 }, { opacity: 1 }], 700);
  }

  // An arrow that is no longer there fades.
  fade(edge) {
    if (this.isLarge || !moves()) return;
    const group = this.edgeGroup(edge);
    group.classList.add("deleted");
    this.edgeLayer.append(group);
    group.animate([{ opacity: 0.9 }, { opacity: 0 }], 900).onfinish = () => group.remove();
  }

  // How an edge looks: "plain", "sent", "created" or "path".
  mark(edge, kind) {
    if (edge.marked === kind) return;
    edge.marked = kind;
    if (!edge.group) return void this.overview.requestArrows();
    const selected = edge.group.classList.contains("selected") ? "selected" : "";
    edge.group.setAttribute("class", `edge ${kind} ${edge.shape ?? ""} ${selected}`);
    const label = [edge.title, edge.states?.[kind]].filter(Boolean).join(", ");
    if (edge.isTarget) edge.group.setAttribute("aria-label", label);
    const ending = edge.shape === "inhibitor" ? "inhibitor" : kind;
    edge.path.setAttribute("marker-end", `url(#${this.marker}-${ending})`);
    const isOnTop = kind !== "plain" && this.edges.length <= MOST_LIFTED;
    // What is appended again loses the focus.
    if (isOnTop && edge.group.parentNode && document.activeElement !== edge.group) this.edgeLayer.append(edge.group);
  }

  // Boxes look different.
  renew() {
    this.overview.request();
    this.map.change();
  }

  bounds() {
    const all = [...this.nodes.values()];
    if (all.length === 0) return { x: 0, y: 0, width: 1, height: 1 };
    const boxes = all.map(boxOf);
    for (const edge of this.edges) {
      for (const { x, y } of [...(edge.points ?? []), ...(edge.corners ?? [])]) {
        boxes.push({ x, y, width: 0, height: 0 });
      }
    }
    let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
    for (const { x, y, width, height } of boxes) {
      [left, top] = [Math.min(left, x), Math.min(top, y)];
      [right, bottom] = [Math.max(right, x + width), Math.max(bottom, y + height)];
    }
    return { x: left, y: top - 8, width: right - left, height: bottom - top + 16 };
  }

  drag(event, node) {
    // Boxes fill most of a phone: a finger moves the drawing, and only a selected box.
    const { viewport } = this;
    const isTouch = event.pointerType === "touch";
    if (event.button !== 0 || (isTouch && (!node.isSelected || viewport.pointers.size > 0))) return;
    let { clientX: x, clientY: y } = event;
    let far = false;
    const move = (moved) => {
      if (viewport.pointers.size > 1) return void end(event); // two fingers enlarge the drawing
      if (moved.pointerId !== event.pointerId) return;
      far ||= Math.hypot(moved.clientX - event.clientX, moved.clientY - event.clientY) > 4;
      if (!far) return;
      const { scale } = viewport;
      this.shift([node], (moved.clientX - x) / scale, (moved.clientY - y) / scale);
      [x, y] = [moved.clientX, moved.clientY];
    };
    const end = ({ pointerId }) => {
      if (pointerId !== event.pointerId) return;
      viewport.held = null;
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", end);
      removeEventListener("pointercancel", end);
      if (!far) return;
      this.settle();
      this.emit("moved", node);
    };
    if (isTouch) viewport.held = event.pointerId; // it knows all fingers
    else event.stopPropagation(); // the drawing stays where it is
    addEventListener("pointermove", move);
    addEventListener("pointerup", end);
    addEventListener("pointercancel", end);
  }

  // Tab leads to that box.
  enterAt(node) {
    this.nodes.get(this.focusable)?.group?.setAttribute("tabindex", "-1");
    this.focusable = node.id;
    node.group?.setAttribute("tabindex", "0");
  }

  focused(node) {
    this.enterAt(node);
    this.emit("focus", node);
    this.viewport.reveal(boxOf(node));
  }

  // Arrow keys go to the nearest box in their direction, Enter selects, and e goes to an arrow of the box.
  key(event) {
    const node = this.nodes.get(this.focusable);
    const group = event.target.closest?.(".edge");
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (group) return void this.keyOfEdge(event, this.edges.find((edge) => edge.group === group));
    const isFar = this.isLarge && event.target === this.svg;
    if (!node || !(isFar || event.target.closest?.(".node"))) return;
    if (isFar && (event.key === "Enter" || event.key in TOWARD)) {
      this.approach(node);
    } else if (event.key === "Enter" || event.key === " ") {
      this.emit("select", { id: node.id, isMore: event.shiftKey });
    } else if (event.key in TOWARD) {
      const [dx, dy] = TOWARD[event.key];
      let best = null;
      let least = Infinity;
      for (const other of this.nodes.values()) {
        const ahead = (other.x - node.x) * dx + (other.y - node.y) * dy;
        const aside = Math.abs((other.x - node.x) * dy) + Math.abs((other.y - node.y) * dx);
        if (!other.isTarget || ahead <= 1 || ahead + 2 * aside >= least) continue;
        [best, least] = [other, ahead + 2 * aside];
      }
      if (best !== null) this.approach(best);
    } else if (event.key === "e") {
      const first = node.edges.find((edge) => edge.isTarget);
      if (first) this.approachEdge(first);
      else this.emit("unconnected", node);
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  // From arrow to arrow of one box, and back to the box.
  keyOfEdge(event, edge) {
    let node = this.nodes.get(this.focusable);
    if (!node?.edges.includes(edge)) node = edge.from;
    const by = { e: 1, ArrowRight: 1, ArrowDown: 1, E: -1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (by !== undefined) {
      const own = node.edges.filter((other) => other.isTarget);
      this.focusable = node.id;
      this.approachEdge(own.at((own.indexOf(edge) + by) % own.length));
    } else if (event.key === "Enter" || event.key === " ") {
      this.emit("pick", edge);
      this.emit("enter", edge);
    } else if (event.key === "Escape") {
      this.approach(node);
      this.emit("select", { id: node.id, isMore: false });
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  // Move boxes, with their arrows.
  shift(nodes, across, down) {
    for (const node of nodes) {
      node.x += across;
      node.y += down;
      if (node.group) place(node);
      for (const edge of node.edges) {
        edge.points = null;
        if (edge.path) route(edge);
      }
    }
    this.overview.refresh();
  }

  // Boxes were moved: what depends on where they stand.
  settle() {
    if (!this.isLarge) {
      const before = this.edges.map(({ points }) => points);
      this.avoidBoxes();
      this.edges.forEach((edge, i) => edge.points !== before[i] && route(edge));
      this.placeLabels();
    }
    this.viewport.box = this.bounds();
    this.map.load();
  }

  emit(name, detail) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }
}

// One query for all movements: a browser keeps every query that was made.
const isStill = matchMedia("(prefers-reduced-motion: reduce)");

// Whether somebody wants to see movements.
function moves() {
  return !isStill.matches;
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
  const curves = curvesOf(edge);
  edge.path.setAttribute("d", written(curves));
  edge.grip?.setAttribute("d", written(curves));
  edge.sampled = sampled(curves);
  if (edge.text === null) return;
  const [x, y] = edge.sampled[Math.floor(edge.sampled.length / 2)];
  putLabel(edge, { x, y, anchor: null });
}

// A label, and a line to its curve where it is away from it.
function putLabel(edge, { x, y, anchor }) {
  const [width, height] = edge.size;
  edge.paper.setAttribute("x", (x - width / 2).toFixed(1));
  edge.paper.setAttribute("y", (y - height / 2).toFixed(1));
  edge.text.setAttribute("x", x.toFixed(1));
  edge.text.setAttribute("y", (y + 4).toFixed(1));
  edge.leader.setAttribute("d", anchor === null ? "" : written([[[x, y], anchor]]));
  edge.corners = [-1, 1].map((side) => ({ x: x + (side * width) / 2, y: y + (side * height) / 2 }));
}

// Which arrow it is by where its ends are, whatever they are called.
const routeOf = ({ from, to, shape }) => `${endsOf(from, to)} ${shape ?? ""}`;

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
