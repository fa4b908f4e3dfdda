// The page: what belongs to what.

import { ask, insist, isFramed, isRecorded, listen, recording, Refusal, report, watchServer, whenReturned } from "./backend.js";
import { Branches } from "./branches.js";
import { renumbering } from "./changes.js";
import { Choices } from "./choices.js";
import { collapsible, helpDialog, listenForKeys, pictureDialog, saveDialog, Tabs, Transport } from "./controls.js";
import { element, fill, fillTexts, find, saveAs } from "./dom.js";
import { Editing } from "./editing.js";
import { GraphView } from "./graph.js";
import { Incoming } from "./incoming.js";
import { Inspector } from "./inspector.js";
import { Network } from "./network.js";
import { Properties } from "./properties.js";
import { Counts, historyTabs, Raster } from "./raster.js";
import { Run } from "./run.js";
import { Saves, stem } from "./saves.js";
import { Search } from "./search.js";
import { Table } from "./table.js";
import { TextEditor } from "./text.js";
import { texts } from "./texts.js";
import { Trains } from "./trains.js";

fillTexts();

const run = new Run();
const network = new Network(run);
const graph = new GraphView(run);
const inspector = new Inspector(run);
const editor = new TextEditor();
const transport = new Transport(run);
const saves = new Saves();
const tabs = new Tabs(["system", "graph", "text"]);
const choices = new Choices(run);
const editing = new Editing({ run, network, show: shown, say: (text) => transport.say(text) });
const properties = new Properties(run);
new Search(run, network);
new Trains(run);
const table = new Table(run);
const raster = new Raster(run, find("history-raster"));
const counts = new Counts(run, find("history-counts"));
const branches = new Branches(run, (text) => transport.say(text));
historyTabs(["table", "raster", "counts", "branches"], { raster, counts, branches });

const incoming = new Incoming({
  isTyped: () => editor.draft() !== null || inspector.holdsText,
  show: (answer) => {
    if (!answer.edited) saves.set(answer);
    const draft = editor.draft();
    network.remember();
    shown(answer, [], { isEdit: true, isReported: false });
    if (draft !== null) editing.keep(draft);
  },
  // What is typed for a neuron stays with it in the other system, if that has it.
  keep: (answer) => {
    const neuron = answer.read ? answer.system.neurons.findIndex(({ name }) => name === inspector.name) : -1;
    if (editor.draft() !== null || neuron < 0) return void editing.keep(answer);
    network.remember();
    shown(answer, [neuron], { isEdit: true, isReported: false });
  },
});

let opened = null;

const diagramOfView = () => (tabs.open === "graph" ? graph.diagram : network.diagram);

function zoom(how) {
  const { viewport } = diagramOfView();
  if (how === "fit") viewport.fit(diagramOfView().bounds());
  else viewport.zoom(how === "in" ? 1.25 : 0.8);
}

// Another text: a model to draw, or the errors of a text that is none. Undo brings back what was there.
function show(answer, { isFile = true } = {}) {
  const isFirst = editing.now === null;
  if (!answer.read && run.system !== null) return void (isFile ? unread(answer) : editor.refuse(answer));
  const draft = opened === null ? null : editor.draft();
  answer.isOpened = isFile;
  if (isFile && !answer.edited) saves.set(answer);
  if (draft !== null && draft.text !== answer.text) editing.keep(draft);
  if (isFile) forgetFields();
  network.forget();
  shown(answer, [], { isEdit: !isFirst || draft !== null });
}

// What was searched in another file, and where its runs pause.
function forgetFields() {
  for (const id of ["search", "choice-filter", "until"]) find(id).value = "";
  find("until").removeAttribute("aria-invalid");
  run.until = "";
}

// A text that was opened and has errors: they are listed, and the last system stays.
function unread(answer) {
  const { name, findings, more } = answer;
  if (findings.every(({ line }) => line === null)) {
    return transport.say(texts.fileNotRead(name, findings[0].message));
  }
  saves.set(answer);
  const draft = editor.draft();
  if (draft !== null) editing.keep(draft);
  editor.show(answer);
  editing.drafted({ ...editor.draft(), isOpened: true });
  editor.status(texts.lastIsShown(findings.length + more));
  transport.say(texts.fileHasErrors(name, findings.length + more));
  return tabs.show("text");
}

// What an answer says, which neurons are selected then, and what is to be said of it.
function shown(answer, selected, { isEdit = false, isChange = false, isReported = true, note = null } = {}) {
  const { activeElement } = document;
  const isFree = isEdit && activeElement === document.body; // a key was pressed
  const hadFocus = isFree || activeElement.closest("#network, #neuron, #network-empty") !== null;
  const typed = isEdit && answer.read ? typing(answer.system) : null;
  opened = answer;
  editor.show(answer);
  incoming.decide((other) => editing.keep(other)); // what is edited here meanwhile stays
  document.title = `${answer.name} · snpjax`;
  find("title").textContent = (answer.read && answer.system.name) || answer.name;
  find("subtitle").textContent = subtitle(answer);
  document.body.classList.toggle("unread", !answer.read);
  for (const id of ["save", "picture"]) find(id).disabled = !answer.read;
  const isEmpty = answer.read && answer.system.neurons.length === 0 && !isRecorded;
  find("network-empty").hidden = answer.read && !isEmpty;
  find("start-other").hidden = !isEmpty;
  if (isEmpty) invite(answer.system.kind === "net");
  else find("start-other").blur(); // what is hidden keeps the focus for a while
  if (!answer.read) {
    run.clear();
    run.rows = [];
    editing.renew(); // nothing is there to be changed
    find("empty-text").textContent = texts.unreadable;
    tabs.show("text");
    return;
  }
  if (isReported) report(answer.model, incoming.revision);
  const isOther = run.begin(answer);
  legend();
  find("tab-graph").hidden = isRecorded && !begun.graph && !begun.verdict;
  editing.shown(answer, { isEdit, isChange });
  const isTyped = typed !== null && typed.resume();
  if (!isTyped) network.choose(selected);
  if (hadFocus && !isTyped) network.focus(selected.at(-1)); // what had it is no longer there
  if (answer.remarks?.length > 0) inspector.say(answer.remarks);
  if (answer.findings.length > 0) transport.say(answer.findings[0].message);
  if (!isOther) return void (note === null || transport.say(note));
  // It is drawn; what may happen in it is said when that is compiled.
  transport.attempt(async () => (await (answer.query ? run.witness(answer.query) : run.first())) ?? note);
}

// The field of the panel in which somebody types, and a function that selects what it belongs to in
// another system and goes on there: it gives whether that is possible. Null if nobody types.
function typing(system) {
  const { field } = inspector;
  if (field === null || run.system === null) return null;
  const { id, value, selectionStart, selectionEnd, scrollTop } = field;
  const isChanged = inspector.differs(field);
  // A browser reports the change of a field that is removed. The inspector keeps these two itself.
  if (!["edit-spikes", "edit-rules"].includes(id)) field.value = field.defaultValue;
  const { nodes, edge } = network.selection;
  const numberOf = renumbering(run.system, system);
  const resume = () => {
    const ends = edge && { source: numberOf(edge.source), target: numberOf(edge.target), shape: edge.shape };
    network.choose([...nodes].map(numberOf).filter((neuron) => neuron !== undefined), network.sameEdge(ends));
    const own = find(id);
    if (own === null) return false;
    own.focus();
    if (isChanged) inspector.retype(own, value);
    own.setSelectionRange(selectionStart, selectionEnd);
    own.scrollTop = scrollTop;
    return true;
  };
  return { resume };
}

// What can be done with an empty drawing.
function invite(isNet) {
  find("empty-text").textContent = isNet ? texts.emptyNet : texts.emptySystem;
  find("start-other").textContent = isNet ? texts.startSystem : texts.startNet;
}

function subtitle(answer) {
  const { read, name, system } = answer;
  if (!read) return texts.notRead;
  const own = system.name && system.name !== name ? name : null;
  const sizes = system.kind === "net" ? sizesOfNet(system) : sizesOfSystem(system);
  const parts = [own, ...sizes, ...system.remarks, saves.isEdited(answer) ? texts.edited : null];
  return parts.filter(Boolean).join(" · ");
}

function sizesOfNet({ neurons, synapses }) {
  const places = neurons.filter((node) => node.spikes !== undefined).length;
  return [texts.places(places), texts.transitions(neurons.length - places), texts.arcs(synapses.length)];
}

function sizesOfSystem({ neurons, rules, synapses }) {
  const ofNeurons = Object.values(rules).reduce((sum, own) => sum + own.length, 0);
  const onSynapses = synapses.reduce((sum, synapse) => sum + synapse[3].length, 0);
  return [texts.neurons(neurons.length), texts.rules(ofNeurons + onSynapses), texts.synapses(synapses.length)];
}

function selected() {
  const { selected: neuron, selection } = network;
  const { selectedFold } = network;
  if (selection.edge !== null) inspector.showEdge(selection.edge);
  else if (selectedFold !== null) inspector.showFold(selectedFold);
  else inspector.show(neuron, selection.nodes.size);
  choices.select(selection.nodes);
  table.showColumn(neuron);
  counts.select(selection.nodes);
  editor.follow(neuron === null ? null : run.names()[neuron]);
  document.body.classList.toggle("has-neuron", neuron !== null || selection.edge !== null);
}

function legend() {
  const changes = run.system.changes ? texts.legendOfChanges : {};
  const items = Object.entries(run.isNet ? texts.legendOfNet : { ...texts.legendOfSystem, ...changes });
  const ofShapes = (kind) => (run.isNet ? null : element("span", { class: "of-shapes" }, texts.legendOfShapes[kind] ?? ""));
  fill(find("legend"), ...items.map(([kind, text]) => element("li", { class: kind }, element("span", {}, text, ofShapes(kind)))));
}

// What is shown, with its branches and the graph, as a file that needs no server.
async function savePage() {
  branches.nameOwn();
  const question = { model: run.model, run: run.recorded(branches.own?.name, branches.others, { graph: graph.found, verdict: properties.found }) };
  const { name, text } = await ask("page", question);
  saveAs(name, new Blob([text], { type: "text/html" }));
}

function openFile(file) {
  if (!file) return;
  if (inspector.holdsText) {
    if (!confirm(texts.losesTyped)) return;
    inspector.forget();
  }
  file.text().then((text) => editor.read(file.name, text));
}

network.addEventListener("selected", selected);
network.diagram.addEventListener("seen", ({ detail }) => {
  choices.see(new Set(detail.flatMap((node) => node.fold?.members ?? node.neuron)));
});
network.takes = (neurons) => editing.ends(neurons);
editor.onread = (answer, isFile) => {
  show(answer, { isFile });
  if (answer.read) tabs.show("system");
};
editor.onfollow = (answer) => {
  network.remember();
  shown(answer, [], { isEdit: true });
};
editor.onname = (name) => {
  const neuron = run.system === null ? -1 : run.names().indexOf(name);
  if (neuron >= 0 && neuron !== network.selected) network.choose([neuron]);
};
editor.next = inspector.next = (action) => editing.next(action);
editor.isHeld = () => incoming.waits;
find("incoming-keep").addEventListener("click", () => editor.again());
editing.restore = (draft) => {
  editor.type(draft);
  tabs.show("text");
};
editor.onwrong = (draft) => run.system !== null && editing.drafted(draft);
editor.isSystemShown = () => run.system !== null;
// Why nothing may take the place of the text, if so. Undo may, of one whose errors are known.
editing.isHeld = () => {
  if (editor.isChanged) return texts.textWasChanged;
  return incoming.waits ? texts.decideFirst : null;
};
// An edit, unless the text has errors, or was typed meanwhile: it stays.
editing.askEdit = inspector.askEdit = async (call, question) => {
  const check = () => {
    const reason = editor.isUnread ? texts.unreadable : editing.isHeld();
    if (reason !== null) throw new Refusal(reason);
  };
  check();
  const answer = await ask(call, question);
  check();
  return answer;
};
inspector.onedit = (answer, neuron) => {
  network.remember();
  shown(answer, [neuron], { isEdit: true });
};
// Fields that were left are applied; what is selected and typed meanwhile stays.
inspector.onleft = (answer) => {
  network.remember();
  shown(answer, [...network.selection.nodes], { isEdit: true });
};
inspector.onrefused = (text) => transport.say(text);
inspector.onchange = (operations, options) => editing.change(operations, options);
inspector.onleave = (neuron) => (neuron === null ? network.focusEdge() : network.focus(neuron));
inspector.onfoldname = (fold, name) => network.renameFold(fold, name);
inspector.onfold = () => editing.fold();
inspector.isFolded = (neuron) => network.folds.of.has(neuron);
inspector.onremove = () => editing.remove();
inspector.onpick = (edge) => network.chooseEdge(edge);
for (const button of document.querySelectorAll("[data-zoom]")) {
  button.addEventListener("click", () => zoom(button.dataset.zoom));
}
find("open").addEventListener("click", () => find("file").click());
find("file").addEventListener("change", (event) => {
  openFile(event.target.files[0]);
  event.target.value = "";
});
find("start-other").addEventListener("click", () => {
  const { name, text, format } = begun.empty[run.isNet ? "system" : "net"];
  editor.read(name, text, { format });
});
addEventListener("dragover", (event) => event.preventDefault());
addEventListener("drop", (event) => {
  event.preventDefault();
  if (!isRecorded) openFile(event.dataTransfer.files[0]);
});
listenForKeys({ transport, tabs, zoom });
collapsible();

watchServer();
const begun = isRecorded ? recording() : await insist("begin");
editor.formats(begun.formats);
editing.stem = (name) => stem(name, begun.formats);
if (!isRecorded) editing.palette(begun.palette);
helpDialog(begun.version);
const shownAtLast = () => editing.done().then(() => opened);
const saveText = () => saveAs(find("name").value || opened.name, new Blob([find("text").value]));
saveDialog(run, begun.formats, {
  current: shownAtLast,
  hasDraft: () => editor.draft() !== null,
  onsave: () => {
    saves.set(opened);
    find("subtitle").textContent = subtitle(opened);
  },
});
for (const id of ["save-text", "lost-save"]) find(id).addEventListener("click", saveText);
pictureDialog({
  ready: shownAtLast,
  shownDiagram: diagramOfView,
  name: () => editing.stem(opened.name) || "snpjax",
  savePage: () => transport.attempt(savePage),
});
if (isRecorded) {
  document.body.classList.add("recorded");
  for (const id of ["open", "save", "picture-page", "prove", "pause-when"]) find(id).hidden = true;
  for (const part of find("explore").children) part.hidden = part.id !== "graph-status";
  find("picture-of").textContent = texts.pictureOfRecorded;
}
show(begun);
incoming.revision = begun.revision ?? 0;
listen((answer, revision) => editing.next(() => incoming.arrive(answer, revision)));
if (!isRecorded && !isFramed) {
  addEventListener("beforeunload", (event) => {
    const answers = [editor.draft() ?? opened, ...editing.others()];
    if (saves.isEdited(opened) || saves.areUnsaved(answers) || inspector.holdsText) event.preventDefault();
  });
}
whenReturned(() => {
  editor.again();
  inspector.again();
  if (run.model === null || incoming.waits) return;
  report(run.model, incoming.revision);
  if (run.isStuck) transport.attempt(() => run.first());
});
if (begun.graph) graph.show(begun.graph);
if (begun.verdict) properties.answer(begun.verdict);
document.body.classList.add("ready");
performance.mark("ready");
