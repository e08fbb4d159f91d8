// What a change does: the frames whose decision flipped, as pictures, and the score over the last commits.
const PAGE = 24;
let drawn = 0;
const WORDS = { "1": "now right", "-1": "now wrong", "0": "no reference" };
const flipCard = (i) => {
  const node = make("article", `frame-card${frames.better[i] < 0 ? " wrong" : ""}`);
  node.append(
    make("h3", "", short(frames.id[i], 90)),
    make("p", `verdict${frames.better[i] < 0 ? " wrong" : ""}`, `${frames.base[i]} → ${frames.head[i]}, ${frames.gold[i] ? `reference ${frames.gold[i]}: ${WORDS[frames.better[i]]}` : WORDS[0]}`)
  );
  const shown = [[REFERENCE, "Reference"], ...(frames.before[i] ? [["before", "Base, wrong patches crossed"]] : []), [PREDICTED, "Head, wrong patches crossed"]];
  const all = pictures(i, shown);
  all.classList.add("three");
  node.append(all);
  return node;
};
const more = byId("more");
const drawMore = () => {
  byId("gallery").append(...[...frames.id.keys()].slice(drawn, drawn + PAGE).map(flipCard));
  drawn += PAGE;
  more.hidden = drawn >= frames.id.length;
};
if (frames.id.length) {
  byId("gallery").before(classKeys());
  more.addEventListener("click", drawMore);
  drawMore();
}
if (data.csv.trend) {
  ofCsv(byId("trend"), "trend", { title: "Macro F1 of the last commits that have a result, oldest first", kind: "names", x: "commit", xLabel: "commit", yLabel: "percent", range: [0, 100], columns: ["committed", "subject"],
    series: [{ key: "patch_macro_f1", low: "patch_macro_f1_low", high: "patch_macro_f1_high", label: "patches, with the 95 % interval", colour: INKS[0] }, { key: "frame_macro_f1", label: "frames", colour: INKS[1] }] });
}
window.reseed = { frames };
