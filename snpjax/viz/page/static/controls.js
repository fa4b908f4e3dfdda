// Buttons, keys and dialogs.

import { ask, isRecorded, Refusal } from "./backend.js";
import { element, fill, find, saveAs } from "./dom.js";
import { savePng, saveSvg } from "./pictures.js";
import { stem } from "./saves.js";
import { texts } from "./texts.js";

const MOST_WAITING = 20; // keys that are kept while a step is made
const MOST_TO_END = 1000;
const PATIENCE = 400; // milliseconds until it is said that something takes long

export class Transport {
  constructor(run) {
    this.run = run;
    this.timer = null;
    this.waiting = []; // actions of keys that were pressed too early
    find("until").addEventListener("change", () => this.pauseWhen(find("until").value.trim()));
    find("to-start").addEventListener("click", () => this.act(() => run.show(0)));
    find("back").addEventListener("click", () => this.act(() => run.show(run.position - 1)));
    find("step").addEventListener("click", () => this.act(() => run.step()));
    find("to-end").addEventListener("click", () => this.act(() => run.finish(MOST_TO_END)));
    find("run").addEventListener("click", () => this.toggle());
    find("position").addEventListener("input", (event) => {
      this.act(() => run.show(Number(event.target.value)));
    });
    for (const name of ["opened", "moved", "busy", "chosen"]) {
      run.addEventListener(name, () => this.show());
    }
    for (const name of ["opened", "placed", "moved"]) run.addEventListener(name, () => this.say(""));
  }

  // A condition that cannot be read is refused where it is written.
  async pauseWhen(condition) {
    const { run } = this;
    run.until = condition;
    find("until").removeAttribute("aria-invalid");
    if (condition === "" || run.model === null) return;
    await this.attempt(() => run.where(condition).then(() => null), () => find("until").setAttribute("aria-invalid", "true"));
  }

  // Do what a key asks for, now or when the step that is being made is there.
  press(id) {
    const { run } = this;
    const isEarly = run.model !== null && (run.busy || run.row.isBlank);
    if (!isEarly) return void (find(id).disabled || find(id).click());
    if (this.waiting.length < MOST_WAITING) this.waiting.push(() => this.press(id));
  }

  get canStep() {
    const { run } = this;
    if (run.model === null || run.row.isBlank) return false;
    const isKnown = run.position < run.last && !run.hasChoice;
    return isKnown || run.repeats || (!isRecorded && !run.row.halted);
  }

  get ofLoop() {
    const { loop, position, last } = this.run;
    if (loop === null || position < loop) return "";
    if (position === last) return texts.againAs(loop);
    return position === loop ? texts.loopBegins : texts.inLoop;
  }

  show() {
    const { run } = this;
    if (!this.canStep) this.pause();
    // The first step of a model is compiled, which takes a moment.
    clearTimeout(this.patience);
    if (run.busy) this.patience = setTimeout(() => this.say(texts.working), PATIENCE);
    else if (find("message").textContent === texts.working) this.say("");
    find("to-start").disabled = find("back").disabled = run.position === 0;
    find("step").disabled = find("to-end").disabled = find("run").disabled = !this.canStep;
    find("run").textContent = this.timer === null ? texts.run : texts.pause;
    find("position").max = run.last;
    find("position").value = run.position;
    find("where").textContent = texts.where(run.position, run.last, Boolean(run.row?.halted)) + this.ofLoop;
    if (this.waiting.length > 0 && !run.busy && run.model !== null && !run.row.isBlank) {
      queueMicrotask(() => this.waiting.shift()?.());
    }
    const replaces = run.leadsElsewhere && run.position < run.last;
    find("step").textContent = replaces ? texts.branch : texts.step;
    find("step").title = run.model !== null && run.isCut ? texts.recordingEnds : replaces ? texts.branchTip : texts.stepTip;
  }

  async act(action) {
    this.pause();
    await this.attempt(action);
    this.show();
  }

  async attempt(action, fail = () => {}) {
    try {
      const refused = await action();
      if (refused) this.say(refused);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.pause();
      this.say(error.message);
      fail();
    }
  }

  say(text) {
    find("message").textContent = text;
    find("message").title = text; // where it is longer than its room
  }

  toggle() {
    if (this.timer !== null) return this.act(() => {});
    const next = async () => {
      await this.attempt(() => this.run.step());
      if (this.timer === null) return;
      const { until, reached } = this.run;
      if (reached) this.say(texts.pausedAt(until, this.run.position));
      if (this.canStep && !reached) this.timer = setTimeout(next, Number(find("speed").value));
      else this.pause();
      this.show();
    };
    this.timer = setTimeout(next, 0);
    return this.show();
  }

  pause() {
    clearTimeout(this.timer);
    this.timer = null;
    find("run").textContent = texts.run;
  }
}

// One of the views at a time.
export class Tabs {
  constructor(names) {
    this.names = names;
    for (const name of names) find(`tab-${name}`).addEventListener("click", () => this.show(name));
    find(`tab-${names[0]}`).parentNode.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (by === undefined) return;
      const at = names.indexOf(this.open) + by;
      this.show(names[(at + names.length) % names.length]);
      find(`tab-${this.open}`).focus();
      event.stopPropagation();
    });
    this.show(names[0]);
  }

  show(name) {
    this.open = name;
    for (const other of this.names) {
      const isOpen = other === name;
      find(`tab-${other}`).setAttribute("aria-selected", String(isOpen));
      find(`tab-${other}`).tabIndex = isOpen ? 0 : -1;
      find(`view-${other}`).hidden = !isOpen;
    }
    document.body.dataset.view = name;
  }
}

export function listenForKeys({ transport, tabs, zoom }) {
  const press = (id) => () => find(id).disabled || find(id).click();
  const later = (id) => () => transport.press(id);
  const keys = {
    ArrowRight: later("step"),
    n: later("step"),
    ArrowLeft: later("back"),
    b: later("back"),
    Home: later("to-start"),
    End: later("to-end"),
    " ": later("run"),
    "/": () => find("search").focus(),
    1: () => tabs.show("system"),
    2: () => find("tab-graph").hidden || tabs.show("graph"),
    3: () => tabs.show("text"),
    "+": () => zoom("in"),
    "-": () => zoom("out"),
    f: () => zoom("fit"),
    t: press("collapse"),
    o: press("open"),
    s: press("save"),
    p: press("picture"),
    "?": press("help"),
  };
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { target, key } = event;
    if (target.closest("input:not([type=radio]), textarea, select, dialog[open]")) return;
    if (target.closest("input") && key.startsWith("Arrow")) return;
    // Space presses a focused button, and scrolls a focused table.
    if (key === " " && target.closest("button, input, .scroll")) return;
    if (target.closest(".scroll") && /^(Arrow|Home|End)/.test(key)) return;
    const action = Object.hasOwn(keys, key) ? keys[key] : undefined;
    if (action === undefined) return;
    event.preventDefault();
    action();
  });
}

// What happened leaves its room to the drawing.
export function collapsible() {
  const button = find("collapse");
  button.addEventListener("click", () => {
    const isCollapsed = document.body.classList.toggle("collapsed");
    button.setAttribute("aria-expanded", String(!isCollapsed));
  });
}

export function helpDialog(version) {
  const items = texts.keys.flatMap(([keys, what]) => [element("dt", {}, keys), element("dd", {}, what)]);
  fill(find("keys"), ...items);
  find("version").textContent = `snpjax ${version}`;
  find("help").addEventListener("click", () => find("help-dialog").showModal());
}

// `current()` is what is shown once what is under way is done, `hasDraft()` whether the text is another one,
// and `onsave()` is called when a file holds all of what is shown.
export function saveDialog(run, formats, { current, hasDraft, onsave }) {
  const dialog = find("save-dialog");
  const choice = find("save-format");
  const name = find("save-name");
  const chosen = () => formats.find((format) => format.name === choice.value);
  const clear = () => {
    find("save-losses").hidden = find("save-lossy").hidden = true;
    find("save-now").hidden = false;
    fill(find("save-losses"));
    find("save-places").hidden = chosen().positions || !chosen().read || run.system.positions === null;
    name.value = `${stem(name.value, formats)}${chosen().suffixes[0]}`;
  };
  // Under the name that was written, with a suffix of its format.
  const nameOf = (usual) => {
    const own = name.value.trim();
    if (own === "") return usual;
    return chosen().suffixes.some((suffix) => own.endsWith(suffix)) ? own : `${own}${chosen().suffixes[0]}`;
  };
  const save = async (lossy) => {
    try {
      const answer = await ask("save", { model: run.model, format: choice.value, lossy });
      if (!answer.written) return tell(texts.cannotHold, answer.losses, true);
      saveAs(nameOf(answer.name), new Blob([answer.text], { type: "text/plain" }));
      if (answer.losses.length === 0 && chosen().read) onsave();
      return dialog.close();
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return tell(error.message, [], false);
    }
  };
  const tell = (text, items, mayLose) => {
    const list = items.slice(0, 20).map((item) => element("li", {}, item));
    const more = items.length > 20 ? element("li", {}, texts.moreItems(items.length - 20)) : null;
    fill(find("save-losses"), element("p", {}, text), element("ul", {}, ...list, ...(more ? [more] : [])));
    find("save-losses").hidden = false;
    find("save-lossy").hidden = !mayLose;
    find("save-now").hidden = mayLose; // which would say the same again
    if (mayLose) find("save-lossy").focus(); // what had the focus is hidden
  };
  find("save").addEventListener("click", async () => {
    const { name: known, format: usual } = await current();
    const kind = run.isNet ? "net" : "system";
    const written = formats.filter((format) => format.written && format.kind === kind);
    const options = written.map(({ name, title, suffixes }) =>
      element("option", { value: name }, `${title} (${suffixes[0]})`),
    );
    fill(choice, ...options);
    const own = written.find((format) => format.name === usual);
    choice.value = (own ?? written[0]).name;
    name.value = known;
    find("save-draft").hidden = !hasDraft();
    clear();
    dialog.showModal();
  });
  choice.addEventListener("change", clear);
  find("save-now").addEventListener("click", () => save(false));
  find("save-lossy").addEventListener("click", () => save(true));
  find("save-cancel").addEventListener("click", () => dialog.close());
  name.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault(); // the form would be closed by its first button
    if (!find("save-now").hidden) save(false);
  });
}

// `ready()` awaits what is under way.
export function pictureDialog({ ready, shownDiagram, name, savePage }) {
  const dialog = find("picture-dialog");
  find("picture").addEventListener("click", async () => {
    await ready();
    dialog.showModal();
  });
  find("picture-cancel").addEventListener("click", () => dialog.close());
  find("picture-svg").addEventListener("click", () => {
    saveSvg(shownDiagram(), name());
    dialog.close();
  });
  find("picture-page").addEventListener("click", async () => {
    await savePage();
    dialog.close();
  });
  find("picture-png").addEventListener("click", async () => {
    await savePng(shownDiagram(), name());
    dialog.close();
  });
}
