// The page in a notebook: a frame with all of its code, whose questions go to Python and back.

function render({ model, el }) {
  const view = Math.random().toString(36); // a widget may be shown several times
  const frame = document.createElement("iframe");
  // Nothing of a model reaches the notebook: the frame has an origin of its own.
  frame.setAttribute("sandbox", "allow-scripts allow-downloads allow-forms allow-modals");
  frame.className = "snpjax-page";
  frame.title = "snpjax";
  frame.height = model.get("_height");
  frame.srcdoc = model.get("_page");
  const lost = () => frame.contentWindow?.postMessage({ isLost: true }, "*");
  // Without a kernel some notebooks throw, and others reject.
  const send = async (message) => model.send({ ...message, view });
  const ask = ({ source, data }) => {
    if (source === frame.contentWindow) send(data).catch(lost);
  };
  const tell = (message) => {
    if (message.view === view) frame.contentWindow?.postMessage(message, "*");
  };
  // The kernel was restarted, or the widget was closed; the page asks whether somebody is there.
  const events = { "msg:custom": tell, "comm:close": lost, comm_live_update: lost };
  addEventListener("message", ask);
  for (const [name, action] of Object.entries(events)) model.on(name, action);
  el.append(frame);
  return () => {
    removeEventListener("message", ask);
    for (const [name, action] of Object.entries(events)) model.off(name, action);
    send({ call: "end", question: {} }).catch(() => {});
  };
}

export default { render };
