'use strict';
// History: the instructions of an operation from commit to commit, and where they changed.

const MOST_HISTORIES = 8; // lines; of more, those that changed are drawn

function drawHistory(view) {
  const campaign = view.campaign('history');
  if (!campaign) return nothing('scripts/report RESULTS results/history.jsonl');
  view.answerWith(saidIn(campaign.answers));
  const changes = campaign.changes.filter(({backend}) => campaign.backends.has(backend));
  const scenario = view.choose(
    'w',
    'Workload',
    campaign.scenarios.map((name) => [name, name]),
    changes[0]?.workload ?? firstLoadOf(campaign),
  );
  const size = view.size(campaign, scenario);
  return [
    historyCard(campaign, scenario, size),
    changes.length > 0 && changesCard(campaign, changes),
  ];
}

// Of few backends all; of many those whose count changed on this workload, or else the cheapest.
function drawnHistories(cells) {
  if (cells.length <= MOST_HISTORIES) return cells;
  const changed = cells.filter((cell) => cell.value('changes') > 0);
  if (changed.length) return changed;
  return [...cells]
    .sort((a, b) => a.value('instructions') - b.value('instructions'))
    .slice(0, MOST_HISTORIES);
}

function historyCard(campaign, scenario, size) {
  const cells = campaign
    .at(scenario, size)
    .filter(({backend}) => campaign.precisionOf(backend) !== 'none'); // no controls
  const drawn = drawnHistories(cells);
  const isSome = drawn.length < cells.length;
  const chosen = drawn.some((cell) => cell.value('changes') > 0)
    ? 'that changed'
    : 'with the fewest';
  const rows = cells.flatMap((cell) =>
    cell.points.map(([commit, instructions, ns, isChange], i) => ({
      ...{backend: cell.backend, commit, instructions, ns, isChange},
      before: i ? cell.points[i - 1][1] : null,
    })),
  );
  return card({
    title: `${scenario} at ${power(size)} timers: instructions per ${campaign.item(scenario)} from commit to commit`,
    note: [
      `Large points are changes of more than ${tick(percent)(campaign.notable)}. `,
      'A difference without one is that of another compiler or another trace. ',
      isSome &&
        `Drawn are those ${chosen}, ${drawn.length} of ${cells.length}; the filter chooses others. `,
      'Fewer instructions need not take less time: Scaling and Pairwise compare times.',
    ],
    remake: campaign.remake,
    height: heightFor(drawn.length, 400),
    config: (theme, width) => historyLines(campaign, drawn, theme, width),
    columns: [
      ...placeColumns(campaign),
      {title: 'instructions', value: ({instructions}) => instructions},
      {
        title: 'change',
        value: ({isChange, instructions, before}) => (isChange ? instructions / before - 1 : null),
        text: ({isChange, instructions, before}) =>
          isChange ? changeText(before, instructions) : null,
      },
      {
        title: 'ns [95 %]',
        csv: 'ns',
        value: ({ns}) => ns[1],
        text: ({ns}) =>
          ns.length ? `${digits(ns[1])} [${digits(ns[0])} – ${digits(ns[2])}]` : null,
      },
    ],
    rows,
  });
}

// Of rows with the number of a commit and a backend.
function placeColumns(campaign) {
  return [
    {title: 'commit', left: true, value: ({commit}) => campaign.commits[commit].name},
    {title: 'date', left: true, value: ({commit}) => campaign.commits[commit].date.slice(0, 10)},
    {
      title: 'backend',
      left: true,
      value: ({backend}) => backend,
      text: ({backend}) => named(backend, campaign),
    },
  ];
}

function changeText(before, after) {
  const share = 100 * (after / before - 1);
  return `${share < 0 ? '−' : '+'}${Math.abs(share).toFixed(1)} %`;
}

function historyLines(campaign, drawn, theme, width) {
  const {commits} = campaign;
  const datasets = drawn.map((cell) => {
    const line = lineOf(
      cell.backend,
      campaign,
      theme,
      cell.points.map(([x, y, ns]) => ({
        ...{x, y},
        text: `${cell.backend} at ${commits[x].name}: ${digits(y)} instructions${ns.length ? `, ${digits(ns[1])} ns` : ''}`,
      })),
    );
    const radius = line.pointRadius;
    return {...line, pointRadius: cell.points.map(([, , , isChange]) => radius + 3 * isChange)};
  });
  const values = drawn.flatMap(({points}) => points.map(([, y]) => y));
  return {
    type: 'line',
    data: {datasets},
    options: optionsOf(theme, width, {
      names: datasets.map(({label}) => label),
      scales: {
        x: scaleOf(theme, 'commit', (at) => commits[at]?.name ?? '', {
          type: 'linear',
          min: -0.3,
          max: commits.length - 0.7,
          ticks: {stepSize: 1, autoSkipPadding: 8},
          afterBuildTicks: (axis) => {
            axis.ticks = commits.map((_, value) => ({value}));
          },
        }),
        y: logScale(theme, 'instructions', digits, values),
      },
    }),
  };
}

function changesCard(campaign, changes) {
  return h(
    'section',
    {class: 'card'},
    h('h3', {}, 'All changes, the latest commit first'),
    tableOf(
      [
        ...placeColumns(campaign),
        {
          title: 'workload',
          left: true,
          value: ({workload, size}) => `${workload}/${power(size)}`,
        },
        {title: 'instructions before', value: ({before}) => before},
        {title: 'after', value: ({after}) => after},
        {
          title: 'change',
          value: ({before, after}) => after / before - 1,
          text: ({before, after}) => changeText(before, after),
        },
        {title: 'ns', value: ({times}) => times},
      ],
      changes,
    ),
  );
}
