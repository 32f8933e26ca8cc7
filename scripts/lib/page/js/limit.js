'use strict';
// Limit: how many times as much as one store a timer costs. One store is the replay with the
// control FLOOR, which only writes each deadline into an array. scripts/lib/figures/limit.py draws the
// same.

const FLOOR = 'one_store';
const STORES_NOTHING = ['fire', 'tick']; // items of workloads that only advance
const MOST_LINES = 8; // backends; of more, only the nearest are drawn

function drawLimit(view) {
  const campaign = view.campaign('costs');
  if (!campaign) return nothing('scripts/bench');
  const scenarios = campaign.scenarios.filter((name) => sizesWithFloor(campaign, name).length);
  if (!scenarios.length)
    return h(
      'p',
      {class: 'warning'},
      `No load here has a figure of ${FLOOR}, the control that this page compares with: measure it too.`,
    );
  const scenario = view.choose(
    'w',
    'Workload',
    scenarios.map((name) => [name, name]),
    scenarios.find((name) => !campaign.isPart(name)),
  );
  const sizes = sizesWithFloor(campaign, scenario);
  const size = Number(
    view.choose(
      's',
      'Pending timers',
      sizes.map((one) => [String(one), power(one)]),
      String(tellingSize(campaign, scenario, sizes)),
    ),
  );
  view.answerWith(limitAnswer(campaign, scenario, size));
  return [
    distancesCard(campaign, scenario),
    failuresNote(
      campaign,
      campaign.cells.filter((cell) => cell.scenario === scenario),
    ),
    nearestCard(campaign, scenarios),
  ];
}

// The cell of the floor, even if the reader filters it out; null without a figure, and where it
// stores nothing.
function floorOf(campaign, scenario, size) {
  const cell = CAMPAIGNS[campaign.index].cell(scenario, size, FLOOR);
  return cell?.hasFigure && !STORES_NOTHING.includes(campaign.item(scenario)) ? cell : null;
}

function sizesWithFloor(campaign, scenario) {
  return campaign.sizes(scenario).filter((size) => floorOf(campaign, scenario, size));
}

// The cost over that of the floor in the same rounds; null without one of the two. The cost of the
// harness is in both: at small sizes a store adds less to it than the noise.
function distanceOf(campaign, cell) {
  const floor = floorOf(campaign, cell.scenario, cell.size);
  return floor && cell.hasFigure ? relativeTo(floor, cell) : null;
}

function harnessOf(campaign, scenario, size) {
  const cell = CAMPAIGNS[campaign.index].cell(scenario, size, 'null');
  return cell?.hasFigure ? cell : null;
}

// The nearest of each ranked precision on a load: [precision, cell, distance].
function nearestOn(campaign, scenario, size) {
  return winnersOf(campaign, scenario, size)
    .map(([precision, cell]) => [precision, cell, distanceOf(campaign, cell)])
    .filter(([, , distance]) => distance);
}

// What the nearest cost, how sure that is, and what to do.
function limitAnswer(campaign, scenario, size) {
  const nearest = nearestOn(campaign, scenario, size);
  const load = `${scenario} at ${power(size)} timers`;
  if (!nearest.length) return h('p', {}, `No ranked backend has a figure on ${load}.`);
  const without = campaign
    .byPrecision(campaign.at(scenario, size).map(({backend}) => backend))
    .map(([precision]) => precision)
    .filter((one) => PRECISIONS[one].ranked && nearest.every(([precision]) => precision !== one));
  return [
    h(
      'p',
      {},
      nearest.map(([precision, {backend}, {y}], i) => [
        `${i ? '; the' : 'The'} nearest ${precision} backend, `,
        named(backend, campaign),
        i ? ', ' : ', costs ',
        h('strong', {}, `${digits(y)} times`),
        i ? '' : ` as much as one store on ${load}`,
      ]),
      without.map((precision) => `; no ${precision} backend has a figure`),
      '.',
    ),
    h(
      'details',
      {class: 'more', open: innerWidth > NARROW},
      h('summary', {}, 'How sure that is, and what to do'),
      h('p', {}, h('strong', {}, 'How sure: '), surenessOf(campaign, scenario, size, nearest)),
      h('p', {}, h('strong', {}, 'What to do: '), adviceOn(campaign, scenario, size, nearest)),
    ),
  ];
}

const HARDLY_MORE = 1.1; // times the harness; one store that costs less cannot be told from it

function surenessOf(campaign, scenario, size, nearest) {
  const floor = floorOf(campaign, scenario, size).cost;
  const harness = harnessOf(campaign, scenario, size)?.cost;
  const intervals = nearest.map(
    ([, {backend}, {low, high}]) => `${digits(low)} to ${digits(high)} (${backend})`,
  );
  return [
    nearest.every(([, , {low}]) => low)
      ? ['the 95 % intervals are ', listedParts(intervals), '. ']
      : `there are too few rounds for an interval; it takes ${LEAST_ROUNDS}. `,
    harness === undefined
      ? `One store took ${time(floor)}. The cost of the harness is in both.`
      : floor < HARDLY_MORE * harness
        ? `One store took ${time(floor)} and the harness alone ${time(harness)}: a store adds too little to tell. So this is the distance to the harness, and rather too short.`
        : `One store took ${time(floor)}, and the harness alone ${time(harness)}. The harness is in both costs; without it the distance would be longer.`,
  ];
}

function adviceOn(campaign, scenario, size, nearest) {
  const floor = floorOf(campaign, scenario, size).cost;
  if (campaign.isPart(scenario))
    return 'nothing yet. This is a single kind of operation; choose by a whole load.';
  const saved = nearest.map(
    ([precision, {cost}]) => `${time(Math.max(0, cost - floor))} (${precision})`,
  );
  return [
    `take the nearest that is precise enough. Another structure could save at most `,
    listedParts(saved),
    ` per ${campaign.item(scenario)}. If your program does not feel that, look for time elsewhere.`,
  ];
}

// The backends that are drawn: of few all, of many those that are the nearest at any size.
function drawnOn(campaign, scenario) {
  const names = [...campaign.backends.keys()];
  if (names.length <= MOST_LINES)
    return names.filter((name) => campaign.precisionOf(name) !== 'none');
  const nearest = sizesWithFloor(campaign, scenario).flatMap((size) =>
    nearestOn(campaign, scenario, size).map(([, {backend}]) => backend),
  );
  return names.filter((name) => nearest.includes(name));
}

function distancesCard(campaign, scenario) {
  const rows = campaign.cells
    .filter((cell) => cell.scenario === scenario && campaign.precisionOf(cell.backend) !== 'none')
    .map((cell) => ({cell, distance: distanceOf(campaign, cell)}));
  const drawn = drawnOn(campaign, scenario);
  const isSome = campaign.backends.size > MOST_LINES;
  const band = bandOfShare(campaign, scenario);
  return card({
    title: `${scenario}: distance to one store by number of timers`,
    note: [
      `Cost divided by that of ${FLOOR} in the same round; whiskers are 95 % intervals of medians over the rounds. `,
      band.length > 0 && 'Shaded: what the harness itself takes, which is in both. ',
      isSome && [
        'Of each precision those that are the cheapest at any size; ',
        h('a', {href: addressOf('scaling', {w: scenario, b: FLOOR})}, 'Scaling has all'),
        '. ',
      ],
      'Do not rank lines of different precision with each other.',
      marksNote(
        campaign,
        rows.map(({cell}) => cell),
      ),
    ],
    remake: campaign.remake,
    height: heightFor(drawn.length, 400),
    config: (theme, width) => distanceLines(campaign, scenario, {drawn, rows, band}, theme, width),
    columns: [
      ...cellColumns(campaign),
      {
        title: 'times one store [95 %]',
        csv: 'distance',
        value: ({distance}) => distance?.y,
        text: ({cell, distance}) =>
          distance
            ? [relationWithInterval(distance), doubtMarks(campaign, cell)]
            : insteadOfFigure(cell),
      },
      ...boundsColumns(({distance}) => distance),
      {title: 'status', value: ({cell}) => cell.failure || 'ok', only: 'csv'},
    ],
    rows,
  });
}

function distanceLines(campaign, scenario, {drawn, rows, band}, theme, width) {
  const sizes = sizesWithFloor(campaign, scenario);
  const contenders = drawn
    .map((backend) =>
      lineOf(
        backend,
        campaign,
        theme,
        rows
          .filter(({cell}) => cell.backend === backend)
          .map(({cell, distance}) => ({
            x: cell.size,
            y: distance?.y ?? NaN,
            low: distance?.low,
            high: distance?.high,
            text: `${backend} at ${power(cell.size)}: ${distance ? relationWithInterval(distance) : cell.status}`,
          })),
      ),
    )
    .filter(({data}) => data.some(({y}) => y > 0));
  const floor = lineOf(
    FLOOR,
    CAMPAIGNS[campaign.index],
    theme,
    sizes.map((x) => ({
      x,
      y: 1,
      text: `${FLOOR} at ${power(x)}: ${time(floorOf(campaign, scenario, x).cost)}`,
    })),
  );
  const values = contenders
    .flatMap(({data}) => data.flatMap(({y, low, high}) => [y, low ?? y, high ?? y]))
    .filter((value) => value > 0); // a cell without a figure has none
  return linesChart(theme, width, {
    datasets: [...contenders, floor],
    xTitle: 'pending timers',
    xText: power,
    xs: sizes,
    y: logScale(theme, 'times one store', (value) => `×${value}`, [
      ...values,
      ...band.map(({high}) => high),
      0.7,
    ]),
    marks: {band},
  });
}

// The band below the harness's share of one store; empty if it was not measured.
function bandOfShare(campaign, scenario) {
  return sizesWithFloor(campaign, scenario)
    .map((x) => ({x, harness: harnessOf(campaign, scenario, x)}))
    .map(({x, harness}) => ({x, low: 1e-3, high: harness && distanceOf(campaign, harness)?.y}))
    .filter(({high}) => high);
}

function nearestCard(campaign, scenarios) {
  const rows = scenarios.flatMap((scenario) =>
    sizesWithFloor(campaign, scenario).flatMap((size) =>
      nearestOn(campaign, scenario, size).map(([precision, {backend}, distance], i) => ({
        scenario,
        size,
        floor: floorOf(campaign, scenario, size),
        harness: harnessOf(campaign, scenario, size),
        precision,
        backend,
        distance,
        isFirst: i === 0,
      })),
    ),
  );
  const idle = campaign.scenarios.filter((name) => STORES_NOTHING.includes(campaign.item(name)));
  return h(
    'section',
    {class: 'card'},
    h('h3', {}, 'Every load: the nearest of each precision'),
    h(
      'p',
      {class: 'note'},
      'Medians, and the cost over that of one store with its 95 % interval. Where one store costs hardly more than the harness, this is the distance to the harness.',
      idle.length
        ? ` Without ${idle.join(', ')}: only advances are measured, so ${FLOOR} has nothing to store.`
        : '',
    ),
    tableOf(
      [
        {
          title: 'load',
          left: true,
          value: ({scenario}) => scenario,
          text: ({scenario, size}) =>
            h('a', {href: addressOf('limit', {w: scenario, s: size})}, scenario),
        },
        {title: 'timers', value: ({size}) => size, text: ({size}) => power(size)},
        {
          title: 'harness, ns',
          value: ({harness}) => harness?.cost,
          text: ({harness}) => harness && digits(harness.cost),
        },
        {
          title: 'one store, ns',
          value: ({floor}) => floor.cost,
          text: ({floor}) => digits(floor.cost),
        },
        {title: 'precision', left: true, value: ({precision}) => precision},
        {
          title: 'nearest',
          left: true,
          value: ({backend}) => backend,
          text: ({backend}) => named(backend, campaign),
        },
        {
          title: 'times one store [95 %]',
          value: ({distance}) => distance.y,
          text: ({distance}) => relationWithInterval(distance),
        },
      ],
      rows,
      ({isFirst}) => (isFirst ? 'group' : ''),
    ),
  );
}
