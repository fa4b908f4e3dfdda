// The way to draw a synapse from a selected box.

import { drawn } from "./dom.js";

// A small circle at a selected box, from which a synapse is drawn to another one.
export function handle(diagram, node, text, emit) {
  const { width, height, circle } = node;
  const [cx, cy] = circle ? [width / 2 + circle.radius, height / 2 + circle.down] : [width, height / 2];
  const knob = drawn("circle", { class: "handle", cx, cy, r: 7 });
  const hint = drawn("title", {}, text);
  knob.append(hint);
  knob.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    event.stopPropagation();
    event.preventDefault();
    const line = drawn("path", { class: "rubber" });
    diagram.world.append(line);
    const at = (moved) => diagram.pointOf(moved);
    const move = (moved) => {
      const [x, y] = at(moved);
      line.setAttribute("d", `M${node.x - width / 2 + cx} ${node.y - height / 2 + cy} L${x} ${y}`);
    };
    const end = (moved) => {
      removeEventListener("pointermove", move);
      removeEventListener("pointerup", end);
      removeEventListener("pointercancel", end);
      line.remove();
      if (moved.type === "pointercancel") return;
      const [x, y] = at(moved);
      const over = diagram.boxAt(x, y);
      if (over !== null) emit({ from: node.id, to: over.id });
    };
    addEventListener("pointermove", move);
    addEventListener("pointerup", end);
    addEventListener("pointercancel", end);
  });
  knob.addEventListener("click", (event) => event.stopPropagation());
  return knob;
}
