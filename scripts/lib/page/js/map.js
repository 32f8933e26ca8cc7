'use strict';
// Map: the cheapest backend by number of timers and by the share that never fires.

function drawMap(view) {
  const campaign = view.campaign('costs', firstOfSuite('map'));
  if (!campaign) return nothing('scripts/bench map');
  const precision = view.precision(campaign);
  const hasParts = campaign.scenarios.some((scenario) => campaign.isPart(scenario));
  const withParts = hasParts && view.check('parts', 'single operations too');
  const columns = columnsOfMap(campaign, withParts);
  const swept = columns.filter(({scenario}) => campaign.sizes(scenario).length > 1);
  const sizes = [
    ...new Set((swept.length ? swept : columns).flatMap(({scenario}) => campaign.sizes(scenario))),
  ].sort((a, b) => a - b);
  const rows = columns.flatMap((column, x) =>
    campaign
      .sizes(column.scenario)
      .map((size) =>
        tileOf(campaign, precision, column, size, x, sizes.indexOf(nearestSize(sizes, size))),
      ),
  );
  if (!precision) return failuresOf({cells: campaign.cells.filter((cell) => !cell.hasFigure)});
  if (!rows.some((row) => row.first)) {
    return [
      h('p', {class: 'warning'}, `No backend that is ${precision} has a figure.`),
      failuresNote(
        campaign,
        campaign.cells.filter((cell) => campaign.precisionOf(cell.backend) === precision),
      ),
    ];
  }
  const won = rows.filter(({first}) => first);
  const wins = new Map();
  for (const {first} of won) wins.set(first.backend, (wins.get(first.backend) ?? 0) + 1);
  const [most, ...others] = [...wins].sort(([, one], [, other]) => other - one);
  view.answerWith(
    h(
      'p',
      {},
      `Of the ${precision} backends, `,
      listedParts([
        [
          named(most[0], campaign),
          ` is the cheapest on ${most[1]} of ${counted(won.length, 'load')}`,
        ],
        ...others.map(([backend, count]) => [named(backend, campaign), ` on ${count}`]),
      ]),
      '.',
    ),
    roundsNote(
      campaign,
      rows.map(({cells}) => cells),
    ),
  );
  return [
    card({
      title: `The cheapest of those that are ${precision}, by load`,
      note:
        `${capital(PRECISIONS[precision].meaning)}. Hatched: others are tied with it (see the data). Alone: no other has a figure. None: no backend has a figure (see the data). Empty: not measured. ` +
        (columns.some(({share}) => share === null)
          ? 'The file does not say how many timers are cancelled. '
          : 'From left to right, more of the timers are cancelled or moved. ') +
        noiseNote(campaign),
      remake: campaign.remake,
      height: sizes.length * 56 + 130,
      config: (theme, width) =>
        leadingToBackends(view, campaign, mapOf(campaign, columns, sizes, rows, theme, width)),
      columns: [
        {title: 'load', csv: 'workload', left: true, value: ({column}) => column.scenario},
        {
          title: 'cancelled or moved',
          csv: 'share',
          value: ({share}) => share,
          text: ({share}) => (share === null ? null : percent(share)),
        },
        {title: 'timers', csv: 'size', value: ({size}) => size, text: ({size}) => power(size)},
        {
          title: 'cheapest',
          left: true,
          value: ({first}) => first?.backend,
          text: ({first, failed}) =>
            first ? named(first.backend, campaign) : `no figure: ${countedStatuses(failed)}`,
        },
        {
          title: 'ns [95 %]',
          csv: 'ns',
          value: ({first}) => first?.cost,
          text: ({first}) =>
            first ? [costWithInterval(first), doubtMarks(campaign, first)] : null,
        },
        {
          title: 'tied with it',
          left: 'words',
          value: ({others, isAlone}) =>
            isAlone ? 'it alone has a figure' : others.map((cell) => cell.backend).join(' '),
        },
      ],
      rows,
      rowClass: ({others}) => (others.length ? 'together' : ''),
    }),
  ];
}

// A recording has its own size and is shown in the nearest row.
function nearestSize(sizes, size) {
  return sizes.reduce((best, one) =>
    Math.abs(Math.log(one / size)) < Math.abs(Math.log(best / size)) ? one : best,
  );
}

// Workloads by the share of their timers that never fire.
function columnsOfMap(campaign, withParts) {
  const share = (scenario) => {
    const known = campaign
      .sizes(scenario)
      .map((size) => campaign.input(scenario, size))
      .filter(Boolean)
      .map((input) => input.cancelled_share + input.moved_share);
    return known.length ? median(known) : null;
  };
  const whole = campaign.scenarios.filter((scenario) => withParts || !campaign.isPart(scenario));
  return (whole.length ? whole : campaign.scenarios)
    .map((scenario) => ({scenario, share: share(scenario)}))
    .sort((a, b) => (a.share ?? 0) - (b.share ?? 0));
}

function tileOf(campaign, precision, column, size, x, y) {
  const all = campaign
    .at(column.scenario, size)
    .filter((cell) => campaign.precisionOf(cell.backend) === precision);
  const cells = all.filter((cell) => cell.hasFigure);
  const [[first, ...others] = []] = cells.length ? ranking(cells, campaign.noise) : [];
  const input = campaign.input(column.scenario, size);
  return {
    column,
    size,
    x,
    y,
    cells,
    first,
    others,
    failed: all.filter((cell) => !cell.hasFigure),
    isAlone: cells.length === 1,
    share: input ? input.cancelled_share + input.moved_share : column.share,
  };
}

// Breaks a name at its joints into several lines.
function wrapped(name) {
  return name.split('_').reduce((lines, word) => {
    const last = lines.at(-1);
    return last && last.length + word.length < 11
      ? [...lines.slice(0, -1), `${last}_${word}`]
      : [...lines, word];
  }, []);
}

// Tiles, and the names in the data, link to the page of their backend.
function leadingToBackends(view, campaign, chart) {
  const backendAt = ([element]) =>
    element && chart.data.datasets[element.datasetIndex].data[element.index].backend;
  chart.options.onClick = (_, elements) => {
    const backend = backendAt(elements);
    if (backend) view.visit(backendAddress(backend, campaign));
  };
  chart.options.onHover = ({native}, elements) => {
    native.target.style.cursor = backendAt(elements) ? 'pointer' : '';
  };
  return chart;
}

function mapOf(campaign, columns, sizes, rows, theme, width) {
  const shown = rows.filter(({first}) => first);
  const points = shown.map(({x, y, first, others, isAlone}) => ({
    x,
    y,
    backend: first.backend,
    colour: colourOf(first.backend, campaign, theme),
    marker: markerOf(first.backend, campaign, theme),
    isHatched: others.length > 0,
    lines: [
      first.backend,
      ...(others.length ? [`+ ${others.length}`] : []),
      ...(isAlone ? ['alone'] : []),
      ...(sizes.includes(first.size) ? [] : [`${power(first.size)} timers`]),
    ],
    text:
      `${first.scenario} at ${power(first.size)}: ${first.backend}, ${costWithInterval(first)} ns` +
      (others.length ? `; tied: ${others.map((cell) => cell.backend).join(', ')}` : ''),
  }));
  const winners = [...new Set(shown.map(({first}) => first.backend))];
  const nobody = rows
    .filter(({first, failed}) => !first && failed.length)
    .map(({column, size, x, y, failed}) => ({
      x,
      y,
      colour: theme.shade,
      lines: ['none'],
      text: `${column.scenario} at ${power(size)}: nobody has a figure: ${countedStatuses(failed)}`,
    }));
  const isUpright = columns.length * 70 > width;
  const label = ({scenario, share}) => [
    ...(isUpright ? [scenario] : wrapped(scenario)),
    ...(share === null ? [] : [percent(share)]),
  ];
  const tilesOf = (label, {pointStyle, rotation = 0, colour, fill}, data) => ({
    label,
    isTiles: true,
    pointRadius: 0,
    pointHoverRadius: 0,
    pointHitRadius: 30,
    pointStyle, // of the legend
    pointRotation: rotation,
    pointBorderWidth: 1.5,
    backgroundColor: fill,
    borderColor: colour,
    data,
  });
  const datasets = winners.map((backend) =>
    tilesOf(
      backend,
      markerOf(backend, campaign, theme),
      points.filter((_, i) => shown[i].first.backend === backend),
    ),
  );
  if (nobody.length)
    datasets.push(
      tilesOf('none', {pointStyle: 'rect', colour: theme.faint, fill: theme.shade}, nobody),
    );
  const positions = (axis, length) => {
    axis.ticks = Array.from({length}, (_, value) => ({value}));
  };
  return {
    type: 'scatter',
    data: {datasets},
    options: optionsOf(theme, width, {
      scales: {
        x: scaleOf(
          theme,
          columns.some(({share}) => share !== null)
            ? `load, and the share ${width > 480 ? 'of its timers that is ' : ''}cancelled or moved`
            : 'load',
          (i) => label(columns[i] ?? {scenario: '', share: null}),
          {
            min: -0.5,
            max: columns.length - 0.5,
            afterBuildTicks: (axis) => positions(axis, columns.length),
            grid: {display: false},
            ticks: {autoSkip: false, maxRotation: 90, minRotation: isUpright ? 90 : 0},
          },
        ),
        y: scaleOf(theme, 'pending timers', (i) => (sizes[i] ? power(sizes[i]) : ''), {
          min: -0.5,
          max: sizes.length - 0.5,
          afterBuildTicks: (axis) => positions(axis, sizes.length),
          grid: {display: false},
          ticks: {autoSkip: false},
        }),
      },
      plugins: {tiles: {ink: theme.ink, paper: theme.paper}},
    }),
  };
}
