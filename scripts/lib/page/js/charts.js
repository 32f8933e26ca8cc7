'use strict';
// Charts, each with a title, its message and its data; a saved one also with the command that repeats it.

Chart.defaults.animation = false;
Chart.defaults.maintainAspectRatio = false;
Chart.defaults.font.family = 'system-ui, "Segoe UI", Roboto, "DejaVu Sans", Arial, sans-serif';
Chart.defaults.font.size = 12;

// Chart.js's names for the shapes of scripts/lib/style.py.
const POINTS = {
  o: {pointStyle: 'circle', pointRadius: 3.5},
  s: {pointStyle: 'rect', pointRadius: 4.5},
  D: {pointStyle: 'rectRot', pointRadius: 4.5},
  '^': {pointStyle: 'triangle', pointRadius: 4.5},
  v: {pointStyle: 'triangle', pointRadius: 4.5, rotation: 180},
  '': {pointStyle: 'circle', pointRadius: 2},
};

// --- Colours -------------------------------------------------------------------------------------

// The colours of the page, or of paper for exports.
function themeOf(isPaper = false) {
  const root = document.documentElement;
  const current = root.dataset.theme;
  if (isPaper) root.dataset.theme = 'light';
  const style = getComputedStyle(root);
  const theme = {isDark: root.dataset.theme === 'dark'};
  for (const name of ['paper', 'ink', 'faint', 'line', 'shade', 'accent', 'good', 'bad'])
    theme[name] = style.getPropertyValue(`--${name}`).trim();
  root.dataset.theme = current;
  return theme;
}

const PLAIN = {shape: '', is_open: false, colours: ['#6b6b6b', '#9a9a9a']};

// A backend that only a pass knows has a plain look.
function lookOf(backend, campaign) {
  return campaign.backends.get(backend)?.look ?? PLAIN;
}

function colourOf(backend, campaign, theme = themeOf()) {
  return lookOf(backend, campaign).colours[theme.isDark ? 1 : 0];
}

// The style of a backend's dots.
function markerOf(backend, campaign, theme) {
  const {shape, is_open: isOpen} = lookOf(backend, campaign);
  const colour = colourOf(backend, campaign, theme);
  return {...POINTS[shape], colour, fill: isOpen ? theme.paper : colour};
}

// Draws a result of markerOf in the middle of a place.
function drawMarker(ctx, {pointStyle, pointRadius, rotation = 0, colour, fill}, x, y) {
  ctx.fillStyle = fill;
  ctx.strokeStyle = colour;
  ctx.lineWidth = 1.5;
  ctx.setLineDash([]);
  Chart.helpers.drawPoint(ctx, {pointStyle, radius: pointRadius, rotation, borderWidth: 1.5}, x, y);
}

function see(colour, share) {
  return (
    colour +
    Math.round(share * 255)
      .toString(16)
      .padStart(2, '0')
  );
}

// The style of a backend's line. Points are {x, y, low, high, text}.
function lineOf(backend, campaign, theme, data) {
  const {colour, fill, rotation, ...point} = markerOf(backend, campaign, theme);
  return {
    label: backend,
    data,
    borderColor: colour,
    backgroundColor: fill,
    ...point,
    pointRotation: rotation ?? 0,
    pointHoverRadius: 6,
    pointBorderWidth: 1.5,
    borderWidth: 1.8,
    borderDash: PRECISIONS[campaign.precisionOf(backend)].dashes.map((length) => 1.5 * length),
    spanGaps: false,
  };
}

// --- Axes ----------------------------------------------------------------------------------------

function scaleOf(theme, title, text, options = {}) {
  return {
    title: {display: Boolean(title), text: title, color: theme.faint},
    grid: {color: theme.line, borderColor: theme.faint},
    ...options,
    ticks: {
      color: theme.faint,
      callback: (value) => (typeof value === 'number' ? text(value) : value),
      maxRotation: 0,
      ...options.ticks,
    },
  };
}

// A logarithmic axis around positive values, with round numbers at the ticks.
function logScale(theme, title, text, values, ticks = null) {
  const known = values.filter((value) => value > 0 && Number.isFinite(value));
  const low = known.length ? Math.min(...known) : 1;
  const high = known.length ? Math.max(...known) : 10;
  const margin = Math.max(1.12, (high / low) ** 0.04);
  return scaleOf(theme, title, tick(text), {
    type: 'logarithmic',
    min: low / margin,
    max: high * margin,
    afterBuildTicks: (axis) => {
      axis.ticks = (ticks ?? roundNumbers(axis.min, axis.max)).map((value) => ({value}));
    },
  });
}

// The fewest round numbers per decade that give three ticks.
function roundNumbers(low, high) {
  const every = Math.log10(high / low) > 9 ? 2 : 1;
  for (const steps of [[1], [1, 2, 5], [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9]]) {
    const found = [];
    for (let power10 = Math.floor(Math.log10(low)); power10 <= Math.log10(high); power10 += every) {
      for (const step of steps) {
        const value = Number((step * 10 ** power10).toPrecision(3));
        if (value >= low && value <= high) found.push(value);
      }
    }
    if (found.length > 2) return found;
  }
  return evenNumbers(low, high);
}

// Ticks of a narrow range.
function evenNumbers(low, high) {
  const magnitude = 10 ** Math.floor(Math.log10((high - low) / 3));
  const step = [1, 2, 5, 10].find((one) => (high - low) / (one * magnitude) < 6) * magnitude;
  const found = [];
  for (let value = Math.ceil(low / step) * step; value <= high; value += step) {
    found.push(Number(value.toPrecision(3)));
  }
  return found;
}

// --- Plugins -------------------------------------------------------------------------------------

// Draws the interval of a median, for points with low and high.
const whiskers = {
  id: 'whiskers',
  afterDatasetsDraw(chart) {
    const {ctx, chartArea: area, scales} = chart;
    const isAcross = chart.options.indexAxis === 'y';
    const scale = isAcross ? scales.x : scales.y;
    ctx.save();
    ctx.beginPath();
    ctx.rect(area.left, area.top, area.width, area.height);
    ctx.clip();
    ctx.lineWidth = 1.2;
    ctx.setLineDash([]);
    chart.data.datasets.forEach((dataset, i) => {
      const meta = chart.getDatasetMeta(i);
      if (meta.hidden || !chart.isDatasetVisible(i)) return;
      dataset.data.forEach((point, j) => {
        ctx.globalAlpha = alphaOf(chart, i);
        if (!point || !(point.low > 0) || !Number.isFinite(point.high) || point.low === point.high)
          return;
        const at = isAcross ? meta.data[j].y : meta.data[j].x;
        const [from, to] = [point.low, point.high].map((value) => scale.getPixelForValue(value));
        const colour = dataset.whiskerColour ?? dataset.borderColor;
        ctx.strokeStyle = Array.isArray(colour) ? colour[j] : colour;
        const line = (a, b, c, d) => {
          ctx.beginPath();
          ctx.moveTo(a, b);
          ctx.lineTo(c, d);
          ctx.stroke();
        };
        for (const end of [from, to])
          isAcross ? line(end, at - 3, end, at + 3) : line(at - 3, end, at + 3, end);
        isAcross ? line(from, at, to, at) : line(at, from, at, to);
      });
    });
    ctx.restore();
  },
};

// Draws labelled lines across, a band along the axis, and spans from top to bottom, as
// options.plugins.marks says.
const marks = {
  id: 'marks',
  beforeDatasetsDraw(
    chart,
    _,
    {lines = [], band = null, spans = [], ink = '#888', shade = '#ddd', paper = '#fff'},
  ) {
    const {
      ctx,
      chartArea: area,
      scales: {x, y},
    } = chart;
    ctx.save();
    ctx.beginPath();
    ctx.rect(area.left, area.top, area.width, area.height);
    ctx.clip();
    if (band?.length) {
      // The first and the last reach to the ends of the axis.
      const across = [area.left, ...band.map(({x: at}) => x.getPixelForValue(at)), area.right];
      const corners = [band[0], ...band, band.at(-1)].map(({low, high}, i) => [
        across[i],
        ...[low, high].map((value) => y.getPixelForValue(value)),
      ]);
      ctx.fillStyle = shade;
      ctx.beginPath();
      corners.forEach(([at, , high]) => ctx.lineTo(at, high));
      corners.reverse().forEach(([at, low]) => ctx.lineTo(at, low));
      ctx.closePath();
      ctx.fill();
    }
    ctx.fillStyle = shade;
    for (const span of spans) {
      const [from, to] = span.map((at) => x.getPixelForValue(at));
      ctx.fillRect(from, area.top, to - from, area.height);
    }
    ctx.strokeStyle = ink;
    ctx.lineWidth = 1;
    ctx.setLineDash([3, 3]);
    const seen = lines
      .map(({at, text}) => ({across: x.getPixelForValue(at), text}))
      .filter(({across}) => area.left <= across && across <= area.right);
    for (const {across} of seen) {
      ctx.beginPath();
      ctx.moveTo(across, area.top);
      ctx.lineTo(across, area.bottom);
      ctx.stroke();
    }
    ctx.font = `11px ${Chart.defaults.font.family}`;
    ctx.textBaseline = 'middle';
    ctx.textAlign = 'left';
    for (const {across, text} of seen.filter(({text}) => text)) {
      const {width} = ctx.measureText(text);
      const left = across + 4 + width > area.right ? across - 4 - width : across + 4;
      ctx.fillStyle = paper; // other lines may be behind the text
      ctx.fillRect(left - 2, area.top + 1, width + 4, 14);
      ctx.fillStyle = ink;
      ctx.fillText(text, left, area.top + 8);
    }
    ctx.restore();
  },
};

// The plugin's options for what is drawn, if anything is.
function markOptions(theme, drawn) {
  if (!drawn) return {};
  return {marks: {ink: theme.faint, shade: theme.shade, paper: theme.paper, ...drawn}};
}

const MARKER_ROOM = 15; // pixels of a marker beside the name in a tile

// Draws a map: points {x, y, colour, marker, isHatched, lines} are tiles; the marker stands before the
// first line, because backends of one colour differ in it.
const tiles = {
  id: 'tiles',
  beforeDatasetsDraw(chart, _, {ink, paper}) {
    const {
      ctx,
      scales: {x, y},
    } = chart;
    const width = Math.abs(x.getPixelForValue(1) - x.getPixelForValue(0));
    const height = Math.abs(y.getPixelForValue(1) - y.getPixelForValue(0));
    for (const dataset of chart.data.datasets.filter((one) => one.isTiles)) {
      for (const point of dataset.data) {
        const [left, top] = [
          x.getPixelForValue(point.x) - width / 2,
          y.getPixelForValue(point.y) - height / 2,
        ];
        ctx.save();
        ctx.beginPath();
        ctx.rect(left + 1, top + 1, width - 2, height - 2);
        ctx.clip();
        ctx.fillStyle = point.colour;
        ctx.fillRect(left, top, width, height);
        if (point.isHatched) {
          ctx.strokeStyle = paper;
          ctx.lineWidth = 2.5;
          for (let at = -height; at < width; at += 9) {
            ctx.beginPath();
            ctx.moveTo(left + at, top + height);
            ctx.lineTo(left + at + height, top);
            ctx.stroke();
          }
        }
        ctx.font = `11px ${Chart.defaults.font.family}`;
        const widthOf = (line, i) =>
          ctx.measureText(line).width + (i === 0 && point.marker ? MARKER_ROOM : 0);
        const fits = (line, i) => widthOf(line, i) < width - 6;
        // What is said of a name makes no sense without it; the marker alone does.
        const lines = fits(point.lines[0], 0) ? point.lines.filter(fits) : [''];
        const room = lines.length * 14;
        if ((lines[0] || point.marker) && room < height) {
          const widest = Math.max(...lines.map(widthOf)) + 8;
          ctx.fillStyle = paper;
          ctx.globalAlpha = 0.85;
          ctx.fillRect(
            left + (width - widest) / 2,
            top + (height - room) / 2 - 1,
            widest,
            room + 2,
          );
          ctx.globalAlpha = 1;
          ctx.fillStyle = ink;
          ctx.textAlign = 'center';
          ctx.textBaseline = 'middle';
          const middle = left + width / 2;
          const heightOf = (i) => top + height / 2 + (i - (lines.length - 1) / 2) * 14;
          lines.forEach((line, i) => {
            const isNamed = i === 0 && point.marker;
            ctx.fillText(line, middle + (isNamed ? MARKER_ROOM / 2 : 0), heightOf(i));
          });
          if (point.marker)
            drawMarker(ctx, point.marker, middle - widthOf(lines[0], 0) / 2 + 6, heightOf(0));
        }
        ctx.restore();
      }
    }
  },
};

// --- Lines by name -------------------------------------------------------------------------------

// Writes the names of lines at their ends, each as close to its line as possible.
const endLabels = {
  id: 'endLabels',
  afterDatasetsDraw(chart, _, {size}) {
    chart.labels = size ? labelsOf(chart, size) : [];
    const {ctx} = chart;
    ctx.save();
    ctx.font = `${size}px ${Chart.defaults.font.family}`;
    ctx.textBaseline = 'middle';
    ctx.textAlign = 'left';
    ctx.lineWidth = 0.8;
    for (const {index, text, colour, isCut, from, left, y} of chart.labels) {
      ctx.globalAlpha = alphaOf(chart, index);
      ctx.strokeStyle = ctx.fillStyle = colour;
      ctx.setLineDash(isCut ? [1, 2] : []);
      ctx.beginPath();
      ctx.moveTo(from.x + 5, from.y);
      ctx.lineTo(left - 3, y);
      ctx.stroke();
      ctx.fillText(text, left, y);
    }
    ctx.restore();
  },
};

const LABEL_GAP = 16; // pixels between the ends of lines and their names

function labelsOf(chart, size) {
  const {top, bottom, right} = chart.chartArea;
  const last = Math.max(...chart.data.datasets.flatMap(({data}) => data.map(({x}) => x)));
  const ends = chart.data.datasets.flatMap((dataset, index) => {
    const at = dataset.data.findLastIndex(({y}) => Number.isFinite(y));
    if (at < 0) return [];
    const from = chart.getDatasetMeta(index).data[at].getProps(['x', 'y']);
    const text = shortened(dataset.label, chart.width);
    const isCut = dataset.data[at].x < last;
    return [{index, text, colour: dataset.borderColor, isCut, from}];
  });
  const gap = Math.min(1.25 * size, (bottom - top + size) / ends.length);
  const places = spreadOut(
    ends.map(({from}) => from.y),
    gap,
    top,
    bottom,
  );
  return ends.map((end, i) => ({...end, left: right + LABEL_GAP, y: places[i], gap}));
}

// The places at least `gap` apart with the least squared distance to those wanted. Merges places
// that would overlap into clusters, each at the mean of its members' wanted places.
function spreadOut(wanted, gap, low, high) {
  const order = wanted.map((_, i) => i).sort((i, j) => wanted[i] - wanted[j] || i - j);
  const clusters = []; // the place of the first member, and the number of members
  order.forEach((i, rank) => {
    let [place, count] = [wanted[i] - rank * gap, 1];
    while (clusters.length && clusters.at(-1)[0] > place) {
      const [other, others] = clusters.pop();
      place = (place * count + other * others) / (count + others);
      count += others;
    }
    clusters.push([place, count]);
  });
  const places = clusters.flatMap(([place, count]) => new Array(count).fill(place));
  const highest = high - gap * (wanted.length - 1);
  const found = [];
  order.forEach((i, rank) => {
    found[i] = rank * gap + Math.max(low, Math.min(places[rank], highest));
  });
  return found;
}

function labelSize(width) {
  return width > 480 ? 11.5 : 10;
}

// Shortens a long name in the middle if there is little room.
function shortened(name, width) {
  return width > 480 || name.length <= 20 ? name : `${name.slice(0, 9)}…${name.slice(-10)}`;
}

// The room of the names at the right of a chart.
function labelRoom(names, width) {
  return (
    textWidth(
      names.map((name) => shortened(name, width)),
      labelSize(width),
    ) +
    LABEL_GAP +
    2
  );
}

// The width of the longest text.
function textWidth(texts, size) {
  const ruler = document.createElement('canvas').getContext('2d');
  ruler.font = `${size}px ${Chart.defaults.font.family}`;
  return Math.ceil(Math.max(0, ...texts.map((text) => ruler.measureText(text).width)));
}

// Highlights the line under the pointer, or the line whose name is under it or has the keyboard
// focus.
const focus = {
  id: 'focus',
  beforeDatasetDraw(chart, {index}) {
    chart.ctx.save();
    chart.ctx.globalAlpha = alphaOf(chart, index);
  },
  afterDatasetDraw(chart) {
    chart.ctx.restore();
  },
  afterEvent(chart, args) {
    if (!chart.labels?.length) return;
    const found = args.event.type === 'mouseout' ? null : lineAt(chart, args.event);
    if (found === (chart.focused ?? null)) return;
    chart.focused = found;
    args.changed = true; // redraws the chart
  },
};

function alphaOf(chart, index) {
  return (chart.focused ?? index) === index ? 1 : 0.12;
}

// The line whose name is at the point, or the nearest line within reach.
function lineAt(chart, {x, y}) {
  const named = chart.labels.find(
    (label) => x >= label.left && Math.abs(y - label.y) <= label.gap / 2,
  );
  if (named) return named.index;
  let [nearest, least] = [null, 14];
  for (const {index} of chart.labels) {
    const points = chart.getDatasetMeta(index).data.filter((point) => Number.isFinite(point.y));
    points.forEach((point, i) => {
      const far = distanceTo({x, y}, point, points[i + 1] ?? point);
      if (far < least) [nearest, least] = [index, far];
    });
  }
  return nearest;
}

// The distance of a point from a line segment.
function distanceTo({x, y}, from, to) {
  const [across, down] = [to.x - from.x, to.y - from.y];
  const length = across ** 2 + down ** 2;
  const along = length ? ((x - from.x) * across + (y - from.y) * down) / length : 0;
  const part = Math.max(0, Math.min(1, along));
  return Math.hypot(x - from.x - part * across, y - from.y - part * down);
}

// The keys up and down move between names; `say` announces the last value of the line.
function focusByKey(chart, event, say) {
  const step = {ArrowDown: 1, ArrowUp: -1}[event.key];
  const labels = [...(chart?.labels ?? [])].sort((a, b) => a.y - b.y);
  if (!labels.length || (!step && event.key !== 'Escape')) return;
  event.preventDefault();
  const at = labels.findIndex(({index}) => index === chart.focused);
  const next = at < 0 && step < 0 ? labels.length - 1 : at + step;
  chart.focused = step ? (labels[next]?.index ?? null) : null;
  const dataset = chart.data.datasets[chart.focused];
  say(dataset?.data.findLast(({y}) => Number.isFinite(y))?.text ?? '');
  chart.draw();
}

Chart.register(whiskers, marks, tiles, endLabels, focus);

// --- Cards ---------------------------------------------------------------------------------------

const MARGIN_OF_SAVED = 12; // pixels
const FRAME = 50 + 2 * MARGIN_OF_SAVED; // pixels of the title and a line of the command when saved
const COMMAND_SIZE = 11; // pixels of its letters

const waiting = []; // figures whose charts are drawn once they are in the page
let mounted = [];
let pageOfCharts = '';
const opened = new Map(); // by place: whether the reader has opened or closed the data

// A chart with its title, note and data. `remake` is the command in a saved chart;
// `config(theme, width)` makes Chart.js's configuration; columns and rows are the data, as for tableOf. The CSV columns have raw numbers.
function card({title, note, remake, height, config, columns, rows, rowClass, isOpen = false}) {
  const said = h('p', {class: 'unseen', 'aria-live': 'polite'});
  const canvas = h('canvas', {
    role: 'img',
    tabindex: 0,
    'aria-label': `${title}. Up and down go from line to line. The data stand in the table below.`,
    onkeydown: (event) =>
      focusByKey(Chart.getChart(canvas), event, (text) => said.replaceChildren(text)),
    onblur: () => {
      const chart = Chart.getChart(canvas);
      if (chart) Object.assign(chart, {focused: null}).draw();
    },
  });
  const plot = h('div', {class: 'plot'}, canvas, said);
  const place = `${pageOfCharts}/${waiting.length}`;
  const isShown = opened.get(place) ?? isOpen;
  const save = (kind) => () => exportChart(kind, {title, remake, config, columns, rows, canvas});
  const figure = h(
    'figure',
    {'data-title': title},
    h('div', {class: 'whole'}, h('h3', {}, title), note && h('p', {class: 'note'}, note), plot),
    h(
      'div',
      {class: 'below'},
      ['SVG', 'PNG', 'CSV'].map((kind) =>
        h('button', {type: 'button', 'data-export': kind, onclick: save(kind)}, kind),
      ),
    ),
    h(
      'details',
      {open: isShown},
      h(
        'summary',
        {onclick: ({target}) => opened.set(place, !target.parentElement.open)},
        'The data',
      ),
      tableOf(columns, rows, rowClass),
    ),
  );
  waiting.push({canvas, plot, config, height});
  return figure;
}

const TALLEST = 620; // pixels on paper; leaves room for the text above

function mountCharts() {
  const isOnPaper = document.querySelector('main').classList.contains('on-paper');
  for (const {canvas, plot, config, height} of waiting.splice(0)) {
    const tall = typeof height === 'function' ? height(plot.clientWidth) : height;
    plot.style.height = `${isOnPaper ? Math.min(tall, TALLEST) : tall}px`;
    mounted.push(new Chart(canvas, config(themeOf(), plot.clientWidth)));
  }
  if (isOnPaper) fitTables();
}

// Paper does not scroll, so wide tables are scaled down.
function fitTables() {
  for (const table of document.querySelectorAll('.wide table'))
    table.style.zoom = Math.min(1, table.parentElement.clientWidth / table.offsetWidth);
}

// Charts added later belong to this page.
function removeCharts(page) {
  pageOfCharts = page;
  waiting.length = 0;
  for (const chart of mounted) chart.destroy();
  mounted = [];
}

function exportChart(kind, {title, remake, config, columns, rows, canvas}) {
  const name = `timerbench_${fileName(title)}.${kind.toLowerCase()}`;
  if (kind === 'CSV') {
    download(name, 'text/csv', csvOf(columns, rows));
    return;
  }
  const paper = themeOf(true);
  const width = canvas.clientWidth + 2 * MARGIN_OF_SAVED;
  const command = linesOfCommand(
    `Reproduce with: ${remake}`,
    (line) => textWidth([line], COMMAND_SIZE) < canvas.clientWidth,
  );
  const lines = 1.2 * COMMAND_SIZE * (command.length - 1);
  const height = Math.ceil(canvas.clientHeight + FRAME + lines);
  const framed = inFrame(config(paper, width), paper, title, command);
  if (kind === 'SVG') {
    download(name, 'image/svg+xml', svgOf(framed, width, height, paper.paper));
    return;
  }
  pngOf(framed, width, height, paper.paper).then((blob) => download(name, 'image/png', blob));
}

// Adds a title and the lines of the command to a chart that is saved.
function inFrame(config, theme, title, command) {
  const frame = {
    title: {display: true, text: title, align: 'start', color: theme.ink, padding: {bottom: 10}},
    subtitle: {
      display: true,
      text: command,
      position: 'bottom',
      align: 'start',
      color: theme.faint,
      font: {size: COMMAND_SIZE},
    },
  };
  const {options} = config;
  return {
    ...config,
    options: {
      ...options,
      layout: {
        padding: {
          ...{left: MARGIN_OF_SAVED, top: MARGIN_OF_SAVED, bottom: MARGIN_OF_SAVED},
          right: MARGIN_OF_SAVED + (options.layout?.padding.right ?? 0),
        },
      },
      plugins: {...options.plugins, ...frame},
    },
  };
}

// Renders at twice the resolution of the screen.
function pngOf(config, width, height, background) {
  const canvas = h('canvas', {width, height});
  const chart = new Chart(canvas, {
    ...config,
    options: {...config.options, responsive: false, devicePixelRatio: 2},
  });
  const sheet = h('canvas', {width: canvas.width, height: canvas.height});
  const context = sheet.getContext('2d');
  context.fillStyle = background;
  context.fillRect(0, 0, sheet.width, sheet.height);
  context.drawImage(canvas, 0, 0);
  chart.destroy();
  return new Promise((done) => sheet.toBlob(done, 'image/png'));
}

// The common settings of all charts. Charts of lines have their `names` at the right instead of a
// legend.
function optionsOf(theme, width, {scales, legend = true, names = null, tooltip = {}, ...more}) {
  return {
    ...more,
    scales,
    layout: names ? {padding: {right: labelRoom(names, width)}} : undefined,
    interaction: {mode: 'nearest', intersect: false, axis: more.indexAxis === 'y' ? 'y' : 'xy'},
    plugins: {
      legend: {
        display: legend && !names,
        position: width > 760 ? 'right' : 'bottom',
        labels: {color: theme.ink, usePointStyle: true, boxWidth: 8, boxHeight: 8, padding: 8},
      },
      tooltip: {
        callbacks: {
          title: () => '',
          label: ({dataset, raw}) => raw.text ?? dataset.label,
          ...tooltip,
        },
      },
      ...(names ? {endLabels: {size: labelSize(width)}} : {}),
      ...more.plugins,
    },
  };
}

// The height at which each line has room for its name.
function heightFor(lines, base = 380) {
  return Math.max(base, lines * 15 + 60);
}

// A line for each of the datasets of lineOf, against a logarithmic axis with ticks at `xs`.
function linesChart(theme, width, {datasets, xTitle, xText, xs, ticks = xs, y, marks: drawn}) {
  return {
    type: 'line',
    data: {datasets},
    options: optionsOf(theme, width, {
      names: datasets.map(({label}) => label),
      scales: {x: logScale(theme, xTitle, xText, xs, ticks), y},
      plugins: markOptions(theme, drawn),
    }),
  };
}

// A row for each of the points {x, y: its name, low, high, text}, as a dot with whiskers. `styles`
// has a colour or a result of markerOf for each.
const TWO_LINES = 500; // pixels; on narrower charts long names take two lines

function dotsChart(theme, width, {points, styles, title, unit, reach = [], marks: drawn}) {
  const values = [...points.flatMap(({x, low, high}) => [x, low, high]), ...reach];
  const colours = styles.map(({colour}) => colour);
  const names = points.map(({y}) =>
    width < TWO_LINES ? y.replace(' at ', '\nat ').split('\n') : y,
  );
  return {
    type: 'line',
    data: {
      labels: points.map(({y}) => y),
      datasets: [
        {
          data: points,
          showLine: false,
          pointRadius: styles.map(({pointRadius = 4}) => pointRadius + 1),
          pointRotation: styles.map(({rotation = 0}) => rotation),
          pointBorderWidth: 1.5,
          pointHoverRadius: 7,
          pointStyle: styles.map(({pointStyle = 'circle'}) => pointStyle),
          borderColor: colours,
          pointBackgroundColor: styles.map(({colour, fill = colour}) => fill),
          pointBorderColor: colours,
          whiskerColour: colours,
        },
      ],
    },
    options: optionsOf(theme, width, {
      indexAxis: 'y',
      legend: false,
      scales: {
        x: values.some((value) => value <= 0 && value > -Infinity)
          ? scaleOf(theme, title, tick(unit), {beginAtZero: true})
          : logScale(theme, title, unit, values),
        y: scaleOf(theme, '', () => '', {
          type: 'category',
          offset: true,
          labels: points.map(({y}) => y),
          ticks: {autoSkip: false, color: theme.ink, callback: (i) => names[i]},
          afterFit: (axis) => {
            axis.width = textWidth(names.flat(), Chart.defaults.font.size) + 12;
          },
        }),
      },
      plugins: markOptions(theme, drawn),
    }),
  };
}
