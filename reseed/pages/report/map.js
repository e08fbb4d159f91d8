// Where the frames lie: fill is the decision, a ring is a wrong one.
const CLASS_INK = { yes: data.classes[2].colour, no: data.classes[0].colour };
const drawMap = () => {
  const host = byId("map");
  const placed = indices.filter((i) => frames.latitude[i] !== null && frames.longitude[i] !== null);
  if (!placed.length) {
    host.before(make("p", "", "No frame has a position, so there is no map."));
    host.remove();
    byId("map-keys").remove();
    return;
  }
  byId("map-keys").append(key(CLASS_INK.yes, "decided Deploy"), key(CLASS_INK.no, "decided No-Deploy"), key("", "wrong", "ring"), `training frames are small; ${frames.id.length - placed.length} frames have no position`);
  const west = placed.map((i) => frames.longitude[i]);
  const shift = Math.max(...west) - Math.min(...west) > 180 ? 360 : 0; // a survey across the antimeridian lies in one piece
  const map = L.map(host, { preferCanvas: true, zoomSnap: 0.5, maxZoom: 24, worldCopyJump: false, zoomAnimation: false });
  map.attributionControl.setPrefix("Leaflet");
  L.control.scale({ imperial: false }).addTo(map);
  const wrongInk = getComputedStyle(document.documentElement).getPropertyValue("--wrong").trim();
  const style = (i) => {
    const wrong = wrongNow(i);
    const scored = frames.split[i] === VAL || frames.split[i] === TEST;
    return { radius: scored ? 8 : 5, weight: wrong ? 4 : 1, color: wrong ? wrongInk : "#555", fillColor: decides(i) ? CLASS_INK.yes : CLASS_INK.no, fillOpacity: scored ? 0.95 : 0.5 };
  };
  // Frames of a tow lie on top of each other from afar: training frames below, wrong ones above all.
  const height = (i) => (wrongNow(i) ? 2 : frames.split[i] === TRAIN ? 0 : 1);
  const markers = [...placed].sort((a, b) => height(a) - height(b)).map((i) => {
    const longitude = frames.longitude[i] + (frames.longitude[i] < 0 ? shift : 0);
    const marker = L.circleMarker([frames.latitude[i], longitude], style(i)).addTo(map);
    marker.on("click", () => openFrame(i));
    marker.bindTooltip(() => { const text = make("span", "", `${short(frames.id[i], 60)}: ${decisionName(decides(i))}, ${outcome(i)}`); return text; });
    return { i, marker, looks: `${decides(i)}${wrongNow(i)}` };
  });
  map.fitBounds(L.latLngBounds(markers.map(({ marker }) => marker.getLatLng())).pad(0.08), { animate: false, maxZoom: 20 });
  listeners.push(() => markers.forEach((one) => {
    const looks = `${decides(one.i)}${wrongNow(one.i)}`;
    if (looks !== one.looks) {
      one.looks = looks;
      one.marker.setStyle(style(one.i));
      if (wrongNow(one.i)) one.marker.bringToFront();
    }
  }));
};
// Every site with what its decisions are worth; little evidence says so.
const SITE_COLUMNS = ["Site", "split", "frames", "Deploy by reference", "decided Deploy", "wrong Deploy", "missed Deploy", "precision", "recall", "patch macro F1", "note"];
const FEW = 5;
const drawSites = () => {
  const patchScores = new Map(readCsv(data.csv.sites).map((row) => [`${row.split}/${row.site}`, row]));
  const places = [TEST, VAL].flatMap((split) => frames.siteNames.flatMap((name, site) => {
    const mine = bySplit[split].filter((i) => frames.site[i] === site);
    return mine.length ? [{ split, name, mine, row: patchScores.get(`${split === TEST ? "test" : "val"}/${name}`) }] : [];
  }));
  const cells = ({ split, name, mine, row }) => {
    const labelled = mine.filter((i) => frames.gold[i] !== null);
    const [[, wrong], [missed, right]] = countsNow(mine);
    const notes = [];
    if (labelled.length < FEW) notes.push(`fewer than ${FEW} labelled frames`);
    if (row) data.classes.forEach(({ name: cls }) => { if (row[`${cls.toLowerCase().replace("-", "_")}_support`] === "0") notes.push(`no ${cls} patch`); });
    return [name, SPLITS[split], labelled.length, missed + right, right + wrong, wrong, missed, right + wrong ? percent(right / (right + wrong)) : "–", right + missed ? percent(right / (right + missed)) : "–",
      row && row.macro_f1 !== "" ? `${Number(row.macro_f1).toFixed(1)} %` : "–", notes.join("; ")];
  };
  const table = tableOf("Decisions by site", SITE_COLUMNS, places.map(cells));
  byId("site-table").append(table, button("Download sites.csv", () => offer("sites.csv", csvOf(SITE_COLUMNS, places.map(cells)))));
  const lines = [...table.querySelectorAll("tbody tr")];
  lines.forEach((line, n) => { if (places[n].split === TEST) line.className = "of-test"; });
  listeners.push(() => places.forEach((place, n) => cells(place).forEach((text, column) => {
    const cell = lines[n].cells[column];
    if (cell.textContent !== String(text)) cell.textContent = text;
  })));
};
