// Questions to the server; in a frame, to the page around it; in a file that was exported, the run
// that it holds.

import { texts } from "./texts.js";

const recorded = document.getElementById("recorded");

export const isRecorded = recorded !== null;

// What cannot be done, in words for the reader.
export class Refusal extends Error {}

// A question that was not answered.
class Unanswered extends Refusal {}

export function recording() {
  return JSON.parse(recorded.textContent);
}

// ---- whether somebody answers ----

const AGAIN = 500; // milliseconds until a question that was lost is asked again
const PULSE = 5_000; // milliseconds until a question is late, and between two looks for the server
const MOST_PULSE = 60_000; // between two looks for a Python that is busy
const returned = []; // what is done when answers come again
let isLost = false;

export function whenReturned(action) {
  returned.push(action);
}

function lose(text) {
  document.getElementById("lost-text").textContent = text;
  document.getElementById("lost-save").hidden = isFramed;
  document.getElementById("lost").hidden = false;
  if (isLost) return;
  isLost = true;
  if (isFramed) look(PULSE);
}

function regain() {
  if (!isLost) return;
  isLost = false;
  document.getElementById("lost").hidden = true;
  for (const action of returned) action();
}

// A question that needs an answer, however long that takes.
export async function insist(call) {
  for (;;) {
    try {
      return await ask(call);
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error;
      await new Promise((done) => (isLost ? returned.push(done) : setTimeout(done, AGAIN)));
    }
  }
}

// ---- a notebook, which shows the page in a frame and answers by messages ----

export const isFramed = document.body.dataset.transport === "messages";
const waiting = new Map(); // questions by their numbers, in the order in which they were asked
let numAsked = 0;
let show = () => {};

if (isFramed) {
  addEventListener("message", ({ source, data }) => {
    if (source !== parent) return;
    if (data.isLost) {
      for (const id of waiting.keys()) fail(id, texts.pythonEnded);
      return void lose(texts.pythonEnded);
    }
    if (data.show) show(data.show, data.revision);
    else settle(data);
    regain();
  });
}

function askParent(call, question) {
  numAsked += 1;
  const id = numAsked;
  return new Promise((done, failed) => {
    const late = setTimeout(() => lose(texts.pythonIsLate), PULSE);
    waiting.set(id, { done, failed, late, since: performance.now() });
    parent.postMessage({ id, call, question }, "*");
  });
}

// Python answers one after the other: what waits longer than the question that it answered was lost
// on the way.
function settle({ id, answer, refused }) {
  const now = performance.now();
  for (const [other, { since }] of waiting) {
    if (other < id && now - since > PULSE) fail(other, texts.questionWasLost);
  }
  const own = waiting.get(id);
  if (own === undefined) return;
  clearTimeout(own.late);
  waiting.delete(id);
  if (refused === undefined) own.done(answer);
  else own.failed(new Refusal(refused));
}

function fail(id, text) {
  const { failed, late } = waiting.get(id);
  clearTimeout(late);
  waiting.delete(id);
  failed(new Unanswered(text));
}

// Ask now and then whether somebody is there.
function look(pause) {
  if (!isLost) return;
  askParent("alive", {}).catch(() => {});
  setTimeout(() => look(Math.min(2 * pause, MOST_PULSE)), pause);
}

// What to do with a model that Python or another view shows, and with its revision.
export function listen(action) {
  show = action;
}

// A notebook has the model that is shown as an object: an edit of that revision, which is too late
// where Python has set another one meanwhile.
export function report(model, revision) {
  if (isFramed) ask("shown", { model, revision }).catch(() => {});
}

// ---- a server ----

const FORBIDDEN = 403; // the token of this page is not that of the server
let isReplaced = false; // by another server, which has another address

export async function ask(call, question = {}) {
  if (isFramed) return askParent(call, question);
  if (isReplaced) throw new Unanswered(texts.serverRestarted);
  let response, text;
  try {
    // The token is part of the page's own address.
    response = await fetch(`api/${call}`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(question),
    });
    text = await response.text(); // always: an answer that nobody reads stays in memory
  } catch {
    lose(texts.lost);
    throw new Unanswered(texts.lost);
  }
  if (response.status === FORBIDDEN) {
    isReplaced = true;
    lose(texts.serverRestarted);
    throw new Unanswered(texts.serverRestarted);
  }
  const isJson = response.headers.get("Content-Type") === "application/json";
  if (!isJson) throw new Refusal(text.trim()); // of another server, perhaps
  regain();
  const answer = JSON.parse(text);
  if (answer.problem !== undefined) throw new Refusal(answer.problem);
  return answer;
}

// Notice when the server is gone, and when it is back: what was typed is still there.
export function watchServer() {
  if (isRecorded || isFramed) return;
  const pulse = setInterval(() => {
    if (isReplaced) clearInterval(pulse);
    else ask("alive").catch(() => isReplaced || lose(texts.lost));
  }, PULSE);
}
