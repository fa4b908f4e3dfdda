// A small map of a drawing that is larger than the view; the view is dragged in it. Screen readers do
// without: the arrow keys reach every box.

import { element } from "./dom.js";

const SIZE = { width: 168, height: 112 };
const ROOM = 6;
const INSET = 14; // from the corner of the drawing
const LEAST = 1.6; // pixels of a box
const LITTLE = 1.3; // times the view, of a drawing for which no map covers a box
const IDLE = 60; // milliseconds until boxes are drawn again

export class MiniMap {
  constructor(diagram) {
    this.diagram = diagram;
    this.corner = 0; // of those that `stepAside` has
    this.isDragged = false;
    this.canvas = element("canvas", { class: "minimap", "aria-hidden": "true", hidden: true, ...this.pixels() });
    this.boxes = element("canvas", this.pixels());
    diagram.svg.parentNode.append(this.canvas);
    this.canvas.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      this.canvas.setPointerCapture(event.pointerId);
      this.isDragged = true;
      this.go(event);
    });
    this.canvas.addEventListener("lostpointercapture", () => {
      this.isDragged = false;
    });
    this.canvas.addEventListener("pointermove", (event) => event.buttons && this.go(event));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.change());
  }

  pixels() {
    this.sharpness = Math.min(devicePixelRatio || 1, 2);
    return { width: SIZE.width * this.sharpness, height: SIZE.height * this.sharpness };
  }

  // Another drawing, or boxes that were moved in it.
  load() {
    this.box = this.diagram.bounds();
    const [across, down] = [SIZE.width - 2 * ROOM, SIZE.height - 2 * ROOM];
    this.scale = Math.min(across / this.box.width, down / this.box.height);
    this.x = SIZE.width / 2 - (this.box.x + this.box.width / 2) * this.scale;
    this.y = SIZE.height / 2 - (this.box.y + this.box.height / 2) * this.scale;
    this.change();
  }

  // Boxes look different.
  change() {
    this.isStale = true;
    clearTimeout(this.later);
    this.later = setTimeout(() => this.request(), IDLE);
  }

  request() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.draw();
    });
  }

  draw() {
    const { viewport } = this.diagram;
    this.canvas.hidden = this.box === undefined || this.diagram.nodes.size < 2 || viewport.contains(this.box);
    if (this.canvas.hidden) return;
    if (!this.isDragged && this.stepAside() > 0 && this.excess() < LITTLE) {
      this.canvas.hidden = true; // panning reveals hidden boxes as easily
      return;
    }
    if (this.isStale) this.drawBoxes();
    const pen = this.canvas.getContext("2d");
    pen.setTransform(1, 0, 0, 1, 0, 0);
    pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    pen.drawImage(this.boxes, 0, 0);
    pen.scale(this.sharpness, this.sharpness);
    const { width, height } = viewport.size();
    const place = (x, y) => [(x / viewport.scale) * this.scale + this.x, (y / viewport.scale) * this.scale + this.y];
    const [left, top] = place(-viewport.x, -viewport.y);
    const [right, bottom] = place(width - viewport.x, height - viewport.y);
    pen.strokeStyle = this.diagram.overview.colour("accent");
    pen.lineWidth = 2;
    const [x, y] = [Math.max(left, 1), Math.max(top, 1)];
    pen.strokeRect(x, y, Math.min(right, SIZE.width - 1) - x, Math.min(bottom, SIZE.height - 1) - y);
  }

  // How many times the view the drawing covers.
  excess() {
    const { viewport } = this.diagram;
    const { width, height } = viewport.size();
    const [across, down] = [this.box.width / width, this.box.height / height];
    return Math.max(across * viewport.scale, 1) * Math.max(down * viewport.scale, 1);
  }

  // Move to the corner that covers the fewest boxes; stay on a tie. Returns how many it covers.
  stepAside() {
    const { diagram } = this;
    if (diagram.isLarge) return 0;
    const { viewport } = diagram;
    const { width, height } = viewport.size();
    const covered = ([left, top]) =>
      [...diagram.nodes.values()].filter((node) => {
        const x = (node.x - node.width / 2) * viewport.scale + viewport.x;
        const y = (node.y - node.height / 2) * viewport.scale + viewport.y;
        const isAcross = x < left + SIZE.width && x + node.width * viewport.scale > left;
        return isAcross && y < top + SIZE.height && y + node.height * viewport.scale > top;
      }).length;
    const [right, bottom] = [width - SIZE.width - INSET, height - SIZE.height - INSET];
    const corners = [[[], [right, INSET]], [["left"], [INSET, INSET]], [["left", "below"], [INSET, bottom]]];
    const counts = corners.map(([, corner]) => covered(corner));
    const least = Math.min(...counts);
    if (counts[this.corner] !== least) {
      this.corner = counts.indexOf(least);
      this.canvas.className = "minimap";
      this.canvas.classList.add(...corners[this.corner][0]);
    }
    return least;
  }

  drawBoxes() {
    this.isStale = false;
    const { nodes, overview } = this.diagram;
    const pen = this.boxes.getContext("2d");
    pen.setTransform(this.sharpness, 0, 0, this.sharpness, 0, 0);
    pen.clearRect(0, 0, SIZE.width, SIZE.height);
    const colours = { fired: "fire", may: "accent", closed: "soft" };
    for (const { x, y, width, height, look, isSelected } of nodes.values()) {
      const [across, down] = [Math.max(width * this.scale, LEAST), Math.max(height * this.scale, LEAST)];
      pen.fillStyle = overview.colour(isSelected ? "ink" : (colours[look] ?? "edge"));
      pen.fillRect(x * this.scale + this.x - across / 2, y * this.scale + this.y - down / 2, across, down);
    }
  }

  // Show what is at the pointer in the middle.
  go(event) {
    const { left, top, width } = this.canvas.getBoundingClientRect();
    const shrunk = width / SIZE.width; // on a phone
    const x = (event.clientX - left) / shrunk - this.x;
    const y = (event.clientY - top) / shrunk - this.y;
    this.diagram.viewport.centre(x / this.scale, y / this.scale);
  }
}
