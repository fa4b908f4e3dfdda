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

  // Whether a model, or a text that is typed instead of it, is in no file.
  isUnsaved(answer, draft) {
    if (draft === null) return this.isEdited(answer);
    return ![...this.files.values()].includes(plain(draft.text));
  }
}

// Browsers show every line end as one character.
const plain = (text) => text.replace(/\r\n?/g, "\n");
