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
      const left = Math.round((i * width) / total);
      const wide = Math.max(1, Math.round(((i + 1) * width) / total) - left - gap);
      const body = state.gold ? height * 0.62 : height;
      pen.fillStyle = colourOf(frame);
      pen.fillRect(left, 0, wide, body);
      if (state.gold && frame.gold !== null) {
        pen.fillStyle = decisionColour(frame.gold);
        pen.fillRect(left, height * 0.72, wide, height * 0.28);
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
