// The gallery: which frames are shown, in which order, and the card of each.
const PAGE = 24;
const shown = { list: [], n: PAGE };
const pair = (i) => pictures(i, [[REFERENCE, "Reference"], [PREDICTED, "Predicted, wrong patches crossed"]]);
const why = (i) => {
  const explored = frames.split[i] === TEST ? state.explore : state.at !== data.used;
  const alpha = explored ? `alpha ${alphaText(state.at)}` : `alpha ${data.alpha}`;
  const share = `${frames.deploy[i]} of ${frames.n[i]} patches are Deploy, ${percent(frames.deploy[i] / frames.n[i])}`;
  if (!explored && !data.ratioRule) return `${share}; decided by the logistic rule`;
  return `${share}, ${decides(i) ? "above" : "not above"} ${alpha}`;
};
const verdictOf = (i) => {
  const found = outcome(i);
  const reference = frames.gold[i] === null ? "no reference decision" : `reference ${decisionName(frames.gold[i])}`;
  const notes = { right: "", "wrong Deploy": " · wrong Deploy", "missed Deploy": " · missed Deploy" }[found] ?? "";
  const asked = frames.ask[i] ? ` · Ask: ${frames.ask[i]}` : "";
  return make("p", `verdict${wrongNow(i) ? " wrong" : ""}`, `${decisionName(decides(i))}, ${reference}${notes}${asked}`);
};
const card = (i) => {
  const node = button("", () => openFrame(i));
  node.className = `frame-card${wrongNow(i) ? " wrong" : ""}${frames.split[i] === TEST ? " of-test" : ""}`;
  node.append(
    pair(i), verdictOf(i), make("p", "", why(i)),
    make("p", "muted", `${frames.siteNames[frames.site[i]]} · ${SPLITS[frames.split[i]]}${frames.loss[i] === null ? "" : ` · loss ${frames.loss[i].toFixed(2)}`}`),
    make("p", "muted", short(frames.id[i], 90))
  );
  return node;
};
const SORTS = {
  loss: [(i) => -(frames.loss[i] ?? -1), "highest loss first"],
  margin: [(i) => Math.abs(frames.deploy[i] / frames.n[i] - (state.at === data.used ? data.alpha : valueOf(state.at))), "nearest to alpha first"],
  sure: [(i) => frames.sure[i], "least confident first"],
  name: [(i) => i, "by name"],
};
const filters = byId("filters");
const chosen = (name) => filters.elements.namedItem(name).value;
const fits = {
  split: (i, value) => (value === "scored" ? frames.split[i] === VAL || frames.split[i] === TEST : value === "" || frames.split[i] === Number(value)),
  site: (i, value) => value === "" || frames.site[i] === Number(value),
  outcome: (i, value) => value === "" || (value === "wrong" ? wrongNow(i) : value === "ask" ? frames.ask[i] !== "" : outcome(i) === value),
  class: (i, value) => value === "" || frames.golds[i].includes(value) || frames.answers[i].includes(value),
  sure: (i, value) => value === "" || frames.sure[i] < Number(value),
  people: (i, value) => value === "" || frames.differs[i] > 0 || (frames.second[i] !== null && frames.gold[i] !== null && frames.second[i] !== frames.gold[i]),
  name: (i, value) => value === "" || frames.id[i].toLowerCase().includes(value.toLowerCase()),
};
const select = () => {
  const values = Object.entries(fits).map(([name, test]) => [test, chosen(name)]);
  const [worth] = SORTS[chosen("sort")];
  const list = indices.filter((i) => values.every(([test, value]) => test(i, value)));
  shown.list = list.map((i) => [worth(i), i]).sort((a, b) => a[0] - b[0] || a[1] - b[1]).map(([, i]) => i);
};
const drawGallery = () => {
  const gallery = byId("gallery");
  gallery.replaceChildren(...shown.list.slice(0, shown.n).map(card));
  const n = Math.min(shown.n, shown.list.length);
  byId("frames-count").textContent = `${n} of ${shown.list.length} frames shown, ${frames.id.length} in all`;
  byId("more").hidden = n === shown.list.length;
};
let waiting = 0;
const refresh = () => { shown.n = PAGE; select(); drawGallery(); };
// Pictures follow once the slider rests; numbers, map and tables follow at once.
const soon = () => { clearTimeout(waiting); waiting = setTimeout(refresh, 150); };
const drawFilters = () => {
  const search = make("label", "", "name");
  const input = make("input");
  input.type = "search";
  input.name = "name";
  input.addEventListener("input", soon);
  search.append(input);
  filters.append(
    choice("split", "split", [["scored", "validation and test"], ["", "all"], ...SPLITS.map((name, i) => [String(i), name])], refresh),
    choice("site", "site", [["", "all"], ...frames.siteNames.map((name, i) => [String(i), short(name, 40)])], refresh),
    choice("outcome", "decision", [["", "all"], ["wrong", "wrong"], ["wrong Deploy", "wrong Deploy"], ["missed Deploy", "missed Deploy"], ["right", "right"], ["no reference", "no reference"], ["ask", "Ask: a person should look"]], refresh),
    choice("class", "with class", [["", "any"], ...data.classes.map(({ name }, i) => [String(i), name])], refresh),
    choice("sure", "confidence", [["", "any"], ["0.6", "below 60 %"], ["0.75", "below 75 %"], ["0.9", "below 90 %"]], refresh),
    choice("people", "annotators", [["", "any"], ["differ", "disagree"]], refresh),
    choice("sort", "sort", Object.entries(SORTS).map(([name, [, text]]) => [name, text]), refresh),
    search
  );
  filters.addEventListener("submit", (event) => event.preventDefault());
  byId("more").addEventListener("click", () => { shown.n += PAGE; drawGallery(); });
  byId("frames-count").before(classKeys());
};
