'use strict';
// The statistics of rounds; scripts/lib/results/statistics.py does the same and explains it.

const ALPHA = 0.05;
const LEAST_ROUNDS = 6;
const LEAST_EFFECT = 0.01;
const MARGIN = 0.03; // a ratio within this margin counts as equivalent

function median(values) {
  const ordered = [...values].sort((a, b) => a - b);
  const half = ordered.length >> 1;
  return ordered.length % 2 ? ordered[half] : (ordered[half - 1] + ordered[half]) / 2;
}

// The probabilities that none, at most one, at most two, ... of n fair coins show heads. Computed
// with logarithms, because 0.5 ** 1075 underflows to 0.
function* atMostHeads(n) {
  let sum = 0;
  for (let i = 0, term = -n * Math.LN2; i <= n; ++i) {
    sum += Math.exp(term);
    yield sum;
    term += Math.log((n - i) / (i + 1));
  }
}

// The interval of a median, exact by the sign test; infinite if there are too few values.
function medianInterval(values, alpha = ALPHA) {
  const ordered = [...values].sort((a, b) => a - b);
  const n = ordered.length;
  let rank = 0;
  for (const p of atMostHeads(n)) {
    if (p > alpha / 2) break;
    ++rank;
  }
  if (rank < 1) return {low: -Infinity, middle: median(ordered), high: Infinity};
  return {low: ordered[rank - 1], middle: median(ordered), high: ordered[n - rank]};
}

function roundsNeeded(comparisons) {
  let rounds = LEAST_ROUNDS;
  while (2 ** (1 - rounds) > ALPHA / comparisons) ++rounds;
  return rounds;
}

// The two-sided p for a median of 0; zeros count half for each side.
function signTest(values) {
  const n = values.length;
  if (n === 0) return 1;
  const zeros = values.filter((value) => value === 0).length;
  const below = values.filter((value) => value < 0).length + zeros / 2;
  let fewer = Math.floor(Math.min(below, n - below));
  for (const p of atMostHeads(n)) if (fewer-- === 0) return Math.min(1, 2 * p);
}

// The alpha of each of several tests (Holm 1979).
function holm(ps) {
  const order = ps.map((_, i) => i).sort((i, j) => ps[i] - ps[j] || i - j);
  const alphas = new Array(ps.length).fill(0);
  let alpha = 0;
  let hasFailed = false;
  order.forEach((i, done) => {
    if (!hasFailed) {
      alpha = ALPHA / (ps.length - done);
      hasFailed = ps[i] > alpha;
    }
    alphas[i] = alpha;
  });
  return alphas;
}

// How much contenders differ from themselves, in logarithms: nine of ten twins stay below.
function noiseFloor(twins) {
  const effects = twins
    .filter((values) => values.length)
    .map((values) => Math.abs(median(values)))
    .sort((a, b) => a - b);
  return effects.length ? effects[Math.ceil(0.9 * effects.length) - 1] : 0;
}

// Compares B with A for several pairs together, each given by its paired log-ratios.
function compareAll(pairs, noise, margin = MARGIN) {
  const alphas = holm(pairs.map(signTest));
  const least = Math.max(noise, Math.log1p(LEAST_EFFECT));
  return pairs.map((values, i) => {
    const interval = values.length
      ? medianInterval(values, alphas[i])
      : {low: -Infinity, middle: 0, high: Infinity};
    return {
      low: Math.exp(interval.low),
      middle: Math.exp(interval.middle),
      high: Math.exp(interval.high),
      rounds: values.length,
      p: signTest(values),
      word: wordOf(interval, least, Math.log1p(margin)),
    };
  });
}

function wordOf(interval, least, margin) {
  if (interval.low > 0 && interval.middle > least) return 'slower';
  if (interval.high < 0 && -interval.middle > least) return 'faster';
  if (-margin <= interval.low && interval.high <= margin) return 'equivalent';
  return 'unresolved';
}
