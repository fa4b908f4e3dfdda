// Where boxes stand and how edges run: layered by dagre, as a file says, or in rows when there are
// too many for either.

import { Graph, layout as dagre } from "../vendor/dagre.esm.js";
import { placeEnds } from "./places.js";
import { LEGIBLE } from "./viewport.js";

// Layers of more take seconds.
const MOST_LAYERED = { nodes: 400, edges: 1500, crossed: 2500 };
const GAP = 36;
// Pixels of a box when all is seen, below which layers are given up.
const LEAST_SHAPE = 10;
// The part of layers that is seen where they can be read, below which rows are better if much more of
// them is seen.
const LEAST_PART = 0.25;
const MUCH_MORE = 4;
const ROW_GAP = { across: 26, down: 30 };

// Both directions are tried with at most this many nodes.
const MOST_TRIED = { nodes: 120, crossed: 1000 };

// Give every node x and y, its middle, and maybe every edge the points it runs through, so that
// they can be shown large in a room of that width and height; with `isRead` layers may be larger than
// the room.
export function arrange(nodes, edges, { room, positions = null, isExact = false, isRead = false }) {
  if (nodes.length === 0) return;
  for (const edge of edges) edge.points = null;
  if (positions !== null && placed(nodes, positions, isExact)) return;
  if (nodes.length > MOST_LAYERED.nodes || edges.length > MOST_LAYERED.edges) {
    return void inRows(nodes, room);
  }
  const numCrossed = crossed(nodes, edges);
  if (numCrossed > MOST_LAYERED.crossed) return void inRows(nodes, room);
  const [likely, other] = room.height > room.width ? ["TB", "LR"] : ["LR", "TB"];
  const scale = scaleIn(room, layered(nodes, edges, likely));
  if (scale >= 1) return;
  if (nodes.length <= MOST_TRIED.nodes && numCrossed <= MOST_TRIED.crossed) {
    const size = layered(nodes, edges, other);
    const isBetter = scaleIn(room, size) >= 1.15 * scale;
    const own = isBetter ? size : layered(nodes, edges, likely);
    const part = partSeen(room, own);
    if (isRead || part >= LEAST_PART || partSeen(room, rowsFor(nodes, room)) < MUCH_MORE * part) return;
  } else if (isRead || scale * Math.min(...nodes.map((node) => node.height)) >= LEAST_SHAPE) {
    return;
  }
  for (const edge of edges) edge.points = null;
  inRows(nodes, room); // layers would be dust, or nearly all of them would not be seen
}

// How large a drawing of that size can be shown.
function scaleIn(room, { width, height }) {
  return Math.min(room.width / width, room.height / height);
}

// The part of a drawing that is seen where it can be read.
function partSeen(room, { width, height }) {
  return Math.min(room.width / (width * LEGIBLE), 1) * Math.min(room.height / (height * LEGIBLE), 1);
}

// Width and height of the label of an edge.
export function labelSize(label) {
  return [6.6 * label.length + 8, 14];
}

// How many layers all edges span: dagre puts a node where an edge crosses a layer, so its time grows
// with them.
function crossed(nodes, edges) {
  const next = new Map(nodes.map((node) => [node.id, []]));
  for (const { source, target } of edges) if (source !== target) next.get(source).push(target);
  const state = new Map(); // true while a node is on the path that is being walked
  const order = [];
  const forward = [];
  for (const { id } of nodes) {
    if (state.has(id)) continue;
    const path = [[id, 0]];
    state.set(id, true);
    while (path.length > 0) {
      const last = path.at(-1);
      const [from, index] = last;
      const to = next.get(from)[index];
      last[1] += 1;
      if (to === undefined) {
        state.set(from, false);
        order.push(from);
        path.pop();
      } else if (state.get(to) !== true) {
        forward.push([from, to]);
        if (!state.has(to)) {
          state.set(to, true);
          path.push([to, 0]);
        }
      } else {
        forward.push([to, from]); // it is turned round
      }
    }
  }
  const layer = new Map(order.map((id) => [id, 0]));
  const own = new Map(nodes.map((node) => [node.id, []]));
  for (const [from, to] of forward) own.get(from).push(to);
  for (const id of order.reverse()) {
    for (const to of own.get(id)) layer.set(to, Math.max(layer.get(to), layer.get(id) + 1));
  }
  return forward.reduce((sum, [from, to]) => sum + layer.get(to) - layer.get(from), 0);
}

// In layers; the size of the drawing.
function layered(nodes, edges, direction) {
  const graph = new Graph({ multigraph: true });
  const isLarge = nodes.length > 120;
  graph.setGraph({
    rankdir: direction,
    nodesep: 28,
    edgesep: 12,
    ranksep: 50 + Math.min(70, (9 * edges.length) / nodes.length), // crowded layers need room
    ranker: isLarge ? "longest-path" : "network-simplex",
  });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const { id, width, height } of nodes) graph.setNode(String(id), { width, height });
  edges.forEach(({ source, target, label }, index) => {
    if (source === target) return;
    const [width, height] = label ? labelSize(label) : [0, 0];
    const size = { width, height, labelpos: "c" };
    graph.setEdge(String(source), String(target), size, String(index));
  });
  dagre(graph);
  for (const node of nodes) {
    const { x, y } = graph.node(String(node.id));
    Object.assign(node, { x, y });
  }
  edges.forEach((edge, index) => {
    if (edge.source === edge.target) return;
    const { points } = graph.edge(String(edge.source), String(edge.target), String(index));
    edge.points = points;
  });
  return graph.graph();
}

// The places of a file, with as much more room as the boxes need where some meet, unless they are exact;
// whether that works.
function placed(nodes, positions, isExact) {
  const known = nodes.filter((node) => node.neuron !== undefined);
  if (positions.length !== known.length) return false;
  known.forEach((node) => ([node.x, node.y] = positions[node.neuron]));
  const scale = isExact || scaleOf(known, 0) <= 1 ? 1 : scaleOf(known, GAP);
  if (!(scale <= 6)) return false; // two at one place, or nearly
  for (const node of known) {
    node.x *= scale;
    node.y *= scale;
  }
  placeEnds(nodes);
  return true;
}

// How much farther apart nodes are with that gap between them.
function scaleOf(nodes, gap) {
  const sorted = [...nodes].sort((a, b) => a.x - b.x);
  let scale = 1;
  for (let i = 0; i < sorted.length; i += 1) {
    for (let j = i + 1; j < Math.min(sorted.length, i + 200); j += 1) {
      const [a, b] = [sorted[i], sorted[j]];
      const across = ((a.width + b.width) / 2 + gap) / Math.abs(a.x - b.x);
      const down = ((a.height + b.height) / 2 + gap) / Math.abs(a.y - b.y);
      scale = Math.max(scale, Math.min(across, down));
    }
  }
  return scale;
}

// In the order of the model, row by row, inputs and outputs after their neurons.
function inRows(nodes, room) {
  const ends = new Map();
  for (const node of nodes) if (node.beside !== undefined) ends.set(node.beside, [...(ends.get(node.beside) ?? []), node.id]);
  const order = nodes.flatMap(({ id, beside }) => (beside === undefined ? [id, ...(ends.get(id) ?? [])] : []));
  const { columns, across, down } = rowsFor(nodes, room);
  const at = new Map(nodes.map((node) => [node.id, node]));
  order.forEach((id, index) => {
    const node = at.get(id);
    node.x = (index % columns) * across;
    node.y = Math.floor(index / columns) * down;
    node.isRowStart = index % columns === 0;
  });
}

// How many columns rows have, how far nodes are apart in them, and the size of all.
function rowsFor(nodes, room) {
  const across = Math.max(...nodes.map((node) => node.width)) + ROW_GAP.across;
  const down = Math.max(...nodes.map((node) => node.height)) + ROW_GAP.down;
  const shape = room.height > 0 ? room.width / room.height : 1.6;
  const usual = Math.ceil(Math.sqrt((nodes.length * down * shape) / across));
  const sizes = [usual, usual - 1, usual + 1].filter((columns) => columns > 0).map((columns) => {
    return { columns, width: columns * across, height: Math.ceil(nodes.length / columns) * down };
  });
  const best = sizes.reduce((best, size) => (scaleIn(room, size) > scaleIn(room, best) ? size : best));
  return { ...best, across, down };
}
