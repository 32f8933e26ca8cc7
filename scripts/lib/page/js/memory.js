'use strict';
// Memory: bytes per timer, and counts of events per operation.

// Pass, counter, title and unit.
const USES = [
  ['memory', 'bytes_per_timer', 'a timer, at peak', bytes],
  ['memory', 'empty_bytes', 'empty', bytes],
  ['memory', 'peak_bytes', 'at peak', bytes],
  ['memory', 'drained_bytes', 'drained', bytes],
  ['memory', 'rss_bytes', 'resident at peak', bytes],
  ['memory', 'rss_drained_bytes', 'resident, drained', bytes],
  ['memory', 'huge_page_bytes', 'in huge pages', bytes],
  ['memory', 'allocations_per_item', 'allocations', digits],
  ['instructions', 'instructions_per_item', 'instructions (valgrind)', digits],
  ['counters', 'cycles_per_item', 'cycles', digits],
  ['counters', 'instructions_per_item', 'instructions', digits],
  ['counters', 'branch_misses_per_item', 'branch misses', digits],
  ['counters', 'cache_misses_per_item', 'cache misses', digits],
  ['counters', 'tlb_misses_per_item', 'TLB misses', digits],
];

function drawMemory(view) {
  const campaign = view.campaign('costs', firstWithPass('memory', 'instructions', 'counters'));
  const {memory, instructions, counters} = campaign?.passes ?? {};
  const table = memory ?? instructions ?? counters;
  if (!table) return nothing('scripts/bench --passes=memory,instructions,counters');
  const scenario = view.choose(
    'w',
    'Workload',
    table.scenarios.map((name) => [name, name]),
    table.scenarios.find((name) => !campaign.isPart(name)),
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
  const held = (memory?.at(scenario, size) ?? [])
    .filter((cell) => cell.hasFigure && campaign.isRanked(cell.backend))
    .map((cell) => [cell, cell.value('bytes_per_timer')])
    .filter(([, value]) => value > 0)
    .sort(([, one], [, other]) => one - other);
  if (held.length)
    view.answerWith(
      h(
        'p',
        {},
        `On ${scenario} at ${power(size)} a timer takes ${bytes(held[0][1])} with `,
        named(held[0][0].backend, campaign),
        held.length > 1 && [
          `, the least, and ${bytes(held.at(-1)[1])} with `,
          named(held.at(-1)[0].backend, campaign),
          ', the most',
        ],
        '.',
      ),
    );
  return [
    campaign.passes.memory && bytesCard(campaign, scenario),
    usesCard(campaign, scenario, size),
    Object.entries({memory, instructions, counters})
      .filter(([, one]) => one)
      .map(([pass, one]) =>
        failuresNote(
          campaign,
          one.cells.filter((cell) => cell.scenario === scenario),
          `Without a figure of ${pass}: `,
        ),
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
      'All memory that the structure has allocated when most timers are pending, divided by their number. ' +
      `Pages: ${campaign.facts.pages ?? 'as the system has them'}. Of Redis, the memory is that of another process.`,
    remake: campaign.remakeOf('memory'),
    height: heightFor(campaign.backends.size, 400),
    config: (theme, width) => {
      const datasets = [...campaign.backends.keys()]
        .filter((backend) => campaign.precisionOf(backend) !== 'none') // controls hold no timers
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
      return linesChart(theme, width, {
        datasets,
        xTitle: 'pending timers',
        xText: power,
        xs: sizes,
        y: logScale(
          theme,
          'bytes a timer',
          powersOfTen,
          datasets.flatMap(({data}) => data.map(({y}) => y)),
        ),
      });
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
        text: (cell) => (cell.hasFigure ? inUnit(bytesOf(cell), bytes) : insteadOfFigure(cell)),
      },
      {title: 'status', value: (cell) => cell.failure || 'ok', only: 'csv'},
    ],
    rows,
  });
}

// Formats bytes on an axis of powers of ten: 100 B, 10 kB.
function powersOfTen(value) {
  const text = count(value);
  return text.includes(' ') ? `${text}B` : `${text} B`;
}

// The counters of passes at one size.
function usesCard(campaign, scenario, size) {
  const columns = USES.filter(([pass, counter]) =>
    campaign.passes[pass]?.at(scenario, size).some((cell) => cell.value(counter) !== null),
  );
  const cells = Object.values(campaign.passes).flatMap((table) => table.at(scenario, size));
  const value = (name, [pass, counter]) =>
    campaign.pass(pass, scenario, size, name)?.value(counter) ?? null;
  const text = (name, column) =>
    inUnit(value(name, column), column[3]) ??
    (campaign.pass(column[0], scenario, size, name)?.status || null);
  return h(
    'section',
    {class: 'card'},
    h('h3', {}, `${scenario} at ${power(size)}: memory, and counts per ${campaign.item(scenario)}`),
    h('p', {class: 'note'}, countsNote(campaign, columns)),
    tableOf(
      [
        {title: 'backend', left: true, text: (name) => named(name, campaign)},
        {title: 'precision', left: true, text: (name) => campaign.precisionOf(name)},
        ...columns.map((column) => ({
          title: column[2],
          value: (name) => value(name, column),
          text: (name) => text(name, column),
        })),
      ],
      [...new Set(cells.map((cell) => cell.backend))],
    ),
  );
}

function countsNote(campaign, columns) {
  const byValgrind = columns.some(([pass]) => pass === 'instructions')
    ? 'Instructions by valgrind do not depend on the neighbours. '
    : campaign.passes.instructions
      ? 'Instructions are counted at smaller sizes only. '
      : '';
  if (campaign.passes.counters) return `${byValgrind}The others are the processor's own counts.`;
  return (campaign.facts.grade_reasons ?? '').includes('perf_counters')
    ? `${byValgrind}The machine gave no perf counters: no cycles, branch, cache and TLB misses.`
    : `${byValgrind}Cycles, branch, cache and TLB misses: scripts/bench --passes=counters.`;
}
