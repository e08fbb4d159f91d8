"use strict";
// Names of files and sequences are somebody else's text: they only ever become text nodes, never markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const state = { colour: "decision", gold: false, grid: true, shown: null };
  const PIE_PX = 34; // diameter of what stands for sequences that are too small to see
  const SMALL_PX = 46; // a sequence of less extent is drawn as one
  const MAX_ZOOM = 24;
  const CLOSE_ZOOM = 23; // frames a decimetre apart stand apart

  const make = (tag, className, text) => {
    const node = document.createElement(tag);
    if (className) node.className = className;
    if (text !== undefined) node.textContent = text;
    return node;
  };
  const byId = (id) => document.getElementById(id);
  const percent = (share) => `${(100 * share).toFixed(1)} %`;
  const decisionName = (yes) => (yes ? "Deploy" : "No-Deploy");
  const decisionColour = (yes) => (yes ? data.colours.deploy : data.colours.noDeploy);

  // Frames, each with its place in the survey.
  const frames = [];
  data.sequences.forEach((sequence, s) => {
    sequence.frames.forEach((frame, i) => {
      frame.sequence = sequence;
      frame.number = i;
      frame.n = frame.rows * frame.cols;
      frame.cover = frame.coral / frame.n;
      frames.push(frame);
    });
    sequence.placed = sequence.frames.filter((frame) => frame.at);
    sequence.bounds = sequence.placed.length ? L.latLngBounds(sequence.placed.map((frame) => frame.at)) : null;
    sequence.nDeploy = sequence.frames.filter((frame) => frame.yes).length;
    sequence.cover = sequence.frames.reduce((sum, frame) => sum + frame.cover, 0) / sequence.frames.length;
    sequence.index = s;
  });
  const placed = frames.filter((frame) => frame.at);

  // One hue from pale to the colour of Coral; the scale ends at the next ten percent above the highest cover.
  const coverEnd = Math.max(0.1, Math.ceil(frames.reduce((most, frame) => Math.max(most, frame.cover), 0) * 10 - 1e-9) / 10);
  const channels = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  const pale = [255, 247, 240];
  const coverColour = (cover) => {
    const share = Math.min(1, cover / coverEnd);
    const mixed = channels(data.colours.coral).map((full, c) => Math.round(pale[c] + share * (full - pale[c])));
    return `rgb(${mixed.join(",")})`;
  };
  const colourOf = (frame) => (state.colour === "coral" ? coverColour(frame.cover) : decisionColour(frame.yes));

  // Header and side.
  byId("notice").hidden = !data.notice;
  byId("notice").textContent = data.notice;
  byId("finding").textContent = data.nFrames
    ? `${data.nDeploy} of ${data.nFrames} frames: Deploy (${percent(data.nDeploy / data.nFrames)})`
    : "No frame was decided";
  byId("rule").textContent =
    `A frame is Deploy where more than ${(100 * Number(data.alpha)).toFixed(1).replace(/\.0$/, "")} % of its patches are ` +
    `Deploy (alpha ${data.alpha}).` +
    (data.gold.known ? ` Gold is known for ${data.gold.known} frames: the same decision on ${data.gold.same} (no score: training frames may be among them).` : "");
  byId("model").textContent = data.model;
  data.remarks.forEach((remark) => byId("remarks").append(make("li", "", remark)));
  byId("gold-layer").hidden = !data.gold.known;

  const key = (colour, text, className) => {
    const node = make("span", "key");
    const dot = make("i", className);
    dot.style.background = colour;
    if (className === "ring") dot.style.borderColor = colour;
    node.append(dot, make("span", "", text));
    return node;
  };
  const drawLegend = () => {
    const legend = byId("legend");
    legend.replaceChildren();
    if (state.colour === "coral") {
      const ramp = make("i", "ramp");
      ramp.style.background = `linear-gradient(to right, ${coverColour(0)}, ${coverColour(coverEnd)})`;
      const node = make("span", "key");
      node.append(make("span", "", "0"), ramp, make("span", "", `${Math.round(100 * coverEnd)} % of patches`));
      legend.append(node);
    } else {
      legend.append(key(data.colours.deploy, "Deploy"), key(data.colours.noDeploy, "No-Deploy"));
    }
    if (state.gold) {
      legend.append(key(data.colours.deploy, "gold Deploy", "ring"), key(data.colours.noDeploy, "gold No-Deploy", "ring"));
    }
  };

  // Strips: every frame of a sequence in order, with or without a position.
  const strips = data.sequences.map((sequence) => {
    const box = make("div", "sequence");
    const head = make("button");
    head.type = "button";
    head.append(make("span", "name", sequence.name), make("span", "count"));
    const canvas = make("canvas");
    box.append(head, canvas);
    byId("sequences").append(box);
    head.addEventListener("click", () => (sequence.bounds ? goTo(sequence.bounds) : show(sequence.frames[0])));
    canvas.addEventListener("click", (event) => {
      const share = event.offsetX / canvas.clientWidth;
      const at = Math.min(sequence.frames.length - 1, Math.max(0, Math.floor(share * sequence.frames.length)));
      show(sequence.frames[at]);
    });
    return { sequence, canvas, count: head.lastChild };
  });
  const drawStrips = () => {
    strips.forEach(({ sequence, canvas, count }) => {
      count.textContent =
        state.colour === "coral"
          ? `${percent(sequence.cover)} Coral`
          : `${sequence.nDeploy} of ${sequence.frames.length} Deploy`;
      const sharpness = window.devicePixelRatio || 1;
      const width = (canvas.width = Math.max(1, Math.round(canvas.clientWidth * sharpness)));
      const height = (canvas.height = Math.round(20 * sharpness));
      const pen = canvas.getContext("2d");
      const total = sequence.frames.length;
      const gap = width / total > 6 ? sharpness : 0;
      sequence.frames.forEach((frame, i) => {
        const left = (i * width) / total;
        const wide = width / total - gap;
        const body = state.gold ? height * 0.62 : height;
        pen.fillStyle = colourOf(frame);
        pen.fillRect(left, 0, Math.max(wide, 0.5), body);
        if (state.gold && frame.gold !== null) {
          pen.fillStyle = decisionColour(frame.gold);
          pen.fillRect(left, height * 0.72, Math.max(wide, 0.5), height * 0.28);
        }
        if (frame === state.shown) {
          pen.fillStyle = "#1b1f23";
          pen.fillRect(left + wide / 2 - 1.5 * sharpness, 0, 3 * sharpness, height);
        }
      });
      if (state.colour === "coral") {
        pen.strokeStyle = "#b9a99c"; // pale cells need an edge on a white page
        pen.strokeRect(0.5, 0.5, width - 1, (state.gold ? height * 0.62 : height) - 1);
      }
    });
  };

  // The map: no tiles, so a net of degrees says where it is.
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
    sequence.line = L.polyline(sequence.placed.map((frame) => frame.at), { color: "#57606a", weight: 1.5, interactive: false });
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
    const share = (360 * nDeploy) / all.length;
    disc.style.background =
      state.colour === "coral"
        ? coverColour(cover)
        : `conic-gradient(${data.colours.deploy} 0 ${share}deg, ${data.colours.noDeploy} ${share}deg)`;
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

  // What is known of one frame.
  const step = (frame, by) => {
    const all = frame.sequence.frames;
    show(all[(frame.number + by + all.length) % all.length]);
  };
  const button = (text, label, act) => {
    const node = make("button", "", text);
    node.type = "button";
    node.setAttribute("aria-label", label);
    node.addEventListener("click", act);
    return node;
  };
  const picture = (frame) => {
    const box = make("div", "picture");
    if (frame.jpeg) {
      const image = make("img");
      image.src = `data:image/jpeg;base64,${frame.jpeg}`;
      image.alt = `Frame ${frame.name}`;
      box.append(image);
    } else {
      box.append(make("div", "nothing", "no thumbnail of this frame"));
    }
    box.style.aspectRatio = `${frame.cols} / ${frame.rows}`; // known before the picture is, so that the popup fits
    const grid = make("div", "patches");
    grid.style.gridTemplate = `repeat(${frame.rows}, 1fr) / repeat(${frame.cols}, 1fr)`;
    grid.hidden = !state.grid;
    grid.style.display = state.grid ? "grid" : "none";
    [...frame.patches].forEach((digit, i) => {
      const { name, colour } = data.classes[Number(digit)];
      const cell = make("i");
      cell.style.borderColor = colour;
      cell.style.background = `${colour}${digit === "0" ? "26" : "4d"}`;
      cell.title = `row ${Math.floor(i / frame.cols)}, column ${i % frame.cols}: ${name}`;
      grid.append(cell);
    });
    box.append(grid);
    return box;
  };
  const about = (frame) => {
    const box = make("div", "about");
    const bar = make("div", "bar");
    bar.append(
      button("‹", "previous frame", () => step(frame, -1)),
      make("span", "where", `${frame.number + 1} of ${frame.sequence.frames.length}`),
      button("›", "next frame", () => step(frame, 1))
    );
    if (!frame.at) bar.append(button("×", "close", () => hide()));
    const decision = make("p", "pill");
    const dot = make("i");
    dot.style.background = decisionColour(frame.yes);
    const sign = frame.yes ? "above" : "not above";
    decision.append(dot, make("span", "", decisionName(frame.yes)));
    const switchGrid = make("label", "");
    const tick = make("input");
    tick.type = "checkbox";
    tick.checked = state.grid;
    tick.addEventListener("change", () => {
      state.grid = tick.checked;
      show(frame);
    });
    switchGrid.append(tick, make("span", "", " patches"));
    const keys = make("div", "grid-key");
    keys.append(switchGrid, ...data.classes.map(({ name, colour }) => key(colour, name, "square")));
    box.append(bar, picture(frame), keys, decision);
    box.append(make("p", "", `Deploy ${frame.deploy} of ${frame.n} patches, ${percent(frame.deploy / frame.n)}: ${sign} alpha ${data.alpha}`));
    box.append(make("p", "", `Coral ${frame.coral} of ${frame.n} patches, ${percent(frame.cover)}`));
    if (frame.gold !== null) {
      const differs = frame.gold !== frame.yes;
      box.append(make("p", differs ? "differs" : "", `Gold: ${decisionName(frame.gold)}${differs ? ", another decision" : ""}`));
    }
    const facts = [frame.time ? frame.time.replace("T", " ").replace("Z", " UTC") : "time unknown"];
    if (frame.at) {
      const [south, west] = [frame.at[0] < 0 ? "S" : "N", frame.lon < 0 ? "W" : "E"];
      facts.push(`${Math.abs(frame.at[0]).toFixed(6)}° ${south}, ${Math.abs(frame.lon).toFixed(6)}° ${west}`);
    } else facts.push("position unknown");
    if (frame.depth !== null) facts.push(`${frame.depth} m deep`);
    facts.push(`decided in ${Math.round(frame.ms)} ms`);
    box.append(make("p", "", facts.join(" · ")), make("p", "file", frame.name));
    return box;
  };
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
    byId("map").append(make("div", "empty", "No frame has a position. The strips at the side show every frame: click one."));
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
})();
