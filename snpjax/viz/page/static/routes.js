// How arrows run around the boxes between their ends.

const ROOM = 3; // pixels that an arrow keeps from boxes
const TURN = { near: 12, far: 20 }; // from the corners of boxes, of the two arrows between two boxes
const ROUND = 16; // pixels of a turn
const MOST_ROUNDS = 6;

// Points from the middle of a box to that of another one around all others, or null where the straight way
// is free or no way was found. Of the two arrows between two boxes one keeps farther away.
export function detour(from, to, boxes, isFar) {
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
export function meets(points, boxes) {
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
