'use strict';
// Charts, each with a title, what it says, the command that remakes it, and its data.

Chart.defaults.animation = false;
Chart.defaults.maintainAspectRatio = false;
Chart.defaults.font.family = 'system-ui, "Segoe UI", Roboto, "DejaVu Sans", Arial, sans-serif';
Chart.defaults.font.size = 12;

// Of the shapes of scripts/lib/style.py.
const POINTS = {
  o: {pointStyle: 'circle', pointRadius: 3.5},
  s: {pointStyle: 'rect', pointRadius: 4.5},
  D: {pointStyle: 'rectRot', pointRadius: 4.5},
  '^': {pointStyle: 'triangle', pointRadius: 4.5},
  v: {pointStyle: 'triangle', pointRadius: 4.5, rotation: 180},
  '': {pointStyle: 'circle', pointRadius: 2},
};

// --- Colours -------------------------------------------------------------------------------------

// The colours of the page as it is, or of paper, for what is exported.
function themeOf(isPaper = false) {
  const root = document.documentElement;
  const current = root.dataset.theme;
  if (isPaper) root.dataset.theme = 'light';
  const style = getComputedStyle(root);
  const theme = {isDark: root.dataset.theme === 'dark'};
  for (const name of ['paper', 'ink', 'faint', 'line', 'shade', 'good', 'bad'])
    theme[name] = style.getPropertyValue(`--${name}`).trim();
  root.dataset.theme = current;
  return theme;
}

const PLAIN = {shape: '', is_open: false, colours: ['#6b6b6b', '#9a9a9a']};

// One that only a pass knows is plain.
function lookOf(backend, campaign) {
  return campaign.backends.get(backend)?.look ?? PLAIN;
}

function colourOf(backend, campaign, theme = themeOf()) {
  return lookOf(backend, campaign).colours[theme.isDark ? 1 : 0];
}

// How the dots of a backend look.
function markerOf(backend, campaign, theme) {
  const {shape, is_open: isOpen} = lookOf(backend, campaign);
  const colour = colourOf(backend, campaign, theme);
  return {...POINTS[shape], colour, fill: isOpen ? theme.paper : colour};
}

function see(colour, share) {
  return (
    colour +
    Math.round(share * 255)
      .toString(16)
      .padStart(2, '0')
  );
}

// How the line of a backend looks. Points are {x, y, low, high, text}.
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

// Logarithmic, around positive values, with whole numbers at the ticks.
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

// As few in a decade as make three.
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

// Of a narrow range.
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

// What a median is sure to lie between, for points with low and high.
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

// Lines across with a word to each, a band that runs along, and a span from top to bottom;
// options.plugins.marks says which.
const marks = {
  id: 'marks',
  beforeDatasetsDraw(
    chart,
    _,
    {lines = [], band = null, span = null, ink = '#888', shade = '#ddd'},
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
      ctx.fillStyle = shade;
      ctx.beginPath();
      band.forEach(({x: at, high}) => ctx.lineTo(x.getPixelForValue(at), y.getPixelForValue(high)));
      [...band]
        .reverse()
        .forEach(({x: at, low}) => ctx.lineTo(x.getPixelForValue(at), y.getPixelForValue(low)));
      ctx.closePath();
      ctx.fill();
    }
    if (span) {
      const [from, to] = span.map((at) => x.getPixelForValue(at));
      ctx.fillStyle = shade;
      ctx.fillRect(from, area.top, to - from, area.height);
    }
    ctx.strokeStyle = ctx.fillStyle = ink;
    ctx.lineWidth = 1;
    ctx.font = `11px ${Chart.defaults.font.family}`;
    ctx.textBaseline = 'middle';
    ctx.textAlign = 'left';
    for (const {at, text} of lines) {
      const across = x.getPixelForValue(at);
      if (across < area.left || across > area.right) continue;
      ctx.setLineDash([3, 3]);
      ctx.beginPath();
      ctx.moveTo(across, area.top);
      ctx.lineTo(across, area.bottom);
      ctx.stroke();
      ctx.fillText(text, across + 4, area.top + 8);
    }
    ctx.restore();
  },
};

// A map: points {x, y, colour, isOpen, text} are tiles, hatched where they are open.
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
        if (point.isOpen) {
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
        const lines = point.lines.filter((line) => ctx.measureText(line).width < width - 6);
        const room = lines.length * 14;
        if (lines.length && room < height) {
          const widest = Math.max(...lines.map((line) => ctx.measureText(line).width)) + 8;
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
          lines.forEach((line, i) =>
            ctx.fillText(
              line,
              left + width / 2,
              top + height / 2 + (i - (lines.length - 1) / 2) * 14,
            ),
          );
        }
        ctx.restore();
      }
    }
  },
};

Chart.register(whiskers, marks, tiles);

// --- Cards ---------------------------------------------------------------------------------------

const MARGIN_OF_SAVED = 12; // pixels
const FRAME = 50 + 2 * MARGIN_OF_SAVED; // pixels for the title and the command of what is saved

const waiting = []; // figures whose charts are drawn once they are in the page
let mounted = [];
let pageOfCharts = '';
const opened = new Map(); // by place, whether the reader has opened or closed the data there

// A chart with all that belongs to it. `config(theme, width)` makes Chart.js's configuration; columns
// and rows are its data, as for tableOf. The columns of CSV have raw numbers.
function card({title, note, remake, height, config, columns, rows, rowClass, isOpen = false}) {
  const canvas = h('canvas', {
    role: 'img',
    'aria-label': `${title}. Its data stand in the table below.`,
  });
  const plot = h('div', {class: 'plot'}, canvas);
  const place = `${pageOfCharts}/${waiting.length}`;
  const isShown = opened.get(place) ?? isOpen;
  const save = (kind) => () => exportChart(kind, {title, remake, config, columns, rows, canvas});
  const figure = h(
    'figure',
    {'data-title': title},
    h('h3', {}, title),
    note && h('figcaption', {}, note),
    plot,
    h(
      'div',
      {class: 'below'},
      ['SVG', 'PNG', 'CSV'].map((kind) =>
        h('button', {type: 'button', 'data-export': kind, onclick: save(kind)}, kind),
      ),
      remakeNote(remake),
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

function mountCharts() {
  for (const {canvas, plot, config, height} of waiting.splice(0)) {
    const width = plot.clientWidth;
    plot.style.height = `${typeof height === 'function' ? height(width) : height}px`;
    mounted.push(new Chart(canvas, config(themeOf(), width)));
  }
}

// Those to come are of that page.
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
  const height = canvas.clientHeight + FRAME;
  const framed = inFrame(config(paper, width), paper, title, remake);
  if (kind === 'SVG') {
    download(name, 'image/svg+xml', svgOf(framed, width, height, paper.paper));
    return;
  }
  pngOf(framed, width, height, paper.paper).then((blob) => download(name, 'image/png', blob));
}

// What leaves the page says what it is, and how it is remade.
function inFrame(config, theme, title, remake) {
  const frame = {
    title: {display: true, text: title, align: 'start', color: theme.ink, padding: {bottom: 10}},
    subtitle: {
      display: true,
      text: `Remake: ${remake}`,
      position: 'bottom',
      align: 'start',
      color: theme.faint,
      font: {size: 11},
    },
  };
  const {options} = config;
  return {
    ...config,
    options: {
      ...options,
      layout: {padding: MARGIN_OF_SAVED},
      plugins: {...options.plugins, ...frame},
    },
  };
}

// At twice the resolution of the screen's.
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

// The settings that all charts share.
function optionsOf(theme, width, {scales, legend = true, tooltip = {}, ...more}) {
  return {
    ...more,
    scales,
    interaction: {mode: 'nearest', intersect: false, axis: more.indexAxis === 'y' ? 'y' : 'xy'},
    plugins: {
      legend: {
        display: legend,
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
      ...more.plugins,
    },
  };
}

function heightFor(lines, base = 380) {
  return (width) =>
    width > 760 ? Math.max(base, lines * 21 + 60) : base + Math.ceil(lines / 2) * 21;
}

// A line for each of the datasets of lineOf, against a logarithmic axis. `xs` are where its ticks stand.
function linesChart(theme, width, {datasets, xTitle, xText, xs, ticks = xs, y, marks: drawn}) {
  return {
    type: 'line',
    data: {datasets},
    options: optionsOf(theme, width, {
      scales: {x: logScale(theme, xTitle, xText, xs, ticks), y},
      plugins: drawn ? {marks: {ink: theme.faint, shade: theme.shade, ...drawn}} : {},
    }),
  };
}

// A row for each of the points {x, y: its name, low, high, text}, a dot with whiskers in it. `styles`
// has for each a colour, or all that markerOf says.
function dotsChart(theme, width, {points, styles, title, unit, reach = [], marks: drawn}) {
  const values = [...points.flatMap(({x, low, high}) => [x, low, high]), ...reach];
  const colours = styles.map(({colour}) => colour);
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
          ticks: {autoSkip: false, color: theme.ink, callback: (i) => points[i].y},
        }),
      },
      plugins: drawn ? {marks: {ink: theme.faint, shade: theme.shade, ...drawn}} : {},
    }),
  };
}
