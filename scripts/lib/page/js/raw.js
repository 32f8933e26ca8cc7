'use strict';
// Raw: every cell, for search and export.

const ROWS_AT_ONCE = 200;

function drawRaw(view) {
  const campaign = view.campaign('');
  const wanted = view.search('find', 'Find').toLowerCase().split(/\s+/).filter(Boolean);
  const found = campaign.cells.filter((cell) => {
    const text =
      `${keyOf(cell.scenario, cell.size, cell.backend)} ${campaign.precisionOf(cell.backend)} ${cell.hasFigure ? 'ok' : ''} ${statusOf(cell)}`.toLowerCase();
    return wanted.every((word) => text.includes(word));
  });
  const pages = Math.max(1, Math.ceil(found.length / ROWS_AT_ONCE));
  const page = Number(
    view.choose(
      'rows',
      'Rows',
      Array.from({length: pages}, (_, i) => [
        String(i),
        `${i * ROWS_AT_ONCE + 1} to ${Math.min(found.length, (i + 1) * ROWS_AT_ONCE)}`,
      ]),
      '0',
    ) ?? 0,
  );
  const columns = columnsOfRaw(campaign);
  const figures = campaign.cells.filter((cell) => cell.hasFigure).length;
  view.answerWith(
    h(
      'p',
      {},
      `${grouped(String(figures))} of ${grouped(String(campaign.cells.length))} cells have a figure; the others say why not. On paper there are ${ROWS_AT_ONCE} rows; save the CSV for all.`,
    ),
  );
  return h(
    'section',
    {class: 'card'},
    h(
      'h3',
      {},
      `${grouped(String(found.length))} of ${grouped(String(campaign.cells.length))} cells`,
    ),
    h(
      'div',
      {class: 'below'},
      h(
        'button',
        {
          type: 'button',
          'data-export': 'CSV',
          onclick: () =>
            download(
              `timerbench_${fileName(campaign.name)}.csv`,
              'text/csv',
              csvOf(columns, found),
            ),
        },
        'CSV of these',
      ),
    ),
    tableOf(columns, found.slice(page * ROWS_AT_ONCE, (page + 1) * ROWS_AT_ONCE)),
  );
}

// The status of a cell, and why its figure is doubtful.
function statusOf(cell) {
  return cell.hasFigure ? doubtsOf(cell).join(', ') || 'ok' : cell.failure;
}

function doubtsOf(cell) {
  return [
    cell.noisy && 'noisy',
    cell.saturated && `does not keep up in ${counted(cell.saturated, 'round')}`,
    cell.doubt,
  ].filter(Boolean);
}

// The rounds of a cost and what is doubtful in them, or why there are none.
function roundsOf(cell) {
  if (!cell.hasFigure) return cell.failure;
  const doubts = doubtsOf(cell);
  return cell.costs.map(digits).join(' ') + (doubts.length ? ` (${doubts.join(', ')})` : '');
}

function columnsOfRaw(campaign) {
  const isCosts = campaign.kind === 'costs';
  return [
    {title: isCosts ? 'workload' : 'scenario', left: true, value: (cell) => cell.scenario},
    {
      title: isCosts ? 'timers' : 'size',
      csv: 'size',
      value: (cell) => cell.size,
      text: (cell) =>
        isCosts ? power(cell.size) : `${power(cell.size)} ${campaign.sizeIs(cell.scenario)}`,
    },
    ...(isCosts
      ? []
      : [{title: 'size_is', only: 'csv', value: (cell) => campaign.sizeIs(cell.scenario)}]),
    {
      title: campaign.contender,
      left: true,
      value: (cell) => cell.backend,
      text: (cell) => named(cell.backend, campaign),
    },
    {title: 'precision', left: true, value: (cell) => campaign.precisionOf(cell.backend)},
    {
      title: 'status',
      left: 'words',
      only: isCosts ? 'csv' : undefined, // of a cost the rounds say it
      value: statusOf,
    },
    ...(isCosts
      ? [
          {
            title: 'ns [95 %]',
            csv: 'ns',
            value: (cell) => cell.cost,
            text: (cell) => (cell.hasFigure ? costWithInterval(cell) : null),
          },
          ...boundsColumns(({interval}) => interval),
          {title: 'per', left: true, value: (cell) => campaign.item(cell.scenario)},
          {title: 'rounds', value: (cell) => cell.costs?.length ?? null},
          {
            title: 'each round, ns',
            csv: 'rounds_ns',
            left: 'words',
            value: (cell) => cell.costs?.join(' '),
            text: roundsOf,
          },
        ]
      : Object.entries(campaign.counters).map(([name, title]) => ({
          title,
          csv: `${name}, each round`,
          value: (cell) => cell.values(name).join(' '),
          text: (cell) => inUnit(cell.value(name), unitOf(name)) ?? whyMissing(cell, name),
        }))),
  ];
}
