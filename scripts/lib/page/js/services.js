'use strict';
// Accuracy, contention and purgatory: services on the wall clock and their counters.

function drawServices(kind, command) {
  return (view) => {
    const campaign = view.campaign(kind);
    if (!campaign) return nothing(command);
    const scenario = view.scenario(campaign, 'Scenario');
    view.answerWith(campaign.answers[scenario].map((said) => h('p', {}, said)));
    const counters = Object.entries(campaign.counters).filter(([name]) =>
      campaign.cells.some((cell) => cell.scenario === scenario && cell.value(name) !== null),
    );
    if (!counters.length)
      return failuresOf({cells: campaign.cells.filter((cell) => cell.scenario === scenario)});
    const counter = view.choose('f', 'Figure', counters);
    const sizes = campaign.sizes(scenario);
    const size = Number(
      view.choose(
        's',
        capital(campaign.sizeIs(scenario)),
        sizes.map((one) => [String(one), power(one)]),
        String(sizes[sizes.length >> 1]),
      ),
    );
    const quantities = campaign.durations.filter((name) =>
      campaign.at(scenario, size).some((cell) => cell.spectra?.[name]),
    );
    const quantity = view.choose(
      'q',
      'Durations of',
      quantities.map((name) => [name, name.replaceAll('_', ' ')]),
    );
    return [
      sizes.length > 1
        ? againstLoadCard(campaign, scenario, counter)
        : atLoadCard(campaign, scenario, size, counter),
      failuresNote(
        campaign,
        campaign.cells.filter((cell) => cell.scenario === scenario),
      ),
      quantity &&
        spectrumCard({
          campaign,
          title: `${scenario} at ${power(size)} ${campaign.sizeIs(scenario)}: ${quantity.replaceAll('_', ' ')}`,
          remake: campaign.remake,
          note: 'Read the axis as one in so many: one call in ten takes longer than the duration at 10. Lines end where fewer than ten samples are left; all rounds are together.',
          cells: campaign.at(scenario, size).filter((cell) => cell.hasFigure),
          quantity,
          longest: (cell) =>
            cell.values(`${quantity}_max_ns`).length
              ? Math.max(...cell.values(`${quantity}_max_ns`))
              : null,
        }),
      allCard(campaign, scenario, size),
    ];
  };
}

function measuredRows(campaign, counter, cells) {
  return cells.map((cell) => {
    const values = cell.values(counter);
    if (!values.length) return {cell, y: null, low: null, high: null};
    const {low, middle, high} = medianInterval(values);
    return Number.isFinite(low)
      ? {cell, y: middle, low, high}
      : {cell, y: middle, low: Math.min(...values), high: Math.max(...values)};
  });
}

// Explains the dots and the whiskers.
function rangeNote(counter, rows) {
  const rounds = rows.map(({cell}) => cell.values(counter).length).filter((number) => number);
  const [fewest, most] = [Math.min(...rounds), Math.max(...rounds)];
  const whiskers =
    fewest >= LEAST_ROUNDS
      ? 'whiskers are 95 % intervals of it'
      : most < LEAST_ROUNDS
        ? `whiskers reach from the least to the greatest, since a 95 % interval takes ${LEAST_ROUNDS} rounds`
        : `whiskers are 95 % intervals of it, or of fewer than ${LEAST_ROUNDS} rounds from the least to the greatest`;
  return (
    `Median of ${fewest === most ? '' : `${fewest} to `}${counted(most, 'round')}; ${whiskers}. ` +
    'Crosses: the service did not keep up. ' +
    'Services of different precision, as the data say, must not be ranked with each other. '
  );
}

function columnsOfCounter(campaign, scenario, counter) {
  const unit = unitOf(counter);
  return [
    {
      title: campaign.sizeIs(scenario),
      csv: 'size',
      value: ({cell}) => cell.size,
      text: ({cell}) => power(cell.size),
    },
    {
      title: 'service',
      left: true,
      value: ({cell}) => cell.backend,
      text: ({cell}) => named(cell.backend, campaign),
    },
    {title: 'precision', left: true, value: ({cell}) => campaign.precisionOf(cell.backend)},
    {
      title: campaign.counters[counter],
      csv: counter,
      value: ({y}) => y,
      text: ({cell, y}) =>
        !cell.hasFigure ? insteadOfFigure(cell) : (inUnit(y, unit) ?? whyMissing(cell, counter)),
    },
    {title: 'low', value: ({low}) => low, text: ({low}) => inUnit(low, unit)},
    {title: 'high', value: ({high}) => high, text: ({high}) => inUnit(high, unit)},
    {
      title: 'keeps up',
      left: true,
      value: ({cell}) =>
        (!cell.hasFigure ? '' : cell.saturated ? 'no' : 'yes') +
        (cell.isCutShort ? ', measured for a shorter time' : ''),
    },
  ];
}

function againstLoadCard(campaign, scenario, counter) {
  const rows = measuredRows(
    campaign,
    counter,
    campaign.cells.filter((cell) => cell.scenario === scenario),
  );
  const unit = unitOf(counter);
  const sizes = campaign.sizes(scenario);
  return card({
    title: `${scenario}: ${campaign.counters[counter]} by ${campaign.sizeIs(scenario)}`,
    note:
      rangeNote(counter, rows) +
      (campaign.backends.has('control')
        ? 'The control is how late the machine itself wakes up.'
        : ''),
    remake: campaign.remake,
    height: heightFor(campaign.backends.size, 400),
    config: (theme, width) => {
      const datasets = [...campaign.backends.keys()]
        .map((backend) => {
          const own = rows.filter(({cell}) => cell.backend === backend);
          const line = lineOf(
            backend,
            campaign,
            theme,
            own.map(({cell, y, low, high}) => ({
              x: cell.size,
              y: y ?? NaN,
              low,
              high,
              text: `${backend} at ${power(cell.size)}: ${y === null ? cell.status || (whyMissing(cell, counter) ?? 'not measured') : unit(y)}${cell.saturated ? ', does not keep up' : ''}`,
            })),
          );
          return {
            ...line,
            pointStyle: own.map(({cell}) => (cell.saturated ? 'crossRot' : line.pointStyle)),
            pointRadius: own.map(({cell}) => (cell.saturated ? 6 : line.pointRadius)),
            pointBorderWidth: own.map(({cell}) => (cell.saturated ? 2.5 : 1.5)),
          };
        })
        .filter(({data}) => data.length);
      const values = rows.filter(({y}) => y !== null).flatMap(({y, low, high}) => [y, low, high]);
      const isLinear = values.some((value) => value <= 0);
      return linesChart(theme, width, {
        datasets,
        xTitle: campaign.sizeIs(scenario),
        xText: power,
        xs: sizes,
        ticks: sizes.length > 8 ? null : sizes,
        y: isLinear
          ? scaleOf(theme, campaign.counters[counter], tick(unit))
          : logScale(theme, campaign.counters[counter], unit, values),
      });
    },
    columns: columnsOfCounter(campaign, scenario, counter),
    rows,
  });
}

// A row for each service, if there is only one size.
function atLoadCard(campaign, scenario, size, counter) {
  const rows = measuredRows(campaign, counter, campaign.at(scenario, size));
  const shown = rows.filter(({y}) => y !== null);
  const unit = unitOf(counter);
  return card({
    title: `${scenario} at ${power(size)} ${campaign.sizeIs(scenario)}: ${campaign.counters[counter]}`,
    note: rangeNote(counter, rows),
    remake: campaign.remake,
    height: shown.length * 30 + 70,
    config: (theme, width) =>
      dotsChart(theme, width, {
        points: shown.map(({cell, y, low, high}) => ({
          x: y,
          y: cell.backend,
          low,
          high,
          text: `${cell.backend}: ${unit(y)}`,
        })),
        styles: shown.map(({cell}) => ({
          ...markerOf(cell.backend, campaign, theme),
          ...(cell.saturated ? {pointStyle: 'crossRot', pointRadius: 7} : {}),
        })),
        title: '',
        unit,
      }),
    columns: columnsOfCounter(campaign, scenario, counter),
    rows,
    isOpen: true,
  });
}

// All counters of all services at one load.
function allCard(campaign, scenario, size) {
  const cells = campaign.at(scenario, size);
  const counters = Object.entries(campaign.counters).filter(([name]) =>
    cells.some((cell) => cell.value(name) !== null),
  );
  return h(
    'section',
    {class: 'card'},
    h('h3', {}, `${scenario} at ${power(size)} ${campaign.sizeIs(scenario)}: all figures`),
    tableOf(
      [
        {
          title: 'service',
          left: true,
          value: ({backend}) => backend,
          text: ({backend}) => named(backend, campaign),
        },
        {title: 'precision', left: true, value: ({backend}) => campaign.precisionOf(backend)},
        ...counters.map(([name, title], i) => ({
          title,
          value: (cell) => cell.value(name),
          text: (cell) =>
            !cell.hasFigure && i === 0
              ? insteadOfFigure(cell)
              : (inUnit(cell.value(name), unitOf(name)) ?? whyMissing(cell, name)),
        })),
      ],
      cells,
    ),
  );
}

// Why a cell lacks a counter: a percentile may have too few samples. Other counters do not apply,
// as the control has no fires.
function whyMissing(cell, counter) {
  const [, quantity] = counter.match(/^(.*)_p[0-9.]+_/) ?? [];
  const hasSamples =
    quantity &&
    (cell.spectra?.[quantity] ||
      Object.keys(cell.counters ?? {}).some((name) => name.startsWith(`${quantity}_`)));
  return hasSamples ? 'too few samples' : null;
}
