'use strict';
// Scaling: cost against the number of pending timers, a line for each backend.

const ASSUMED_BYTES = 64; // bytes per timer if the memory pass is missing

function drawScaling(view) {
  const campaign = view.campaign('costs');
  if (!campaign) return nothing('scripts/bench');
  const scenario = view.scenario(campaign);
  const baseline = view.baseline(campaign, 'none: in ns');
  const cells = campaign.cells.filter((cell) => cell.scenario === scenario);
  if (!cells.some((cell) => cell.hasFigure)) return failuresOf({cells});
  const isRelative = Boolean(baseline);
  const item = campaign.item(scenario);
  const rows = cells.map((cell) => {
    const base = isRelative ? campaign.cell(scenario, cell.size, baseline) : null;
    const shown = !cell.hasFigure
      ? null
      : !isRelative
        ? {y: cell.cost, ...boundsOf(cell.interval)}
        : base?.hasFigure
          ? relativeTo(base, cell)
          : null;
    return {cell, shown};
  });
  const sizes = cells.filter((cell) => cell.hasFigure).map((cell) => cell.size);
  const band = isRelative ? [] : bandOfHarness(campaign, scenario);
  view.answerWith(
    [...new Set([sizes[0], sizes.at(-1)])].map((size) => cheapestOn(campaign, scenario, size)),
  );
  return [
    card({
      title: isRelative
        ? `${scenario}: cost by number of timers, over that of ${baseline}`
        : `${scenario}: cost by number of timers`,
      note:
        `Per ${item}; whiskers are 95 % intervals of medians over the rounds. ${cachesNote(campaign)} ` +
        (isRelative
          ? `${noiseNote(campaign)} Shaded: differences within the noise. `
          : band.length
            ? 'Shaded: what the harness itself takes. '
            : '') +
        'Do not rank lines of different precision with each other.' +
        marksNote(
          campaign,
          rows.map(({cell}) => cell),
        ),
      remake: campaign.remake,
      height: heightFor(campaign.backends.size, 430),
      config: (theme, width) =>
        linesOf(
          campaign,
          scenario,
          {rows, band},
          isRelative ? 'times as much' : `ns per ${item}`,
          isRelative,
          theme,
          width,
        ),
      columns: [
        ...cellColumns(campaign),
        {
          title: 'ns [95 %]',
          csv: 'ns',
          value: ({cell}) => cell.cost,
          text: ({cell}) =>
            cell.hasFigure
              ? [costWithInterval(cell), doubtMarks(campaign, cell)]
              : insteadOfFigure(cell),
        },
        ...boundsColumns(({cell}) => cell.interval),
        {title: 'status', value: ({cell}) => cell.failure || 'ok', only: 'csv'},
        ...(isRelative
          ? [
              {
                title: `to ${baseline}`,
                csv: 'ratio',
                value: ({shown}) => shown?.y,
                text: ({shown}) => (shown ? relationWithInterval(shown) : null),
              },
            ]
          : []),
      ],
      rows,
    }),
    failuresNote(campaign, cells),
  ];
}

// Names the cheapest of each precision on a load in a sentence.
function cheapestOn(campaign, scenario, size) {
  const winners = winnersOf(campaign, scenario, size);
  return h(
    'p',
    {},
    `On ${scenario} at ${power(size)} `,
    listedParts(
      winners.map(([precision, cell]) => [
        named(cell.backend, campaign),
        ` (${digits(cell.cost)} ns) is the cheapest ${precision} backend`,
      ]),
    ),
    winners.length ? '.' : 'no ranked backend has a figure.',
  );
}

// The interval of a cost or a ratio, if there are enough rounds.
function boundsOf({low, high}) {
  return low > 0 && Number.isFinite(high) ? {low, high} : {};
}

// The columns that say which cell a row is of.
function cellColumns(campaign) {
  return [
    {
      title: 'timers',
      csv: 'size',
      value: ({cell}) => cell.size,
      text: ({cell}) => power(cell.size),
    },
    {
      title: 'backend',
      left: true,
      value: ({cell}) => cell.backend,
      text: ({cell}) => named(cell.backend, campaign),
    },
    {title: 'precision', left: true, value: ({cell}) => campaign.precisionOf(cell.backend)},
  ];
}

// The CSV columns of the interval.
function boundsColumns(intervalOf) {
  return ['low', 'high'].map((end) => ({
    title: end,
    only: 'csv',
    value: (row) => boundsOf(intervalOf(row) ?? {})[end],
  }));
}

function relativeTo(base, cell) {
  const ratios = pairedLogRatios(base, cell);
  if (!ratios.length) return null;
  const {low, middle, high} = medianInterval(ratios);
  return {y: Math.exp(middle), ...boundsOf({low: Math.exp(low), high: Math.exp(high)})};
}

// Of what relativeTo() returns.
function relationWithInterval({y, low = 0, high = Infinity}) {
  return ratioWithInterval({middle: y, low, high});
}

function linesOf(campaign, scenario, {rows, band}, axis, isRelative, theme, width) {
  const sizes = campaign.sizes(scenario);
  const datasets = [...campaign.backends.keys()]
    .map((backend) =>
      lineOf(
        backend,
        campaign,
        theme,
        rows
          .filter(({cell}) => cell.backend === backend)
          .map(({cell, shown}) => ({
            x: cell.size,
            y: shown?.y ?? NaN,
            low: shown?.low,
            high: shown?.high,
            text: `${backend} at ${power(cell.size)}: ${shown ? (isRelative ? ratio(shown.y) : `${costWithInterval(cell)} ns`) : cell.status}`,
          })),
      ),
    )
    .filter(({data}) => data.length);
  const values = datasets.flatMap(({data}) =>
    data.flatMap(({y, low, high}) => [y, low ?? y, high ?? y]),
  );
  const noise = Math.max(campaign.noise, Math.log1p(LEAST_EFFECT));
  return linesChart(theme, width, {
    datasets,
    xTitle: 'pending timers',
    xText: power,
    xs: sizes,
    y: logScale(
      theme,
      axis,
      isRelative ? (value) => `×${value}` : digits,
      isRelative ? [...values, 1] : [...values, ...band.map(({high}) => high)],
    ),
    marks: {
      lines: cacheLines(campaign),
      band: isRelative
        ? [sizes[0] / 2, sizes.at(-1) * 2].map((x) => ({
            x,
            low: Math.exp(-noise),
            high: Math.exp(noise),
          }))
        : band,
    },
  });
}

// The band below the cost of the harness, which no backend can undercut; empty if it was not
// measured.
function bandOfHarness(campaign, scenario) {
  return campaign
    .sizes(scenario)
    .map((size) => harnessOf(campaign, scenario, size))
    .filter(Boolean)
    .map((cell) => ({x: cell.size, low: 1e-3, high: cell.cost}));
}

function cacheLines(campaign) {
  return campaign.caches.map(({name, bytes: size}) => ({at: size / ASSUMED_BYTES, text: name}));
}

function cachesNote(campaign) {
  if (!campaign.caches.length) return '';
  const sizes = campaign.caches
    .map(({name, bytes: size}) => `${name} of ${bytes(size)}`)
    .join(', ');
  return `Dashed: the number of timers that fills a cache, at ${ASSUMED_BYTES} bytes each (${sizes}).`;
}

function noiseNote(campaign) {
  return campaign.knowsNoise
    ? `Two measurements of one backend differ by up to ${percent(Math.expm1(campaign.noise))} (nine of ten pairs).`
    : 'Nothing was measured twice, so the noise is unknown; 1 % is assumed.';
}
