// A frame with the classes of its patches over it.
const colours = data.classes.map(({ colour }) => colour);
const shapeOf = (i) => (frames.points[i] ? [Math.ceil(Math.sqrt(frames.n[i]))] : [frames.cols[i]]);
const gridOf = (i) => {
  const [cols] = shapeOf(i);
  return { cols, rows: frames.points[i] ? Math.ceil(frames.n[i] / cols) : frames.rows[i] };
};
const REFERENCE = "golds", PREDICTED = "answers";
// Digits name the classes, a dot is a patch without a reference; wrong patches are crossed.
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
    if (which !== REFERENCE && gold !== "." && gold !== digit) {
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
const pictures = (i, shown) => {
  const all = make("div", "pair");
  shown.forEach(([which, name]) => {
    const figure = make("figure");
    figure.append(picture(i, which), make("figcaption", "", name));
    all.append(figure);
  });
  return all;
};
const classKeys = () => {
  const keys = make("div", "keys");
  keys.append(...data.classes.map(({ name, colour }) => key(colour, name, "square")));
  return keys;
};
