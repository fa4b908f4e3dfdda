// Questions to the server; in a file that was exported, the run that it holds.

import { texts } from "./texts.js";

const recorded = document.getElementById("recorded");

export const isRecorded = recorded !== null;

// What cannot be done, in words for the reader.
export class Refusal extends Error {}

export function recording() {
  return JSON.parse(recorded.textContent);
}

export async function ask(call, question = {}) {
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
  if (isRecorded) return;
  const note = document.getElementById("lost");
  setInterval(async () => {
    const isThere = await fetch("api/alive", { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" }).then(
      (answer) => answer.ok,
      () => false,
    );
    note.hidden = isThere;
  }, PULSE);
}
