// Charts as SVG, each with its table and the CSV behind it.
const SVG = "http://www.w3.org/2000/svg";
const draw = (parent, tag, attributes, text) => {
  const node = document.createElementNS(SVG, tag);
  Object.entries(attributes).forEach(([name, value]) => node.setAttribute(name, value));
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
};
const BOX = { width: 640, height: 330, left: 56, right: 20, top: 34, bottom: 46 };
const ticks = (low, high) => {
  const rough = (high - low) / 5 || 1;
  const size = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * size).find((n) => n >= rough);
  const found = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step / 1e6; at += step) found.push(Number(at.toFixed(9)));
  return found;
};
const number = (text) => (text === "" || text === undefined ? null : Number(text));
// spec: title, x, xLabel, yLabel, series [{key, label, colour, low, high, dash}], kind "line" | "points" | "names",
// range of y, `equal` for a diagonal, file of the download.
const chart = (host, spec, rows) => {
  const figure = make("div", "chart-box");
  const svg = draw(figure, "svg", { viewBox: `0 0 ${BOX.width} ${BOX.height}`, class: "chart", role: "img", "aria-label": `${spec.title}. ${spec.yLabel} by ${spec.xLabel}; the table below holds the numbers.` });
  draw(svg, "text", { x: BOX.left, y: 16, class: "title" }, spec.title);
  const named = spec.kind === "names";
  const xs = rows.map((row, i) => (named ? i : number(row[spec.x])));
  const ys = spec.series.flatMap(({ key: name, low, high }) => rows.flatMap((row) => [row[name], row[low], row[high]].map(number)));
  const known = ys.filter((y) => y !== null);
  if (!known.length || !xs.some((x) => x !== null)) {
    draw(svg, "text", { x: BOX.left, y: 60 }, "Nothing to draw.");
  } else {
    const [yLow, yHigh] = spec.range ?? [Math.min(0, ...known), Math.max(...known)];
    const [xLow, xHigh] = named ? [-0.5, rows.length - 0.5] : spec.xRange ?? [Math.min(...xs), Math.max(...xs)];
    const px = (x) => BOX.left + ((x - xLow) / (xHigh - xLow || 1)) * (BOX.width - BOX.left - BOX.right);
    const py = (y) => BOX.height - BOX.bottom - ((y - yLow) / (yHigh - yLow || 1)) * (BOX.height - BOX.top - BOX.bottom);
    ticks(yLow, yHigh).forEach((y) => {
      draw(svg, "line", { x1: BOX.left, x2: BOX.width - BOX.right, y1: py(y), y2: py(y), class: "net" });
      draw(svg, "text", { x: BOX.left - 6, y: py(y) + 4, "text-anchor": "end" }, String(y));
    });
    if (named) {
      const every = Math.ceil(rows.length / 8);
      rows.forEach((row, i) => {
        if (i % every === 0) draw(svg, "text", { x: px(i), y: BOX.height - BOX.bottom + 16, "text-anchor": "middle" }, short(row[spec.x], Math.max(6, Math.floor(72 / Math.min(rows.length, 8)))));
      });
    } else ticks(xLow, xHigh).forEach((x) => draw(svg, "text", { x: px(x), y: BOX.height - BOX.bottom + 16, "text-anchor": "middle" }, String(x)));
    draw(svg, "line", { x1: BOX.left, x2: BOX.width - BOX.right, y1: BOX.height - BOX.bottom, y2: BOX.height - BOX.bottom, class: "axis" });
    if (spec.equal) draw(svg, "line", { x1: px(xLow), y1: py(xLow), x2: px(xHigh), y2: py(xHigh), class: "net", "stroke-dasharray": "5 4" });
    spec.series.forEach((one) => {
      const points = rows.map((row, i) => ({ x: xs[i], y: number(row[one.key]), low: number(row[one.low]), high: number(row[one.high]) })).filter(({ x, y }) => x !== null && y !== null);
      const colour = one.colour;
      if (spec.kind === "line") draw(svg, "path", { class: "line", style: `stroke: ${colour}`, "stroke-dasharray": one.dash ?? "none", d: points.map(({ x, y }, i) => `${i ? "L" : "M"}${px(x).toFixed(1)} ${py(y).toFixed(1)}`).join("") });
      points.forEach(({ x, y, low, high }) => {
        if (low !== null && high !== null) draw(svg, "line", { class: "whisker", style: `stroke: ${colour}`, x1: px(x), x2: px(x), y1: py(low), y2: py(high) });
        if (spec.kind !== "line" || points.length < 25) draw(svg, "circle", { cx: px(x), cy: py(y), r: spec.kind === "points" ? 3.5 : 4, style: `fill: ${colour}`, opacity: spec.kind === "points" ? 0.7 : 1 });
      });
    });
    draw(svg, "text", { x: (BOX.left + BOX.width - BOX.right) / 2, y: BOX.height - 8, "text-anchor": "middle" }, spec.xLabel);
    draw(svg, "text", { x: 14, y: (BOX.height - BOX.bottom + BOX.top) / 2, "text-anchor": "middle", transform: `rotate(-90 14 ${(BOX.height - BOX.bottom + BOX.top) / 2})` }, spec.yLabel);
    if (spec.now) {
      const now = draw(svg, "line", { class: "now", y1: BOX.top, y2: BOX.height - BOX.bottom });
      const place = () => { const x = px(spec.now()); now.setAttribute("x1", x); now.setAttribute("x2", x); };
      spec.follow(place);
      place();
    }
  }
  if (spec.series.length > 1) {
    const keys = make("div", "keys");
    keys.append(...spec.series.map(({ label, colour }) => key(colour, label, "square")));
    figure.append(keys);
  }
  const columns = [spec.x, ...(spec.columns ?? []), ...spec.series.flatMap((one) => [one.key, one.low, one.high].filter(Boolean))];
  const below = make("details");
  below.append(make("summary", "", "Table and CSV"));
  below.addEventListener("toggle", () => {
    if (!below.open || below.children.length > 1) return;
    below.append(
      button(`Download ${spec.file}`, () => offer(spec.file, spec.csv)),
      tableOf(spec.title, columns, rows.map((row) => columns.map((name) => row[name])))
    );
  });
  figure.append(below);
  host.append(figure);
};
const INKS = ["var(--score)", "var(--coral)", "var(--muted)", "var(--ink)"];
const ofCsv = (host, name, spec, only = () => true) => {
  const csv = data.csv[name];
  chart(host, { ...spec, csv, file: spec.file ?? `${name}.csv` }, readCsv(csv).filter(only));
};
