// Small things every part of a page uses. Text goes in as text, never as markup.
const data = JSON.parse(document.getElementById("data").textContent);
const frames = data.frames;
const byId = (id) => document.getElementById(id);
const make = (tag, name, text) => {
  const node = document.createElement(tag);
  if (name) node.className = name;
  if (text !== undefined) node.textContent = text;
  return node;
};
const button = (text, act, label) => {
  const node = make("button", "", text);
  node.type = "button";
  if (label) node.setAttribute("aria-label", label);
  node.addEventListener("click", act);
  return node;
};
const key = (colour, text, shape = "") => {
  const span = make("span");
  const dot = make("i", `dot ${shape}`);
  if (colour) dot.style.background = colour;
  span.append(dot, text);
  return span;
};
const choice = (name, label, options, act) => {
  const box = make("label", "", label);
  const select = make("select");
  select.name = name;
  options.forEach(([value, text]) => {
    const option = make("option", "", text);
    option.value = value;
    select.append(option);
  });
  select.addEventListener("change", act);
  box.append(select);
  return box;
};
// A file of text for the person who reads the page.
const offer = (name, text) => {
  const link = make("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
};
const tableOf = (caption, names, rows) => {
  const scroll = make("div", "scroll");
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-label", caption);
  const table = make("table");
  table.append(make("caption", "", caption));
  const head = table.createTHead().insertRow();
  names.forEach((name) => {
    const cell = make("th", "", name);
    cell.scope = "col";
    head.append(cell);
  });
  const body = table.createTBody();
  rows.forEach((row) => {
    const line = body.insertRow();
    row.forEach((text, i) => {
      const cell = i === 0 ? make("th", "", text) : make("td", "", text);
      if (i === 0) cell.scope = "row";
      line.append(cell);
    });
  });
  scroll.append(table);
  return scroll;
};
const csvOf = (names, rows) =>
  [names, ...rows].map((row) => row.map((cell) => {
    const text = String(cell ?? "");
    const plain = /^[=+\-@\t]/.test(text) && !/^-?[\d.]+$/.test(text) ? `'${text}` : text; // no formula in a spreadsheet
    return /[",\n\r]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
  }).join(",")).join("\n") + "\n";
// A row of a CSV file becomes an object; quoted cells may hold commas, quotes and line breaks.
const readCsv = (text) => {
  const rows = [[""]];
  let quoted = false;
  for (let i = 0; i < text.length; i += 1) {
    const sign = text[i];
    const row = rows[rows.length - 1];
    if (quoted && sign === '"' && text[i + 1] === '"') { row[row.length - 1] += '"'; i += 1; }
    else if (sign === '"') quoted = !quoted;
    else if (sign === "," && !quoted) row.push("");
    else if (sign === "\n" && !quoted) rows.push([""]);
    else row[row.length - 1] += sign;
  }
  const [names, ...others] = rows.filter((row) => row.length > 1 || row[0] !== "");
  return others.map((row) => Object.fromEntries(names.map((name, i) => [name, row[i]])));
};
const short = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
