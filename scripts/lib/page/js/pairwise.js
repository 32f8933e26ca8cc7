'use strict';
// Pairwise: one backend against another on every load, and all against all on one load.

function drawPairwise(view) {
  const campaign = view.campaign('costs');
  if (!campaign) return nothing('scripts/bench');
  const names = [...campaign.backends.keys()];
  if (names.length < 2) return h('p', {class: 'note'}, 'There is but one backend.');
  const [first, second] = defaultPair(campaign, names);
  const a = view.choose(
    'b',
    'A, the baseline',
    names.map((name) => [name, name]),
    first,
  );
  const others = names.filter((name) => name !== a);
  const b = view.choose(
    'b2',
    'B',
    others.map((name) => [name, name]),
    a === first ? second : (likeOf(campaign, a, others) ?? others[0]),
  );
  const scenario = view.scenario(campaign, 'Workload of the matrices');
  const size = view.size(campaign, scenario);
  return [
    pairCard(view, campaign, a, b),
    rankedOn(campaign, scenario, size).map(([precision, groups]) =>
      matrixCard(campaign, scenario, size, precision, groups.flat()),
    ),
    failuresNote(
      campaign,
      campaign.at(scenario, size),
      `Not in the matrices of ${scenario} at ${power(size)}, because there is no figure: `,
    ),
  ];
}

// The two cheapest of a precision on the load that is shown first; else the two backends with the
// most figures among those of the same precision, if there are two.
function defaultPair(campaign, names) {
  const scenario = firstLoadOf(campaign);
  const size = tellingSize(campaign, scenario, campaign.sizes(scenario));
  const [pair] = rankedOn(campaign, scenario, size).map(([, groups]) => groups.flat());
  if (pair) return pair.slice(0, 2).map(({backend}) => backend);
  const figures = (name) =>
    campaign.cells.filter((cell) => cell.backend === name && cell.hasFigure).length;
  const byFigures = [
    ...names.filter((name) => campaign.isRanked(name)).sort((a, b) => figures(b) - figures(a)),
    ...names.filter((name) => !campaign.isRanked(name)),
  ];
  const first = byFigures.find((name) => likeOf(campaign, name, byFigures)) ?? byFigures[0];
  return [first, likeOf(campaign, first, byFigures) ?? byFigures.find((name) => name !== first)];
}

// The ranking of each precision with at least two backends on a load.
function rankedOn(campaign, scenario, size) {
  const cells = campaign.at(scenario, size).filter((cell) => cell.hasFigure);
  return campaign
    .byPrecision(cells.map((cell) => cell.backend))
    .filter(([precision, names]) => PRECISIONS[precision].ranked && names.length > 1)
    .map(([precision, names]) => [
      precision,
      ranking(
        cells.filter(({backend}) => names.includes(backend)),
        campaign.noise,
      ),
    ]);
}

// Another backend of the same precision, if there is any.
function likeOf(campaign, name, others) {
  const precision = campaign.precisionOf(name);
  return others.find((other) => other !== name && campaign.precisionOf(other) === precision);
}

function pairCard(view, campaign, a, b) {
  const keys = [...new Set(campaign.cells.map((cell) => `${cell.scenario}/${cell.size}`))].map(
    (key) => key.split('/'),
  );
  const both = keys.map(([scenario, size]) => [
    campaign.cell(scenario, size, a),
    campaign.cell(scenario, size, b),
  ]);
  const pairs = both.filter(([one, other]) => one?.hasFigure && other?.hasFigure);
  const left = both.filter(([one, other]) => one && other && !(one.hasFigure && other.hasFigure));
  const [precisionA, precisionB] = [campaign.precisionOf(a), campaign.precisionOf(b)];
  const unlike =
    precisionA === precisionB
      ? ''
      : `. Their precisions differ: A is ${precisionA}, B ${precisionB}. So ratios are told, and nothing is judged by them`;
  const reasons = left.map(([one, other]) => {
    const whose = [
      ['A', one],
      ['B', other],
    ].filter(([, cell]) => !cell.hasFigure);
    return `${one.scenario} at ${power(one.size)} (${whose.map(([side, cell]) => `${side} ${cell.status}`).join(', ')})`;
  });
  const without = reasons.length ? ` Without a figure of both: ${reasons.join(', ')}.` : '';
  if (!pairs.length)
    return h(
      'p',
      {class: 'warning'},
      `${a} and ${b} have no load in common with figures of both.${without}`,
    );
  const compared = compareAll(
    pairs.map(([one, other]) => pairedLogRatios(one, other)),
    campaign.noise,
  );
  const rows = pairs.map(([one, other], i) => ({
    one,
    other,
    ratio: judged(campaign, one, other, compared[i]),
    key: `${one.scenario} at ${power(one.size)}`,
  }));
  const needed = roundsNeeded(rows.length);
  const fewest = Math.min(...rows.map((row) => row.ratio.rounds));
  const judgedAs = (word) => rows.filter(({ratio: it}) => it.word === word).length;
  view.answerWith(
    h(
      'p',
      {},
      named(b, campaign),
      unlike
        ? ` and ${a} have different precisions, so neither is called faster.`
        : ` is faster than ${a} on ${judgedAs('faster')} of ${counted(rows.length, 'load')}, slower on ${judgedAs('slower')}, equivalent on ${judgedAs('equivalent')}; on ${judgedAs('unresolved')} the rounds do not tell.`,
    ),
  );
  return card({
    title: `${b} compared with ${a}`,
    note:
      `B's cost divided by A's, median over the rounds${unlike || '; the chance of any wrong verdict among the lines is 5 %, and each interval is at the level at which its line was judged'}. ${noiseNote(campaign)} Shaded: the noise.` +
      (fewest < needed
        ? ` With ${counted(fewest, 'round')} none of ${counted(rows.length, 'comparison')} can be sure; it takes ${needed}.`
        : '') +
      without,
    remake: campaign.remake,
    height: forestHeight(rows),
    config: (theme, width) => forestChart(rows, campaign, theme, width),
    columns: [
      {
        title: 'load',
        left: true,
        only: 'table',
        value: ({key}) => key,
        text: ({key, ratio: it}) => whyLink(campaign, it.middle > 1 ? b : a, key),
      },
      {title: 'workload', value: ({one}) => one.scenario, only: 'csv'},
      {title: 'size', value: ({one}) => one.size, only: 'csv'},
      {
        title: 'A, ns',
        value: ({one}) => one.cost,
        text: ({one}) => [digits(one.cost), doubtMarks(campaign, one)],
      },
      {
        title: 'B, ns',
        value: ({other}) => other.cost,
        text: ({other}) => [digits(other.cost), doubtMarks(campaign, other)],
      },
      {
        title: 'B / A',
        csv: 'ratio',
        value: ({ratio: it}) => it.middle,
        text: ({ratio: it}) => ratioWithInterval(it),
      },
      ...boundsColumns(({ratio: it}) => it),
      {title: 'rounds', value: ({ratio: it}) => it.rounds},
      {
        title: 'B is',
        left: true,
        value: ({ratio: it}) => it.word,
        text: ({ratio: it}) =>
          h('span', {class: it.word || 'none'}, it.word || 'of another precision'),
      },
    ],
    rows,
    isOpen: true,
  });
}

// Links to the page of the more expensive backend.
function whyLink(campaign, loser, text) {
  return h(
    'a',
    {href: backendAddress(loser, campaign), title: `Where ${loser} loses, and why`},
    text,
  );
}

// On a narrow chart names take two lines.
function forestHeight(rows) {
  return (width) => rows.length * (width < TWO_LINES ? 34 : 24) + 80;
}

function forestChart(rows, campaign, theme, width, title = 'B / A') {
  const noise = Math.max(campaign.noise, Math.log1p(LEAST_EFFECT));
  const span = [Math.exp(-noise), Math.exp(noise)];
  return dotsChart(theme, width, {
    points: rows.map(({ratio: it, key}) => ({
      x: it.middle,
      y: key,
      ...boundsOf(it),
      text: `${key}: ${ratioWithInterval(it)}${it.word && `, ${it.word}`}`,
    })),
    styles: rows.map(({ratio: it}) => ({
      colour: {faster: theme.good, slower: theme.bad}[it.word] ?? theme.faint,
    })),
    title,
    unit: (value) => `×${value}`,
    reach: span,
    marks: {lines: [{at: 1, text: ''}], span},
  });
}

// All backends of one precision against each other, on one load.
function matrixCard(campaign, scenario, size, precision, all) {
  const cells = [...all].sort((a, b) => a.cost - b.cost);
  const pairs = cells
    .flatMap((row, i) => cells.map((column, j) => ({i, j, row, column})))
    .filter(({i, j}) => i < j);
  const compared = compareAll(
    pairs.map(({row, column}) => pairedLogRatios(row, column)),
    campaign.noise,
  );
  const byPlace = new Map(pairs.map(({i, j}, k) => [`${i}/${j}`, compared[k]]));
  const entry = (i, j) => {
    if (i === j) return '·';
    const one = byPlace.get(`${Math.min(i, j)}/${Math.max(i, j)}`);
    const turned =
      i < j
        ? one
        : {
            ...one,
            middle: 1 / one.middle,
            word: {faster: 'slower', slower: 'faster'}[one.word] ?? one.word,
          };
    return h(
      'span',
      {
        class: turned.word,
        title: `${cells[j].backend} compared with ${cells[i].backend}: ${turned.word}`,
      },
      ratio(turned.middle),
    );
  };
  const needed = roundsNeeded(pairs.length);
  return h(
    'section',
    {class: 'card matrix'},
    h('h3', {}, `${scenario} at ${power(size)}: those that are ${precision}, each with each`),
    h(
      'p',
      {class: 'note'},
      `Cost of the backend above divided by cost of the backend at the left. Green: significantly less. Red: significantly more. Grey: equivalent or unresolved. ` +
        `${counted(pairs.length, 'comparison')}, which takes ${needed} rounds; there are ${Math.min(...cells.map((cell) => cell.costs.length))}.`,
    ),
    tableOf(
      [
        {title: '', left: true, text: (i) => named(cells[i].backend, campaign)},
        ...cells.map((cell, j) => ({title: cell.backend, text: (i) => entry(i, j)})),
      ],
      cells.map((_, i) => i),
    ),
  );
}
