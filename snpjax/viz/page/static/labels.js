// Where the labels of arrows stand: the rule of snpjax/drawing/labels.py, which explains it. Both
// give the same places.

// Points of a curve, its ends included.
export const SAMPLES = 41;
const MIDDLE = (SAMPLES - 1) / 2;
const BESIDE = 1.5;
const CLEAR = 3;
const RING = 14;
const DIRECTIONS = 16;

const ALONG = [];
for (let i = 5; i < SAMPLES - 6; i += 1) ALONG.push(i);
ALONG.sort((a, b) => Math.abs(a - MIDDLE) - Math.abs(b - MIDDLE) || a - b);

// Paths are lists of points [x, y], sizes [width, height] or null, and what is taken rectangles
// [left, top, right, bottom]. Gives {x, y, anchor} or null for every path.
export function placeLabels(paths, sizes, taken) {
  const found = sizes.map(() => null);
  if (!sizes.some(Boolean)) return found;
  const boxes = paths.map(boundsOf);
  const lengths = paths.map((path) => Math.round(lengthOf(path) * 1e6) / 1e6);
  const full = [...taken];
  const order = sizes.map((_, i) => i).sort((a, b) => lengths[a] - lengths[b] || a - b);
  for (const i of order) {
    if (sizes[i] === null) continue;
    const half = sizes[i].map((length) => length / 2);
    found[i] = near(paths, boxes, i, half, full) ?? away(paths[i][MIDDLE], half, full);
    full.push(around([found[i].x, found[i].y], half));
  }
  return found;
}

// The best free place on a curve or beside it, or null.
function near(paths, boxes, own, half, full) {
  const path = paths[own];
  const on = ALONG.map((i) => ({ at: path[i], cost: 0 }));
  const asides = ALONG.map((i) => {
    const [x, y] = [path[i + 1][0] - path[i - 1][0], path[i + 1][1] - path[i - 1][1]];
    const length = Math.max(Math.sqrt(x * x + y * y), 1e-9);
    const across = [y / length, -x / length];
    const far = Math.abs(across[0]) * half[0] + Math.abs(across[1]) * half[1] + CLEAR;
    return across.map((side) => side * far);
  });
  const beside = [1, -1].flatMap((sign) =>
    ALONG.map((i, k) => ({
      at: [path[i][0] + sign * asides[k][0], path[i][1] + sign * asides[k][1]],
      cost: BESIDE,
    })),
  );
  const places = [...on, ...beside];
  for (const place of places) place.own = around(place.at, half);
  const [low, high] = [[0, 1], [2, 3]].map((sides, isHigh) =>
    sides.map((side) => Math[isHigh ? "max" : "min"](...places.map(({ own: box }) => box[side]))),
  );
  const reach = [...low, ...high];
  const close = full.filter((box) => meet(box, reach));
  const free = places.filter(({ own: box }) => !close.some((other) => meet(box, other)));
  if (free.length === 0) return null;
  const others = paths.filter((_, i) => i !== own && touch(boxes[i], reach));
  let best = null;
  for (const place of free) {
    const cost = place.cost + others.filter((other) => runsBelow(other, place.own)).length;
    if (best === null || cost < best.cost) best = { cost, x: place.at[0], y: place.at[1] };
  }
  return { x: best.x, y: best.y, anchor: null };
}

// The nearest free place on rings around a point.
function away(anchor, half, full) {
  for (let ring = 0; ; ring += 1) {
    for (let k = 0; k < DIRECTIONS; k += 1) {
      const angle = (2 * Math.PI * k) / DIRECTIONS;
      const x = anchor[0] + ring * RING * Math.cos(angle);
      const y = anchor[1] - ring * RING * Math.sin(angle);
      const own = around([x, y], half);
      if (!full.some((other) => meet(own, other))) return { x, y, anchor };
    }
  }
}

function around([x, y], [across, down]) {
  return [x - across, y - down, x + across, y + down];
}

function meet(one, other) {
  return one[0] < other[2] && other[0] < one[2] && one[1] < other[3] && other[1] < one[3];
}

function touch(one, other) {
  return one[0] <= other[2] && other[0] <= one[2] && one[1] <= other[3] && other[1] <= one[3];
}

function runsBelow(path, [left, top, right, bottom]) {
  return path.some(([x, y]) => left <= x && x <= right && top <= y && y <= bottom);
}

function boundsOf(path) {
  const [xs, ys] = [path.map(([x]) => x), path.map(([, y]) => y)];
  return [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
}

function lengthOf(path) {
  let length = 0;
  for (let i = 1; i < path.length; i += 1) {
    length += Math.hypot(path[i][0] - path[i - 1][0], path[i][1] - path[i - 1][1]);
  }
  return length;
}

// Points of a drawn path, which is a chain of Bezier curves, in equal parts of its parameter.
export function sampled(curves) {
  const points = [];
  for (let i = 0; i < SAMPLES; i += 1) {
    const place = (i / (SAMPLES - 1)) * curves.length;
    const number = Math.min(Math.floor(place), curves.length - 1);
    let left = curves[number];
    const t = place - number;
    while (left.length > 1) {
      left = left.slice(1).map((end, k) => end.map((to, axis) => left[k][axis] * (1 - t) + to * t));
    }
    points.push(left[0]);
  }
  return points;
}
