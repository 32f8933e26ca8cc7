'use strict';
// Memory: what a timer takes, and what an operation takes by count instead of time.

const MEMORY_COLUMNS = [
  ['bytes_per_timer', 'a timer, at peak'],
  ['empty_bytes', 'empty'],
  ['peak_bytes', 'at peak'],
  ['drained_bytes', 'drained'],
  ['rss_bytes', 'resident at peak'],
  ['rss_drained_bytes', 'resident, drained'],
  ['huge_page_bytes', 'in huge pages'],
];

function drawMemory(view) {
  const campaign = view.campaign('costs');
  const table = campaign?.passes.memory ?? campaign?.passes.instructions;
  if (!table) return nothing('scripts/bench --passes=memory,instructions');
  const scenario = view.choose(
    'w',
    'Workload',
    table.scenarios.map((name) => [name, name]),
  );
  const sizes = table.sizes(scenario);
  const size = Number(
    view.choose(
      's',
      'Pending timers',
      sizes.map((one) => [String(one), power(one)]),
      String(tellingSize(table, scenario, sizes)),
    ),
  );
  return [
    campaign.passes.memory && bytesCard(campaign, scenario),
    usesCard(campaign, scenario, size),
    failuresNote(
      campaign,
      table.cells.filter((cell) => cell.scenario === scenario),
    ),
  ];
}

function bytesCard(campaign, scenario) {
  const table = campaign.passes.memory;
  const rows = table.cells.filter((cell) => cell.scenario === scenario);
  const bytesOf = (cell) => cell.value('bytes_per_timer');
  const sizes = table.sizes(scenario);
  return card({
    title: `${scenario}: memory a timer`,
    note:
      'All that the structure has allocated when most timers are pending, divided by them; what was counted, not what time it took. ' +
      `Pages: ${campaign.facts.pages ?? 'as the system has them'}. Of Redis, the memory is that of another process.`,
    remake: campaign.remakeOf('memory'),
    height: heightFor(campaign.backends.size, 400),
    config: (theme, width) => {
      const datasets = [...campaign.backends.keys()]
        .map((backend) =>
          lineOf(
            backend,
            campaign,
            theme,
            rows
              .filter((cell) => cell.backend === backend && bytesOf(cell) > 0)
              .map((cell) => ({
                x: cell.size,
                y: bytesOf(cell),
                text: `${backend} at ${power(cell.size)}: ${bytes(bytesOf(cell))} a timer`,
              })),
          ),
        )
        .filter(({data}) => data.length);
      return {
        type: 'line',
        data: {datasets},
        options: optionsOf(theme, width, {
          scales: {
            x: logScale(theme, 'pending timers', power, sizes, sizes),
            y: logScale(
              theme,
              'bytes a timer',
              bytes,
              datasets.flatMap(({data}) => data.map(({y}) => y)),
            ),
          },
        }),
      };
    },
    columns: [
      {title: 'timers', csv: 'size', value: (cell) => cell.size, text: (cell) => power(cell.size)},
      {
        title: 'backend',
        left: true,
        value: (cell) => cell.backend,
        text: (cell) => named(cell.backend, campaign),
      },
      {
        title: 'bytes a timer',
        csv: 'bytes_per_timer',
        value: bytesOf,
        text: (cell) => (cell.hasFigure ? bytes(bytesOf(cell)) : cell.failure),
      },
    ],
    rows,
  });
}

function usesCard(campaign, scenario, size) {
  const {memory, instructions} = campaign.passes;
  const names = [
    ...new Set(
      [memory, instructions]
        .flatMap((table) => table?.at(scenario, size) ?? [])
        .map((cell) => cell.backend),
    ),
  ];
  const failure = (name) => memory?.cell(scenario, size, name)?.failure;
  return h(
    'section',
    {class: 'card'},
    h('h3', {}, `${scenario} at ${power(size)}`),
    h(
      'p',
      {class: 'note'},
      'Instructions are counted by valgrind: the figure that does not depend on the neighbours.',
    ),
    tableOf(
      [
        {title: 'backend', left: true, text: (name) => named(name, campaign)},
        {title: 'promise', left: true, text: (name) => campaign.promiseOf(name)},
        ...(memory
          ? MEMORY_COLUMNS.map(([counter, title], i) => ({
              title,
              text: (name) => {
                const value = memory.cell(scenario, size, name)?.value(counter);
                return value === null || value === undefined
                  ? i === 0
                    ? failure(name)
                    : null
                  : bytes(value);
              },
            }))
          : []),
        ...(memory
          ? [
              {
                title: `allocations per ${campaign.item(scenario)}`,
                text: (name) =>
                  memory.cell(scenario, size, name)?.value('allocations_per_item') ?? null,
              },
            ]
          : []),
        ...(instructions
          ? [
              {
                title: `instructions per ${campaign.item(scenario)}`,
                text: (name) =>
                  instructions.cell(scenario, size, name)?.value('instructions_per_item') ?? null,
              },
            ]
          : []),
      ],
      names,
    ),
  );
}
