// What a step changes in a network: neurons and synapses that it creates and deletes, and the parents
// of the new neurons.

// What a step changed in the network of a computation.
export function changesOf(rows, position) {
  const [before, now] = [rows[position - 1]?.network, rows[position]?.network];
  const none = { born: new Set(), created: new Set(), deleted: [] };
  if (!before || !now || before === now) return none;
  const [old, own] = [before, now].map((network) => new Set(network.synapses.map(keyOf)));
  const isNew = (label, neuron) => label !== before.labels[neuron];
  return {
    born: new Set(now.labels.flatMap((label, neuron) => (isNew(label, neuron) ? [neuron] : []))),
    created: new Set([...own].filter((key) => !old.has(key))),
    deleted: before.synapses.filter((synapse) => !own.has(keyOf(synapse))),
  };
}

// Gives the number in one system of a neuron of another: by its name, or its place where it was renamed.
export function renumbering(before, after) {
  const numbers = new Map(after.neurons.map(({ name }, neuron) => [name, neuron]));
  const isAsLarge = before.neurons.length === after.neurons.length;
  return (neuron) => numbers.get(before.neurons[neuron]?.name) ?? (isAsLarge ? neuron : undefined);
}

export const keyOf = ([source, target]) => `${source} ${target}`;

// The neuron from which each created one came, in the rows up to a position.
export function parentsOf(rows, position) {
  const parents = new Map();
  for (let at = 1; at <= position; at += 1) {
    const size = rows[at - 1].network?.names.length;
    rows[at].parents?.forEach((parent, index) => parents.set(size + index, parent));
  }
  return parents;
}
