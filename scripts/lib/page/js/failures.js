'use strict';
// Notes on missing figures, doubtful figures, and too few rounds for a verdict.

const MOST_LISTED = 500;

// Explains the effect of too few rounds.
function roundsNote(campaign, cells) {
  const ranked = cells.filter((cell) => cell.hasFigure && campaign.isRanked(cell.backend));
  if (!ranked.length) return null;
  const most = Math.max(
    ...campaign
      .byPrecision([...new Set(ranked.map((cell) => cell.backend))])
      .map(([, names]) => names.length - 1),
  );
  const rounds = Math.min(...ranked.map((cell) => cell.costs.length));
  const needed = roundsNeeded(Math.max(1, most));
  if (most < 1 || rounds >= needed) return null;
  return h(
    'p',
    {class: 'warning'},
    `The order is not yet sure: some backends have only ${counted(rounds, 'round')}, and ${most + 1} backends take ${needed}. Measure more: `,
    h('code', {}, campaign.remakeWith(needed)),
  );
}

function nothing(command) {
  return h(
    'p',
    {class: 'warning'},
    'There are no results for this page. ',
    h('code', {}, command),
    ' makes some, and scripts/report takes several folders at once.',
  );
}

// Lists the cells without a figure and their failures.
function failuresNote(campaign, cells, head = 'Without a figure: ') {
  const failed = cells.filter((cell) => !cell.hasFigure);
  if (!failed.length) return null;
  const backends = [...new Set(failed.map((cell) => cell.backend))];
  const isOne = new Set(cells.map((cell) => cell.scenario)).size === 1;
  const place = (cell) => (isOne ? '' : `${cell.scenario} `) + `at ${power(cell.size)}`;
  return h(
    'p',
    {class: 'note'},
    head,
    backends.map((backend, i) => [
      i ? '; ' : '',
      named(backend, campaign),
      ' ',
      failed
        .filter((cell) => cell.backend === backend)
        .map((cell) => `${place(cell)} (${cell.failure})`)
        .join(', '),
    ]),
  );
}

// The failures of a campaign without any figure.
function failuresOf(campaign) {
  return [
    h('p', {class: 'warning'}, `None of ${counted(campaign.cells.length, 'cell')} has a figure:`),
    tableOf(
      [
        {title: 'cell', left: true, value: (cell) => keyOf(cell.scenario, cell.size, cell.backend)},
        {title: 'what became of it', left: 'words', value: (cell) => cell.failure},
      ],
      campaign.cells.slice(0, MOST_LISTED),
    ),
    campaign.cells.length > MOST_LISTED &&
      h('p', {class: 'note'}, `The first ${MOST_LISTED}; Raw has all.`),
  ];
}

// A short count by status: 5 timeout, 2 skipped.
function countedStatuses(cells) {
  const counts = new Map();
  for (const {hasFigure, status, timeouts} of cells) {
    const word = hasFigure ? (timeouts ? 'with late rounds' : 'disturbed') : status;
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return [...counts].map(([word, number]) => `${number} ${word}`).join(', ');
}

// The marks of doubtful figures; MARKS explains them.
const [FEWER, NOISY, LATE] = ['†', '‡', '§'];

function marksOf(campaign, cell) {
  const most = Math.max(...campaign.at(cell.scenario, cell.size).map((other) => other.items ?? 0));
  return [
    cell.items < most / 2 && FEWER,
    cell.noisy > 0 && NOISY,
    cell.hasFigure && cell.timeouts > 0 && LATE,
  ].filter(Boolean);
}

function doubtMarks(campaign, cell) {
  return marksOf(campaign, cell).map((mark) =>
    h('span', {title: mark === LATE ? cell.doubt : MARKS[mark]}, ` ${mark}`),
  );
}

// Explains the marks of these cells.
function marksNote(campaign, cells) {
  const marks = new Set(cells.flatMap((cell) => marksOf(campaign, cell)));
  return [...marks].map((mark) => ` ${mark} ${MARKS[mark]}.`).join('');
}
