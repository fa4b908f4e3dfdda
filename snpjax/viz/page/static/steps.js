// What a step did, and how two configurations differ, in words.

import { changesOf } from "./changes.js";
import { typeset } from "./dom.js";
import { texts } from "./texts.js";

// The rules that neurons selected, by the names before the step.
export function selectedIn(fired, names) {
  return fired.map(([neuron, , text]) => `${names[neuron] ?? neuron}: ${typeset(text)}`);
}

// What was taken besides rules: the synapses that plasticity created and deleted, and astrocytes that
// suppressed spikes.
export function takenIn(run, rows, index) {
  const row = rows[index];
  const size = row.spikes.length;
  const suppressed = row.taken.filter(([chooser]) => chooser >= size).map(([chooser]) => texts.suppressed(texts.astrocyte(chooser - size + 1)));
  if (run.system.grows) return suppressed; // division is no choice of synapses
  const names = run.names(row);
  const { created, deleted } = changesOf(rows, index);
  const ends = ([source, target]) => `${names[source]} → ${names[target]}`;
  const list = (synapses, say) => (synapses.length === 0 ? [] : [say(synapses.map(ends).join(", "))]);
  const pairs = [...created].map((key) => key.split(" "));
  return [...list(pairs, texts.createdSynapses), ...list(deleted, texts.deletedSynapses), ...suppressed];
}

// All that a step did.
export function happenedIn(run, rows, index) {
  return [...selectedIn(rows[index].fired, run.names(rows[index - 1])), ...takenIn(run, rows, index)];
}

// How another configuration differs from one: in spikes, and in all else.
export function differencesOf(run, row, other) {
  const [names, others] = [run.names(row), run.names(other)];
  const spikes = row.spikes.flatMap((count, neuron) =>
    names[neuron] !== others[neuron] || other.spikes[neuron] === count ? [] : [texts.insteadOf(names[neuron], other.spikes[neuron], count)],
  );
  const perNeuron = (one, two, none, say) => {
    const neurons = [...new Set([...one.keys(), ...two.keys()])].sort((a, b) => a - b);
    const differs = neurons.filter((neuron) => one.get(neuron) !== two.get(neuron));
    return differs.map((neuron) => say(names[neuron] ?? others[neuron], two.get(neuron) ?? none, one.get(neuron) ?? none));
  };
  return {
    spikes,
    rest: [
      ...(run.system.grows ? onlyOne(names, others) : []),
      ...perNeuron(row.timer, other.timer, 0, texts.timerInsteadOf),
      ...perNeuron(row.waiting, other.waiting, 0, texts.waitingInsteadOf),
      ...perNeuron(row.due, other.due, texts.nothing, texts.inFlightInsteadOf),
      ...(row.network === other.network ? [] : onlyOne(synapsesOf(row.network), synapsesOf(other.network))),
    ],
  };
}

// What is in one of two lists only.
function onlyOne(own, others) {
  const without = (some, known) => some.filter((one) => !known.has(one));
  const [here, there] = [without(own, new Set(others)), without(others, new Set(own))];
  return [...there.map(texts.onlyThere), ...here.map(texts.onlyHere)];
}

function synapsesOf({ names, synapses }) {
  return synapses.map(([source, target, weight]) => `${names[source]} → ${names[target]}${weight === 1 ? "" : ` ×${weight}`}`);
}
