// The text of the model: findings at their places, and a field to mend them.

import { ask, isRecorded, Refusal } from "./backend.js";
import { element, fill, find, findingItem } from "./dom.js";
import { selectPlace } from "./inspector.js";
import { texts } from "./texts.js";

const READ_AFTER = 700; // milliseconds without a key

export class TextEditor {
  constructor() {
    this.field = find("text");
    this.lines = find("lines");
    this.isChanged = false; // since it was read
    this.isUnread = false; // because of its errors
    this.isTyped = false; // and not by an edit of the drawing, or from a file
    this.findings = find("findings");
    this.field.addEventListener("input", () => this.changed());
    this.field.addEventListener("keyup", () => this.named());
    this.field.addEventListener("click", () => this.named());
    this.field.addEventListener("scroll", () => (this.lines.scrollTop = this.field.scrollTop));
    this.field.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.submit(event);
    });
    find("text-form").addEventListener("submit", (event) => this.submit(event));
    if (isRecorded) {
      this.field.readOnly = true;
      for (const id of ["read", "format"]) find(id).disabled = true;
      find("name").readOnly = true;
      find("format").parentNode.hidden = true;
      find("read").hidden = true;
    }
  }

  formats(formats) {
    const readable = formats.filter((format) => format.read);
    const options = readable.map(({ name, title }) => element("option", { value: name }, title));
    fill(find("format"), element("option", { value: "" }, texts.formatOfName), ...options);
  }

  // What an answer to `open` says, whether the text was read or not. What is typed meanwhile stays.
  show({ name, text, findings, more, read }) {
    clearTimeout(this.later);
    this.isChanged = false;
    this.isUnread = !read;
    find("name").value = name;
    if (this.field.value !== text) {
      this.field.value = text;
      this.isTyped = false;
    }
    this.numbers();
    this.say(findings, more);
    const errors = findings.length + more;
    this.status(read ? "" : texts.wasNotRead(errors));
    this.flag(read ? "" : String(errors), texts.hasErrors);
  }

  say(findings, more = 0) {
    this.findings.hidden = findings.length === 0;
    const items = findings.map((finding) => {
      const { line, column } = finding;
      const go = () => {
        this.field.focus();
        selectPlace(this.field, line, column);
      };
      return findingItem(finding, line === null ? null : `${line}:${column}`, go);
    });
    if (more > 0) items.push(element("li", { class: "hint" }, texts.andMore(more)));
    fill(this.findings, ...items);
    const errors = findings.filter((f) => f.severity === "error" && f.line !== null);
    this.wrong = new Set(errors.map((finding) => finding.line));
    this.numbers();
  }

  changed() {
    this.isChanged = this.isTyped = true;
    this.numbers();
    this.status(texts.isReadLater);
    this.flag("•", texts.wasChanged);
    clearTimeout(this.later);
    this.later = setTimeout(() => this.again(), READ_AFTER);
  }

  // What is not drawn, if anything is: it was typed just now, or has errors.
  draft() {
    if (!this.isChanged && !this.isUnread) return null;
    return { name: find("name").value, text: this.field.value, format: find("format").value, isDraft: true };
  }

  // Type that again.
  type({ name, text, format }) {
    find("name").value = name;
    find("format").value = format;
    this.field.value = text;
    this.changed();
  }

  // Read what was typed, unless somebody has to decide first whether it stays.
  again() {
    this.next(() => (this.isChanged && !this.isHeld?.() ? this.follows() : undefined));
  }

  // The drawing follows the text; where that has errors they are listed, and the last system stays.
  async follows() {
    const [name, text] = [find("name").value, this.field.value];
    try {
      const answer = await ask("open", { name, text, format: find("format").value || null });
      if (text !== this.field.value) return;
      if (answer.read) return void this.onfollow?.(answer);
      this.refuse(answer);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.status(error.message);
    }
  }

  // The errors of what was typed.
  refuse({ text, findings, more }) {
    if (text !== this.field.value) return; // it is read again
    [this.isChanged, this.isUnread] = [false, true];
    this.onwrong?.(this.draft());
    this.say(findings, more);
    const errors = findings.length + more;
    this.status(this.isSystemShown?.() ? texts.lastIsShown(errors) : texts.wasNotRead(errors));
    this.flag(String(errors), texts.hasErrors);
  }

  // The name at the cursor, for the drawing to select.
  named() {
    const { value, selectionStart: at } = this.field;
    const before = value.slice(0, at).match(/[\p{L}\p{N}_{}]*$/u)[0];
    const after = value.slice(at).match(/^[\p{L}\p{N}_{}]*/u)[0];
    if (before + after !== "") this.onname?.(before + after);
  }

  // Mark the lines that name a neuron, and show the first of them, unless that hides what is typed.
  follow(name) {
    this.name = name;
    this.numbers();
    const first = this.own?.values().next().value;
    if (first === undefined || document.activeElement === this.field) return;
    const { value, selectionEnd, scrollTop, clientHeight } = this.field;
    const height = this.field.scrollHeight / value.split("\n").length;
    const cursor = (value.slice(0, selectionEnd).split("\n").length - 0.5) * height;
    const isSeen = cursor > scrollTop && cursor < scrollTop + clientHeight;
    if (this.isTyped && (this.isChanged || this.isUnread || isSeen)) return;
    this.field.scrollTop = Math.max(0, (first - 1) * height - this.field.clientHeight / 2);
  }

  numbers() {
    const lines = this.field.value.split("\n");
    const count = lines.length;
    const wrong = this.wrong ?? new Set();
    const named = this.name ? lines.flatMap((text, at) => (names(text, this.name) ? [at + 1] : [])) : [];
    this.own = new Set(named);
    const parts = [""];
    for (let line = 1; line <= count; line += 1) {
      if (wrong.has(line)) parts.push(element("b", {}, `${line}`), "");
      else if (this.own.has(line)) parts.push(element("mark", {}, `${line}`), "");
      else parts[parts.length - 1] += `${line}`;
      parts[parts.length - 1] += "\n";
    }
    fill(this.lines, ...parts);
  }

  status(text) {
    find("text-status").textContent = text;
  }

  flag(text, title) {
    const flag = find("text-flag");
    flag.hidden = text === "";
    flag.textContent = text;
    flag.title = title;
  }

  async submit(event) {
    event.preventDefault();
    if (isRecorded) return;
    this.status(texts.reading);
    const format = find("format").value || null;
    await this.read(find("name").value, this.field.value, { format, isFile: false });
  }

  // A file, or what was typed.
  read(name, text, { format = null, isFile = true } = {}) {
    return this.next(async () => {
      try {
        const answer = await ask("open", { name, text, format });
        if (isFile) find("format").value = "";
        this.onread?.(answer, isFile);
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        this.status(error.message);
      }
    });
  }
}

// Whether a line has that name as a word.
function names(line, name) {
  let at = line.indexOf(name);
  const isPart = (letter) => letter !== undefined && /[\p{L}\p{N}_]/u.test(letter);
  while (at >= 0) {
    if (!isPart(line[at - 1]) && !isPart(line[at + name.length])) return true;
    at = line.indexOf(name, at + 1);
  }
  return false;
}
