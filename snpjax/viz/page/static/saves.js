// What is in files, by their names: a model whose text differs was edited.

export const MOST_UNDONE = 100;

export class Saves {
  constructor() {
    this.files = new Map();
    this.left = new Set(); // texts of models that were edited when another file was opened
  }

  // A text that was read from a file, or is written to one.
  set({ name, text }) {
    this.files.set(name, plain(text));
  }

  // Another file is opened; undo leads back to the last ones.
  leave(answer) {
    if (!this.isEdited(answer)) return;
    this.left.add(plain(answer.text));
    if (this.left.size > MOST_UNDONE) this.left.delete(this.left.values().next().value);
  }

  // Undo has brought it back.
  resume({ text }) {
    this.left.delete(plain(text));
  }

  isEdited({ name, text }) {
    return this.files.get(name) !== plain(text);
  }

  // Whether a model that is shown or was left, or a text that is typed, is in no file.
  isUnsaved(answer, draft) {
    const known = new Set(this.files.values());
    return this.isEdited(answer) || [...this.left, plain((draft ?? answer).text)].some((text) => !known.has(text));
  }
}

// A name of a file without the longest suffix of these formats that it has.
export function stem(name, formats) {
  const suffixes = formats.flatMap((format) => format.suffixes).sort((a, b) => b.length - a.length);
  const own = suffixes.find((suffix) => name.endsWith(suffix));
  return own === undefined ? name : name.slice(0, -own.length);
}

// Browsers show every line end as one character.
const plain = (text) => text.replace(/\r\n?/g, "\n");
