// Integers first: which frames are decided Deploy at a threshold, what that gives, and the scores of it.
const TRAIN = 0, VAL = 1, TEST = 2;
const SPLITS = ["train", "validation", "test", "in no split"];
const state = { at: data.used, explore: false };

// Whether a frame is decided Deploy. Test frames keep the decision of the run unless they are explored.
const decides = (i, at = state.at, explore = state.explore) => {
  const kept = frames.split[i] === TEST ? !explore : at === data.used;
  return kept ? frames.decided[i] === 1 : frames.rank[i] > at;
};
// [[right No-Deploy, wrong Deploy], [missed Deploy, right Deploy]] of the labelled frames of a split, by the ratio rule.
const countsAt = (split, at) => {
  const counts = [[0, 0], [0, 0]];
  for (let i = 0; i < frames.id.length; i += 1) {
    if (frames.split[i] === split && frames.gold[i] !== null) counts[frames.gold[i]][frames.rank[i] > at ? 1 : 0] += 1;
  }
  return counts;
};
// The same, as the page shows it now.
const countsNow = (which) => {
  const counts = [[0, 0], [0, 0]];
  which.forEach((i) => {
    if (frames.gold[i] !== null) counts[frames.gold[i]][decides(i) ? 1 : 0] += 1;
  });
  return counts;
};
const share = (part, whole) => (whole === 0 ? 0 : part / whole);
// Scores of a 2 x 2 table, fractions; a score of no frames is null, and 0 / 0 counts 0, as everywhere in the run.
const scoresOf = (counts) => {
  const [[rightNo, wrong], [missed, right]] = counts;
  const n = rightNo + wrong + missed + right;
  if (n === 0) return null;
  const f1 = share(2 * right, 2 * right + wrong + missed);
  const f1No = share(2 * rightNo, 2 * rightNo + wrong + missed);
  return {
    n,
    macroF1: (f1 + f1No) / 2,
    accuracy: (right + rightNo) / n,
    precision: share(right, right + wrong),
    recall: share(right, right + missed),
    f1,
    cost: (data.costs[0] * wrong + data.costs[1] * missed) / n,
  };
};
const percent = (fraction) => `${(100 * fraction).toFixed(1)} %`;
// The value of a threshold, `5/28`, and the first alpha above it that decides otherwise.
const valueOf = (at) => {
  const [top, bottom] = data.thresholds[at].split("/").map(Number);
  return top / bottom;
};
const alphaText = (at) => {
  if (at === data.used) return `${data.alpha} (of this run)`;
  const from = valueOf(at).toFixed(3);
  return at + 1 < data.thresholds.length ? `${from} to below ${valueOf(at + 1).toFixed(3)}` : `${from} and above`;
};
const outcome = (i) => {
  if (frames.gold[i] === null) return "no reference";
  if (decides(i) === (frames.gold[i] === 1)) return "right";
  return decides(i) ? "wrong Deploy" : "missed Deploy";
};
const wrongNow = (i) => frames.gold[i] !== null && decides(i) !== (frames.gold[i] === 1);
const decisionName = (yes) => (yes ? "Deploy" : "No-Deploy");
const indices = [...frames.id.keys()];
const bySplit = SPLITS.map((_, split) => indices.filter((i) => frames.split[i] === split));
// What redraws when alpha moves; a frame whose decision changed is told by its number.
const listeners = [];
const changed = () => listeners.forEach((redraw) => redraw());
