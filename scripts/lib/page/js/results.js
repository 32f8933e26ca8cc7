'use strict';
// The results, as the pages use them.

// One contender in one scenario at one size. A cell of replays has costs, one of services counters.
class Cell {
  constructor([scenario, size, backend, figures, ...told], kind) {
    const [failure = '', noisy = 0, timeouts = 0, verdict] = told;
    const hasFigure = figures !== null;
    Object.assign(this, {scenario, size, backend, failure, noisy, timeouts, verdict, hasFigure});
    if (kind === 'costs' && figures) {
      [this.costs, this.items, this.rounds = this.costs.map((_, i) => i)] = figures;
      this.cost = median(this.costs);
      this.interval = medianInterval(this.costs);
    } else if (['survival', 'history'].includes(kind) && figures) {
      const [counters, told] = figures;
      Object.assign(this, {counters, ...told});
    } else if (figures) {
      [this.counters, this.spectra = {}, this.rest] = figures;
    }
  }

  // For a service: the number of saturated rounds, and whether a round was cut short.
  get saturated() {
    return this.rest?.[0] ?? 0;
  }

  get isCutShort() {
    return Boolean(this.rest?.[1]);
  }

  // Why a figure is doubtful: some of its rounds took too long.
  get doubt() {
    if (!this.hasFigure || !this.timeouts) return '';
    const rounds =
      this.costs?.length ?? Math.max(...Object.values(this.counters).map((one) => one.length));
    return `timeout in ${this.timeouts} of ${rounds + this.timeouts} rounds`;
  }

  get status() {
    return this.failure.split(':')[0].trim();
  }

  values(counter) {
    return this.counters?.[counter] ?? [];
  }

  value(counter) {
    const values = this.values(counter);
    return values.length ? median(values) : null;
  }
}

class Table {
  constructor(rows, kind) {
    this.hold(rows.map((row) => new Cell(row, kind)));
  }

  hold(cells) {
    this.cells = cells;
    this.byKey = new Map(
      cells.map((cell) => [keyOf(cell.scenario, cell.size, cell.backend), cell]),
    );
    return this;
  }

  filtered(isKept) {
    return new Table([]).hold(this.cells.filter(isKept));
  }

  cell(scenario, size, backend) {
    return this.byKey.get(keyOf(scenario, size, backend));
  }

  sizes(scenario) {
    const sizes = this.cells.filter((cell) => cell.scenario === scenario).map((cell) => cell.size);
    return [...new Set(sizes)].sort((a, b) => a - b);
  }

  at(scenario, size) {
    return this.cells.filter((cell) => cell.scenario === scenario && cell.size === size);
  }

  get scenarios() {
    return [...new Set(this.cells.map((cell) => cell.scenario))];
  }
}

function keyOf(scenario, size, backend) {
  return `${scenario}/${size}/${backend}`;
}

// The results of one RESULTS argument. Results of different arguments are not mixed.
class Campaign extends Table {
  constructor(raw, index) {
    super(raw.cells, raw.kind);
    const {cells, variants, passes, scenarios, backends, ...facts} = raw;
    Object.assign(this, facts, {index});
    this.items = new Map(scenarios.map(({name, item}) => [name, item]));
    this.backends = new Map(backends.map((backend) => [backend.name, backend]));
    this.variants = Object.entries(variants ?? {}).map(([name, rows]) => [
      name,
      new Table(rows, raw.kind),
    ]);
    this.passes = Object.fromEntries(
      Object.entries(passes ?? {}).map(([name, rows]) => [name, new Table(rows, name)]),
    );
    const twins = this.twinRatios();
    this.noise = noiseFloor(twins);
    this.knowsNoise = twins.length > 0; // else 1 % is used instead
  }

  // The same campaign with some backends only. The noise is that of the machine, so it stays.
  only(backends) {
    const kept = new Set(backends);
    const some = (table) => table.filtered(({backend}) => kept.has(backend));
    return Object.assign(Object.create(this), {
      ...this.filtered(({backend}) => kept.has(backend)),
      backends: new Map([...this.backends].filter(([name]) => kept.has(name))),
      variants: this.variants.map(([name, table]) => [name, some(table)]),
      passes: Object.fromEntries(
        Object.entries(this.passes).map(([name, table]) => [name, some(table)]),
      ),
    });
  }

  twinRatios() {
    const [, twins] = this.variants.find(([name]) => name === '@again') ?? [];
    return (twins?.cells ?? [])
      .map((twin) => [this.cell(twin.scenario, twin.size, twin.backend), twin])
      .filter(([one, twin]) => one?.costs && twin.costs)
      .map(([one, twin]) => pairedLogRatios(one, twin))
      .filter((ratios) => ratios.length);
  }

  precisionOf(backend) {
    return this.backends.get(backend)?.precision ?? 'unknown';
  }

  isRanked(backend) {
    return PRECISIONS[this.precisionOf(backend)].ranked;
  }

  // Groups backends by precision, in display order.
  byPrecision(backends) {
    return Object.keys(PRECISIONS)
      .map((precision) => [
        precision,
        backends.filter((name) => this.precisionOf(name) === precision),
      ])
      .filter(([, names]) => names.length);
  }

  item(scenario) {
    return this.items.get(scenario) ?? 'item';
  }

  // What the scenario's sizes count.
  sizeIs(scenario) {
    return this.size_is?.[scenario] ?? 'timers';
  }

  // Whether the scenario is a single kind of operation, such as arming alone, and no full load.
  isPart(scenario) {
    return (
      ['costs', 'history'].includes(this.kind) &&
      ['insert', 'cancel', 'fire', 'tick'].includes(this.item(scenario))
    );
  }

  pass(name, scenario, size, backend) {
    return this.passes[name]?.cell(scenario, size, backend);
  }

  input(scenario, size) {
    return this.inputs?.[`${scenario}/${size}`];
  }

  // What is measured: structures that hold timers, or what is built on them.
  get contender() {
    return ['costs', 'history'].includes(this.kind) ? 'backend' : 'service';
  }

  // The command that repeats the passes.
  remakeOf(...passes) {
    return passes.length && !this.remake.includes('--passes')
      ? `${this.remake} --passes=${passes.join(',')}`
      : this.remake;
  }

  // The command that repeats all.
  get remakeOfAll() {
    return this.remakeOf(...Object.keys(this.passes));
  }

  // The command with more rounds.
  remakeWith(rounds) {
    return `${this.remake.replace(/ --(rounds|budget)[= ]\S+/g, '')} --rounds=${rounds}`;
  }
}

// The log-ratios of the rounds in which both were measured.
function pairedLogRatios(a, b) {
  const byRound = (cell) => new Map(cell.rounds.map((round, i) => [round, cell.costs[i]]));
  const others = byRound(b);
  return [...byRound(a)]
    .filter(([round]) => others.has(round))
    .sort(([one], [other]) => one - other)
    .map(([round, cost]) => Math.log(others.get(round) / cost));
}

// Groups cells that may be ranked with each other. No cell in a group is surely slower than its
// first, and all cells of later groups are. The comparisons with each first are corrected as one
// family. With too few rounds to be sure, each cell is a group of its own, sorted by cost.
function ranking(cells, noise) {
  let left = [...cells].sort((a, b) => a.cost - b.cost);
  if (!isSure(cells)) return left.map((cell) => [cell]);
  const groups = [];
  while (left.length) {
    const [first, words] = firstOf(left, noise);
    const others = left.filter((cell) => cell !== first);
    groups.push([first, ...others.filter((cell) => words.get(cell) !== 'slower')]);
    left = others.filter((cell) => words.get(cell) === 'slower');
  }
  return groups;
}

// The first of each ranked precision on a load.
function winnersOf(campaign, scenario, size) {
  const cells = campaign.at(scenario, size).filter((cell) => cell.hasFigure);
  return campaign
    .byPrecision(cells.map((cell) => cell.backend))
    .filter(([precision]) => PRECISIONS[precision].ranked)
    .map(([precision, names]) => {
      const own = cells.filter((cell) => names.includes(cell.backend));
      return [precision, ranking(own, campaign.noise)[0][0]];
    });
}

// Whether the rounds of these cells suffice to rank them.
function isSure(cells) {
  const rounds = Math.min(...cells.map(({costs}) => costs.length));
  return rounds >= roundsNeeded(Math.max(1, cells.length - 1));
}

// The first is the cheapest cell unless another is faster in their common rounds. Returns it, and
// the verdict on each other cell.
function firstOf(cells, noise) {
  const beaten = new Set();
  for (let [first] = cells; ;) {
    const others = cells.filter((cell) => cell !== first);
    const compared = compareAll(
      others.map((cell) => pairedLogRatios(first, cell)),
      noise,
    );
    const words = new Map(others.map((cell, i) => [cell, compared[i].word]));
    beaten.add(first);
    const faster = others.find((cell) => words.get(cell) === 'faster' && !beaten.has(cell));
    if (!faster) return [first, words];
    first = faster;
  }
}

async function unpack(base64) {
  const packed = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const stream = new Response(packed).body.pipeThrough(new DecompressionStream('gzip'));
  return JSON.parse(await new Response(stream).text());
}

// How punctual those of a precision are, libraries or not.
const punctuality = (precision) => precision.replace(/ library$/, '');

const isLibrary = (precision) => punctuality(precision) !== precision;

let PRECISIONS = {};
let BEYOND = [];
let MARKS = {};
let CAMPAIGNS = [];

function understand(contents) {
  PRECISIONS = contents.precisions;
  BEYOND = contents.beyond;
  MARKS = contents.marks;
  CAMPAIGNS = contents.campaigns.map((raw, index) => new Campaign(raw, index));
}
