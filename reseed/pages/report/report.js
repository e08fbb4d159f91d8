// The slider, and everything put together.
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
