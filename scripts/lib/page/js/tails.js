'use strict';
// Tails: the durations of single calls, the longest calls, and their causes.

const CALLS = {advance: 'advance', schedule: 'schedule', cancel: 'cancel or move'};

function drawTails(view) {
  const campaign = view.campaign('costs', firstWithPass('tails'));
  if (!campaign?.passes.tails) return nothing('scripts/bench --passes=tails');
  const table = campaign.passes.tails;
  const scenario = view.choose(
    'w',
    'Workload',
    table.scenarios.map((name) => [name, name]),
    table.scenarios.find((name) => table.sizes(name).some((one) => advances(table.at(name, one)))),
  );
  const size = Number(
    view.choose(
      's',
      'Pending timers',
      table.sizes(scenario).map((one) => [String(one), power(one)]),
      String(tellingSize(table, scenario, table.sizes(scenario))),
    ),
  );
  const call = view.choose('call', 'Call', Object.entries(CALLS));
  const cells = table.at(scenario, size);
  const measured = cells.filter((cell) => cell.hasFigure);
  if (!measured.length) return failuresOf({cells});
  const [worst] = [...measured].sort(
    (a, b) => (b.value('worst_ns') ?? 0) - (a.value('worst_ns') ?? 0),
  );
  const options = [['', 'all ranked'], ...measured.map(({backend}) => [backend, backend])];
  const followed = view.choose('of', 'Timeline of', options, worst.backend);
  const where = `${scenario} at ${power(size)}`;
  const timelines = measured
    .filter((cell) => cell.rest?.[0]?.length)
    .filter(({backend}) => (followed ? backend === followed : campaign.isRanked(backend)));
  const ranked = measured
    .filter((cell) => campaign.isRanked(cell.backend) && cell.value('worst_ns') > 0)
    .sort((a, b) => a.value('worst_ns') - b.value('worst_ns'));
  if (ranked.length)
    view.answerWith(
      h(
        'p',
        {},
        `On ${where} the longest advance takes ${time(ranked[0].value('worst_ns'))} with `,
        named(ranked[0].backend, campaign),
        ranked.length > 1 && [
          `, the shortest of all, and ${time(ranked.at(-1).value('worst_ns'))} with `,
          named(ranked.at(-1).backend, campaign),
          ', the longest',
        ],
        '.',
      ),
    );
  return [
    spectrumCard({
      campaign,
      title: `${where}: durations of ${CALLS[call]}`,
      remake: campaign.remakeOf('tails'),
      note:
        'Read the axis as one in so many: one call in ten takes longer than the duration at 10. Lines end where fewer than ten samples are left; ' +
        'at the end the longest, with whatever the machine did meanwhile. A clock read is part of each.',
      cells: measured,
      quantity: call,
      longest: (cell) => cell.value(`${call}_max_ns`),
      samples: (cell) => cell.value(`${call}_count`),
    }),
    advances(cells) ? worstCard(campaign, where, cells) : failuresNote(campaign, cells),
    timelines.length > 0 && timelineCard(campaign, where, timelines),
  ];
}

// Whether any of the cells measured an advance; filling a queue has none.
function advances(cells) {
  return cells.some((cell) => cell.value('worst_ns') > 0);
}

// Durations by the share of longer calls, with a line for each contender.
function spectrumCard({campaign, title, note, remake, cells, quantity, longest, samples}) {
  const known = cells.filter((cell) => cell.spectra[quantity]?.length);
  if (!known.length) return h('p', {class: 'note'}, `${title}: there are no samples.`);
  const pointsOf = (cell) => {
    const points = cell.spectra[quantity].map((ns, i) => ({
      x: 1 / BEYOND[i],
      y: Math.max(ns, 0.1),
    }));
    const [most, n] = [longest?.(cell), samples?.(cell)];
    if (most && n > points.at(-1).x) points.push({x: n, y: most, isLongest: true});
    return points.map((point) => ({
      ...point,
      text: `${cell.backend}: ${point.isLongest ? 'the longest' : `1 in ${digits(point.x)} is longer than`} ${time(point.y)}`,
    }));
  };
  const shares = [0.5, 0.1, 0.01, 0.001, 0.0001];
  return card({
    title,
    note,
    remake,
    height: heightFor(known.length, 380),
    config: (theme, width) => {
      const datasets = known.map((cell) => ({
        ...lineOf(cell.backend, campaign, theme, pointsOf(cell)),
        pointRadius: 3, // shapes differ from here on
      }));
      const points = datasets.flatMap(({data}) => data);
      return {
        type: 'line',
        data: {datasets},
        options: optionsOf(theme, width, {
          names: datasets.map(({label}) => label),
          scales: {
            x: logScale(
              theme,
              'one in so many is longer',
              count,
              points.map(({x}) => x),
            ),
            y: logScale(
              theme,
              `one ${quantity.replaceAll('_', ' ')} takes`,
              time,
              points.map(({y}) => y),
            ),
          },
        }),
      };
    },
    columns: [
      {
        title: 'backend',
        left: true,
        value: ({backend}) => backend,
        text: ({backend}) => named(backend, campaign),
      },
      ...shares.map((share) => {
        const at = BEYOND.findIndex((one) => Math.abs(one - share) < 1e-12);
        const value = (cell) => cell.spectra[quantity][at] ?? null;
        return {
          title: `p${(100 * (1 - share)).toFixed(4).replace(/\.?0+$/, '')}`,
          csv: `p${100 * (1 - share)}_ns`,
          value,
          text: (cell) => inUnit(value(cell), time),
        };
      }),
      ...(longest
        ? [
            {
              title: 'longest',
              csv: 'max_ns',
              value: longest,
              text: (cell) => (longest(cell) ? time(longest(cell)) : null),
            },
          ]
        : []),
      ...(samples
        ? [{title: 'samples', value: samples, text: (cell) => count(samples(cell) ?? 0)}]
        : []),
    ],
    rows: known,
  });
}

function worstCard(campaign, where, cells) {
  const value = (counter) => (cell) => cell.value(counter);
  const longest = (cell) => cell.value('worst_ns') ?? Infinity;
  const groups = campaign
    .byPrecision(cells.map((cell) => cell.backend))
    .map(([, names]) =>
      cells
        .filter((cell) => names.includes(cell.backend))
        .sort((a, b) => longest(a) - longest(b) || 0),
    );
  return h(
    'section',
    {class: 'card'},
    h('h3', {}, `${where}: the longest advance and what it did, and the longest other calls`),
    h(
      'p',
      {class: 'note'},
      'The same trace is replayed three times, and the least duration is shown, so that interruptions do not count. ' +
        'Moved: timers that went down a level. Passed: timers that neither fired nor moved. Level: the highest that was touched. Most queued: how many timers, or buckets or lists of them, were kept in order at a time. Empty: the backend does not count them.',
    ),
    tableOf(
      [
        {
          title: 'backend',
          left: true,
          value: ({backend}) => backend,
          text: ({backend}) => named(backend, campaign),
        },
        {title: 'precision', left: true, value: ({backend}) => campaign.precisionOf(backend)},
        {
          title: 'longest',
          value: value('worst_ns'),
          text: (cell) =>
            cell.hasFigure ? inUnit(cell.value('worst_ns'), time) : insteadOfFigure(cell),
        },
        {title: 'fired', value: value('worst_fired')},
        {title: 'moved', value: value('worst_moved')},
        {title: 'passed', value: value('worst_passed')},
        {title: 'level', value: value('worst_level')},
        {title: 'most queued', value: value('most_queued')},
        ...['schedule', 'cancel'].map((call) => ({
          title: `longest ${call}`,
          value: value(`${call}_worst_ns`),
          text: (cell) => inUnit(cell.value(`${call}_worst_ns`), time),
        })),
        {
          title: 'a clock read',
          value: value('clock_ns'),
          text: (cell) => (cell.hasFigure ? time(cell.value('clock_ns')) : null),
        },
      ],
      groups.flat(),
      (cell) => (groups.some(([first]) => cell === first) ? 'group' : ''),
    ),
  );
}

// The cost of advance() in the order of the trace; the longest of each stretch.
function timelineCard(campaign, where, cells) {
  const rows = cells.flatMap((cell) =>
    cell.rest[0].map((op, i) => ({
      backend: cell.backend,
      op,
      ns: Math.max(cell.rest[1][i], 0.5),
      fired: cell.rest[2][i],
      moved: cell.rest[3][i],
    })),
  );
  return card({
    title: `${where}: advance by advance`,
    note: 'In the order of the trace: the longest of each stretch, as the least of three replays. Larger dots: timers were moved down a level.',
    remake: campaign.remakeOf('tails'),
    height: heightFor(cells.length, 380),
    config: (theme, width) => {
      const datasets = cells.map(({backend}) => {
        const own = rows.filter((row) => row.backend === backend);
        return {
          ...lineOf(
            backend,
            campaign,
            theme,
            own.map(({op, ns, fired, moved}) => ({
              x: op,
              y: ns,
              text:
                `${backend}, operation ${grouped(String(op))}: ${time(ns)}, ${fired} fired` +
                (moved ? `, ${moved} moved` : ''),
            })),
          ),
          type: 'scatter',
          showLine: false,
          clip: 6, // the first point is on the axis
          pointRadius: own.map(({moved}) => (moved ? 4.5 : 2.5)),
          pointBorderWidth: 1,
        };
      });
      return {
        type: 'scatter',
        data: {datasets},
        options: optionsOf(theme, width, {
          scales: {
            x: scaleOf(theme, 'operation of the trace', tick(count), {min: 0}),
            y: logScale(
              theme,
              'one advance',
              time,
              rows.map(({ns}) => ns),
            ),
          },
        }),
      };
    },
    columns: [
      {title: 'backend', left: true, value: ({backend}) => backend},
      {title: 'operation', value: ({op}) => op, text: ({op}) => grouped(String(op))},
      {title: 'took', csv: 'ns', value: ({ns}) => ns, text: ({ns}) => time(ns)},
      {title: 'fired', value: ({fired}) => fired},
      {title: 'moved', value: ({moved}) => moved},
    ],
    rows,
  });
}
