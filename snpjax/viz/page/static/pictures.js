// The drawing of the open view as a file: SVG that any program reads, or PNG.

import { drawn, saveAs } from "./dom.js";

const ROOM = 24;
const SHARPNESS = 2;
const MOST_PIXELS = 8000; // of a side
// Characters of names that no XML may hold; the serializer leaves them.
const NOT_XML = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|\p{Surrogate}/gu;

// The SVG of a drawing, whole, with its colours as they are now.
export function svgOf(diagram) {
  const { svg } = diagram;
  diagram.whole();
  const world = svg.querySelector(".world");
  const box = world.getBBox();
  const copy = svg.cloneNode(true);
  for (const name of ["id", "role", "aria-label"]) copy.removeAttribute(name);
  copy.classList.remove("far");
  copy.querySelector(".world").removeAttribute("transform");
  for (const node of copy.querySelectorAll("[tabindex]")) node.removeAttribute("tabindex");
  const [x, y] = [box.x - ROOM, box.y - ROOM];
  const [width, height] = [box.width + 2 * ROOM, box.height + 2 * ROOM].map(Math.ceil);
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("viewBox", `${x} ${y} ${width} ${height}`);
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  const ground = drawn("rect", { class: "ground", x, y, width, height });
  copy.prepend(drawn("style", {}, rulesOf(".diagram")), ground);
  diagram.moved(); // of many boxes only those that are near remain elements
  const text = new XMLSerializer().serializeToString(copy).replace(NOT_XML, "\ufffd");
  return { text, width, height };
}

// The style rules of drawings, with the values of the variables in them: other programs have none.
function rulesOf(prefix) {
  const values = getComputedStyle(document.documentElement);
  const known = (text) =>
    text.replace(/var\((--[\w-]+)\)/g, (_, name) => values.getPropertyValue(name).trim());
  const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]);
  return rules
    .filter((rule) => rule.selectorText?.startsWith(prefix))
    .filter((rule) => !/:hover|:focus|\.far/.test(rule.selectorText))
    .map((rule) => known(rule.cssText))
    .join("\n");
}

export function saveSvg(diagram, name) {
  const { text } = svgOf(diagram);
  saveAs(`${name}.svg`, new Blob([text], { type: "image/svg+xml" }));
}

export async function savePng(diagram, name) {
  const { text, width, height } = svgOf(diagram);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const scale = Math.min(SHARPNESS, MOST_PIXELS / width, MOST_PIXELS / height);
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [Math.ceil(width * scale), Math.ceil(height * scale)];
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise((done) => canvas.toBlob(done, "image/png"));
  saveAs(`${name}.png`, blob);
}
