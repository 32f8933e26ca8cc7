'use strict';
// Notes on missing figures, doubtful figures, and too few rounds for a verdict.

const MOST_LISTED = 500;

// Says which order is not yet sure, why, and what helps; null if all are. `rankings`: of the cells
// that are ranked with each other.
function roundsNote(campaign, rankings) {
  const unsure = rankings.filter((cells) => cells.length > 1 && !isSure(cells));
  if (!unsure.length) return null;
  const neededBy = (cells) => roundsNeeded(cells.length - 1);
  const largest = unsure.reduce((most, cells) => (cells.length > most.length ? cells : most));
  const scarce = unsure.flatMap((cells) =>
    cells.filter(({costs}) => costs.length < neededBy(cells)),
  );
  const tried = ({costs, timeouts}) => costs.length + timeouts;
  const fewest = Math.min(...scarce.map(({costs}) => costs.length));
  const isMeasuredTooLittle = unsure.some((cells) =>
    cells.some((cell) => tried(cell) < neededBy(cells)),
  );
  const takes = `to rank ${largest.length} backends takes ${neededBy(largest)}`;
  const late = [...new Set(scarce.map(({backend}) => backend))];
  return h(
    'div',
    {class: 'sureness'},
    h(
      'p',
      {},
      h('strong', {}, 'How sure: '),
      orderOf(campaign, unsure, rankings),
      ' is not yet sure: ',
      isMeasuredTooLittle
        ? `there are ${counted(fewest, 'round')}, and ${takes}.`
        : [
            listedParts(late.map((backend) => named(backend, campaign))),
            ` took too long in some rounds, which leaves ${fewest} of ${Math.max(...scarce.map(tried))}, and ${takes}. `,
            'The filter can leave out what is so late, and the order of the others is sure.',
          ],
    ),
    isMeasuredTooLittle &&
      h(
        'details',
        {},
        h('summary', {}, 'Measure more'),
        commandOf(campaign.remakeWith(neededBy(largest))),
      ),
  );
}

// Names the rankings `some` of all.
function orderOf(campaign, some, all) {
  const precisions = [...new Set(some.map(([{backend}]) => campaign.precisionOf(backend)))];
  const loads = (rankings) =>
    new Set(rankings.filter((cells) => cells.length).map(([one]) => `${one.scenario}/${one.size}`))
      .size;
  return (
    `the order of the ${listed(precisions)} backends` +
    (loads(all) > 1 ? ` on ${loads(some)} of ${counted(loads(all), 'load')}` : '')
  );
}

function nothing(command) {
  return h(
    'p',
    {class: 'warning'},
    'There are no results for this page. ',
    commandOf(command),
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

// Why a cell has no figure, where the table would have it; in several lines if it is long.
function insteadOfFigure(cell) {
  return cell.failure ? h('span', {class: 'failure'}, cell.failure) : null;
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
