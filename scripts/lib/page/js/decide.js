'use strict';
// Decide: for a load, what there is to choose from.

const GRANULES = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];
const MEMORY_LIMITS = [16, 32, 64, 128, 256, 512];
const TAIL_LIMITS = [1e3, 1e4, 1e5, 1e6, 1e7];

// What is measured, as loads: how many timers, how many of them never fire, how long their delays are.
function loadsOf(campaign) {
  const keys = new Set(
    campaign.cells.filter((cell) => cell.hasFigure).map((cell) => `${cell.scenario}/${cell.size}`),
  );
  return [...keys].map((key) => {
    const [scenario, size] = key.split('/');
    const input = campaign.input(scenario, size);
    return {
      key,
      scenario,
      isPart: campaign.isPart(scenario),
      size: Number(size),
      population: Math.max(1, input?.peak_pending ?? Number(size)),
      share: input ? input.cancelled_share + input.moved_share : null,
      delay: input?.delay || null,
      granule: input?.unit ? input.unit * Number(campaign.facts.granularity ?? 1) : null,
    };
  });
}

// In decades of timers and of delays, and in tenths of the share.
function distance(load, wanted) {
  const decades = (a, b) => (a === null || b === null ? 0 : Math.abs(Math.log10(a / b)));
  const share =
    load.share === null || wanted.share === null ? 0 : Math.abs(load.share - wanted.share) * 10;
  return (
    2 * decades(load.population, wanted.population) +
    share / 2 +
    decades(load.delay, wanted.delay) / 2
  );
}

function wordsOfLoad({scenario, population, share, delay}) {
  return [
    `${scenario}, at most ${power(population)} timers`,
    share !== null && `${percent(share)} of them cancelled or moved`,
    delay !== null && `half of the delays below ${time(delay)}`,
  ]
    .filter(Boolean)
    .join(', ');
}

// What differs, between the load that was found and the one that is wanted.
function differencesOf(load, wanted) {
  const differences = [];
  const timers = wanted.population / load.population;
  if (timers > 1.2 || timers < 1 / 1.2) {
    differences.push(
      `${digits(Math.max(timers, 1 / timers))} times as ${timers > 1 ? 'few' : 'many'} timers`,
    );
  }
  if (load.share !== null && Math.abs(load.share - wanted.share) > 0.02) {
    differences.push(
      `${percent(load.share)} instead of ${percent(wanted.share)} cancelled or moved`,
    );
  }
  const delays = load.delay === null || wanted.delay === null ? 1 : wanted.delay / load.delay;
  if (delays > 2 || delays < 0.5) {
    differences.push(
      `delays ${digits(Math.max(delays, 1 / delays))} times as ${delays > 1 ? 'short' : 'long'}`,
    );
  }
  return differences;
}

// Which load is shown, and how far it is from the wanted one.
function loadNote(load, wanted) {
  const shown = h('strong', {}, wordsOfLoad(load));
  const part = load.isPart ? ' It is a part of a load: a single kind of operation.' : '';
  if (!wanted) return h('p', {}, 'The load that is shown: ', shown, '.', part);
  const differences = differencesOf(load, wanted);
  const isFar = distance(load, wanted) > 1;
  return [
    h(
      'p',
      {class: isFar ? 'warning' : undefined},
      'The nearest load that was measured: ',
      shown,
      '. ',
      differences.length
        ? `It is not yours: ${differences.join('; ')}. Nothing is interpolated.`
        : 'That is yours.',
    ),
    load.share === null &&
      h(
        'p',
        {class: 'note'},
        'This campaign does not say how many timers are cancelled and how long delays are: choose a load by its name.',
      ),
  ];
}

// What of each precision is later than may be, or nothing.
function lateness(view, {granule}) {
  const most = view.choose('late', 'Granularity: late by at most', [
    ['', 'any'],
    ['0', '0: only exact ones'],
    ...GRANULES.map((granule) => [String(granule), tick(time)(granule)]),
  ]);
  return (precision) => {
    if (most === '' || !['granular', 'relative'].includes(precision)) return '';
    if (precision === 'relative') return 'late by up to an eighth of the delay';
    if (granule === null) return most === '0' ? 'late by up to a granule' : '';
    return granule > Number(most) ? `late by up to its granule of ${tick(time)(granule)}` : '';
  };
}

function granularityNote(campaign, {granule}) {
  const granularity = campaign.facts.granularity ?? '1';
  const length = granule === null ? '' : ` (${tick(time)(granule)})`;
  return h(
    'p',
    {class: 'note'},
    (granularity === '1'
      ? `Measured in granules of one tick${length}; a granular backend rounds what lies between two of them up`
      : `Measured in granules of ${granularity} ticks${length}; a granular backend rounds up to the end of one`) +
      ', which is why it has a ranking of its own.',
  );
}

// Five in a decade, and a decade beyond what was measured, so that what is wanted can be said.
function stepsAround(values) {
  const steps = [];
  const [low, high] = [Math.min(...values), Math.max(...values)];
  for (
    let power10 = Math.floor(Math.log10(low));
    power10 <= Math.ceil(Math.log10(high)) + 1;
    ++power10
  ) {
    for (const step of [1, 2, 3, 5, 7]) steps.push(step * 10 ** power10);
  }
  return steps;
}

function drawDecide(view) {
  const campaign = view.campaign('costs');
  if (!campaign) return nothing('scripts/bench');
  const loads = loadsOf(campaign);
  if (!loads.length) return failuresOf(campaign);
  const [load, wanted] = chooseLoad(view, loads);
  const tooLate = lateness(view, load);
  const limits = [
    limitOn(view, campaign, {
      pass: 'memory',
      counter: 'bytes_per_timer',
      what: 'memory a timer',
      key: 'mem',
      label: 'Memory, at most',
      values: MEMORY_LIMITS,
      text: (value) => `${tick(bytes)(value)} a timer`,
      unit: bytes,
    }),
    limitOn(view, campaign, {
      pass: 'tails',
      counter: 'worst_ns',
      what: 'longest advance',
      key: 'tail',
      label: 'Longest advance, at most',
      values: TAIL_LIMITS,
      text: tick(time),
      unit: time,
    }),
  ];
  const baseline = view.baseline(campaign, 'the cheapest of each precision');
  const cells = campaign.at(load.scenario, load.size);
  return [
    loadNote(load, wanted),
    granularityNote(campaign, load),
    roundsNote(campaign, cells),
    baseline && !cells.some((cell) => cell.backend === baseline && cell.hasFigure)
      ? h('p', {class: 'warning'}, `${baseline} has no figure on this load to compare with.`)
      : null,
    campaign
      .byPrecision(cells.map((cell) => cell.backend))
      .map(([precision, names]) =>
        rankCard(campaign, load, precision, names, tooLate(precision), limits, baseline),
      ),
  ];
}

// By sliders, unless one is picked by name: what is shown, and what is wanted.
function chooseLoad(view, loads) {
  const populations = loads.map((load) => load.population);
  const shares = loads.map((load) => load.share).filter((share) => share !== null);
  const delays = loads.map((load) => load.delay).filter((delay) => delay !== null);
  const whole = loads.filter((load) => !load.isPart);
  const nearestTo = (wanted) =>
    (whole.length ? whole : loads).reduce((best, load) =>
      distance(load, wanted) < distance(best, wanted) ? load : best,
    );
  // It begins with one that was measured, in the middle of them.
  const start = nearestTo({
    population: median(populations),
    share: shares.length ? 0.9 : null,
    delay: delays.length ? median(delays) : null,
  });
  const wanted = {
    population: view.slide(
      'n',
      'Timers pending',
      stepsAround(populations),
      power,
      start.population,
    ),
    share: shares.length
      ? view.slide(
          'never',
          'Cancelled or moved',
          [0, 10, 25, 50, 75, 90, 95, 99, 100],
          (value) => `${value} %`,
          100 * (start.share ?? 0.9),
        ) / 100
      : null,
    delay: delays.length
      ? view.slide(
          'delay',
          'Half of the delays below',
          stepsAround(delays),
          time,
          start.delay ?? median(delays),
        )
      : null,
  };
  const picked = view.choose('load', 'Load', [
    ['', 'the nearest'],
    ...loads.map((load) => [load.key, `${load.scenario} at ${power(load.size)}`]),
  ]);
  const named = loads.find((load) => load.key === picked);
  return named ? [named, null] : [nearestTo(wanted), wanted];
}

// What is wrong with a cell for the limit, or nothing.
function limitOn(view, campaign, {pass, counter, what, key, label, values, text, unit}) {
  if (!campaign.passes[pass]) return () => '';
  const limit = view.choose(key, label, [
    ['', 'any'],
    ...values.map((value) => [String(value), text(value)]),
  ]);
  return ({scenario, size, backend}) => {
    if (!limit) return '';
    const value = campaign.pass(pass, scenario, size, backend)?.value(counter);
    if (value === null || value === undefined) return `its ${what} was not measured`;
    return value > Number(limit) ? `its ${what} is ${unit(value)}` : '';
  };
}

// One precision: a ranking, unless it is `tooLate`, which says by how much.
function rankCard(campaign, load, precision, names, tooLate, limits, baseline) {
  const {heading, meaning, ranked} = PRECISIONS[precision];
  const cells = names.map((name) => campaign.cell(load.scenario, load.size, name));
  const why = (cell) =>
    !cell.hasFigure
      ? cell.failure
      : (ranked && limits.map((limit) => limit(cell)).find(Boolean)) || '';
  const excluded = cells.filter((cell) => why(cell));
  const left = cells.filter((cell) => !why(cell));
  const head =
    precision === 'unknown'
      ? 'Without a figure'
      : `${ranked ? 'Those that are ' : ''}${heading}: ${meaning}`;
  if (tooLate)
    return h('p', {class: 'note'}, `${head}: left out, for ${tooLate} (${names.join(', ')}).`);
  const out =
    excluded.length > 0 &&
    h(
      'p',
      {class: 'note'},
      'Left out: ',
      excluded.map((cell, i) => [i ? '; ' : '', named(cell.backend, campaign), ` (${why(cell)})`]),
    );
  if (!left.length) return h('section', {class: 'card'}, h('h3', {}, head), out);
  const groups = ranked
    ? ranking(left, campaign.noise)
    : [...left].sort((a, b) => a.cost - b.cost).map((cell) => [cell]);
  const rows = rowsOf(campaign, load, groups, ranked, baseline);
  const drawn = card({
    title: `${load.scenario} at ${power(load.size)}, ${heading}`,
    note:
      `${capital(meaning)}. Cost in ns per ${campaign.item(load.scenario)}, median over the rounds with its 95 % interval.` +
      (ranked
        ? ' Those with the same rank are not told apart: each is compared with the first of its rank, the chance of any wrong verdict is 5 %.'
        : '') +
      (baseline && campaign.precisionOf(baseline) !== precision
        ? ` The baseline, ${baseline}, has another precision: ${campaign.precisionOf(baseline)}.`
        : '') +
      ' † over fewer operations, ‡ disturbed in a round.',
    remake: campaign.remakeOf(...shownPasses(campaign, rows)),
    height: rows.length * 26 + 70,
    config: (theme, width) => rankingChart(campaign, rows, theme, width),
    columns: columnsOf(campaign, rows, ranked),
    rows,
    isOpen: true,
    rowClass: (row) =>
      [
        row.isFirst && row.rank > 1 ? 'group' : '',
        row.together ? 'together' : '',
        row.cell.backend === baseline ? 'baseline' : '',
      ]
        .join(' ')
        .trim(),
  });
  if (out) drawn.append(out);
  return drawn;
}

function rowsOf(campaign, load, groups, ranked, baseline) {
  const cells = groups.flat();
  const base = campaign.cell(load.scenario, load.size, baseline || cells[0].backend);
  const compared = base?.hasFigure
    ? compareAll(
        cells.filter((cell) => cell !== base).map((cell) => pairedLogRatios(base, cell)),
        campaign.noise,
      )
    : [];
  const others = compared.values();
  let rank = 1;
  return groups.flatMap((group) => {
    const rows = group.map((cell, i) => ({
      cell,
      rank: ranked ? rank : null,
      isFirst: i === 0,
      together: ranked && group.length > 1,
      base: base?.hasFigure ? base : null,
      ratio: cell === base ? null : (others.next().value ?? null),
    }));
    rank += group.length;
    return rows;
  });
}

// What passes tell of a row.
const OF_PASSES = [
  ['tails', 'worst_ns', 'longest advance, least of 3', time],
  ['memory', 'bytes_per_timer', 'memory a timer', bytes],
  ['instructions', 'instructions_per_item', 'instructions', digits],
];

function ofPass(campaign, {cell}, name) {
  return campaign.pass(name, cell.scenario, cell.size, cell.backend);
}

// Those that have measured any of the rows: instructions are counted at small sizes only.
function shownPasses(campaign, rows) {
  return OF_PASSES.map(([name]) => name).filter((name) =>
    rows.some((row) => ofPass(campaign, row, name)),
  );
}

function columnsOf(campaign, rows, ranked) {
  const shown = shownPasses(campaign, rows);
  const passes = OF_PASSES.filter(([name]) => shown.includes(name)).map(
    ([name, counter, title, unit]) => {
      const value = (row) => ofPass(campaign, row, name)?.value(counter) ?? null;
      return {
        title,
        csv: counter,
        value,
        text: (row) => inUnit(value(row), unit) ?? (ofPass(campaign, row, name)?.status || null),
      };
    },
  );
  return [
    ...(ranked ? [{title: 'rank', value: ({rank}) => rank}] : []),
    {
      title: 'backend',
      left: true,
      value: ({cell}) => cell.backend,
      text: ({cell}) => [named(cell.backend, campaign), doubtMarks(campaign, cell)],
    },
    {
      title: 'ns [95 %]',
      csv: 'ns',
      value: ({cell}) => cell.cost,
      text: ({cell}) => costWithInterval(cell),
    },
    ...boundsColumns(({cell}) => cell.interval),
    {
      title: 'to the baseline',
      csv: 'ratio',
      value: ({ratio: one, base}) => one?.middle ?? (base ? 1 : null),
      text: ({ratio: one, base}) => (one ? ratioWithInterval(one) : base ? '1' : '–'),
    },
    {
      title: 'so it is',
      left: true,
      value: ({ratio: one}) => one?.word ?? '',
      text: ({ratio: one, base, cell}) =>
        one ? h('span', {class: one.word}, one.word) : base === cell ? 'the baseline' : '',
    },
    ...passes,
    {title: 'rounds', value: ({cell}) => cell.costs.length},
  ];
}

// Signs behind the name of one that was measured over less than half of the operations that others
// were, or that was disturbed in a round however often it was repeated.
function doubtMarks(campaign, cell) {
  const most = Math.max(...campaign.at(cell.scenario, cell.size).map((other) => other.items ?? 0));
  return [
    cell.items < most / 2 ? h('span', {title: 'measured over fewer operations'}, ' †') : '',
    cell.noisy ? h('span', {title: 'disturbed in a round'}, ' ‡') : '',
  ];
}

function rankingChart(campaign, rows, theme, width) {
  return dotsChart(theme, width, {
    points: rows.map(({cell}) => ({
      x: cell.cost,
      y: cell.backend,
      low: cell.interval.low,
      high: cell.interval.high,
      text: `${cell.backend}: ${costWithInterval(cell)} ns`,
    })),
    styles: rows.map(({cell}) => markerOf(cell.backend, campaign, theme)),
    title: 'ns',
    unit: digits,
  });
}
