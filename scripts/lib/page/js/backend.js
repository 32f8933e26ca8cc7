'use strict';
// Backend: one backend on every load against the best, and the facts from its header.

const MOST_FIGURES = 5; // of a service

// The backend's header, its source, when it is good and bad, and the services that drive it.
function factsOf(campaign, backend, names = ['Header', 'Good', 'Bad', 'Service']) {
  const {header, follows, good, bad} = campaign.backends.get(backend) ?? {};
  const facts = [
    [
      'Header',
      [header ? h('code', {}, header) : 'none in this tree', follows && `, follows ${follows}`],
    ],
    good && ['Good', good],
    bad && ['Bad', bad],
    campaign.kind === 'costs' &&
      !isLibrary(campaign.precisionOf(backend)) && ['Service', serviceOf(campaign, backend)],
  ];
  return h(
    'dl',
    {class: 'facts'},
    facts
      .filter((fact) => fact && names.includes(fact[0]))
      .map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]),
  );
}

// How to take a queue of this tree, folded where there is little room; nothing for other backends
// and controls.
function useInAProgram(campaign, backend) {
  const {header = '', type} = campaign.backends.get(backend);
  if (!header.startsWith('impls/queues/') || !campaign.isRanked(backend)) return '';
  return h(
    'details',
    {class: 'use', open: innerWidth > NARROW},
    h('summary', {}, 'Use it in a program'),
    'In a program: ',
    h('code', {}, `#include "${header.replace('impls/', 'timerbench/')}"`),
    ' has ',
    h('code', {}, `timerbench::${type}`),
    '; how to install it: ',
    h('code', {}, 'docs/use_in_your_program.md'),
  );
}

// The services that drive the structure for several threads on the wall clock.
function serviceOf(campaign, backend) {
  if (!campaign.isRanked(backend)) return 'none, as it is not ranked';
  const {services = [], alike = [], type} = campaign.backends.get(backend);
  const links = (names) => names.map((name, i) => [i ? ', ' : '', serviceLink(name)]);
  if (services.length) return links(services);
  if (alike.length) return [links(alike), ' (another setting of it)'];
  return [
    'none yet; to make one, add ',
    h('code', {}, `Locked<${type ?? '…'}>`),
    ' to ',
    h('code', {}, 'impls/services/roster.h'),
  ];
}

function serviceLink(name) {
  const campaign = CAMPAIGNS.find(
    ({contender, backends}) => contender === 'service' && backends.has(name),
  );
  return campaign ? named(name, campaign) : name;
}

function drawBackend(view) {
  const wanted = view.values.get('of');
  const campaign = view.campaign(
    '',
    CAMPAIGNS.find(({backends}) => backends.has(wanted)),
  );
  const names = [...campaign.backends.keys()];
  const isCosts = campaign.kind === 'costs';
  const backend = view.choose(
    'of',
    capital(campaign.contender),
    names.map((name) => [name, name]),
    names.find((name) => campaign.isRanked(name)),
  );
  const cells = campaign.cells.filter((cell) => cell.backend === backend);
  const kinds = (isCosts ? kindsOfCells(campaign, cells) : []).map(([kind, own]) => ({
    ...kind,
    cells: own,
    rows: rowsOfBackend(campaign, own),
  }));
  return [
    h(
      'section',
      {class: 'card'},
      h('h3', {}, swatch(backend, campaign), backend),
      h('p', {}, summaryOf(campaign, backend), kinds.length > 0 && standing(campaign, kinds[0])),
      factsOf(campaign, backend),
      useInAProgram(campaign, backend),
    ),
    kinds.map((kind, i) => [
      i > 0 && h('p', {}, standing(campaign, kind)),
      kind.rows.length > 0 && againstBestCard(campaign, backend, kind),
    ]),
    !isCosts && figuresCard(campaign, backend, cells),
    isCosts
      ? kinds.map((kind) =>
          failuresNote(campaign, kind.cells, `${capital(kind.plural)} without a figure: `),
        )
      : failuresNote(campaign, cells),
  ];
}

// Whole loads, and single operations, which are judged apart: [kind, cells] of those that there are.
function kindsOfCells(campaign, cells) {
  return [
    [{one: 'load', plural: 'loads'}, cells.filter(({scenario}) => !campaign.isPart(scenario))],
    [
      {one: 'single operation', plural: 'single operations'},
      cells.filter(({scenario}) => campaign.isPart(scenario)),
    ],
  ].filter(([, own]) => own.length);
}

function summaryOf(campaign, backend) {
  const {summary} = campaign.backends.get(backend);
  return summary ? `${capital(summary)}. ` : '';
}

// The backend's loads with the cheapest backend of its precision on each, worst first.
function rowsOfBackend(campaign, cells) {
  const measured = cells.filter((cell) => cell.hasFigure);
  const bests = measured.map((cell) => bestBeside(campaign, cell));
  const compared = compareAll(
    measured.map((cell, i) => (bests[i] === cell ? [] : pairedLogRatios(bests[i], cell))),
    campaign.noise,
  );
  return measured
    .map((cell, i) => ({
      cell,
      best: bests[i],
      key: `${cell.scenario} at ${power(cell.size)}`,
      ratio: bests[i] === cell ? null : compared[i],
    }))
    .sort((a, b) => (b.ratio?.middle ?? 1) - (a.ratio?.middle ?? 1));
}

// The best in the ranking of the cell's precision. Controls and backends that may be early are not
// ranked.
function bestBeside(campaign, cell) {
  if (!campaign.isRanked(cell.backend)) return cell;
  return ranking(rivalsOf(campaign, cell), campaign.noise)[0][0];
}

// The cells of the same precision on the same load, this one too.
function rivalsOf(campaign, cell) {
  const precision = campaign.precisionOf(cell.backend);
  return campaign
    .at(cell.scenario, cell.size)
    .filter((other) => other.hasFigure && campaign.precisionOf(other.backend) === precision);
}

// Says on how many loads, or single operations, the backend is the best, and on which it is
// farthest from the best.
function standing(campaign, {one, cells, rows}) {
  if (!cells.length || !campaign.isRanked(cells[0].backend)) return '';
  const lost = cells.length - rows.length;
  const firsts = rows.filter((row) => isFirst(campaign, row)).length;
  const [worst] = rows;
  return (
    `It is the cheapest of its precision, or tied with it, on ${firsts} of ${counted(cells.length, one)}` +
    (lost ? `; on ${lost} it has no figure` : '') +
    (worst?.ratio
      ? `. Its worst is ${worst.key}, where it takes ${digits(worst.ratio.middle)} times as long as ${worst.best.backend}. `
      : '. ')
  );
}

// Whether the backend is the cheapest on this load, or tied with it.
function isFirst(campaign, {cell, best, ratio: it}) {
  if (best === cell) return true;
  return it.word !== 'slower' && isSure(rivalsOf(campaign, cell));
}

function againstBestCard(campaign, backend, {one, plural, rows}) {
  const precision = campaign.precisionOf(backend);
  const shown = rows.filter(({ratio: it}) => it);
  const columns = [
    {
      title: one,
      left: true,
      value: ({key}) => key,
      text: ({cell, key}) =>
        h(
          'a',
          {href: addressOf('decide', {c: campaign.index, load: `${cell.scenario}/${cell.size}`})},
          key,
        ),
    },
    {
      title: 'ns [95 %]',
      csv: 'ns',
      value: ({cell}) => cell.cost,
      text: ({cell}) => [costWithInterval(cell), doubtMarks(campaign, cell)],
    },
    {
      title: 'the best',
      left: true,
      value: ({best}) => best.backend,
      text: ({best}) => named(best.backend, campaign),
    },
    {
      title: 'to the best',
      csv: 'ratio',
      value: ({ratio: it}) => it?.middle ?? 1,
      text: ({ratio: it}) => (it ? ratioWithInterval(it) : '1'),
    },
    ...boundsColumns(({ratio: it}) => it),
    {
      title: 'so it is',
      left: true,
      value: ({ratio: it}) => it?.word ?? 'the best',
      text: ({ratio: it}) => h('span', {class: it?.word}, it?.word ?? 'the best'),
    },
    ...OF_PASSES.filter(([name]) =>
      rows.some(({cell}) => campaign.pass(name, cell.scenario, cell.size, backend)?.hasFigure),
    ).flatMap(([name, counter, title, unit]) => {
      const of = (cell) =>
        campaign.pass(name, cell.scenario, cell.size, cell.backend)?.value(counter) ?? null;
      return [
        {
          title: `${title}: its, the best's`,
          csv: counter,
          value: ({cell}) => of(cell),
          text: ({cell, best}) =>
            of(cell) === null
              ? null
              : `${unit(of(cell))}, ${best === cell ? 'same' : (inUnit(of(best), unit) ?? '–')}`,
        },
        {title: '', csv: `best_${counter}`, only: 'csv', value: ({best}) => of(best)},
      ];
    }),
    {title: 'rounds', value: ({cell}) => cell.costs.length},
  ];
  const note =
    `Each ${one} where ${backend} has a figure, the worst first. The best is first in the ranking of those that are ${precision}; ` +
    `the chance of any wrong verdict among the lines is 5 %. If it executes more instructions than the best, it does more work; if about as many, it waits for memory or branches. ${noiseNote(campaign)}`;
  if (!shown.length)
    return h(
      'section',
      {class: 'card'},
      h('h3', {}, `${backend} on all ${plural}`),
      tableOf(columns, rows),
    );
  return card({
    title: `${backend} against the best on all ${plural}`,
    note,
    remake: campaign.remakeOf(
      ...OF_PASSES.map(([name]) => name).filter((name) => campaign.passes[name]),
    ),
    height: forestHeight(shown),
    config: (theme, width) => forestChart(shown, campaign, theme, width, `${backend} / best`),
    columns,
    rows,
    isOpen: true,
  });
}

// For a service; the cells of services are compared on their own pages.
function figuresCard(campaign, backend, cells) {
  const [first] = Object.values(campaign.counters);
  const columns = columnsOfRaw(campaign);
  const until = columns.findIndex(({title}) => title === first) + MOST_FIGURES;
  return h(
    'section',
    {class: 'card'},
    h('h3', {}, `${backend} in every scenario`),
    h(
      'p',
      {class: 'note'},
      'Beside others: ',
      h(
        'a',
        {href: addressOf(campaign.kind, {[campaign.kind]: campaign.index})},
        capital(campaign.kind),
      ),
      '; all figures: ',
      h('a', {href: addressOf('raw', {any: campaign.index, find: backend})}, 'Raw'),
      '.',
    ),
    tableOf(
      columns
        .slice(0, until)
        .filter(({title}) => ![campaign.contender, 'precision'].includes(title)),
      cells,
    ),
  );
}
