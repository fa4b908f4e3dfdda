// Many boxes and arrows on canvases below a drawing: filled shapes from afar, names and counts
// nearer. What is nearest is drawn as SVG above them, which can be focused and read aloud.

import { shortenedName } from "./dom.js";

const MARGIN = 0.25; // of the room, around it, drawn for those who move it
const CHUNK = 2000; // arrows that are drawn in one frame
const IDLE = 90; // milliseconds without a movement until all is drawn again
const MOST_LIVE = 1000; // boxes that are drawn again in every frame of a movement
const LEAST_SHAPE = 8; // pixels
const SMALL = 18; // below that height a shape is filled
const LEAST_NAMED = 11;
const LETTER = 5.2; // pixels
const ROW_NAME = 15;
const NARROWEST = 0.65; // of the usual width of a name
const READABLE = 8; // pixels of a letter's height
const COLOURS = ["ground", "panel", "ink", "soft", "edge", "accent", "tint", "fire", "fire-tint", "closed", "closed-line"];

export class Overview {
  constructor(parent) {
    this.parent = parent;
    this.layers = [0, 1].map(() => canvas("arrows"));
    this.top = canvas("shapes");
    parent.prepend(...this.layers, this.top);
    this.clear();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
      this.colours = null;
      this.refresh();
    });
  }

  get isUsed() {
    return this.nodes.length > 0;
  }

  clear() {
    this.load([], []);
  }

  // Nodes with {x, y, width, height, title}, and arrows with {from, to}; what they look like is read
  // when they are drawn: `node.look` ("plain", "fired", "may", "closed"), `node.number`, and
  // `edge.marked`.
  load(nodes, edges) {
    this.nodes = nodes;
    this.edges = edges;
    this.spacing = spacing(nodes);
    this.height = nodes.reduce((least, node) => (node.isTarget ? Math.min(least, node.height) : least), Infinity);
    this.parent.classList.remove("filled");
    this.drawnAt = this.shapesAt = null;
    for (const layer of [...this.layers, this.top]) layer.hidden = nodes.length === 0;
    this.refresh();
  }

  // The part of the plane that is seen.
  see(view) {
    this.view = view;
    if (!this.isUsed) return;
    this.shift();
    if (this.nodes.length <= MOST_LIVE) this.request();
    cancelAnimationFrame(this.arrowFrame);
    clearTimeout(this.idle);
    this.idle = setTimeout(() => this.refresh(), IDLE);
  }

  // Arrows look different, too.
  requestArrows() {
    if (!this.isUsed) return;
    this.request();
    clearTimeout(this.idle);
    this.idle = setTimeout(() => this.refresh(), 0);
  }

  // Something looks different.
  request() {
    if (this.frame || !this.isUsed) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = null;
      this.drawShapes();
    });
  }

  refresh() {
    if (!this.isUsed || !this.view) return;
    this.request();
    this.drawArrows();
  }

  colour(name) {
    if (this.colours === null || this.colours === undefined) {
      const style = getComputedStyle(document.documentElement);
      this.colours = Object.fromEntries(COLOURS.map((own) => [own, style.getPropertyValue(`--${own}`).trim()]));
    }
    return this.colours[name];
  }

  // What was drawn for another view moves along with it.
  shift() {
    const { drawnAt, shapesAt, view } = this;
    for (const [layer, at] of [[this.layers[0], drawnAt], [this.top, shapesAt]]) {
      if (!at) continue;
      const scale = view.scale / at.scale;
      const x = view.x - at.x * scale;
      const y = view.y - at.y * scale;
      layer.style.transform = `translate(${x}px, ${y}px) scale(${scale})`;
    }
  }

  // In several frames where there are many, on the hidden layer, which is then shown.
  drawArrows() {
    const { view } = this;
    if (!this.isUsed || view.width === 0) return;
    cancelAnimationFrame(this.arrowFrame);
    const [shown, hidden] = this.layers;
    const [across, down] = [view.width * MARGIN, view.height * MARGIN];
    const at = { scale: view.scale, x: view.x + across, y: view.y + down };
    const pen = sized(hidden, view.width + 2 * across, view.height + 2 * down);
    const isNear = view.scale > 0.35;
    pen.lineWidth = isNear ? 1.4 * Math.min(view.scale, 1) : 0.7;
    const place = (node) => [node.x * at.scale + at.x, node.y * at.scale + at.y];
    const room = [view.width + 2 * across, view.height + 2 * down];
    const anyNear = this.nodes.some((node) => node.group);
    const isOwn = (edge) => Boolean(edge.from.group || edge.to.group);
    const isSent = (edge) => edge.marked !== undefined && edge.marked !== "plain";
    // Of boxes that are not near the arrows are faint; those that carry something are on top.
    const passes = [
      { colour: "edge", alpha: anyNear ? 0.15 : isNear ? 0.6 : 0.35, takes: (edge) => !isOwn(edge) && !isSent(edge) },
      { colour: "edge", alpha: 0.9, hasHeads: true, takes: (edge) => isOwn(edge) && !isSent(edge) },
      { colour: "fire", alpha: anyNear ? 0.25 : isNear ? 0.9 : 0.5, takes: (edge) => !isOwn(edge) && isSent(edge) },
      { colour: "fire", alpha: 1, hasHeads: true, takes: (edge) => isOwn(edge) && isSent(edge) },
    ].map((pass) => ({ ...pass, edges: this.edges.filter((edge) => edge.from !== edge.to && pass.takes(edge)) }));
    const work = passes.flatMap((pass) => {
      const parts = [];
      for (let at = 0; at < pass.edges.length; at += CHUNK) parts.push({ ...pass, edges: pass.edges.slice(at, at + CHUNK) });
      return parts;
    });
    const draw = ({ colour, alpha, hasHeads, edges }) => {
      pen.globalAlpha = alpha;
      pen.strokeStyle = this.colour(colour);
      pen.beginPath();
      for (const edge of edges) {
        const [x1, y1] = place(edge.from);
        const [x2, y2] = place(edge.to);
        if (Math.max(x1, x2) < 0 || Math.max(y1, y2) < 0) continue;
        if (Math.min(x1, x2) > room[0] || Math.min(y1, y2) > room[1]) continue;
        pen.moveTo(x1, y1);
        pen.lineTo(x2, y2);
        if (isNear && (hasHeads || !anyNear)) arrowHead(pen, edge, x1, y1, x2, y2, at.scale);
      }
      pen.stroke();
    };
    const chunk = () => {
      if (work.length > 0) draw(work.shift());
      if (work.length > 0) {
        this.arrowFrame = requestAnimationFrame(chunk);
        return;
      }
      this.drawnAt = { scale: at.scale, x: view.x, y: view.y };
      hidden.style.left = `${-across}px`;
      hidden.style.top = `${-down}px`;
      hidden.style.transformOrigin = `${across}px ${down}px`;
      hidden.style.visibility = "visible";
      shown.style.visibility = "hidden";
      this.layers.reverse();
      this.shift();
    };
    chunk();
  }

  drawShapes() {
    const { view } = this;
    if (view.width === 0) return;
    const { scale, x, y, width, height } = view;
    const pen = sized(this.top, width, height);
    this.shapesAt = { scale, x, y };
    this.top.style.transform = "";
    this.top.style.transformOrigin = "0 0";
    const least = Math.min(LEAST_SHAPE, 0.8 * this.spacing * scale);
    const hasNames = 13 * scale >= READABLE;
    const leastDown = this.height * scale >= LEAST_NAMED ? LEAST_NAMED : least; // an output has a name, too
    this.parent.classList.toggle("filled", this.height * scale < SMALL); // for the legend
    pen.textBaseline = "middle";
    let free = -Infinity; // from where on a row may have its name
    for (const node of this.nodes) {
      if (node.group) continue; // it is drawn above
      const across = Math.max(node.width * scale, least);
      const down = Math.max(node.height * scale, leastDown);
      const left = node.x * scale + x - across / 2;
      const top = node.y * scale + y - down / 2;
      if (left > width || top > height || left + across < 0 || top + down < 0) continue;
      this.drawShape(pen, node, left, top, across, down);
      if (hasNames) this.drawWords(pen, node, left, top, across, scale);
      else if (down >= LEAST_NAMED) this.drawName(pen, node, left, top, across, down);
      else if (node.isRowStart && top >= free) {
        this.drawRowName(pen, node, left, top + down / 2);
        free = top + ROW_NAME;
      }
    }
  }

  // What a row of shapes without names begins with, where there is room on its left.
  drawRowName(pen, { title }, left, middle) {
    pen.fillStyle = this.colour("soft");
    pen.font = "11px system-ui, sans-serif";
    pen.textAlign = "right";
    const room = left - 6;
    if (pen.measureText(title).width * NARROWEST <= room) pen.fillText(title, left - 4, middle, room);
  }

  drawShape(pen, node, left, top, across, down) {
    const { look = "plain" } = node;
    const isSmall = down < SMALL;
    const fills = { fired: isSmall ? "fire" : "fire-tint", may: isSmall ? "accent" : "tint", closed: "closed-line" };
    const plain = isSmall && node.holds ? "soft" : isSmall ? "closed-line" : "panel";
    pen.fillStyle = this.colour(fills[look] ?? plain);
    pen.fillRect(left, top, across, down);
    if (isSmall && !node.isSelected && !node.isFound) return;
    const strokes = { fired: "fire", may: "accent", closed: "soft" };
    const isMarked = node.isSelected || node.isFound;
    pen.strokeStyle = this.colour(isMarked ? "ink" : (strokes[look] ?? "closed-line"));
    pen.lineWidth = isMarked ? 2.5 : 1;
    pen.strokeRect(left, top, across, down);
  }

  // As much of a name as a small shape has room for.
  drawName(pen, { title, look }, left, top, across, down) {
    const most = Math.floor((across - 2) / LETTER);
    if (!title || most < 3) return;
    const isFilled = look === "fired" || look === "may";
    pen.fillStyle = this.colour(isFilled && down < SMALL ? "panel" : "ink");
    pen.font = `${Math.min(down - 2, 12)}px system-ui, sans-serif`;
    pen.textAlign = "center";
    pen.fillText(shortenedName(title, most), left + across / 2, top + down / 2 + 0.5, across - 2);
  }

  drawWords(pen, node, left, top, across, scale) {
    pen.fillStyle = this.colour("ink");
    pen.font = `600 ${13 * scale}px system-ui, sans-serif`;
    const middle = top + 17 * scale;
    pen.textAlign = "left";
    pen.fillText(node.title ?? "", left + 12 * scale, middle);
    if (node.number === undefined) return;
    pen.textAlign = "right";
    pen.fillText(node.number, left + across - 14 * scale, middle);
  }
}

function canvas(kind) {
  const made = document.createElement("canvas");
  made.className = `overview ${kind}`;
  made.setAttribute("aria-hidden", "true");
  return made;
}

// A canvas of that many pixels of the page, empty.
function sized(layer, width, height) {
  const sharpness = Math.min(devicePixelRatio || 1, 2);
  const [across, down] = [Math.ceil(width * sharpness), Math.ceil(height * sharpness)];
  if (layer.width !== across || layer.height !== down) {
    [layer.width, layer.height] = [across, down];
    layer.style.width = `${width}px`;
    layer.style.height = `${height}px`;
  }
  const pen = layer.getContext("2d");
  pen.setTransform(sharpness, 0, 0, sharpness, 0, 0);
  pen.clearRect(0, 0, width, height);
  return pen;
}

// At the border of the box that it points to.
function arrowHead(pen, edge, x1, y1, x2, y2, scale) {
  const [dx, dy] = [x2 - x1, y2 - y1];
  const across = Math.abs(dx) / ((edge.to.width * scale) / 2);
  const down = Math.abs(dy) / ((edge.to.height * scale) / 2);
  const part = 1 - 1 / Math.max(across, down, 1);
  const [x, y] = [x1 + dx * part, y1 + dy * part];
  const angle = Math.atan2(dy, dx);
  for (const side of [-0.45, 0.45]) {
    pen.moveTo(x, y);
    pen.lineTo(x - 8 * scale * Math.cos(angle + side), y - 8 * scale * Math.sin(angle + side));
  }
}

// How far boxes are apart, at least for most of them.
function spacing(nodes) {
  if (nodes.length < 2) return Infinity;
  const xs = nodes.map((node) => node.x);
  const ys = nodes.map((node) => node.y);
  const extent = (all) => all.reduce((most, x) => Math.max(most, x), -Infinity) - all.reduce((least, x) => Math.min(least, x), Infinity);
  return Math.sqrt(((extent(xs) + 1) * (extent(ys) + 1)) / nodes.length);
}
