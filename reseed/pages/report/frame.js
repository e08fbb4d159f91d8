// One frame, large: what the network says of each patch, and why the frame is decided as it is.
const dialog = byId("frame");
let open = null;
const signOf = (text, place) => data.signs.indexOf(text[place]);
const patchText = (i, place) => {
  if (frames.answers[i][place] === ".") return "no patch here";
  const name = (digit) => (digit === "." ? "none" : data.classes[digit].name);
  const [coral, deploy] = [signOf(frames.pCoral[i], place), signOf(frames.pDeploy[i], place)];
  const second = frames.seconds[i][place];
  const parts = [`reference ${name(frames.golds[i][place])}`];
  if (second !== ".") parts.push(`second annotator ${name(second)}`);
  parts.push(`predicted ${name(frames.answers[i][place])}`, `No-Deploy ${Math.max(0, 100 - coral - deploy)} %, Coral ${coral} %, Deploy ${deploy} %`);
  return parts.join("; ");
};
const whereOf = (i, place) => {
  const { cols } = gridOf(i);
  return frames.points[i] ? `patch ${place + 1}` : `row ${Math.floor(place / cols) + 1}, column ${(place % cols) + 1}`;
};
const openFrame = (i) => {
  open = i;
  const bar = make("div", "bar");
  const title = make("h2", "", frames.id[i]);
  title.id = "frame-name";
  const at = shown.list.indexOf(i);
  const step = (by) => openFrame(shown.list[(at + by + shown.list.length) % shown.list.length]);
  bar.append(title);
  if (at >= 0 && shown.list.length > 1) bar.append(button("‹ previous", () => step(-1)), button("next ›", () => step(1)));
  bar.append(button("close", () => dialog.close()));
  const now = make("p", "", "Point at a patch to see its probabilities.");
  now.id = "patch-now";
  const both = pair(i);
  both.querySelectorAll(".picture").forEach((box) => box.addEventListener("pointermove", (event) => {
    const { rows, cols } = gridOf(i);
    const edge = box.getBoundingClientRect();
    const place = Math.floor(((event.clientY - edge.y) / edge.height) * rows) * cols + Math.floor(((event.clientX - edge.x) / edge.width) * cols);
    if (place >= 0 && place < frames.answers[i].length) now.textContent = `${whereOf(i, place)}: ${patchText(i, place)}`;
  }));
  const facts = [frames.siteNames[frames.site[i]], frames.sequenceNames[frames.sequence[i]], SPLITS[frames.split[i]], frames.time[i] ? frames.time[i].replace("T", " ").replace("Z", " UTC") : "time unknown",
    frames.latitude[i] === null ? "position unknown" : `${frames.latitude[i].toFixed(6)}°, ${frames.longitude[i].toFixed(6)}°`, frames.depth[i] === null ? "depth unknown" : `${frames.depth[i]} m deep`];
  const details = make("details");
  details.append(make("summary", "", "Every patch as a table"));
  details.addEventListener("toggle", () => {
    if (!details.open || details.children.length > 1) return;
    details.append(tableOf("Patches", ["patch", "what is known"], [...Array(frames.answers[i].length).keys()].map((place) => [whereOf(i, place), patchText(i, place)])));
  });
  const people = frames.second[i] === null ? [] : [make("p", "", `Second annotator: ${decisionName(frames.second[i])}; ${frames.differs[i]} patches labelled otherwise than the reference.`)];
  dialog.replaceChildren(bar, both, classKeys(), now, verdictOf(i), make("p", "", why(i)), ...people, make("p", "muted", facts.join(" · ")), details);
  if (!dialog.open) dialog.showModal();
  history.replaceState(null, "", `#frame=${encodeURIComponent(frames.id[i])}`);
};
dialog.addEventListener("close", () => {
  open = null;
  history.replaceState(null, "", "#frames");
});
dialog.addEventListener("keydown", (event) => {
  const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  const at = shown.list.indexOf(open);
  if (by && at >= 0) openFrame(shown.list[(at + by + shown.list.length) % shown.list.length]);
});
const followLink = () => {
  const named = location.hash.startsWith("#frame=") ? decodeURIComponent(location.hash.slice(7)) : null;
  const i = named === null ? -1 : frames.id.indexOf(named);
  if (i >= 0 && i !== open) openFrame(i);
};
const patchList = (host, rows) => {
  if (!rows.length) host.append(make("p", "", "None."));
  rows.forEach((row) => {
    const node = button("", () => openFrame(row.frame));
    node.className = "patch";
    const square = make("span", "square");
    if (row.jpeg) {
      const image = make("img");
      image.src = `data:image/jpeg;base64,${row.jpeg}`;
      image.alt = "";
      square.append(image);
    }
    node.append(square, make("span", "", `${row.answer}, ${(100 * row.p).toFixed(0)} %`), make("span", "", `reference ${row.gold}`), make("span", "muted", `${short(row.site, 40)} · ${whereOf(row.frame, row.place)}`));
    if (row.alike && row.alike.length) {
      const alike = make("span", "alike");
      alike.append(make("span", "muted", `alike in training: ${row.alike.map(({ gold }) => gold).join(", ")}`));
      row.alike.forEach(({ jpeg }) => {
        const image = make("img");
        image.src = `data:image/jpeg;base64,${jpeg}`;
        image.alt = "";
        alike.append(image);
      });
      node.append(alike);
    }
    if (row.why) node.append(make("span", "verdict", row.why));
    host.append(node);
  });
};
