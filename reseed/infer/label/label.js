"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const at = (id) => document.getElementById(id);
  const frames = data.frames;
  let labels = frames.map(() => "");
  let here = 0;

  // A closed window should cost nothing; some browsers forbid a file to remember anything.
  const remember = () => {
    try { localStorage.setItem(data.key, JSON.stringify(labels)); } catch { /* saved by hand only */ }
  };
  try {
    const known = JSON.parse(localStorage.getItem(data.key));
    if (Array.isArray(known) && known.length === frames.length) labels = known;
  } catch { /* nothing is known */ }

  const firstOpen = () => labels.indexOf("");

  function show() {
    const label = labels[here];
    at("picture").src = `data:image/jpeg;base64,${frames[here].jpeg}`;
    at("picture").className = label === data.decisions.d ? "deploy" : label ? "no" : "";
    at("place").textContent = `Frame ${here + 1} of ${frames.length}`;
    at("name").textContent = frames[here].name;
    at("done").value = labels.filter(Boolean).length;
    for (const key of ["d", "n"]) at(key).setAttribute("aria-pressed", String(label === data.decisions[key]));
    const left = labels.filter((each) => !each).length;
    at("said").textContent = left ? `${left} left` : "all decided: save";
  }

  function go(step) {
    here = Math.min(Math.max(here + step, 0), frames.length - 1);
    show();
  }

  function decide(key) {
    labels[here] = data.decisions[key];
    remember();
    go(1);
  }

  function save() {
    const lines = [data.header, ...frames.map((frame, number) => frame.row + labels[number])];
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([lines.join("\n") + "\n"], { type: "text/csv" }));
    link.download = data.file;
    link.click();
    at("said").textContent = `${data.file} is among the downloads`;
  }

  const actions = { d: () => decide("d"), n: () => decide("n"), arrowleft: () => go(-1), arrowright: () => go(1), s: save };
  document.addEventListener("keydown", (event) => {
    const action = actions[event.key.toLowerCase()];
    if (!action || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    event.preventDefault();
    action();
  });
  at("d").addEventListener("click", actions.d);
  at("n").addEventListener("click", actions.n);
  at("back").addEventListener("click", actions.arrowleft);
  at("next").addEventListener("click", actions.arrowright);
  at("save").addEventListener("click", save);

  here = Math.max(firstOpen(), 0);
  show();
})();
