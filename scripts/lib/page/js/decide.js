'use strict';
// Decide: the best choice for a load. The answer comes first, then its evidence.

const GRANULES = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];
const MEMORY_LIMITS = [16, 32, 64, 128, 256, 512];
const TAIL_LIMITS = [1e3, 1e4, 1e5, 1e6, 1e7];
const RATES = [1, 2, 3, 4, 5, 6, 7, 8].flatMap((power10) =>
  [1, 2, 5].map((step) => step * 10 ** power10),
);
const USUAL_RATE = 1e5;
const MOST_NAMED = 3; // of those that are tied
const ENOUGH = 0.01; // of a core: what a library may take and nobody feels
const LONG_ADVANCE = 1e5; // ns; a longer advance gets a caveat

function drawDecide(view) {
  const campaign = view.campaign('costs');
  if (!campaign) return nothing('scripts/bench');
  const loads = loadsOf(campaign);
  if (!loads.length) return failuresOf(campaign);
  const [found, wanted] = chooseLoads(view, loads);
  const [nearest] = found;
  const shown = [...found].sort((a, b) => a.size - b.size);
  const rate = view.measure(
    'rate',
    'Operations a second',
    RATES,
    {text: (value) => grouped(String(value)), read: readCount, example: '200k'},
    USUAL_RATE,
  );
  const tooLate = lateness(view, campaign, nearest);
  const limits = limitsOn(view, campaign);
  const used = chooseLibrary(view, campaign);
  const baseline = view.baseline(campaign, used || 'the cheapest of each precision') || used;
  const rankings = shown.map((load) => rankingsOf(campaign, load, tooLate, limits));
  view.answerWith(
    h('p', {}, 'For ', loadWords(campaign, shown, wanted)),
    answers({campaign, shown, wanted, rate, rankings, isPunctual: view.values.get('late') === '0'}),
    yoursNote(campaign, found, wanted),
    used && libraryNote({campaign, used, load: shown.at(-1), rate, rankings: rankings.at(-1)}),
    roundsNote(
      campaign,
      rankings
        .flat()
        .filter(({ranked, tooLate: why}) => ranked && !why)
        .map(({groups}) => groups.flat()),
    ),
    h(
      'details',
      {class: 'more', open: innerWidth > NARROW},
      h('summary', {}, 'A caveat, how to measure it, and other pages'),
      caveat(campaign, rankings),
      measureNote(campaign, found, wanted, rankings.at(-1)),
      linksOf(campaign, nearest),
    ),
  );
  view.explain(granularityNote(campaign, nearest));
  return shown.map((load, i) => [
    baseline && !campaign.cell(load.scenario, load.size, baseline)?.hasFigure
      ? h('p', {class: 'warning'}, `${baseline} has no figure on this load to compare with.`)
      : null,
    h(
      'div',
      {class: 'side-by-side'},
      rankings[i].map((ranking_) => rankCard(campaign, load, ranking_, baseline)),
    ),
  ]);
}

// --- Which load ----------------------------------------------------------------------------------

// Chooses loads by numbers or by name. Returns the shown loads and the wanted load.
function chooseLoads(view, loads) {
  const populations = loads.map((load) => load.population);
  const shares = loads.map((load) => load.share).filter((share) => share !== null);
  const delays = loads.map((load) => load.delay).filter((delay) => delay !== null);
  const whole = loads.filter((load) => !load.isPart);
  const candidates = whole.length ? whole : loads;
  // Starts with the named load, or with a middle one of those measured.
  const picked = loads.find(({key}) => key === view.values.get('load'));
  const [start] = nearestLoads(picked ? [picked] : candidates, {
    population: median(populations),
    share: shares.length ? 0.9 : null,
    delay: delays.length ? median(delays) : null,
  });
  if (picked) showNumbersOf(view, picked);
  const wanted = {
    population: view.measure(
      'n',
      'Timers pending',
      stepsAround(populations),
      {text: (value) => grouped(String(value)), read: readCount, example: '200k'},
      start.population,
    ),
    share: shares.length
      ? view.measure(
          'never',
          'Cancelled or moved',
          [0, 10, 25, 50, 75, 90, 95, 99, 100],
          {
            text: (value) => tick(percent)(value / 100),
            read: readPercent,
            isFit: isPercentage,
            example: '99 %',
          },
          100 * (start.share ?? 0.9),
        ) / 100
      : null,
    delay: delays.length
      ? view.measure(
          'delay',
          'Delay: half are below',
          stepsAround(delays),
          {text: tick(time), read: readDelay, example: '60s or 15ms'},
          start.delay ?? median(delays),
        )
      : null,
  };
  view.choose('load', 'Load', [
    ['', 'the nearest'],
    ...loads.map((load) => [load.key, `${load.scenario} at ${power(load.size)}`]),
  ]);
  return picked ? [[picked], null] : [nearestLoads(candidates, wanted), wanted];
}

// Shows the numbers of a load that is picked by name. When the reader changes one of them, the page
// looks for the nearest load again.
function showNumbersOf(view, {population, share, delay}) {
  const numbers = Object.entries({n: population, never: share && 100 * share, delay});
  for (const [key] of numbers) view.values.delete(key);
  view.beforeSet = (changed) => {
    if (!numbers.some(([key]) => key === changed)) return;
    for (const [key, value] of numbers) if (value !== null) view.values.set(key, String(value));
    view.values.delete('load');
  };
}

function isPercentage(value) {
  return value >= 0 && value <= 100;
}

// Five steps per decade, and one decade beyond the measured values, so that any load can be asked
// for.
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

// Names the load that the answer is for.
function loadWords(campaign, shown, wanted) {
  const [load] = shown;
  const isYours = !wanted || (shown.length === 1 && !differencesOf(campaign, load, wanted).length);
  return [
    h('strong', {}, load.scenario),
    ` at ${shown.map(({size}) => power(size)).join(' and ')}`,
    isYours
      ? `: ${wordsOfLoad(load)}.${wanted && load.share !== null ? ' Your load was measured.' : ''}`
      : ', the measured load that is nearest to yours:',
    load.isPart && ' It is a part of a load: a single kind of operation.',
  ];
}

// Says how this differs from the reader's load, if it does.
function yoursNote(campaign, [load, other], wanted) {
  if (!wanted) return null;
  if (load.share === null)
    return h(
      'p',
      {class: 'yours'},
      'This campaign does not say how many timers are cancelled and how long delays are: choose a load by its name.',
    );
  const differences = differencesOf(campaign, load, wanted, other);
  if (!differences.length) return null;
  return h(
    'p',
    {class: 'yours'},
    h('strong', {}, 'Your load differs: '),
    `${differences.join('; ')}. Nothing is interpolated.`,
  );
}

// `rankings`: those of the largest load shown. The command measures the first of each.
function measureNote(campaign, [load, other], wanted, rankings) {
  const isMeasured = !wanted || !differencesOf(campaign, load, wanted, other).length;
  const names = namedIn(rankings);
  const hasLibraries = names.some((name) => isLibrary(campaign.precisionOf(name)));
  return h(
    'p',
    {class: 'note'},
    isMeasured ? 'On your machine: ' : 'Measure exactly yours: ',
    commandOf(
      commandFor(load, wanted ?? load, hasLibraries ? 'peers' : 'release') +
        (names.length ? ` --backends=${names.join(',')}` : ''),
    ),
  );
}

function namedIn(rankings) {
  return rankings
    .filter(({ranked}) => ranked)
    .flatMap(({groups}) => groups.flat().slice(0, MOST_NAMED))
    .map(({backend}) => backend);
}

// Returns a function that says which precisions are later than allowed. Deadlines of a trace are
// whole ticks, so with a granularity of one tick a granular backend is exact.
function lateness(view, campaign, {tick: length, granule}) {
  const most = view.choose('late', 'Late by at most, beyond a tick', [
    ['', 'any'],
    ['0', '0: not at all'],
    ...GRANULES.map((one) => [String(one), tick(time)(one)]),
  ]);
  const isCoarse = granularityOf(campaign) > 1;
  return (precision) => {
    const kind = punctuality(precision);
    if (most === '' || !['granular', 'relative'].includes(kind)) return '';
    if (kind === 'relative') return 'late by up to 8/63 of the delay';
    if (!isCoarse) return '';
    if (granule === null) return most === '0' ? 'late by up to a granule' : '';
    return granule - length > Number(most)
      ? `late by up to its granule of ${tick(time)(granule)}`
      : '';
  };
}

function granularityNote(campaign, {granule}) {
  const granularity = granularityOf(campaign);
  const length = granule === null ? '' : ` (${tick(time)(granule)})`;
  return h(
    'p',
    {},
    granularity === 1
      ? `Measured in granules of one tick${length}. All deadlines of a trace are whole ticks, so a granular backend is as exact as any here. In a program, deadlines between two ticks wait for the next, so granular backends have a ranking of their own.`
      : `Measured in granules of ${granularity} ticks${length}. A granular backend rounds deadlines up to the end of a granule, so it has a ranking of its own.`,
  );
}

// --- The answer ----------------------------------------------------------------------------------

// By precision: the ranked backends, and those left out with the reason.
function rankingsOf(campaign, load, tooLate, limits) {
  const cells = campaign.at(load.scenario, load.size);
  return campaign
    .byPrecision(cells.map((cell) => cell.backend))
    .sort(([one], [other]) => placeOf(one) - placeOf(other))
    .map(([precision, names]) => {
      const {ranked} = PRECISIONS[precision];
      const own = names.map((name) => campaign.cell(load.scenario, load.size, name));
      const why = (cell) =>
        !cell.hasFigure
          ? cell.failure
          : (ranked && limits.map((limit) => limit(cell)).find(Boolean)) || '';
      const left = own.filter((cell) => !why(cell));
      return {
        precision,
        ranked,
        names,
        tooLate: tooLate(precision),
        excluded: own.filter((cell) => why(cell)).map((cell) => [cell, why(cell)]),
        groups: ranked
          ? ranking(left, campaign.noise)
          : [...left].sort((a, b) => a.cost - b.cost).map((cell) => [cell]),
      };
    });
}

// Precisions that may be late come first, then exact, then libraries, then those that are not ranked.
function placeOf(precision) {
  const kind = punctuality(precision);
  if (!PRECISIONS[precision].ranked) return 4;
  return (kind === precision ? 0 : 2) + (kind === 'exact' ? 1 : 0);
}

// A column for each precision. They are not ranked with each other.
function answers({campaign, shown, wanted, rate, rankings, isPunctual}) {
  return h(
    'div',
    {class: 'answers'},
    rankings[0]
      .filter(({ranked}) => ranked)
      .map(({precision}) => {
        const own = rankings.map((all) => all.find((one) => one.precision === precision));
        return h(
          'section',
          {'data-precision': precision},
          h('h3', {}, conditionOf(precision, shown[0], isPunctual)),
          answerOf(campaign, own, shown, wanted ?? shown[0], rate),
        );
      }),
  );
}

// `isPunctual`: the reader wants no timer to be late.
function conditionOf(precision, {granule}, isPunctual) {
  const kind = punctuality(precision);
  const condition = {
    exact: 'if no timer may be late',
    granular: isPunctual
      ? `if deadlines are multiples of ${granule === null ? 'a granule' : tick(time)(granule)}`
      : `if ${granule === null ? 'a granule' : tick(time)(granule)} late is fine`,
    relative: 'if 8/63 of the delay late is fine',
  }[kind];
  return kind === precision ? capital(condition) : `Of the libraries, ${condition}`;
}

function answerOf(campaign, own, shown, {population}, rate) {
  if (own[0].tooLate) return h('p', {}, `Nothing: all are ${own[0].tooLate}.`);
  const firsts = own.map((one) => one?.groups[0] ?? []);
  if (!firsts[0].length) return h('p', {}, 'No backend fits these limits.');
  const inAll = firsts[0].filter((cell) =>
    firsts.every((group) => group.some(({backend}) => backend === cell.backend)),
  );
  const isSame = inAll.length > 0;
  const groups = isSame
    ? firsts.map((group) => inAll.map(({backend}) => group.find((one) => one.backend === backend)))
    : firsts.filter((group) => group.length);
  const item = campaign.item(shown[0].scenario);
  const worst = Math.max(...groups.map(([first]) => first.cost));
  const memory = campaign.pass('memory', shown[0].scenario, shown[0].size, groups[0][0].backend);
  const bytesOfTimer = memory?.value('bytes_per_timer') ?? null;
  return [
    h(
      'p',
      {},
      groups
        .slice(0, isSame ? 1 : 2)
        .map((group, i) => [
          i ? '; ' : '',
          isSame || shown.length === 1 ? '' : `at ${power(group[0].size)} `,
          tiedNames(campaign, group),
          ': ',
          isSame && groups.length > 1
            ? groups.map((one) => `${costsOf(one)} at ${power(one[0].size)}`).join(', ')
            : costsOf(group),
        ]),
      ` per ${item}${bytesOfTimer === null ? '' : `, ${bytes(bytesOfTimer)} a timer`}. `,
      `${grouped(String(rate))} a second take ${groups.length > 1 ? 'at most ' : ''}${percent((rate * worst) / 1e9)} of a core` +
        (bytesOfTimer === null
          ? '.'
          : `; ${grouped(String(population))} timers take ${megabytes(bytesOfTimer * population)}.`),
    ),
    useOf(campaign, groups[0][0].backend),
  ];
}

// 3.36 MB, or 2.00 kB: units of a thousand, in which memory is bought.
function megabytes(value) {
  return value < 1e5 ? `${digits(value / 1e3)} kB` : `${digits(value / 1e6)} MB`;
}

function tiedNames(campaign, group) {
  const shown = group.slice(0, MOST_NAMED);
  return [
    shown.map((cell, i) => [
      i ? ', ' : '',
      h('strong', {}, named(cell.backend, campaign)),
      doubtMarks(campaign, cell),
    ]),
    group.length > MOST_NAMED ? ` and ${group.length - MOST_NAMED} more` : '',
    group.length > 1 ? ' (tied)' : '',
  ];
}

// The range of costs of tied backends: 18.7 to 19.1 ns.
function costsOf(group) {
  const ends = [Math.min, Math.max].map((of) => digits(of(...group.map(({cost}) => cost))));
  return `${[...new Set(ends)].join(' to ')} ns`;
}

// The backend's header, its source, when it is bad, and the services that drive it.
function useOf(campaign, backend) {
  return h(
    'details',
    {class: 'use', open: innerWidth > NARROW},
    h('summary', {}, 'About ', h('span', {}, backend)),
    factsOf(campaign, backend, ['Header', 'Bad', 'Service']),
  );
}

// --- The library that the reader has ---------------------------------------------------------------

// Offers the libraries of the campaign, if it has any. Returns the chosen one, or nothing.
function chooseLibrary(view, campaign) {
  const libraries = [...campaign.backends.keys()].filter((name) =>
    isLibrary(campaign.precisionOf(name)),
  );
  if (!libraries.length) return '';
  return view.choose('use', 'You use', [
    ['', 'none of these libraries'],
    ...libraries.map((name) => [name, name]),
  ]);
}

// For how many timers and operations it is enough, by the measured sizes, and what an own structure
// of the same precision would save.
function libraryNote({campaign, used, load, rate, rankings}) {
  const tried = campaign
    .sizes(load.scenario)
    .map((size) => campaign.cell(load.scenario, size, used))
    .filter(Boolean);
  const cells = tried.filter(({hasFigure}) => hasFigure);
  const without = tried.filter(({hasFigure}) => !hasFigure);
  if (!cells.length) return h('p', {class: 'warning'}, `${used} has no figure on this load.`);
  const isEnough = (cell) => rate * cell.cost < ENOUGH * 1e9;
  const enough = cells.filter(isEnough);
  const own = rankings.find(({precision}) => precision === punctuality(campaign.precisionOf(used)));
  const best = own?.groups[0]?.[0];
  const mine = campaign.cell(load.scenario, load.size, used);
  return h(
    'p',
    {class: 'library'},
    'You use ',
    h('strong', {}, used),
    `: ${100 * ENOUGH} % of a core pays for `,
    cells
      .map(
        ({cost, size}) => `${grouped(rounded((ENOUGH * 1e9) / cost))} a second at ${power(size)}`,
      )
      .join(', '),
    without.length > 0 &&
      `; without a figure: ${without.map(({size, status}) => `${power(size)} (${status})`).join(', ')}`,
    `. Your ${grouped(String(rate))} `,
    enough.length === tried.length
      ? 'take less at every size: it is enough.'
      : enough.length
        ? `take less at ${enough.map(({size}) => power(size)).join(' and ')} timers, where it is enough.`
        : 'take more at every measured size.',
    best &&
      mine?.hasFigure && [
        ` At ${power(load.size)} `,
        h('strong', {}, best.backend),
        `, which is as punctual, takes ${percent((rate * best.cost) / 1e9)} of a core instead of ` +
          `${percent((rate * mine.cost) / 1e9)}: ${rounded(mine.cost / best.cost)} times cheaper.`,
      ],
  );
}

// Two digits: 25 678 is 26000.
function rounded(value) {
  return String(Number(value.toPrecision(2)));
}

// What else the answer does not say.
function caveat(campaign, rankings) {
  const cells = rankings.flat().flatMap(({ranked, groups}) => (ranked ? (groups[0] ?? []) : []));
  const [longest] = cells
    .map((cell) => ({cell, tails: campaign.pass('tails', cell.scenario, cell.size, cell.backend)}))
    .map(({cell, tails}) => ({cell, ns: tails?.value('worst_ns') ?? 0, tails}))
    .sort((a, b) => b.ns - a.ns);
  return h(
    'p',
    {class: 'caveat'},
    h('strong', {}, 'Caveat: '),
    'a call in your program takes longer: a replay overlaps neighbouring operations.',
    longest?.ns >= LONG_ADVANCE &&
      ` One advance of ${longest.cell.backend} took ${time(longest.ns)} at ${power(longest.cell.size)} timers${movedWords(longest.tails)}.`,
  );
}

function movedWords(tails) {
  const moved = tails.value('worst_moved');
  return moved ? `, which moved ${grouped(String(moved))} timers` : '';
}

// Links to the same load on other pages.
function linksOf(campaign, {scenario, size}) {
  const links = [
    ['scaling', 'cost by number of timers', {w: scenario}],
    campaign.passes.tails?.at(scenario, size).length && [
      'tails',
      'longest calls',
      {w: scenario, s: size},
    ],
    campaign.passes.memory?.at(scenario, size).length && [
      'memory',
      'memory',
      {w: scenario, s: size},
    ],
    accuracyOf(scenario, size),
  ];
  return h(
    'p',
    {class: 'note'},
    'The same load: ',
    links
      .filter(Boolean)
      .map(([page, text, values], i) => [
        i ? ', ' : '',
        h('a', {href: addressOf(page, values)}, text),
      ]),
    '.',
  );
}

// Links to the services' lateness, at this load if it was measured.
function accuracyOf(scenario, size) {
  const campaign = CAMPAIGNS.find(({kind}) => kind === 'accuracy');
  if (!campaign) return null;
  const isSame = campaign.scenarios.includes(scenario);
  const own = isSame ? {w: scenario} : {};
  if (isSame && campaign.sizes(scenario).includes(size)) own.s = size;
  return [
    'accuracy',
    isSame ? 'lateness of services' : 'lateness of services (at other loads)',
    own,
  ];
}

// Why a cell exceeds the limit; empty if it does not.
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
    // Compares the displayed digits: 32.0 B is within 32 B.
    return Number(value.toPrecision(3)) > Number(limit) ? `its ${what} is ${unit(value)}` : '';
  };
}

function limitsOn(view, campaign) {
  return [
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
}

// --- What it rests on ----------------------------------------------------------------------------

// The card of one precision: a ranking, unless it is too late.
function rankCard(campaign, load, {precision, ranked, names, tooLate, excluded, groups}, baseline) {
  const {heading, meaning} = PRECISIONS[precision];
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
      excluded.map(([cell, why], i) => [i ? '; ' : '', named(cell.backend, campaign), ` (${why})`]),
    );
  if (!groups.length) return h('section', {class: 'card'}, h('h3', {}, head), out);
  const rows = rowsOf(campaign, load, groups, ranked, baseline);
  const drawn = card({
    title: `${load.scenario} at ${power(load.size)}, ${heading}`,
    note:
      `Per ${campaign.item(load.scenario)}: rounds, and their median with its 95 % interval.` +
      (ranked
        ? ' Backends with the same rank in the data are tied; within a rank the chance of any wrong verdict is 5 %.'
        : '') +
      (baseline && campaign.precisionOf(baseline) !== precision
        ? ` The baseline, ${baseline}, has another precision (${campaign.precisionOf(baseline)}): ratios to it are told, and nothing is judged by them.`
        : '') +
      marksNote(campaign, groups.flat()),
    remake: campaign.remakeOf(...shownPasses(campaign, rows)),
    height: rows.length * 26 + 70,
    config: (theme, width) => rankingChart(campaign, rows, theme, width),
    columns: columnsOf(campaign, rows, ranked),
    rows,
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
      ratio: cell === base ? null : judged(campaign, base, cell, others.next().value ?? null),
    }));
    rank += group.length;
    return rows;
  });
}

// Backends of different precision get a ratio without a verdict.
function judged(campaign, base, cell, ratio_) {
  if (!ratio_) return null;
  const isAlike_ = campaign.precisionOf(base.backend) === campaign.precisionOf(cell.backend);
  return isAlike_ ? ratio_ : {...ratio_, word: ''};
}

// The columns from passes.
const OF_PASSES = [
  ['tails', 'worst_ns', 'longest advance, least of 3', time],
  ['memory', 'bytes_per_timer', 'memory a timer', bytes],
  ['instructions', 'instructions_per_item', 'instructions', digits],
];

function ofPass(campaign, {cell}, name) {
  return campaign.pass(name, cell.scenario, cell.size, cell.backend);
}

// The passes that measured any of the rows; instructions are counted at small sizes only.
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
        one
          ? h('span', {class: one.word || 'none'}, one.word || 'of another precision')
          : base === cell
            ? 'the baseline'
            : '',
    },
    ...passes,
    {title: 'rounds', value: ({cell}) => cell.costs.length},
  ];
}

// The medians with their intervals, above the rounds.
function rankingChart(campaign, rows, theme, width) {
  const styles = rows.map(({cell}) => markerOf(cell.backend, campaign, theme));
  const rounds = rows.flatMap(({cell}, i) =>
    cell.costs.map((cost) => ({x: cost, y: cell.backend, colour: styles[i].colour})),
  );
  const chart = dotsChart(theme, width, {
    points: rows.map(({cell}) => ({
      x: cell.cost,
      y: cell.backend,
      low: cell.interval.low,
      high: cell.interval.high,
      text: `${cell.backend}: ${costWithInterval(cell)} ns`,
    })),
    styles,
    title: 'ns',
    unit: digits,
    reach: rounds.map(({x}) => x),
  });
  chart.data.datasets.push({
    data: rounds,
    showLine: false,
    pointStyle: 'circle',
    pointRadius: 2,
    pointHoverRadius: 2,
    pointBorderWidth: 0,
    pointBackgroundColor: rounds.map(({colour}) => see(colour, 0.45)),
  });
  chart.options.plugins.tooltip.filter = ({datasetIndex}) => datasetIndex === 0;
  return chart;
}
