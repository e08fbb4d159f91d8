// Small things every part of the page uses. Text goes in as text, never as markup.
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
