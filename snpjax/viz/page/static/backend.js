// Questions to the server; in a frame, to the page around it; in a file that was exported, the run
// that it holds.

import { texts } from "./texts.js";

const recorded = document.getElementById("recorded");

export const isRecorded = recorded !== null;

// What cannot be done, in words for the reader.
export class Refusal extends Error {}

export function recording() {
  return JSON.parse(recorded.textContent);
}

// A notebook shows the page in a frame, and answers by messages.
const isFramed = document.body.dataset.transport === "messages";
const WAIT = 5_000; // milliseconds until it is said that nobody answers
const waiting = new Map();
let numAsked = 0;
let show = () => {};

if (isFramed) {
  addEventListener("message", ({ source, data }) => {
    if (source !== parent) return;
    if (data.show) return void show(data.show);
    waiting.get(data.id)?.(data);
    waiting.delete(data.id);
  });
}

async function askParent(call, question) {
  numAsked += 1;
  const id = numAsked;
  const note = document.getElementById("lost");
  const late = setTimeout(() => {
    note.textContent = texts.pythonIsLate;
    note.hidden = false;
  }, WAIT);
  const { answer, refused } = await new Promise((done) => {
    waiting.set(id, done);
    parent.postMessage({ id, call, question }, "*");
  });
  clearTimeout(late);
  note.hidden = waiting.size === 0 || note.hidden;
  if (refused !== undefined) throw new Refusal(refused);
  return answer;
}

// What to do with a model that Python shows.
export function listen(action) {
  show = action;
}

// A notebook has the model that is shown as an object.
export function report(model) {
  if (isFramed) ask("shown", { model }).catch(() => {}); // one that is no longer kept stays
}

export async function ask(call, question = {}) {
  if (isFramed) return askParent(call, question);
  let response;
  try {
    // The token is part of the page's own address.
    response = await fetch(`api/${call}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(question),
    });
  } catch {
    throw new Refusal(texts.serverEnded);
  }
  const isJson = response.headers.get("Content-Type") === "application/json";
  if (!isJson) throw new Refusal((await response.text()).trim());
  const answer = await response.json();
  if (!response.ok) throw new Refusal(answer.refused);
  return answer;
}

const PULSE = 5_000; // milliseconds

// Say when the server is gone, and when it is back: what was typed is still there.
export function watchServer() {
  if (isRecorded || isFramed) return;
  const note = document.getElementById("lost");
  setInterval(async () => {
    const isThere = await fetch("api/alive", { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" }).then(
      (answer) => answer.ok,
      () => false,
    );
    note.hidden = isThere;
  }, PULSE);
}
