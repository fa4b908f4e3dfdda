// The configurations as a table: a row for every step, of which those around the shown one are
// there.

import { arrivals, element, fill, find, plural, raised, short, shortened, typeset } from "./dom.js";

const MOST_COLUMNS = 24;
const ROWS_AROUND = 60;
const MOST_FIRED = 12;

export class Table {
  constructor(run) {
    this.run = run;
    this.table = find("table");
    this.rows = new Map();
    run.addEventListener("opened", () => this.rebuild());
    run.addEventListener("moved", () => this.show());
  }

  rebuild() {
    const { run } = this;
    this.rows.clear();
    if (run.system === null) return fill(this.table);
    const names = run.names();
    this.counts = run.row.spikes.length;
    this.columns = Math.min(this.counts, MOST_COLUMNS);
    this.names = names;
    const heads = names.slice(0, this.columns).map((name) => {
      const attributes = { scope: "col", title: name };
      return element("th", attributes, shortened(name, 12));
    });
    const left = this.counts - this.columns;
    const rest = `+ ${plural(left, run.words.node)}`;
    const more = left > 0 ? [element("th", { scope: "col", class: "more" }, rest)] : [];
    this.body = element("tbody");
    const last = element("th", { scope: "col", class: "fired" }, run.isNet ? "what fired" : "rules selected in this step");
    const head = element("tr", {}, element("th", { scope: "col" }, "step"), ...heads, ...more, last);
    fill(this.table, element("thead", {}, head), this.body);
    return this.show();
  }

  show() {
    const { run } = this;
    if (run.row.network && run.row.spikes.length !== this.counts) return this.rebuild();
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

  reveal(line) {
    const place = this.table.parentNode;
    const head = this.table.tHead.offsetHeight;
    const top = line.offsetTop - head;
    const bottom = line.offsetTop + line.offsetHeight - place.clientHeight;
    if (place.scrollTop > top) place.scrollTop = top;
    else if (place.scrollTop < bottom) place.scrollTop = bottom;
  }

  line(row, index) {
    const cells = row.spikes.slice(0, this.columns).map((count, neuron) => {
      const timer = row.timer.get(neuron);
      const isClosed = timer !== undefined;
      const kind = isClosed ? "closed" : count === 0 ? "zero" : "";
      const due = row.due.get(neuron);
      const notes = [isClosed ? `closed for ${plural(timer, "step")}` : "", arrivals(due)];
      const title = notes.filter(Boolean).join(" · ") || null;
      const text = `${short(count)}${isClosed ? `⁽${raised(timer)}⁾` : ""}${due ? ` (${due})` : ""}`;
      return element("td", { class: kind, title }, text);
    });
    while (cells.length < this.columns) cells.push(element("td", {}, ""));
    const hidden = this.counts > this.columns ? [element("td", { class: "zero" }, "…")] : [];
    const go = element(
      "button",
      { click: () => this.run.show(index), "aria-label": `Show step ${row.step}` },
      String(row.step),
    );
    const fired = row.fired
      .slice(0, MOST_FIRED)
      .map(([neuron, , text]) => `${this.names[neuron] ?? neuron}: ${typeset(text)}`)
      .join("   ");
    const more = row.fired.length > MOST_FIRED ? `   and ${row.fired.length - MOST_FIRED} more` : "";
    const end = index === 0 ? `initial ${this.run.isNet ? "marking" : "configuration"}` : fired + more;
    const halts = row.halted ? element("span", { class: "halts" }, "halts") : null;
    return element(
      "tr",
      {},
      element("th", { scope: "row" }, go),
      ...cells,
      ...hidden,
      element("td", { class: "fired" }, end, halts, element("span", { class: "repeats" }, "repeats from here")),
    );
  }
}
