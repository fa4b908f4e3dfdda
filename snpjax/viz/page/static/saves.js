// What is in files, by their names: a model whose text differs was edited.

export class Saves {
  constructor() {
    this.files = new Map();
  }

  // A text that was read from a file, or is written to one.
  set({ name, text }) {
    this.files.set(name, plain(text));
  }

  isEdited({ name, text }) {
    return this.files.get(name) !== plain(text);
  }

  // Whether one of these texts is in no file.
  areUnsaved(answers) {
    const known = new Set(this.files.values());
    return answers.some(({ text }) => !known.has(plain(text)));
  }
}

// A name of a file without the longest suffix of these formats that it has.
export function stem(name, formats) {
  const suffixes = formats.flatMap((format) => format.suffixes).sort((a, b) => b.length - a.length);
  const own = suffixes.find((suffix) => name.toLowerCase().endsWith(suffix));
  return own === undefined ? name : name.slice(0, -own.length);
}

// Browsers show every line end as one character.
const plain = (text) => text.replace(/\r\n?/g, "\n");
