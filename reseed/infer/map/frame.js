// What is known of one frame.
const step = (frame, by) => {
  const all = frame.sequence.frames;
  show(all[(frame.number + by + all.length) % all.length]);
};
const button = (text, label, act) => {
  const node = make("button", "", text);
  node.type = "button";
  node.setAttribute("aria-label", label);
  node.addEventListener("click", (event) => {
    event.stopPropagation(); // the button goes with what it stands in, and Leaflet would take it for a click on the map
    act();
  });
  return node;
};
const picture = (frame) => {
  const box = make("div", "picture");
  if (frame.jpeg) {
    const image = make("img");
    image.src = `data:image/jpeg;base64,${frame.jpeg}`;
    image.alt = `Frame ${frame.name}`;
    box.append(image);
  } else {
    box.append(make("div", "nothing", "no thumbnail of this frame"));
  }
  box.style.aspectRatio = `${frame.cols} / ${frame.rows}`; // known before the picture is, so that the popup fits
  const grid = make("div", "patches");
  grid.style.gridTemplate = `repeat(${frame.rows}, 1fr) / repeat(${frame.cols}, 1fr)`;
  grid.hidden = !state.grid;
  grid.style.display = state.grid ? "grid" : "none";
  [...frame.patches].forEach((digit, i) => {
    const { name, colour } = data.classes[Number(digit)];
    const cell = make("i");
    cell.style.borderColor = colour;
    cell.style.background = `${colour}${digit === "0" ? "26" : "4d"}`;
    cell.title = `row ${Math.floor(i / frame.cols)}, column ${i % frame.cols}: ${name}`;
    grid.append(cell);
  });
  box.append(grid);
  return box;
};
const about = (frame) => {
  const box = make("div", "about");
  const bar = make("div", "bar");
  bar.append(
    button("‹", "previous frame", () => step(frame, -1)),
    make("span", "where", `${frame.number + 1} of ${frame.sequence.frames.length}`),
    button("›", "next frame", () => step(frame, 1))
  );
  if (!frame.at) bar.append(button("×", "close", () => hide()));
  const decision = make("p", "pill");
  const dot = make("i");
  dot.style.background = inkOf(frame);
  const sign = frame.yes ? "above" : "not above";
  decision.append(dot, make("span", "", nameOf(frame)));
  const switchGrid = make("label", "");
  const tick = make("input");
  tick.type = "checkbox";
  tick.checked = state.grid;
  tick.addEventListener("change", () => {
    state.grid = tick.checked;
    show(frame);
  });
  switchGrid.append(tick, make("span", "", " patches"));
  const keys = make("div", "grid-key");
  keys.append(switchGrid, ...data.classes.map(({ name, colour }) => key(colour, name, "square")));
  box.append(bar, picture(frame), keys, decision);
  box.append(make("p", "", `Deploy ${frame.deploy} of ${frame.n} patches, ${percent(frame.deploy / frame.n)}: ${sign} alpha ${data.alpha}`));
  box.append(make("p", "", `Coral ${frame.coral} of ${frame.n} patches, ${percent(frame.cover)}`));
  if (frame.ask) box.append(make("p", "", `Ask: ${frame.ask}`));
  if (frame.gold !== null) {
    const differs = !frame.ask && frame.gold !== frame.yes;
    box.append(make("p", differs ? "differs" : "", `Gold: ${decisionName(frame.gold)}${differs ? ", another decision" : ""}`));
  }
  const facts = [frame.time ? frame.time.replace("T", " ").replace("Z", " UTC") : "time unknown"];
  if (frame.at) {
    const [south, west] = [frame.at[0] < 0 ? "S" : "N", frame.lon < 0 ? "W" : "E"];
    facts.push(`${Math.abs(frame.at[0]).toFixed(6)}° ${south}, ${Math.abs(frame.lon).toFixed(6)}° ${west}`);
  } else facts.push("position unknown");
  if (frame.depth !== null) facts.push(`${frame.depth} m deep`);
  facts.push(`decided in ${Math.round(frame.ms)} ms`);
  box.append(make("p", "", facts.join(" · ")), make("p", "file", frame.name));
  return box;
};
