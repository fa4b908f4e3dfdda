// Where boxes and arrows stand while a computation changes them: the old ones where they stood, new ones
// in free places near their parents.

const GAP = { across: 40, down: 36 };
const GAP_OF_NEW = { across: 110, down: 80 }; // so that synapses between them are seen
const NEW = { width: 150, height: 90 }; // what a new neuron becomes
const BESIDE = 34; // between a neuron and its input or output
const LEAST_GAP = 18; // that an edit leaves between boxes
const MOST_PUSHED = 200;
const LEAST_STEP = 10; // between the points that are tried for a new node
const MOST_TRIED = 80; // points across or down
const MOST_ENLARGED = 20; // times, by half
const FARTHEST = 30; // boxes from the parent

// Where boxes and arrows of one computation were drawn.
export class Places {
  constructor() {
    this.spots = new Map(); // [x, y] by the id of a node
    this.routes = new Map(); // the points of an arrow, and its ends then
  }

  remember({ nodes, edges }) {
    for (const { id, x, y } of nodes.values()) this.spots.set(id, [x, y]);
    for (const edge of edges) {
      const { points, from, to } = edge;
      if (points) this.routes.set(arrowOf(edge), { points, ends: endsOf(from, to) });
    }
  }

  // Nodes stand where they stood, new ones as near to their parents as there is room.
  arrange(nodes, edges, parents) {
    const at = new Map(nodes.map((node) => [node.id, node]));
    const boxes = new Boxes(nodes);
    const fresh = [];
    for (const node of nodes) {
      const spot = this.spots.get(node.id);
      if (spot === undefined) fresh.push(node);
      else [node.x, node.y] = spot;
      if (spot !== undefined) boxes.add(node);
    }
    for (const node of fresh) {
      if (node.beside !== undefined) boxes.placeBeside(node, at.get(node.beside));
      else boxes.place(node, node.near ?? at.get(parents.get(node.id)) ?? nodes[0]);
      boxes.add(node);
    }
    for (const edge of edges) {
      const [from, to] = [at.get(edge.source), at.get(edge.target)];
      const route = this.routes.get(arrowOf(edge));
      edge.points = route?.ends === endsOf(from, to) ? route.points : null;
    }
  }
}

// Inputs and outputs stand next to their neurons.
export function placeEnds(nodes) {
  const ends = nodes.filter((node) => node.beside !== undefined);
  if (ends.length === 0) return;
  const at = new Map(nodes.map((node) => [node.id, node]));
  const boxes = new Boxes(nodes);
  for (const node of nodes) if (node.beside === undefined) boxes.add(node);
  for (const node of ends) {
    boxes.placeBeside(node, at.get(node.beside));
    boxes.add(node);
  }
}

// Boxes that became larger push those that they would meet or touch away, and these others.
export function makeRoom(nodes, grown) {
  const pushing = [...grown];
  for (let i = 0; i < Math.min(pushing.length, MOST_PUSHED); i += 1) {
    const box = pushing[i];
    for (const other of nodes) {
      const across = (box.width + other.width) / 2 + LEAST_GAP - Math.abs(other.x - box.x);
      const down = (box.height + other.height) / 2 + LEAST_GAP - Math.abs(other.y - box.y);
      if (other === box || across <= 0 || down <= 0) continue;
      if (across < down) other.x += other.x < box.x ? -across : across;
      else other.y += other.y < box.y ? -down : down;
      pushing.push(other);
    }
  }
}

// The nearest point where a new node has room, with all of it in a part of the plane if that has room.
export function freePlace(nodes, point, part, size = NEW) {
  const grids = [GAP_OF_NEW, GAP].map((gap) => {
    const boxes = new Boxes([...nodes, size], gap);
    for (const node of nodes) boxes.add(node);
    return boxes;
  });
  let room = part;
  for (let time = 0; time < MOST_ENLARGED; time += 1, room = enlarged(room)) {
    const spots = spotsIn(room, point, size);
    for (const boxes of grids) {
      const spot = spots.find(([x, y]) => boxes.isFree(size, x, y));
      if (spot !== undefined) return spot;
    }
  }
  return point;
}

// Middles of boxes of a size in a part of the plane, those near a point first.
function spotsIn({ x, y, width, height }, point, size) {
  const ranges = [[x, width, size.width], [y, height, size.height]].map(([start, length, own], axis) => {
    const [first, last] = [start + own / 2, Math.max(start + length - own / 2, start + own / 2)];
    const from = Math.min(Math.max(point[axis], first), last);
    const by = Math.max(LEAST_STEP, (last - first) / MOST_TRIED);
    const count = (room) => Math.floor(room / by);
    return Array.from({ length: count(from - first) + count(last - from) + 1 }, (_, i) => from + (i - count(from - first)) * by);
  });
  const away = ([i, j]) => Math.hypot(i - point[0], j - point[1]);
  return ranges[0].flatMap((i) => ranges[1].map((j) => [i, j])).sort((a, b) => away(a) - away(b));
}

function enlarged({ x, y, width, height }) {
  return { x: x - width / 4, y: y - height / 4, width: width * 1.5, height: height * 1.5 };
}

// Where boxes stand, in pixels.
export const endsOf = (...nodes) => String(nodes.flatMap(({ x, y, width, height }) => [x, y, width, height].map(Math.round)));

const arrowOf = ({ source, target, shape }) => `${source} ${target} ${shape ?? ""}`;

// Boxes in the cells of a grid, so that only those near by are compared.
class Boxes {
  constructor(nodes, gap = GAP) {
    this.gap = gap;
    this.across = nodes.reduce((most, { width }) => Math.max(most, width), 0) + gap.across;
    this.down = nodes.reduce((most, { height }) => Math.max(most, height), 0) + gap.down;
    this.cells = new Map();
    this.offsets = [];
    for (let i = -FARTHEST; i <= FARTHEST; i += 1) {
      for (let j = -FARTHEST; j <= FARTHEST; j += 1) this.offsets.push([i * this.across, j * this.down]);
    }
    this.offsets.sort((a, b) => Math.hypot(...a) - Math.hypot(...b) || b[1] - a[1]);
  }

  cellOf(x, y) {
    return [Math.floor(x / this.across), Math.floor(y / this.down)];
  }

  add(node) {
    const key = String(this.cellOf(node.x, node.y));
    const cell = this.cells.get(key);
    if (cell) cell.push(node);
    else this.cells.set(key, [node]);
  }

  isFree(node, x, y) {
    const { gap } = this;
    const [column, row] = this.cellOf(x, y);
    for (const i of [-1, 0, 1]) {
      for (const j of [-1, 0, 1]) {
        for (const other of this.cells.get(`${column + i},${row + j}`) ?? []) {
          const isApart =
            Math.abs(other.x - x) >= (other.width + node.width) / 2 + gap.across / 2 ||
            Math.abs(other.y - y) >= (other.height + node.height) / 2 + gap.down / 2;
          if (!isApart) return false;
        }
      }
    }
    return true;
  }

  // Where it was, or at the side of a neuron where there is room: an output on its right, an input on its left.
  placeBeside(node, neuron) {
    const across = (neuron.width + node.width) / 2 + BESIDE;
    const down = (neuron.height + node.height) / 2 + BESIDE;
    const side = node.isBefore ? -across : across;
    const known = node.offset;
    if (known && (Math.abs(known[0]) >= across - BESIDE || Math.abs(known[1]) >= down - BESIDE)) {
      [node.x, node.y] = [neuron.x + known[0], neuron.y + known[1]];
      return;
    }
    const spots = [[side, 0], [0, down], [0, -down], [-side, 0]];
    const [x, y] = spots.find(([i, j]) => this.isFree(node, neuron.x + i, neuron.y + j)) ?? spots[0];
    node.x = neuron.x + x;
    node.y = neuron.y + y;
  }

  place(node, parent) {
    const [across, down] = this.offsets.find(([x, y]) => this.isFree(node, parent.x + x, parent.y + y)) ?? [0, 0];
    node.x = parent.x + across;
    node.y = parent.y + down;
  }
}
