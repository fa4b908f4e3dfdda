// How arrows run: from border to border, around the boxes between their ends, and as curves.

const ROOM = 3; // pixels that an arrow keeps from boxes
const TURN = { near: 12, far: 20 }; // from the corners of boxes, of the two arrows between two boxes
const ROUND = 16; // pixels of a turn
const MOST_ROUNDS = 6;

// The points of an arrow that meets no other box than its ends, or null where the straight way is free, no
// way was found, or none is sought because there are too many boxes.
export function pointsAround(edge, boxes, isDense) {
  const { from, to, points } = edge;
  if (from === to) return points;
  const others = boxes.filter((box) => box !== from && box !== to);
  if (points && !meets(pairs(points), others)) return points;
  if (isDense || !meets(pairs(straight(from, to, edge.isTwin)), others)) return null;
  const way = detour(from, to, boxes, edge.isTwin && edge.source > edge.target);
  return way === null ? null : bordered(way.map(([x, y]) => ({ x, y })), from, to);
}

// The Bezier curves of an arrow, each from the end of the one before it.
export function curvesOf({ from, to, points, isTwin }) {
  if (from === to) return loop(from);
  return smooth(ended(points ?? straight(from, to, isTwin), from, to));
}

// Points from the middle of a box to that of another one around all others, or null where the straight way
// is free or no way was found. Of the two arrows between two boxes one keeps farther away.
function detour(from, to, boxes, isFar) {
  const others = boxes.filter((box) => box !== from && box !== to);
  const [start, end] = [from, to].map(({ x, y }) => [x, y]);
  const turn = isFar ? TURN.far : TURN.near;
  const known = new Set();
  let way = [start, end];
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const hit = met(way, others).filter((box) => !known.has(box));
    if (hit.length === 0) break;
    for (const box of hit) known.add(box);
    const corners = [from, to, ...known].flatMap((box) => cornersOf(box, turn));
    way = shortest(start, end, corners, others) ?? way;
  }
  return way.length === 2 || meets(way, others) ? null : rounded(way);
}

// Whether a line through points meets one of the boxes.
function meets(points, boxes) {
  return boxes.some((box) => points.some((point, i) => i > 0 && crosses(points[i - 1], point, box)));
}

function met(points, boxes) {
  return boxes.filter((box) => meets(points, [box]));
}

function cornersOf({ x, y, width, height }, turn) {
  const [across, down] = [width / 2 + turn, height / 2 + turn];
  return [-1, 1].flatMap((i) => [-1, 1].map((j) => [x + i * across, y + j * down]));
}

// Whether a segment comes nearer to a box than the room: what is left of it between the sides.
function crosses([x1, y1], [x2, y2], { x, y, width, height }) {
  let [first, last] = [0, 1];
  for (const [from, by, low, high] of [
    [x1, x2 - x1, x - width / 2 - ROOM, x + width / 2 + ROOM],
    [y1, y2 - y1, y - height / 2 - ROOM, y + height / 2 + ROOM],
  ]) {
    if (by === 0) {
      if (from <= low || from >= high) return false;
    } else {
      const [a, b] = [(low - from) / by, (high - from) / by];
      first = Math.max(first, Math.min(a, b));
      last = Math.min(last, Math.max(a, b));
      if (first >= last) return false;
    }
  }
  return true;
}

// The shortest way along corners that see each other (Dijkstra), or null.
function shortest(start, end, corners, boxes) {
  const points = [start, ...corners, end];
  const length = points.map(() => Infinity);
  const before = points.map(() => -1);
  const open = new Set(points.keys());
  length[0] = 0;
  while (open.size > 0) {
    let best = -1;
    for (const i of open) if (best < 0 || length[i] < length[best]) best = i;
    if (length[best] === Infinity) return null;
    if (best === points.length - 1) break;
    open.delete(best);
    for (const i of open) {
      const far = length[best] + Math.hypot(points[i][0] - points[best][0], points[i][1] - points[best][1]);
      if (far < length[i] && !meets([points[best], points[i]], boxes)) [length[i], before[i]] = [far, best];
    }
  }
  const way = [];
  for (let i = points.length - 1; i >= 0; i = before[i]) way.unshift(points[i]);
  return way;
}

// Points on both sides of each corner keep the curve near it.
function rounded(way) {
  const toward = ([x, y], [px, py], part) => {
    const length = Math.hypot(px - x, py - y) || 1;
    const by = Math.min(ROUND, length * part) / length;
    return [x + (px - x) * by, y + (py - y) * by];
  };
  return way.flatMap((point, i) => {
    if (i === 0 || i === way.length - 1) return [point];
    return [toward(point, way[i - 1], 0.4), point, toward(point, way[i + 1], 0.4)];
  });
}

// Where a node is a circle with its name below, an arrow meets the circle and not the box of both, unless it
// would cross the name.
function ended(points, from, to) {
  const own = [...points];
  if (from.circle) own[0] = onCircle(from, points[1]) ?? points[0];
  if (to.circle) own[own.length - 1] = onCircle(to, points.at(-2)) ?? points.at(-1);
  return own;
}

function onCircle({ x, y, height, circle }, toward) {
  const middle = y + circle.down;
  const angle = Math.atan2(toward.y - middle, toward.x - x);
  const point = { x: x + circle.radius * Math.cos(angle), y: middle + circle.radius * Math.sin(angle) };
  const [top, bottom] = [middle + circle.radius, y + height / 2];
  const name = { x, y: (top + bottom) / 2 + ROOM, width: circle.nameWidth, height: bottom - top };
  return crosses(...pairs([point, toward]), name) ? null : point;
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

const pairs = (points) => points.map(({ x, y }) => [x, y]);

// From border to border.
function bordered(points, from, to) {
  return [border(from, points[1]), ...points.slice(1, -1), border(to, points.at(-2))];
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
  const ends = points.map(({ x, y }) => [x, y]);
  if (ends.length === 2) return [ends];
  const curves = [];
  let before = ends[0];
  for (let i = 1; i < ends.length - 1; i += 1) {
    const [here, next] = [ends[i], ends[i + 1]];
    const isLast = i === ends.length - 2;
    const end = isLast ? next : [(here[0] + next[0]) / 2, (here[1] + next[1]) / 2];
    curves.push([before, here, end]);
    before = end;
  }
  return curves;
}

function loop({ x, y, height, width }) {
  const top = y - height / 2;
  const right = x + width / 2;
  return [[[right - 34, top], [right - 34, top - 34], [right + 28, top - 26], [right, top + 16]]];
}

// Curves as a path of SVG.
export function written(curves) {
  const at = ([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`;
  const kinds = { 2: "L", 3: "Q", 4: "C" };
  const parts = curves.map((curve) => `${kinds[curve.length]}${curve.slice(1).map(at).join(" ")}`);
  return `M${at(curves[0][0])} ${parts.join(" ")}`;
}
