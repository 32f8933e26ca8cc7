'use strict';
// Survival: what durable timers survive, as a matrix of queues and faults, and the time line of the
// run that tells the most of each.

function drawSurvival(view) {
  const campaign = view.campaign('survival');
  if (!campaign) return nothing('scripts/bench faults');
  view.answerWith(saidIn(campaign.answers));
  const worst = worstOf(campaign.cells);
  const options = (names) => names.map((name) => [name, name]);
  const queue = view.choose(
    'queue',
    'Queue',
    options([...campaign.backends.keys()]),
    worst.backend,
  );
  const fault = view.choose('fault', 'Fault', options(campaign.scenarios), worst.scenario);
  const chosen = campaign.cells.find((cell) => cell.backend === queue && cell.scenario === fault);
  const measured = campaign.cells.filter((cell) => cell.hasFigure);
  return [
    survivalCard(view, campaign, chosen),
    chosenCard(campaign, queue, fault, chosen),
    chosen?.run && runCard(campaign, chosen),
    measured.length > 0 && allSurvivalCard(campaign, measured),
  ];
}

// The cell that is shown first: of a broken promise, or with the largest share that is lost.
function worstOf(cells) {
  const rank = (cell) => (cell.hasFigure ? 2 * (cell.value('breaches') > 0) + shareLost(cell) : -1);
  return cells.reduce((worst, cell) => (rank(cell) > rank(worst) ? cell : worst));
}

function shareLost(cell) {
  return cell.value('lost') / Math.max(1, cell.value('acknowledged'));
}

function lostText(cell) {
  return `${grouped(String(cell.value('lost')))} of ${grouped(String(cell.value('acknowledged')))}`;
}

// Timers of one run are lost together, so runs count.
function lossyText(cell) {
  const runs = counted(cell.size, 'run');
  return cell.value('lost') > 0 ? `${cell.value('lossy')} of ${runs}` : runs;
}

// What a cell says in a sentence.
function fateText(campaign, cell) {
  const verdict = campaign.verdicts[cell.verdict];
  if (cell.verdict === 'LOSES_ALL') return verdict;
  const why = cell.failure.replace(/^skipped: /, '');
  return cell.hasFigure
    ? `${verdict}: ${lostText(cell)} acknowledged timers never fired in ${lossyText(cell)}; the engine ${cell.promise}`
    : `${verdict}: ${why}`;
}

// --- The matrix ----------------------------------------------------------------------------------

function survivalCard(view, campaign, chosen) {
  const cells = new Map(
    campaign.cells.map((cell) => [keyOfTile(cell.backend, cell.scenario), cell]),
  );
  const verdicts = new Set(campaign.cells.map((cell) => cell.verdict));
  const head = (fault) =>
    h(
      'th',
      {scope: 'col', title: campaign.happens[fault] || undefined},
      h('span', {}, fault.replaceAll('_', ' ')),
    );
  const row = (queue) =>
    h(
      'tr',
      {},
      h('th', {scope: 'row', class: 'stays'}, named(queue, campaign)),
      campaign.scenarios.map((fault) =>
        h('td', {}, tileOfCell(view, campaign, cells.get(keyOfTile(queue, fault)), chosen)),
      ),
    );
  return h(
    'section',
    {class: 'card survival'},
    h('h3', {}, 'Acknowledged timers that never fired, by queue and fault'),
    h(
      'p',
      {class: 'note'},
      'A tile has the number of lost timers in all runs, of all that were acknowledged and not cancelled. ',
      'Choose a tile by a click, or by the arrow keys and Enter: below it stand all figures and the time line of the worst run.',
    ),
    h(
      'ul',
      {class: 'legend'},
      Object.entries(campaign.verdicts)
        .filter(([verdict]) => verdicts.has(verdict))
        .map(([verdict, text]) =>
          h('li', {}, h('span', {class: `tile ${verdict}`}, SIGNS[verdict]), text),
        ),
      Object.entries(campaign.signs).map(([sign, meaning]) =>
        h('li', {}, h('b', {}, sign), ` ${meaning}`),
      ),
    ),
    h(
      'div',
      {class: 'wide'},
      h(
        'table',
        {onkeydown: moveByKey},
        h('thead', {}, h('tr', {}, h('td', {class: 'stays'}), campaign.scenarios.map(head))),
        h('tbody', {}, [...campaign.backends.keys()].map(row)),
      ),
    ),
  );
}

// What a tile shows instead of a number, or behind it.
const SIGNS = {
  KEPT: '0',
  ALLOWED: '5',
  BROKEN: '5!',
  LOSES_ALL: 'all‡',
  LEFT_OUT: '–',
  UNKNOWN: '?',
};

function keyOfTile(queue, fault) {
  return `${queue}/${fault}`;
}

function tileOfCell(view, campaign, cell, chosen) {
  if (!cell) return null;
  const place = keyOfTile(cell.backend, cell.scenario);
  const {verdict} = cell;
  const text = `${cell.backend}, ${cell.scenario}: ${fateText(campaign, cell)}`;
  return h(
    'button',
    {
      type: 'button',
      class: `tile ${verdict}`,
      'data-key': `tile:${place}`,
      'aria-label': text,
      'aria-pressed': String(cell === chosen),
      title: text,
      tabindex: cell === (chosen ?? campaign.cells[0]) ? 0 : -1, // one stop of the key Tab for all
      onclick: () => {
        view.values.set('queue', cell.backend);
        view.set('fault', cell.scenario);
      },
    },
    cell.hasFigure
      ? h(
          'span',
          {class: 'count'},
          shortCount(cell.value('lost')),
          h('sup', {}, cell.signs),
          h('small', {}, `of ${shortCount(cell.value('acknowledged'))}`),
        )
      : verdict === 'LOSES_ALL'
        ? h('span', {class: 'count'}, 'all', h('sup', {}, '‡'))
        : SIGNS[verdict],
  );
}

// At most four letters: 132, 4.0k, 51k, 1.2M. A number that is cut would be another one.
function shortCount(number) {
  if (number < 1000) return String(number);
  const [unit, factor] = number < 999_500 ? ['k', 1e3] : ['M', 1e6];
  return (number / factor).toFixed(number < 9.95 * factor ? 1 : 0) + unit;
}

// The arrow keys move between tiles.
function moveByKey(event) {
  const [right, down] =
    {ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1]}[event.key] ?? [];
  const from = event.target.closest('td');
  if (right === undefined || !from) return;
  event.preventDefault();
  const {rows} = from.closest('tbody');
  let [x, y] = [from.cellIndex, from.parentElement.sectionRowIndex];
  for (;;) {
    [x, y] = [x + right, y + down];
    const cell = rows[y]?.cells[x];
    if (!cell) return;
    const tile = cell.querySelector('.tile');
    if (tile) return tile.focus();
    if (x === 0) return;
  }
}

// --- One queue with one fault --------------------------------------------------------------------

function chosenCard(campaign, queue, fault, cell) {
  const happens = campaign.happens[fault];
  return h(
    'section',
    {class: 'card chosen', 'aria-live': 'polite'},
    h('h3', {}, `${queue} in ${fault}`),
    happens && h('p', {}, `${capital(happens)}.`),
    cell ? h('dl', {class: 'facts'}, factsOfCell(campaign, cell)) : h('p', {}, 'Not measured.'),
  );
}

function factsOfCell(campaign, cell) {
  const {verdict} = cell;
  const facts = [['Outcome', [h('span', {class: `tile ${verdict}`}, campaign.verdicts[verdict])]]];
  if (!cell.hasFigure) {
    facts.push(['Why', cell.failure.replace(/^skipped: /, '')]);
  } else {
    const number = (counter) => grouped(String(cell.value(counter)));
    const seconds = (counter) => time(1e9 * cell.value(counter));
    facts.push(
      ['Promise', `when this happens, the engine ${cell.promise}`],
      ['Lost', `${lostText(cell)} acknowledged timers, in ${lossyText(cell)}`],
      [
        'Fired',
        `${number('fired_twice')} twice or more often, ${number('fired_without_acknowledgement')} without acknowledgement, ${number('fired_after_cancel')} after they were cancelled`,
      ],
      [
        'Late',
        `${seconds('latest_seconds')} behind the deadline at most; nobody fired for ${seconds('silent_seconds')} while a timer was due, in the median run for ${seconds('median_silent_seconds')}`,
      ],
    );
    if (cell.value('no_starts'))
      facts.push([
        'No start',
        `after ${cell.value('no_starts')} of ${counted(cell.size, 'run')} the engine does not start again${cell.run?.no_start ? `: ${cell.run.no_start}` : ''}`,
      ]);
    if (verdict === 'BROKEN')
      facts.push([
        'Broken',
        h(
          'span',
          {class: 'slower'},
          `in ${cell.value('breaches')} of ${counted(cell.size, 'run')}${cell.run?.breach ? `: ${cell.run.breach}` : ''}`,
        ),
      ]);
    facts.push([
      verdict === 'KEPT' ? 'Repeat a run' : 'Repeat the worst run',
      [commandOf(cell.repeat), ` (seed ${cell.seed})`],
    ]);
  }
  return facts.map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]);
}

// The lines above, of producers, and those below, of workers: first what was wanted, as an area.
const PARTS = [
  {axis: 'y', title: 'armed', lines: ['asked', 'acknowledged'], colour: 'accent'},
  {axis: 'y2', title: 'fired', lines: ['due', 'fired'], colour: 'good'},
];

function runCard(campaign, cell) {
  const {run} = cell;
  const steps = run.lines.due.map((_, i) => i);
  const at = (step) => step * run.step;
  return card({
    title: `${cell.backend} in ${cell.scenario}: the run with seed ${cell.seed}`,
    note:
      `Timers in each step of ${time(1e9 * run.step)}. Above, producers arm timers and the engine acknowledges them; below, those that were acknowledged fall due and workers fire them. ` +
      `In this run ${grouped(String(run.lost))} of ${grouped(String(run.acknowledged))} acknowledged timers never fired.`,
    remake: cell.repeat,
    height: (width) => Math.max(300, Math.min(420, 0.4 * width)),
    config: (theme, width) => timelineChart(campaign, run, steps, at, theme, width),
    columns: [
      {title: 'seconds', value: (step) => Number(at(step).toFixed(3))},
      ...Object.entries(campaign.lines).map(([name, title]) => ({
        title,
        value: (step) => run.lines[name][step],
      })),
    ],
    rows: steps,
  });
}

function strikeLines(strikes, length) {
  if (strikes.length > 1)
    return strikes.map(([begin], i) => ({
      at: begin,
      text: i === 0 ? `${strikes.length} strikes` : '',
    }));
  return strikes.flatMap(([begin, end]) => {
    if (end === null) return [{at: begin, text: 'fault, never mended'}];
    const hasRoom = end - begin >= 0.2 * length; // for words beside each other
    return hasRoom
      ? [
          {at: begin, text: 'fault'},
          {at: end, text: 'mended'},
        ]
      : [
          {at: begin, text: ''},
          {at: end, text: `fault, mended after ${time(1e9 * (end - begin))}`},
        ];
  });
}

function timelineChart(campaign, run, steps, at, theme, width) {
  const datasets = PARTS.flatMap(({axis, lines, colour}) =>
    lines.map((name, i) => ({
      label: campaign.lines[name],
      yAxisID: axis,
      data: steps.map((step) => ({x: at(step), y: run.lines[name][step]})),
      stepped: true,
      fill: i === 0 ? 'origin' : false,
      borderColor: i === 0 ? theme.faint : theme[colour],
      backgroundColor: i === 0 ? see(theme.faint, 0.3) : theme[colour],
      borderWidth: i === 0 ? 0.8 : 1.8,
      pointStyle: i === 0 ? 'rect' : 'line',
      pointRadius: 0,
      pointHoverRadius: 3,
    })),
  );
  const options = optionsOf(theme, width, {
    scales: {
      x: scaleOf(theme, 'seconds since the begin of the run', tick(digits), {
        type: 'linear',
        min: 0,
        max: at(steps.length),
      }),
      ...Object.fromEntries(
        PARTS.map(({axis, title}, i) => [
          axis,
          scaleOf(theme, `${title}, a step`, String, {
            stack: 'parts',
            stackWeight: 1,
            weight: 1 - i,
            offset: true,
            beginAtZero: true,
            grace: '12%',
            ticks: {precision: 0},
          }),
        ]),
      ),
    },
    tooltip: {
      title: ([{parsed}]) => `${digits(parsed.x)} s`,
      label: ({dataset, parsed}) => `${dataset.label}: ${parsed.y}`,
    },
    plugins: {
      marks: {
        ink: theme.ink,
        shade: theme.shade,
        paper: theme.paper,
        lines: strikeLines(run.strikes, at(steps.length)),
        spans: run.strikes.map(([begin, end]) => [begin, end ?? at(steps.length)]),
      },
    },
  });
  options.interaction = {mode: 'index', intersect: false};
  return {type: 'line', data: {datasets}, options};
}

// --- All of them ---------------------------------------------------------------------------------

function allSurvivalCard(campaign, cells) {
  const columns = [
    {title: 'fault', left: true, value: (cell) => cell.scenario},
    {
      title: 'queue',
      left: true,
      value: (cell) => cell.backend,
      text: (cell) => named(cell.backend, campaign),
    },
    {title: 'the engine', csv: 'promise', left: true, value: (cell) => cell.promise},
    {title: 'runs', value: (cell) => cell.size},
    ...Object.entries(campaign.counters).map(([name, title]) => ({
      title,
      csv: name,
      value: (cell) => cell.value(name),
    })),
    {title: 'outcome', left: true, value: (cell) => campaign.verdicts[cell.verdict]},
    {title: 'seed', only: 'csv', value: (cell) => cell.seed},
  ];
  return h(
    'section',
    {class: 'card'},
    h('h3', {}, 'All figures'),
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
              `timerbench_${fileName(`${campaign.name} survival`)}.csv`,
              'text/csv',
              csvOf(columns, cells),
            ),
        },
        'CSV',
      ),
    ),
    h('details', {}, h('summary', {}, 'The table'), tableOf(columns, cells)),
  );
}
