'use strict';
// Machine: the machine that measured the figures, its fitness, and the noise of the figures.

const FACT_NAMES = {
  num_cpus: 'processors',
  transparent_hugepage: 'huge pages',
  grade_reasons: 'graded down for',
  not_verified: 'not verified',
  busy: 'busy with other work',
  format: 'format of the results',
};

// A value for readers; the system tells memory in kB, which are KiB.
function valueOf(name, value) {
  if (name === 'command') return commandOf(value);
  const [, kib] = (name === 'memory' && value.match(/^(\d+) kB$/)) || [];
  return kib ? bytes(1024 * kib) : value;
}

function drawMachine(view) {
  const campaign = view.campaign('');
  const {grade, ...facts} = campaign.facts;
  view.answerWith(
    h(
      'p',
      {},
      `Measured on ${facts.processor ?? 'an unknown processor'}` +
        (grade ? `, with the grade ${grade} (A is best, F is worst)` : '') +
        (facts.grade_reasons ? `: ${facts.grade_reasons.replaceAll('_', ' ')}` : '') +
        '. ' +
        (campaign.kind === 'costs' ? noiseNote(campaign) : ''),
    ),
  );
  return [
    h(
      'section',
      {class: 'card'},
      h('h3', {}, 'The machine'),
      h(
        'p',
        {},
        'Fitness for measuring: ',
        grade
          ? [
              h('span', {class: 'grade'}, grade),
              ` of A (best) to F. `,
              h('code', {}, 'timerbench doctor'),
              ' says how to mend what can be.',
            ]
          : 'not recorded.',
      ),
      tableOf(
        [
          {
            title: 'fact',
            left: true,
            text: ([name]) => FACT_NAMES[name] ?? name.replaceAll('_', ' '),
          },
          {title: 'value', left: 'words', text: ([name, value]) => valueOf(name, value)},
        ],
        [...Object.entries(facts), ['results', campaign.source]],
      ),
    ),
    limitsCard(campaign),
    noiseCard(campaign),
    campaign.kind === 'costs' && controlsCard(campaign),
    statusCard(campaign),
    CAMPAIGNS.length > 1 &&
      h(
        'p',
        {class: 'note'},
        'Campaigns are never mixed with each other: ' +
          'those of different machines are not to be compared by their figures.',
      ),
  ];
}

// The limits of the machine for any structure.
function limitsCard(campaign) {
  const {memory = [], append_ns, clock_ns, sleep_late_ns} = campaign.limits ?? {};
  if (!memory.length) return null;
  return h(
    'section',
    {class: 'card'},
    h('h3', {}, 'Its limits, measured beside the campaign'),
    h(
      'p',
      {},
      `A clock read takes ${time(clock_ns)}, appending a number ${time(append_ns)}; a sleep ends ${time(sleep_late_ns)} late.`,
    ),
    tableOf(
      [
        {title: 'memory used', text: (row) => bytes(row.bytes)},
        {title: 'random access', text: (row) => time(row.random_access_ns)},
        {title: 'a step of a list', text: (row) => time(row.list_walk_ns)},
      ],
      memory,
    ),
  );
}

// How sure the figures are, and each backend that was compared with itself.
function noiseCard(campaign) {
  return h(
    'section',
    {class: 'card'},
    h('h3', {}, 'The noise'),
    campaign.sureness.map((line) => h('p', {}, line)),
    campaign.variants.map(([name, table]) =>
      failuresNote(campaign, table.cells, `Without a figure, of those measured ${name}: `),
    ),
    (campaign.kind === 'costs' ? campaign.variants : []).map(([name, table]) => {
      const pairs = table.cells
        .map((twin) => [campaign.cell(twin.scenario, twin.size, twin.backend), twin])
        .filter(([one, twin]) => one?.hasFigure && twin.hasFigure);
      const compared = compareAll(
        pairs.map(([one, twin]) => pairedLogRatios(one, twin)),
        campaign.noise,
      );
      return h(
        'details',
        {},
        h('summary', {}, `${name}, ${pairs.length} cells`),
        tableOf(
          [
            {
              title: 'cell',
              left: true,
              text: ([, twin]) => `${keyOf(twin.scenario, twin.size, twin.backend)}${name}`,
            },
            {title: 'over itself', text: ([, , one]) => ratioWithInterval(one)},
            {title: 'is', left: true, text: ([, , one]) => one.word},
          ],
          pairs.map((pair, i) => [...pair, compared[i]]),
        ),
      );
    }),
  );
}

// The cost of the harness itself.
function controlsCard(campaign) {
  const controls = campaign.cells.filter(
    (cell) => campaign.precisionOf(cell.backend) === 'none' && cell.hasFigure,
  );
  if (!controls.length) return null;
  return h(
    'section',
    {class: 'card'},
    h('h3', {}, 'The controls: what the harness itself takes'),
    h(
      'details',
      {},
      h('summary', {}, `${controls.length} cells`),
      tableOf(
        [
          {
            title: 'cell',
            left: true,
            text: (cell) => keyOf(cell.scenario, cell.size, cell.backend),
          },
          {title: 'ns [95 %]', text: costWithInterval},
        ],
        controls,
      ),
    ),
  );
}

// The cells without a figure, and those with doubtful figures.
function statusCard(campaign) {
  const odd = campaign.cells.filter((cell) => !cell.hasFigure || cell.noisy || cell.timeouts);
  const summed = countedStatuses(odd);
  return h(
    'section',
    {class: 'card'},
    h('h3', {}, 'What became of the cells'),
    h(
      'p',
      {},
      `${campaign.cells.length} cells${summed ? `, of which ${summed}` : ', all with figures'}` +
        (campaign.interrupted ? `; ${campaign.interrupted} more were not reached` : '') +
        '.',
    ),
    odd.length > 0 &&
      h(
        'details',
        {},
        h('summary', {}, odd.length > MOST_LISTED ? `The first ${MOST_LISTED}` : 'Which'),
        tableOf(
          [
            {
              title: 'cell',
              left: true,
              text: (cell) => keyOf(cell.scenario, cell.size, cell.backend),
            },
            {
              title: 'what became of it',
              left: 'words',
              text: (cell) =>
                cell.failure ||
                cell.doubt ||
                `disturbed in ${cell.noisy} of its rounds, however often repeated`,
            },
          ],
          odd.slice(0, MOST_LISTED),
        ),
      ),
  );
}
