// What fired and what was held, over the steps: a raster, and the counts of what is selected. Both
// share the cursor of the drawing, and a click goes to a step.

import { element, fill, find, hint, shortenedName, typeset } from "./dom.js";
import { texts } from "./texts.js";

const LEFT = 110; // pixels for names
const ABOVE = 20;
const LEAST_ROW = 11; // so that its name is read
const MOST_HEIGHT = 8000;
const MOST_LINES = 8;
const LEAST_COUNTS = 64; // pixels
// Those of Okabe and Ito, dark enough for a light ground and light enough for a dark one; every second
// line is dashed.
const LINES = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b57c00", "#2b8cc4", "#7f7f7f", "#b8860b"];

class AbstractPlot {
  constructor(run, place) {
    this.run = run;
    this.place = place;
    this.canvas = element("canvas", { role: "img", tabindex: "0" });
    this.place.append(this.canvas);
    this.canvas.addEventListener("click", (event) => this.go(event));
    this.canvas.addEventListener("pointermove", (event) => this.say(event));
    for (const name of ["opened", "moved"]) run.addEventListener(name, () => this.show());
    new ResizeObserver(() => this.show()).observe(place);
  }

  // Pixels of one step, and of the first one that is shown: the last ones are.
  get scale() {
    const room = Math.max(this.place.clientWidth - LEFT - 16, 50);
    const steps = this.run.rows.length;
    const each = Math.min(Math.max(room / steps, 3), 22);
    const shown = Math.min(steps, Math.floor(room / each));
    const from = Math.min(Math.max(0, this.run.position - Math.floor(shown / 2)), steps - shown);
    return { each, shown, from };
  }

  step(event) {
    const { each, from, shown } = this.scale;
    const step = Math.floor((event.clientX - this.canvas.getBoundingClientRect().left - LEFT) / each);
    return step < 0 || step >= shown ? null : from + step;
  }

  go(event) {
    const step = this.step(event);
    if (step !== null) this.run.show(step);
  }

  show() {
    if (this.place.clientWidth === 0 || this.run.system === null) return;
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => {
      if (this.run.system !== null) this.draw(); // a text with errors may be opened meanwhile
    });
  }

  // A pen on an empty canvas of that height, with the numbers of steps and the cursor.
  begin(height) {
    const { canvas } = this;
    const width = Math.max(this.place.clientWidth - 2, 60);
    const sharpness = Math.min(devicePixelRatio || 1, 2);
    canvas.width = Math.ceil(width * sharpness);
    canvas.height = Math.ceil(height * sharpness);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    const pen = canvas.getContext("2d");
    pen.scale(sharpness, sharpness);
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(`--${name}`).trim();
    const { each, from, shown } = this.scale;
    const { position } = this.run;
    if (position >= from && position < from + shown) {
      pen.fillStyle = colour("tint");
      pen.fillRect(LEFT + (position - from) * each, 0, each, height);
      pen.fillStyle = colour("accent");
      for (const side of [position - from, position - from + 1]) pen.fillRect(LEFT + side * each - 0.75, 0, 1.5, height);
    }
    pen.fillStyle = colour("soft");
    pen.font = "11px system-ui, sans-serif";
    pen.textAlign = "center";
    const every = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((n) => n * each >= 34) ?? 2000;
    for (let step = Math.ceil(from / every) * every; step < from + shown; step += every) {
      pen.fillText(String(step), LEFT + (step - from + 0.5) * each, 13);
    }
    return { pen, colour, width };
  }
}

// A mark for every rule that fired: columns are steps, rows are neurons.
export class Raster extends AbstractPlot {
  get height() {
    const count = Math.max(this.run.names().length, 1);
    return Math.min(Math.max((this.place.clientHeight - ABOVE - 4) / count, LEAST_ROW), 18, MOST_HEIGHT / count);
  }

  draw() {
    const { run } = this;
    const names = run.names();
    const row = this.height;
    const { pen, colour } = this.begin(ABOVE + names.length * row + 2);
    const { each, from, shown } = this.scale;
    pen.textAlign = "right";
    pen.font = `${Math.min(Math.max(row - 1, 10), 12)}px system-ui, sans-serif`;
    pen.fillStyle = colour("ink");
    const every = Math.ceil(LEAST_ROW / row);
    for (let i = 0; i < names.length; i += every) {
      pen.fillText(shortenedName(names[i], 15), LEFT - 8, ABOVE + i * row + 0.75 * Math.max(row, 10));
    }
    let fired = 0;
    for (let step = from; step < from + shown; step += 1) {
      const { done, timer } = run.rows[step];
      pen.fillStyle = colour("closed-line");
      for (const neuron of timer.keys()) pen.fillRect(LEFT + (step - from) * each, ABOVE + (neuron + 0.4) * row, each, Math.max(row * 0.2, 1));
      pen.fillStyle = colour("fire");
      for (const neuron of done.keys()) {
        pen.fillRect(LEFT + (step - from) * each + 0.5, ABOVE + neuron * row + 0.5, Math.max(each - 1, 1), Math.max(row - 1, 1));
        fired += 1;
      }
    }
    const name = run.isNet ? texts.rasterOfFirings : texts.rasterOfRules;
    this.canvas.setAttribute("aria-label", name(from, from + shown - 1, fired));
  }

  say(event) {
    const step = this.step(event);
    const neuron = Math.floor((event.clientY - this.canvas.getBoundingClientRect().top - ABOVE) / this.height);
    const name = this.run.names()[neuron];
    if (step === null || name === undefined) return void (this.canvas.title = "");
    const fired = this.run.rows[step].done.get(neuron);
    this.canvas.title = texts.inStepOf(name, step, fired ? typeset(fired[1]) : "");
  }
}

// Lines of counts: of what is selected, or of the first ones.
export class Counts extends AbstractPlot {
  constructor(run, place) {
    super(run, place);
    this.key = element("ul", { class: "key" });
    place.append(this.key);
    this.chosen = [];
  }

  select(neurons) {
    this.chosen = [...neurons];
    this.show();
  }

  draw() {
    const { run } = this;
    const known = run.row.spikes.length;
    const own = this.chosen.filter((neuron) => neuron < known);
    const neurons = (own.length > 0 ? own : Array.from({ length: known }, (_, i) => i)).slice(0, MOST_LINES);
    const names = run.names();
    const items = neurons.map((neuron, index) => {
      const item = element("li", {}, `${names[neuron]}: ${run.row.spikes[neuron]}`);
      item.style.setProperty("--line", LINES[index]);
      return item;
    });
    const left = known - neurons.length;
    const more = own.length === 0 && left > 0 ? hint(run.words.moreToSelect(left)) : null;
    fill(this.key, ...items, more);
    const height = Math.max(this.place.clientHeight - this.key.offsetHeight - 4, LEAST_COUNTS);
    const { pen, colour } = this.begin(height);
    const { each, from, shown } = this.scale;
    const rows = run.rows.slice(from, from + shown);
    const values = neurons.map((neuron) => rows.map((row) => Number(row.spikes[neuron] ?? 0)));
    const top = values.flat().reduce((most, value) => Math.max(most, value), 1);
    const least = values.flat().reduce((low, value) => Math.min(low, value), 0);
    const y = (value) => height - 8 - ((value - least) / (top - least)) * (height - ABOVE - 16);
    pen.fillStyle = colour("soft");
    pen.textAlign = "right";
    for (const value of new Set([least, top])) pen.fillText(String(value), LEFT - 8, y(value) + 4);
    pen.strokeStyle = colour("line");
    pen.strokeRect(LEFT - 0.5, y(least) + 0.5, Math.max(shown * each, 1), 0.01);
    values.forEach((line, index) => {
      pen.strokeStyle = LINES[index];
      pen.lineWidth = 2;
      pen.setLineDash(index % 2 ? [5, 3] : []);
      pen.beginPath();
      line.forEach((value, i) => pen.lineTo(LEFT + (i + 0.5) * each, y(value)));
      pen.stroke();
    });
    pen.setLineDash([]);
    const text = neurons.map((neuron) => `${names[neuron]} ${run.row.spikes[neuron]}`).join(", ");
    this.canvas.setAttribute("aria-label", texts.countsOver(from, from + shown - 1, run.position, text));
  }

  say() {}
}

// One of the parts below the steps at a time.
export function historyTabs(names, plots) {
  const show = (name) => {
    for (const other of names) {
      find(`history-${other}`).hidden = other !== name;
      find(`show-${other}`).setAttribute("aria-selected", String(other === name));
      find(`show-${other}`).tabIndex = other === name ? 0 : -1;
    }
    plots[name]?.show();
  };
  names.forEach((name, index) => {
    const tab = find(`show-${name}`);
    tab.addEventListener("click", () => show(name));
    tab.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (by === undefined) return;
      const next = names[(index + by + names.length) % names.length];
      show(next);
      find(`show-${next}`).focus();
      event.stopPropagation();
      event.preventDefault();
    });
  });
  show(names[0]);
}
