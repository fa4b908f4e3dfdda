// Moving and zooming a drawing: wheel, drag, pinch, and buttons.

const LEAST = 0.05;
const MOST = 4;
const LARGEST_FIT = 1.25;
export const LEGIBLE = 0.62; // the letters have 8 pixels
// Pixels around a drawing that is shown whole.
const ROOM = 24;
const LEAST_PART = 200;
const ASIDE = 36; // right of it, where the buttons for zooming stand

export class Viewport {
  constructor(svg, world) {
    this.svg = svg;
    this.world = world;
    this.scale = 1;
    this.x = 0;
    this.y = 0;
    this.box = { x: 0, y: 0, width: 1, height: 1 };
    this.point = null; // what stays in sight where not all can be read
    this.isFitted = true; // until somebody moves it
    this.pointers = new Map();
    this.held = null; // the pointer that moves a box as long as it is the only one
    svg.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    svg.addEventListener("pointerdown", (event) => this.down(event));
    svg.addEventListener("pointermove", (event) => this.move(event));
    for (const name of ["pointerup", "pointercancel", "lostpointercapture"]) {
      svg.addEventListener(name, (event) => {
        const first = this.pointers.get(event.pointerId);
        this.pointers.delete(event.pointerId);
        if (first && event.shiftKey && this.wasMoved) this.onspanned?.(first, event);
      });
    }
    new ResizeObserver(() => this.isFitted && this.fit(this.box, this.point)).observe(svg);
  }

  // Show all of a box, not larger than life; with a point that stays in sight, only as much of it as can
  // be read.
  fit(box = this.box, point = null) {
    this.box = box;
    this.point = point;
    this.isFitted = true;
    const { width, height } = this.size();
    if (width === 0 || height === 0) return;
    const scale = this.scaleFor(box);
    this.least = Math.min(LEAST, scale);
    this.scale = Math.min(Math.max(scale, point === null ? this.least : LEGIBLE), LARGEST_FIT);
    this.x = placed(width - ASIDE, box.x, box.width, this.scale, point?.x);
    this.y = placed(height, box.y, box.height, this.scale, point?.y);
    this.apply();
  }

  // How large all of a box can be shown.
  scaleFor(box) {
    const { width, height } = this.size();
    return Math.min((width - 2 * ROOM - ASIDE) / box.width, (height - 2 * ROOM) / box.height);
  }

  // Whether the letters in a box can be read when all of it is shown.
  isLegible(box) {
    return this.scaleFor(box) >= LEGIBLE;
  }

  zoom(factor, at = null) {
    const { width, height, left, top } = this.svg.getBoundingClientRect();
    const [x, y] = at === null ? [width / 2, height / 2] : [at.clientX - left, at.clientY - top];
    const scale = Math.min(Math.max(this.scale * factor, this.least ?? LEAST), MOST);
    this.x = x - ((x - this.x) * scale) / this.scale;
    this.y = y - ((y - this.y) * scale) / this.scale;
    this.scale = scale;
    this.isFitted = false;
    this.apply();
  }

  wheel(event) {
    event.preventDefault();
    this.zoom(Math.exp(-event.deltaY * (event.deltaMode === 1 ? 0.05 : 0.0015)), event);
  }

  down(event) {
    if (event.button !== 0) return;
    this.wasMoved = false;
    this.begun = event;
    this.pointers.set(event.pointerId, event);
  }

  move(event) {
    const before = this.pointers.get(event.pointerId);
    if (before === undefined) return;
    if (event.buttons === 0) return void this.pointers.delete(event.pointerId);
    if (event.pointerId === this.held && this.pointers.size === 1) {
      return void this.pointers.set(event.pointerId, event);
    }
    if (event.shiftKey && this.pointers.size === 1 && this.onspan) {
      this.wasMoved = true;
      return void this.onspan(before, event);
    }
    this.wasMoved ||= distance(event, this.begun) > 4;
    if (this.pointers.size === 2) {
      const [other] = [...this.pointers.values()].filter((p) => p.pointerId !== event.pointerId);
      const was = distance(before, other);
      if (was > 0) this.zoom(distance(event, other) / was, middle(event, other));
    }
    this.x += (event.clientX - before.clientX) / this.pointers.size;
    this.y += (event.clientY - before.clientY) / this.pointers.size;
    this.isFitted = false;
    this.pointers.set(event.pointerId, event);
    this.apply();
  }

  // The room for the drawing, in pixels.
  size() {
    const { width, height } = this.svg.getBoundingClientRect();
    return { width, height };
  }

  // The part of the plane that is seen, but for its margins; one around its middle where that is hidden.
  part() {
    const { width, height } = this.size();
    const across = Math.max(width - 2 * ROOM - ASIDE, LEAST_PART) / this.scale;
    const down = Math.max(height - 2 * ROOM, LEAST_PART) / this.scale;
    return { x: (ROOM - this.x) / this.scale, y: (ROOM - this.y) / this.scale, width: across, height: down };
  }

  // Show a point in the middle.
  centre(x, y) {
    const { width, height } = this.size();
    this.x = width / 2 - x * this.scale;
    this.y = height / 2 - y * this.scale;
    this.isFitted = false;
    this.apply();
  }

  // Whether all of a box is seen.
  contains(box) {
    const { width, height } = this.size();
    const [left, top] = [box.x * this.scale + this.x, box.y * this.scale + this.y];
    const bottom = top + box.height * this.scale;
    return left >= 0 && top >= 0 && left + box.width * this.scale <= width && bottom <= height;
  }

  // Whether all of a box is seen, away from the margins.
  shows(box) {
    const part = this.part();
    const isIn = (at, size) => box[at] >= part[at] - 1 && box[at] + box[size] <= part[at] + part[size] + 1;
    return isIn("x", "width") && isIn("y", "height");
  }

  // Whether the middle of a box is seen.
  sees(box) {
    const { width, height } = this.size();
    const [x, y] = this.middleOf(box);
    return x > 0 && y > 0 && x < width && y < height;
  }

  // Bring a box into sight, when a key moved to it.
  reveal(box) {
    const { width, height } = this.size();
    if (width === 0 || this.sees(box)) return;
    this.x += shiftInto(width, box.x * this.scale + this.x, box.width * this.scale);
    this.y += shiftInto(height, box.y * this.scale + this.y, box.height * this.scale);
    this.isFitted = false;
    this.apply();
  }

  middleOf(box) {
    return [this.x + (box.x + box.width / 2) * this.scale, this.y + (box.y + box.height / 2) * this.scale];
  }

  // Show a box in the middle, as large as that or larger.
  approach(box, scale) {
    this.scale = Math.max(this.scale, scale);
    this.centre(box.x + box.width / 2, box.y + box.height / 2);
  }

  apply() {
    const { scale, x, y } = this;
    this.world.setAttribute("transform", `translate(${x} ${y}) scale(${scale})`);
    // Small letters are not painted where nobody could read them.
    this.svg.classList.toggle("far", scale < 0.35);
    this.onmove?.();
  }
}

// Where a box begins that is in the middle of a room, or, where it is larger, its part around a point.
function placed(room, start, size, scale, point) {
  const middle = room / 2 - (start + size / 2) * scale;
  if (point === undefined || size * scale <= room - 2 * ROOM) return middle;
  const [first, last] = [ROOM - start * scale, room - ROOM - (start + size) * scale];
  return Math.min(Math.max(room / 2 - point * scale, last), first);
}

// How far something of that size has to be moved to be in a room.
function shiftInto(room, start, size) {
  if (size > room - 2 * ROOM) return (room - size) / 2 - start;
  return Math.min(Math.max(start, ROOM), room - ROOM - size) - start;
}

function distance(a, b) {
  return Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
}

function middle(a, b) {
  return { clientX: (a.clientX + b.clientX) / 2, clientY: (a.clientY + b.clientY) / 2 };
}
