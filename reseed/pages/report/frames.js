// The gallery: which frames are shown, in which order, and the card of each.
const PAGE = 24;
const shown = { list: [], n: PAGE };
const colours = data.classes.map(({ colour }) => colour);
const shapeOf = (i) => (frames.points[i] ? [Math.ceil(Math.sqrt(frames.n[i]))] : [frames.cols[i]]);
const gridOf = (i) => {
  const [cols] = shapeOf(i);
  return { cols, rows: frames.points[i] ? Math.ceil(frames.n[i] / cols) : frames.rows[i] };
};
const REFERENCE = "golds", PREDICTED = "answers";
// A frame with a grid of classes over it; digits name the classes, a dot is a patch without a reference.
const picture = (i, which) => {
  const { rows, cols } = gridOf(i);
  const box = make("div", "picture");
  box.style.aspectRatio = frames.points[i] ? `${cols} / ${rows}` : `${frames.width[i]} / ${frames.height[i]}`;
  const coded = data.pictures[i];
  if (coded) {
    const image = make("img");
    image.src = `data:image/jpeg;base64,${coded}`;
    image.alt = "";
    box.append(image);
  } else box.append(make("span", "none", "no picture of this frame here"));
  const canvas = make("canvas");
  const cell = 40;
  canvas.width = cols * cell;
  canvas.height = rows * cell;
  const pen = canvas.getContext("2d");
  [...frames[which][i]].forEach((digit, place) => {
    const [x, y] = [(place % cols) * cell, Math.floor(place / cols) * cell];
    if (digit === ".") return;
    pen.strokeStyle = colours[digit];
    pen.lineWidth = 4;
    pen.strokeRect(x + 3, y + 3, cell - 6, cell - 6);
    if (digit !== "0") {
      pen.fillStyle = `${colours[digit]}59`;
      pen.fillRect(x + 3, y + 3, cell - 6, cell - 6);
    }
    const gold = frames.golds[i][place];
    if (which === PREDICTED && gold !== "." && gold !== digit) {
      [["#000", 5], ["#fff", 2.5]].forEach(([ink, width]) => {
        pen.strokeStyle = ink;
        pen.lineWidth = width;
        pen.beginPath();
        pen.moveTo(x + 13, y + 13); pen.lineTo(x + cell - 13, y + cell - 13);
        pen.moveTo(x + cell - 13, y + 13); pen.lineTo(x + 13, y + cell - 13);
        pen.stroke();
      });
    }
  });
  box.append(canvas);
  return box;
};
const pair = (i) => {
  const both = make("div", "pair");
  [[REFERENCE, "Reference"], [PREDICTED, "Predicted, wrong patches crossed"]].forEach(([which, name]) => {
    const figure = make("figure");
    figure.append(picture(i, which), make("figcaption", "", name));
    both.append(figure);
  });
  return both;
};
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
  return make("p", `verdict${wrongNow(i) ? " wrong" : ""}`, `${decisionName(decides(i))}, ${reference}${notes}`);
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
  outcome: (i, value) => value === "" || (value === "wrong" ? wrongNow(i) : outcome(i) === value),
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
    choice("outcome", "decision", [["", "all"], ["wrong", "wrong"], ["wrong Deploy", "wrong Deploy"], ["missed Deploy", "missed Deploy"], ["right", "right"], ["no reference", "no reference"]], refresh),
    choice("class", "with class", [["", "any"], ...data.classes.map(({ name }, i) => [String(i), name])], refresh),
    choice("sure", "confidence", [["", "any"], ["0.6", "below 60 %"], ["0.75", "below 75 %"], ["0.9", "below 90 %"]], refresh),
    choice("people", "annotators", [["", "any"], ["differ", "disagree"]], refresh),
    choice("sort", "sort", Object.entries(SORTS).map(([name, [, text]]) => [name, text]), refresh),
    search
  );
  filters.addEventListener("submit", (event) => event.preventDefault());
  byId("more").addEventListener("click", () => { shown.n += PAGE; drawGallery(); });
  const keys = make("div", "keys");
  keys.append(...data.classes.map(({ name, colour }) => key(colour, name, "square")));
  byId("frames-count").before(keys);
};
