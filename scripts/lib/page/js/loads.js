'use strict';
// Loads: those measured, the one that the reader wants, their differences, and the command that
// measures the wanted one.

const ALIKE = 0.05; // numbers of timers and delays that differ by less count as equal
const ALIKE_SHARE = 0.02;

// The measured loads: number of timers, share that never fires, and delay.
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
      generator: input?.of || scenario,
      parameters: input?.parameters ?? {},
      tick: input?.unit || null,
      granule: input?.unit ? input.unit * granularityOf(campaign) : null,
    };
  });
}

function granularityOf(campaign) {
  return Number(campaign.facts.granularity ?? 1);
}

// The distance in decades of timers and of delays, and in tenths of the share.
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

// The nearest load. If the wanted number of timers lies between two sizes of its workload, also the
// load of the other size. The nearer comes first.
function nearestLoads(loads, wanted) {
  const nearest = loads.reduce((best, load) =>
    distance(load, wanted) < distance(best, wanted) ? load : best,
  );
  const isBelow = nearest.population < wanted.population;
  if (isAlike(nearest.population, wanted.population)) return [nearest];
  const beyond = loads
    .filter(({scenario}) => scenario === nearest.scenario)
    .filter(({population}) =>
      isBelow ? population >= wanted.population : population <= wanted.population,
    )
    .sort((a, b) => (isBelow ? 1 : -1) * (a.population - b.population));
  return [nearest, ...beyond.slice(0, 1)];
}

function isAlike(one, other) {
  return Math.abs(Math.log(one / other)) <= ALIKE;
}

function wordsOfLoad({population, share, delay}) {
  return [
    `${grouped(String(population))} timers`,
    share !== null && `${tick(percent)(share)} of them cancelled or moved`,
    delay !== null && `half of the delays below ${tick(time)(delay)}`,
  ]
    .filter(Boolean)
    .join(', ');
}

// The differences between a measured load, or two sizes of it, and the wanted one; empty if they
// are equal.
function differencesOf(campaign, load, wanted, other = null) {
  const differences = [];
  if (!isAlike(load.population, wanted.population)) {
    const measured = [load, other].filter(Boolean).map(({population}) => population);
    const words = measured.sort((a, b) => a - b).map((one) => grouped(String(one)));
    differences.push(
      `${words.join(' and ')} timers instead of ${grouped(String(wanted.population))}`,
    );
  }
  if (load.share !== null && Math.abs(load.share - wanted.share) > ALIKE_SHARE)
    differences.push(
      `${tick(percent)(load.share)} instead of ${tick(percent)(wanted.share)} cancelled or moved`,
    );
  if (load.delay !== null && wanted.delay !== null) {
    const crossed = spansBetween(campaign, load, wanted);
    if (crossed.length || !isAlike(load.delay, wanted.delay))
      differences.push(
        [
          `delays of ${tick(time)(load.delay)} instead of ${tick(time)(wanted.delay)}`,
          ...crossed,
        ].join(', and between them '),
      );
  }
  return differences;
}

// The ends of wheel levels and ring rounds between the delays of the two loads. Structures treat
// timers beyond them differently.
function spansBetween(campaign, load, wanted) {
  if (load.granule === null) return [];
  const [low, high] = [load.delay, wanted.delay].sort((a, b) => a - b);
  const spans = new Map();
  for (const {name, slots, has_levels: hasLevels} of campaign.backends.values()) {
    if (!slots || !campaign.isRanked(name)) continue;
    for (let span = load.granule * slots; span <= high; span *= slots) {
      if (span > low) spans.set(span, [...(spans.get(span) ?? []), name]);
      if (!hasLevels) break;
    }
  }
  return [...spans]
    .sort(([one], [other]) => one - other)
    .map(([span, names]) => `a level of ${listed(names)} ends, at ${tick(time)(span)}`);
}

// The command for exactly the wanted load, of the program that the preset builds. It uses the same
// workload if the parameters can express the load, else requests, which take any number, share and
// time-out.
function commandFor(load, wanted, preset = 'release') {
  const [workload, settings] = expressed(load, wanted);
  return [
    `build/${preset}/timerbench run --workloads=${workload}`,
    ...settings.map(([name, value]) => `--set ${name}=${/\s/.test(value) ? `'${value}'` : value}`),
    `--sizes=${sizeWord(wanted.population)}`,
  ].join(' ');
}

// The workload, and its parameters.
function expressed({generator, share, delay, parameters}, wanted) {
  if (wanted.share === null || wanted.delay === null) return [generator, []];
  const own = Object.entries(parameters).filter(([name]) => ['timeout', 'delay'].includes(name));
  const fits = own.length > 0 && Math.abs(share - wanted.share) <= ALIKE_SHARE;
  if (!fits || parameters.latency) return ['requests', settingsOfRequests(wanted)];
  const stretched = (text) =>
    text.replace(/[\d.]+(?:ns|us|ms|s|min|h|d)\b/g, (one) =>
      duration((readTime(one) * wanted.delay) / medianOf(text, delay)),
    );
  const isSame = isAlike(delay, wanted.delay);
  return [generator, own.map(([name, value]) => [name, isSame ? value : stretched(value)])];
}

// The median of a delay distribution; `else_` if it is unknown.
function medianOf(text, else_) {
  const [, kind, rest] = text.match(/^(?:([a-z]+) )?(.*)$/);
  const [first, second] = rest.split(' ').map(readTime);
  return (
    {uniform: (first + second) / 2, exponential: first * Math.LN2}[kind] ??
    (['constant', 'lognormal', undefined].includes(kind) ? first : else_)
  );
}

// The latency of requests is uniform up to `latest`; later requests time out.
function settingsOfRequests({share, delay}) {
  const latest = share > 0 ? delay / share : 2 * delay;
  const latency =
    share > 0
      ? `uniform 1ms ${duration(share < 1 ? latest : 0.96 * delay)}`
      : `constant ${duration(latest)}`;
  return [
    ['timeout', `constant ${duration(delay)}`],
    ['latency', latency],
  ];
}

// In the syntax of workloads: the largest unit that gives a whole number, from milliseconds on.
function duration(ns) {
  const ms = Math.max(1, Math.round(ns / 1e6));
  for (const [unit, of] of [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['min', 60_000],
    ['s', 1000],
  ]) {
    if (ms % of === 0 && (unit !== 'min' || ms > of)) return `${ms / of}${unit}`;
  }
  return `${ms}ms`;
}

function sizeWord(size) {
  return size % 1000 === 0 && size < 1e6 ? `${size / 1000}k` : String(size);
}

// --- What people type ----------------------------------------------------------------------------

const DURATIONS = {ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9, min: 60e9, h: 3600e9, d: 86_400e9};
const MULTIPLES = {'': 1, k: 1e3, m: 1e6, g: 1e9};

// Reads 200000, 200 000, 200k, 2e5 or 1M; else NaN.
function readCount(text) {
  const [, number, multiple] =
    text.replace(/[\s\u202f,_']/g, '').match(/^(\d*\.?\d+(?:e\d+)?)([kmg]?)$/i) ?? [];
  return number === undefined ? NaN : Number(number) * MULTIPLES[multiple.toLowerCase()];
}

// Reads 60s, 1.5 min or 250 ms; a number alone is in ns; else NaN.
function readTime(text) {
  const [, number, unit] =
    text.replace(/[\s\u202f]/g, '').match(/^(\d*\.?\d+(?:e\d+)?)(ns|us|µs|ms|s|min|h|d)?$/) ?? [];
  return number === undefined ? NaN : Number(number) * DURATIONS[unit ?? 'ns'];
}

// Reads a time with its unit; else NaN.
function readDelay(text) {
  return /[a-zµ]\s*$/.test(text) ? readTime(text) : NaN;
}

// Reads 99, 99 % or 99.5%; else NaN. 0.99 alone may be a share, and is not read.
function readPercent(text) {
  const [, digits_, sign] = text.replace(/\s/g, '').match(/^(\d*\.?\d+)(%?)$/) ?? [];
  const number = Number(digits_ ?? NaN);
  return number > 100 || (number > 0 && number < 1 && !sign) ? NaN : number;
}

// Lists names: one, one and two, or one, two and three.
function listed(names) {
  return listedParts(names).flat().join('');
}

// The same for parts of the page.
function listedParts(parts) {
  return parts.map((part, i) => [i === 0 ? '' : i === parts.length - 1 ? ' and ' : ', ', part]);
}
