// What the page knows and says beside the map. Fragments page, frame, strips and map are one script, in this order.
// Names of files and sequences are somebody else's text: they only ever become text nodes, never markup.
const data = JSON.parse(document.getElementById("data").textContent);
const state = { colour: "decision", gold: false, grid: true, shown: null };

const make = (tag, className, text) => {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== undefined) node.textContent = text;
  return node;
};
const byId = (id) => document.getElementById(id);
const percent = (share) => `${(100 * share).toFixed(1)} %`;
const decisionName = (yes) => (yes ? "Deploy" : "No-Deploy");
const decisionColour = (yes) => (yes ? data.colours.deploy : data.colours.noDeploy);
const nameOf = (frame) => (frame.ask ? "Ask" : decisionName(frame.yes));
const inkOf = (frame) => (frame.ask ? data.colours.ask : decisionColour(frame.yes));

// Frames, each with its place in the survey.
const frames = [];
data.sequences.forEach((sequence, s) => {
  sequence.frames.forEach((frame, i) => {
    frame.sequence = sequence;
    frame.number = i;
    frame.n = frame.rows * frame.cols;
    frame.cover = frame.coral / frame.n;
    frames.push(frame);
  });
  sequence.placed = sequence.frames.filter((frame) => frame.at);
  sequence.bounds = sequence.placed.length ? L.latLngBounds(sequence.placed.map((frame) => frame.at)) : null;
  sequence.nDeploy = sequence.frames.filter((frame) => frame.yes).length;
  sequence.cover = sequence.frames.reduce((sum, frame) => sum + frame.cover, 0) / sequence.frames.length;
  sequence.index = s;
});
const placed = frames.filter((frame) => frame.at);

// One hue from pale to the colour of Coral; the scale ends at the next ten percent above the highest cover.
const coverEnd = Math.max(0.1, Math.ceil(frames.reduce((most, frame) => Math.max(most, frame.cover), 0) * 10 - 1e-9) / 10);
const channels = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
const pale = [255, 247, 240];
const coverColour = (cover) => {
  const share = Math.min(1, cover / coverEnd);
  const mixed = channels(data.colours.coral).map((full, c) => Math.round(pale[c] + share * (full - pale[c])));
  return `rgb(${mixed.join(",")})`;
};
const colourOf = (frame) => (state.colour === "coral" ? coverColour(frame.cover) : inkOf(frame));

// Header and side.
byId("notice").hidden = !data.notice;
byId("notice").textContent = data.notice;
byId("finding").textContent = data.nFrames
  ? `${data.nDeploy} of ${data.nFrames} frames: Deploy (${percent(data.nDeploy / data.nFrames)})${data.nAsk ? `, ${data.nAsk}: Ask` : ""}`
  : "No frame was decided";
byId("rule").textContent =
  `A frame is Deploy where more than ${(100 * Number(data.alpha)).toFixed(1).replace(/\.0$/, "")} % of its patches are ` +
  `Deploy (alpha ${data.alpha}).` +
  (data.gold.known ? ` Gold is known for ${data.gold.known} frames: the same decision on ${data.gold.same} (no score: training frames may be among them).` : "");
byId("model").textContent = data.model;
data.remarks.forEach((remark) => byId("remarks").append(make("li", "", remark)));
byId("gold-layer").hidden = !data.gold.known;

const key = (colour, text, className) => {
  const node = make("span", "key");
  const dot = make("i", className);
  dot.style.background = colour;
  if (className === "ring") dot.style.borderColor = colour;
  node.append(dot, make("span", "", text));
  return node;
};
const drawLegend = () => {
  const legend = byId("legend");
  legend.replaceChildren();
  if (state.colour === "coral") {
    const ramp = make("i", "ramp");
    ramp.style.background = `linear-gradient(to right, ${coverColour(0)}, ${coverColour(coverEnd)})`;
    const node = make("span", "key");
    node.append(make("span", "", "0"), ramp, make("span", "", `${Math.round(100 * coverEnd)} % of patches`));
    legend.append(node);
  } else {
    legend.append(key(data.colours.deploy, "Deploy"), key(data.colours.noDeploy, "No-Deploy"));
    if (data.nAsk) legend.append(key(data.colours.ask, "Ask: a person should look"));
  }
  if (state.gold) {
    legend.append(key(data.colours.deploy, "gold Deploy", "ring"), key(data.colours.noDeploy, "gold No-Deploy", "ring"));
  }
};
