// The map: no tiles, so a net of degrees says where it is.
const PIE_PX = 34; // diameter of what stands for sequences that are too small to see
const SMALL_PX = 46; // a sequence of less extent is drawn as one
const MAX_ZOOM = 24;
const CLOSE_ZOOM = 23; // frames a decimetre apart stand apart
const map = L.map("map", { preferCanvas: true, maxZoom: MAX_ZOOM, zoomSnap: 0.5, worldCopyJump: false });
map.attributionControl.setPrefix("Leaflet");
L.control.scale({ imperial: false, maxWidth: 160 }).addTo(map);
map.createPane("net").style.zIndex = 250; // below every frame
map.getPane("net").style.pointerEvents = "none";
const net = L.layerGroup().addTo(map);
const lines = L.layerGroup().addTo(map);
const rings = L.layerGroup().addTo(map);
const points = L.layerGroup().addTo(map);
const pies = L.layerGroup().addTo(map);

const goTo = (bounds) => map.fitBounds(bounds, { padding: [50, 50], maxZoom: CLOSE_ZOOM });

const niceStep = (degrees) => {
  const power = 10 ** Math.floor(Math.log10(degrees));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= degrees);
};
const wrapped = (longitude) => ((((longitude + 180) % 360) + 360) % 360) - 180;
const drawNet = () => {
  net.clearLayers();
  const view = map.getBounds();
  const step = niceStep(((view.getEast() - view.getWest()) * 150) / map.getSize().x);
  const decimals = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
  const line = { color: "#cbd6dd", weight: 1, interactive: false, pane: "net" };
  const label = (at, text, anchor) => {
    const node = make("span", "degree", text);
    net.addLayer(
      L.marker(at, { interactive: false, keyboard: false, pane: "net", icon: L.divIcon({ className: "", html: node, iconSize: [0, 0], iconAnchor: anchor }) })
    );
  };
  for (let i = Math.ceil(view.getWest() / step); i * step <= view.getEast(); i += 1) {
    net.addLayer(L.polyline([[view.getSouth(), i * step], [view.getNorth(), i * step]], line));
    if (map.latLngToContainerPoint([view.getNorth(), i * step]).x < 48) continue; // under the zoom buttons
    const east = wrapped(i * step);
    label([view.getNorth(), i * step], `${Math.abs(east).toFixed(decimals)}° ${east < 0 ? "W" : "E"}`, [-3, -2]);
  }
  for (let i = Math.ceil(view.getSouth() / step); i * step <= view.getNorth(); i += 1) {
    net.addLayer(L.polyline([[i * step, view.getWest()], [i * step, view.getEast()]], line));
    const corner = map.containerPointToLatLng([map.getSize().x - 4, 0]).lng;
    const node = `${Math.abs(i * step).toFixed(decimals)}° ${i < 0 ? "S" : "N"}`;
    label([i * step, corner], node, [62 + 5 * decimals, 16]);
  }
};

placed.forEach((frame) => {
  frame.point = L.circleMarker(frame.at, { radius: 7, weight: 1, color: "#1b1f23", fillOpacity: 1 });
  frame.point.on("click", () => show(frame));
  if (frame.gold !== null) {
    frame.ring = L.circleMarker(frame.at, { radius: 11, weight: 3, color: decisionColour(frame.gold), fill: false, interactive: false });
  }
});
data.sequences.forEach((sequence) => {
  const ways = []; // frames further apart than the gap were not taken on one way
  sequence.placed.forEach((frame, i) => {
    const before = i && L.latLng(sequence.placed[i - 1].at);
    if (!before || before.distanceTo(frame.at) > data.gap) ways.push([]);
    ways[ways.length - 1].push(frame.at);
  });
  sequence.line = L.polyline(ways, { color: "#57606a", weight: 1.5, interactive: false });
});

// Sequences of a few pixels become one disc, neighbours together; its sectors are the shares of the decisions.
const gather = () => {
  const groups = [];
  const open = [];
  data.sequences.forEach((sequence) => {
    if (!sequence.bounds) return;
    const a = map.latLngToLayerPoint(sequence.bounds.getNorthWest());
    const b = map.latLngToLayerPoint(sequence.bounds.getSouthEast());
    const alone = sequence.placed.length === 1 && map.getZoom() >= 17;
    if (alone || Math.max(b.x - a.x, b.y - a.y) >= SMALL_PX) {
      open.push(sequence);
      return;
    }
    const middle = a.add(b).divideBy(2);
    const near = groups.find((group) => group.middle.distanceTo(middle) < PIE_PX);
    if (near) near.members.push(sequence);
    else groups.push({ middle, members: [sequence] });
  });
  return { groups, open };
};
// Each label on the side where it meets neither the edge nor another label, else none: the disc has a tooltip.
const labelSide = (group, text, taken) => {
  const at = map.layerPointToContainerPoint(group.middle);
  const width = 8 * text.length;
  const size = map.getSize();
  const reach = PIE_PX / 2;
  const corners = {
    right: [at.x + reach, at.y - 9],
    left: [at.x - reach - width, at.y - 9],
    above: [at.x - width / 2, at.y - reach - 20],
    below: [at.x - width / 2, at.y + reach + 2],
  };
  for (const side of at.x > 0.6 * size.x ? ["left", "right", "above", "below"] : ["right", "left", "above", "below"]) {
    const [left, top] = corners[side];
    const box = L.bounds([left, top], [left + width, top + 18]);
    if (left > 0 && left + width < size.x && !taken.some((other) => other.intersects(box))) {
      taken.push(box);
      return side;
    }
  }
  return "";
};
const pieOf = (group, taken) => {
  const all = group.members.flatMap((sequence) => sequence.frames);
  const nDeploy = all.filter((frame) => frame.yes).length;
  const cover = all.reduce((sum, frame) => sum + frame.cover, 0) / all.length;
  const box = make("div", "pie-box");
  const disc = make("div", "pie");
  const nAsk = all.filter((frame) => frame.ask).length;
  const [share, asked] = [(360 * nDeploy) / all.length, (360 * (nDeploy + nAsk)) / all.length];
  disc.style.background =
    state.colour === "coral"
      ? coverColour(cover)
      : `conic-gradient(${data.colours.deploy} 0 ${share}deg, ${data.colours.ask} ${share}deg ${asked}deg, ${data.colours.noDeploy} ${asked}deg)`;
  const more = group.members.length - 1;
  const name = group.members[0].name + (more ? ` and ${more} more` : "");
  const says = state.colour === "coral" ? `${percent(cover)} Coral` : `${nDeploy} of ${all.length} Deploy`;
  box.append(disc);
  const side = labelSide(group, `${name}: ${says}`, taken);
  if (side) box.append(make("span", `pie-label ${side}`, `${name}: ${says}`));
  const bounds = group.members.reduce((sum, sequence) => sum.extend(sequence.bounds), L.latLngBounds([]));
  const icon = L.divIcon({ className: "", html: box, iconSize: [PIE_PX, PIE_PX] });
  const marker = L.marker(map.layerPointToLatLng(group.middle), { icon, title: `${name}: ${says}`, alt: name });
  marker.on("click", () => {
    const zoom = Math.min(CLOSE_ZOOM, map.getBoundsZoom(bounds));
    if (zoom > map.getZoom() + 0.25) goTo(bounds); // else nothing would part: many frames at one fix
    else show(group.members.flatMap((sequence) => sequence.placed)[0]);
  });
  return marker;
};
const draw = () => {
  const { groups, open } = gather();
  [lines, rings, points, pies].forEach((layer) => layer.clearLayers());
  const taken = groups.map(({ middle }) => {
    const at = map.layerPointToContainerPoint(middle);
    return L.bounds(at.subtract([PIE_PX / 2 - 1, PIE_PX / 2 - 1]), at.add([PIE_PX / 2 - 1, PIE_PX / 2 - 1]));
  });
  groups.forEach((group) => pies.addLayer(pieOf(group, taken)));
  open.forEach((sequence) => {
    lines.addLayer(sequence.line);
    sequence.placed.forEach((frame) => {
      if (state.gold && frame.ring) rings.addLayer(frame.ring);
      frame.point.setStyle({ fillColor: colourOf(frame), weight: frame === state.shown ? 3 : 1 });
      points.addLayer(frame.point);
    });
  });
  drawLegend();
  drawStrips();
};

// Opening and leaving a frame.
const popup = L.popup({ maxWidth: 340, minWidth: 336, autoPanPadding: [12, 12] });
const hide = () => {
  byId("card").hidden = true;
  if (state.shown) {
    state.shown = null;
    draw();
  }
};
const show = (frame) => {
  const small = frame.at && gather().groups.some((group) => group.members.includes(frame.sequence));
  if (small && map.getBoundsZoom(frame.sequence.bounds) > map.getZoom() + 0.25) {
    map.fitBounds(frame.sequence.bounds, { padding: [50, 50], maxZoom: CLOSE_ZOOM, animate: false });
  }
  const card = byId("card");
  state.shown = frame;
  card.hidden = Boolean(frame.at);
  if (frame.at) {
    popup.setLatLng(frame.at).setContent(about(frame)).openOn(map);
  } else {
    map.closePopup();
    state.shown = frame;
    card.replaceChildren(about(frame));
    card.hidden = false;
  }
  draw();
};
map.on("popupclose", () => {
  if (state.shown && state.shown.at) hide();
});
document.addEventListener("keydown", (event) => {
  if (!state.shown || event.target.tagName === "INPUT") return;
  if (event.key === "n" || event.key === "PageDown") step(state.shown, 1);
  if (event.key === "p" || event.key === "PageUp") step(state.shown, -1);
});

document.querySelectorAll("input[name=colour]").forEach((choice) =>
  choice.addEventListener("change", () => {
    state.colour = choice.value;
    draw();
  })
);
byId("gold").addEventListener("change", (event) => {
  state.gold = event.target.checked;
  draw();
});

byId("whole").hidden = !placed.length;
if (placed.length) {
  const whole = L.latLngBounds(placed.map((frame) => frame.at));
  byId("whole").addEventListener("click", () => {
    map.closePopup();
    goTo(whole);
  });
  goTo(whole);
} else {
  map.setView([0, 0], 2);
  const none = "No frame was decided: there is nothing to show.";
  const nowhere = "No frame has a position. The strips at the side show every frame: click one.";
  byId("map").append(make("div", "empty", frames.length ? nowhere : none));
}
map.on("zoomend", draw);
map.on("moveend", () => {
  drawNet();
  if (pies.getLayers().length) draw(); // labels keep away from the edge
});
map.on("resize", drawStrips);
draw();
drawNet();
window.reseed = { map, frames, state }; // for a look from the console
