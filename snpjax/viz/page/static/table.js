// The configurations as a table: a row for every step, of which those around the shown one are
// there.

import { arrivals, element, fill, find, raised, short, shortenedName } from "./dom.js";
import { selectedIn, takenIn } from "./steps.js";
import { texts } from "./texts.js";

// Of more columns only those that are seen are there; they are this wide, in pixels.
const MOST_COLUMNS = 24;
const COLUMN = 72;
const AROUND = 6;
const ROWS_AROUND = 60;
const MOST_FIRED = 12;

export class Table {
  constructor(run) {
    this.run = run;
    this.table = find("table");
    this.rows = new Map();
    run.addEventListener("opened", () => this.rebuild());
    run.addEventListener("moved", () => this.show());
    this.place = this.table.parentNode;
    this.place.addEventListener("scroll", () => this.scrolled());
    new ResizeObserver(() => this.scrolled()).observe(this.place);
  }

  // The columns that are seen, and some around them.
  window() {
    if (this.counts <= MOST_COLUMNS) return { first: 0, columns: this.counts };
    const { scrollLeft, clientWidth } = this.place;
    const first = Math.max(0, Math.floor(scrollLeft / COLUMN) - AROUND);
    const columns = Math.ceil(clientWidth / COLUMN) + 2 * AROUND;
    return { first: Math.min(first, Math.max(0, this.counts - columns)), columns: Math.min(columns, this.counts) };
  }

  scrolled() {
    if (this.run.system === null || this.counts <= MOST_COLUMNS) return;
    const { first, columns } = this.window();
    if (Math.abs(first - this.first) < AROUND / 2 && columns === this.columns) return;
    this.rebuild();
  }

  // A neuron's column, in sight.
  showColumn(neuron) {
    if (this.counts <= MOST_COLUMNS || neuron === null || neuron >= this.counts) return;
    if (neuron >= this.first + AROUND && neuron < this.first + this.columns - 2 * AROUND) return;
    this.place.scrollLeft = Math.max(0, (neuron - 3) * COLUMN);
  }

  rebuild() {
    const { run } = this;
    this.rows.clear();
    if (run.system === null) return fill(this.table);
    const names = run.names();
    this.counts = run.row.spikes.length;
    Object.assign(this, this.window());
    this.names = names;
    const isWide = this.counts > MOST_COLUMNS;
    const heads = names.slice(this.first, this.first + this.columns).map((name) => {
      const attributes = { scope: "col", title: name };
      return element("th", attributes, shortenedName(name, isWide ? 8 : 12));
    });
    this.table.classList.toggle("wide", isWide);
    this.table.style.setProperty("--column", `${COLUMN}px`);
    const more = isWide ? this.gap("th", this.counts - this.first - this.columns) : [];
    if (isWide) heads.unshift(...this.gap("th", this.first));
    this.body = element("tbody");
    const last = element("th", { scope: "col", class: "fired" }, run.isNet ? texts.whatFired : texts.rulesSelected);
    const head = element("tr", {}, element("th", { scope: "col" }, texts.stepHead), ...heads, ...more, last);
    fill(this.table, element("thead", {}, head), this.body);
    return this.show();
  }

  show() {
    const { run } = this;
    const isOther = run.row.spikes.length !== this.counts || run.names().some((name, at) => name !== this.names[at]);
    if (run.row.network && isOther) return this.rebuild();
    const from = Math.max(0, run.position - ROWS_AROUND);
    const to = Math.min(run.rows.length, run.position + ROWS_AROUND);
    for (const [index, { row, line }] of this.rows) {
      if (index >= from && index < to && run.rows[index] === row) continue;
      line.remove();
      this.rows.delete(index);
    }
    let before = null;
    for (let index = to - 1; index >= from; index -= 1) {
      const known = this.rows.get(index);
      const line = known?.line ?? this.line(run.rows[index], index);
      if (known === undefined) {
        this.body.insertBefore(line, before);
        this.rows.set(index, { row: run.rows[index], line });
      }
      line.classList.toggle("loop", run.loop !== null && index >= run.loop);
      line.classList.toggle("start", index === run.loop);
      const isShown = index === run.position;
      if (line.classList.contains("shown") !== isShown) {
        line.classList.toggle("shown", isShown);
        if (isShown) line.setAttribute("aria-current", "step");
        else line.removeAttribute("aria-current");
      }
      before = line;
    }
    this.reveal(this.rows.get(run.position).line);
    return undefined;
  }

  // The room of columns that are not there.
  gap(kind, columns) {
    const cell = element(kind, { class: "gap", "aria-hidden": "true" });
    cell.style.minWidth = `${columns * COLUMN}px`;
    return [cell];
  }

  reveal(line) {
    const { place } = this;
    const head = this.table.tHead.offsetHeight;
    const top = line.offsetTop - head;
    const bottom = line.offsetTop + line.offsetHeight - place.clientHeight;
    if (place.scrollTop > top) place.scrollTop = top;
    else if (place.scrollTop < bottom) place.scrollTop = bottom;
  }

  line(row, index) {
    const names = this.run.names(row);
    const before = index === 0 ? names : this.run.names(this.run.rows[index - 1]);
    const cells = row.spikes.slice(this.first, this.first + this.columns).map((count, index) => {
      const neuron = this.first + index;
      const timer = row.timer.get(neuron);
      const isClosed = timer !== undefined;
      const kind = isClosed ? "closed" : count === 0 ? "zero" : "";
      const due = row.due.get(neuron);
      const notes = [isClosed ? texts.closedFor(timer) : "", arrivals(due)];
      const title = notes.filter(Boolean).join(" · ") || null;
      const text = `${short(count)}${isClosed ? `⁽${raised(timer)}⁾` : ""}${due ? ` (${due})` : ""}`;
      const [own, head] = [names[neuron], this.names[neuron]];
      // Division changes the names of neurons: those of another step are written with the count.
      const name = own === head ? null : element("small", {}, `${own}: `);
      return element("td", { class: kind, title }, name, text);
    });
    while (cells.length < this.columns) cells.push(element("td", {}, ""));
    const isWide = this.counts > MOST_COLUMNS;
    const hidden = isWide ? this.gap("td", this.counts - this.first - this.columns) : [];
    if (isWide) cells.unshift(...this.gap("td", this.first));
    const go = element(
      "button",
      { "aria-label": texts.showStep(row.step) }, // a click is one on its row
      String(row.step),
    );
    const fired = selectedIn(row.fired.slice(0, MOST_FIRED), before);
    if (row.fired.length > MOST_FIRED) fired.push(texts.andMore(row.fired.length - MOST_FIRED));
    if (index > 0) fired.push(...takenIn(this.run, this.run.rows, index));
    const initial = this.run.isNet ? texts.initialMarking : texts.initialConfiguration;
    const end = index === 0 ? initial : fired.join("   ");
    const halts = row.halted ? element("span", { class: "halts" }, texts.halts) : null;
    return element(
      "tr",
      { click: () => this.run.show(index) },
      element("th", { scope: "row" }, go),
      ...cells,
      ...hidden,
      element("td", { class: "fired" }, end, halts, element("span", { class: "repeats" }, texts.repeats)),
    );
  }
}
