// Elements from values. Every text of a model is a text node: nothing of it can become markup.

import { texts } from "./texts.js";

const SVG = "http://www.w3.org/2000/svg";

export function find(id) {
  return document.getElementById(id);
}

export function element(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

export function drawn(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (typeof value === "boolean") node.toggleAttribute(name, value);
    else if (value !== null && value !== undefined) node.setAttribute(name, String(value));
  }
  node.append(...children.filter((child) => child !== null));
  return node;
}

export function fill(node, ...children) {
  node.replaceChildren(...children.filter((child) => child !== null));
}

// The texts of the HTML file, which names them only.
export function fillTexts() {
  document.documentElement.lang = texts.language;
  for (const node of document.querySelectorAll("[data-text]")) node.textContent = texts[node.dataset.text];
  for (const name of ["title", "placeholder", "aria-label"]) {
    for (const node of document.querySelectorAll(`[data-${name}]`)) node.setAttribute(name, texts[node.getAttribute(`data-${name}`)]);
  }
}

// Rules as papers write them: a^2/a -> lambda; 1 becomes a²/a → λ; 1. Names in quotes stay as they
// are.
const RAISED = { 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

export function typeset(rule) {
  const [guard] = rule.split(/ -> |\/Q\(|\]/); // without names
  const shown = guard
    .replace(/([aā])\{(\d+)\}/g, (_, a, digits) => `${a}^${digits}`)
    .replace(/([aā])\+/g, "$1⁺");
  return (shown + rule.slice(guard.length))
    .split(/("(?:[^"\\]|\\.)*")/)
    .map((part, index) => (index % 2 ? part : signs(part)))
    .join("");
}

const CHANGES = { "+": "+", "-": "−", "+-": "±", "-+": "∓" }; // of plasticity

function signs(text) {
  return text
    .replace(/\^\{?(\d+)\}?/g, (_, digits) => raised(digits))
    .replace(/-> (\+-|-\+|\+|-)(?=\d)/, (_, change) => `-> ${CHANGES[change]}`)
    .replace(/->/g, "→")
    .replace(/→ lambda\b/, "→ λ")
    .replaceAll("a^inf,", "a^∞,")
    .replaceAll(" || ", " ‖ ");
}

export function raised(digits) {
  return String(digits).replace(/\d/g, (digit) => RAISED[digit]);
}

// Counts are numbers, or texts where they are too large for that.
export function short(count) {
  const text = String(count);
  const digits = text.replace("-", "").length;
  if (digits <= 7) return text;
  return `${text.startsWith("-") ? "-" : ""}${text.replace("-", "").slice(0, 3)}·10${raised(digits - 3)}`;
}

// Spikes in flight in words, of a text as "1 in 3", or nothing.
export function arrivals(due) {
  return due === undefined ? "" : texts.inFlight(due);
}

export function shortened(text, length) {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

// Names of a family differ at their ends.
export function shortenedName(name, length) {
  if (name.length <= length) return name;
  const [ending] = name.match(/[^\w]*\w*[\])}]*$/);
  const kept = Math.min(Math.max(ending.length, 2), length - 2);
  return `${name.slice(0, length - 1 - kept)}…${name.slice(-kept)}`;
}

export function hint(text) {
  return element("p", { class: "hint" }, text);
}

// A finding in a list, with a button that leads to its place, if it has one.
export function findingItem({ message, severity }, where, go) {
  const place = where === null ? null : element("button", { type: "button", class: "go-to", click: go }, where);
  return element("li", { class: severity }, place, element("span", {}, message));
}

// A text as a file, saved by the browser.
export function saveAs(name, blob) {
  const link = element("a", { href: URL.createObjectURL(blob), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
