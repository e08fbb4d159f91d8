// The charts, the slider, and everything put together.
const drawCharts = () => {
  const percents = { range: [0, 100] };
  ofCsv(byId("alpha-chart"), "alpha", {
    title: "Validation frames at every alpha", kind: "line", x: "alpha", xLabel: "alpha", yLabel: "percent", ...percents, xRange: [0, 1],
    follow: (place) => listeners.push(place),
    now: () => (state.at === data.used ? data.alpha : valueOf(state.at)),
    series: [
      { key: "validation_macro_f1", label: "macro F1", colour: INKS[0] },
      { key: "validation_deploy_precision", label: "Deploy precision", colour: INKS[1] },
      { key: "validation_deploy_recall", label: "Deploy recall", colour: INKS[2] },
    ],
  });
  const host = byId("chart-grid");
  ofCsv(host, "sites", { title: "Patch macro F1 of each test site, 95 % interval", kind: "names", x: "site", xLabel: "site", yLabel: "percent", ...percents,
    columns: ["n_patches"], series: [{ key: "macro_f1", low: "macro_f1_low", high: "macro_f1_high", label: "macro F1", colour: INKS[0] }] }, (row) => row.split === "test");
  ofCsv(host, "reliability", { title: "How often the network is right at each confidence", kind: "points", x: "confidence", xLabel: "highest probability, percent", yLabel: "right patches, percent", ...percents, xRange: [0, 100], equal: true,
    columns: ["n"], series: [{ key: "accuracy", low: "accuracy_low", high: "accuracy_high", label: "right", colour: INKS[0] }] });
  ofCsv(host, "cover", { title: "Coral cover of each test frame", kind: "points", x: "annotated", xLabel: "annotated, percent of patches", yLabel: "predicted, percent of patches", ...percents, xRange: [0, 100], equal: true,
    columns: ["frame_id", "site"], series: [{ key: "predicted", label: "predicted", colour: INKS[1] }] });
  ofCsv(host, "training", { title: "Training: validation scores by epoch", kind: "line", x: "epoch", xLabel: "epoch", yLabel: "percent", ...percents,
    series: [{ key: "val_macro_f1", label: "macro F1", colour: INKS[0] }, { key: "val_accuracy", label: "accuracy", colour: INKS[2] }] });
  ofCsv(host, "training", { title: "Training: loss by epoch", kind: "line", x: "epoch", xLabel: "epoch", yLabel: "loss",
    series: [{ key: "train_loss", label: "training", colour: INKS[0] }, { key: "val_loss", label: "validation", colour: INKS[1] }] });
  const conditions = [...new Set(readCsv(data.csv.conditions).map((row) => row.condition))];
  conditions.forEach((name) => ofCsv(host, "conditions", { title: `Patch macro F1 by ${name.replaceAll("_", " ")}`, kind: "names", x: "quartile", xLabel: "quarter of the test frames, lowest values first", yLabel: "percent", ...percents,
    columns: ["from", "to", "frames"], series: [{ key: "macro_f1", low: "macro_f1_low", high: "macro_f1_high", label: "macro F1", colour: INKS[0] }] }, (row) => row.condition === name && row.quartile !== "0"));
};
const slider = byId("alpha-slider");
const NAMES = [["macroF1", "macro F1"], ["accuracy", "accuracy"], ["precision", "Deploy precision"], ["recall", "Deploy recall"], ["cost", "cost of a frame"]];
const scorePanel = (split, title) => {
  const panel = make("div", `panel${split === TEST ? " of-test" : ""}`);
  const list = make("dl", "numbers");
  const counts = make("p");
  const heading = make("h3");
  panel.append(heading, list, counts);
  const values = NAMES.map(([name, label]) => {
    const box = make("div");
    const value = make("dd");
    box.append(make("dt", "", label), value);
    list.append(box);
    return [name, value];
  });
  const redraw = () => {
    heading.textContent = title();
    const table = countsNow(bySplit[split]);
    const scores = scoresOf(table);
    values.forEach(([name, value]) => { value.textContent = scores === null ? "–" : name === "cost" ? scores.cost.toFixed(3) : percent(scores[name]); });
    const [[rightNo, wrong], [missed, right]] = table;
    counts.textContent = scores === null ? "No frame has a reference decision." : `${scores.n} frames: ${right} right Deploy, ${wrong} wrong Deploy, ${missed} missed Deploy, ${rightNo} right No-Deploy`;
  };
  listeners.push(redraw);
  redraw();
  return panel;
};
const moveTo = (at) => {
  state.at = at;
  slider.value = at;
  slider.setAttribute("aria-valuetext", alphaText(at));
  byId("alpha-value").textContent = alphaText(at);
  changed();
  soon();
};
const explore = (on) => {
  state.explore = on;
  document.body.classList.toggle("exploring", on);
  byId("explore-note").hidden = !on;
  changed();
  soon();
};
slider.max = data.thresholds.length - 1;
slider.addEventListener("input", () => moveTo(Number(slider.value)));
byId("alpha-used").addEventListener("click", () => moveTo(data.used));
byId("explore").addEventListener("change", (event) => explore(event.target.checked));
byId("alpha-scores").append(
  scorePanel(VAL, () => `Validation frames at alpha ${alphaText(state.at)}`),
  scorePanel(TEST, () => (state.explore ? `Test frames at alpha ${alphaText(state.at)}: not a result` : `Test frames at alpha ${data.alpha} (of this run)`))
);
drawFilters();
drawCharts();
drawSites();
drawMap();
patchList(byId("surest"), data.surest);
patchList(byId("doubtful"), data.doubtful);
moveTo(data.used);
clearTimeout(waiting);
refresh();
followLink();
window.addEventListener("hashchange", followLink);
window.reseed = { countsAt, countsNow, scoresOf, readCsv, csvOf, moveTo, explore, state, bySplit, decides, alphaText };
