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
  const ask = ({ source, data }) => {
    if (source === frame.contentWindow) model.send({ ...data, view });
  };
  const tell = (message) => {
    const isMine = message.view === undefined ? message.except !== view : message.view === view;
    if (isMine) frame.contentWindow?.postMessage(message, "*");
  };
  addEventListener("message", ask);
  model.on("msg:custom", tell);
  el.append(frame);
  return () => {
    removeEventListener("message", ask);
    model.off("msg:custom", tell);
  };
}

export default { render };
