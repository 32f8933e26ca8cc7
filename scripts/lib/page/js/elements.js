'use strict';
// Pieces of HTML. Names from results are only set as text, never as HTML.

function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false)
      element.setAttribute(name, value === true ? '' : value);
  }
  element.append(
    ...children.flat(Infinity).filter((child) => ![undefined, null, false].includes(child)),
  );
  return element;
}

// Draws a backend's marker, as in charts.
const OUTLINES = {
  o: 'M6 1.5a4.5 4.5 0 1 0 .01 0Z',
  s: 'M2 2H10V10H2Z',
  D: 'M6 0.8L11.2 6L6 11.2L0.8 6Z',
  '^': 'M6 1L11.5 10.5H0.5Z',
  v: 'M6 11L0.5 1.5H11.5Z',
  '': 'M1 6H11',
};

function swatch(backend, campaign) {
  const {shape, is_open: isOpen} = lookOf(backend, campaign);
  const colour = colourOf(backend, campaign);
  const drawing = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  const path = document.createElementNS(drawing.namespaceURI, 'path');
  for (const [element, attributes] of [
    [drawing, {class: 'swatch', viewBox: '0 0 12 12', 'aria-hidden': 'true'}],
    [
      path,
      {d: OUTLINES[shape], fill: isOpen ? 'none' : colour, stroke: colour, 'stroke-width': 1.6},
    ],
  ])
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  drawing.append(path);
  return drawing;
}

// A backend's name, which links to its page.
function named(backend, campaign) {
  return h(
    'a',
    {
      class: 'name',
      href: backendAddress(backend, campaign),
      title: campaign.backends.get(backend)?.summary,
    },
    swatch(backend, campaign),
    backend,
  );
}

function backendAddress(backend, campaign) {
  return addressOf('backend', {any: campaign.index, of: backend});
}

// A command, broken between lines at blanks and behind commas only.
function commandOf(command) {
  const parts = command.split(/( )/).flatMap((word) => word.split(/(?<=,)/));
  return h(
    'code',
    {class: 'command'},
    parts.map((part) => (part === ' ' ? part : h('span', {}, part))),
  );
}

// Breaks a text likewise into lines that fit.
function linesOfCommand(text, fits) {
  const lines = [''];
  for (const part of text.match(/[^ ,]*[ ,]*/g)) {
    if (lines.at(-1) && !fits((lines.at(-1) + part).trimEnd())) lines.push(part);
    else lines[lines.length - 1] += part;
  }
  return lines.map((line) => line.trimEnd());
}

// Sentences as paragraphs; the words that open some stand out.
function saidIn(sentences) {
  return sentences.map((said) => {
    const [, word, rest] = said.match(/^(How sure: |What to do: )?(.*)$/s);
    return h('p', {}, word && h('strong', {}, word), rest);
  });
}

const sortedBy = new Map(); // the reader's sort column and direction, by the titles of a table

// Columns are {title, text: row => string or node, value: row => value for CSV and sorting, left:
// whether it is text, only: 'table' or 'csv' if it is not in both}. rowClass returns a row's class.
// The column of names stays in place while the others scroll.
function tableOf(all, rows, rowClass = () => '') {
  const columns = all.filter(({only}) => only !== 'csv');
  const sticky = columns.find(isOfNames) ?? columns.find(({left}) => left);
  const classOf = (column) =>
    [column.left && (column.left === 'words' ? 'words' : 'text'), column === sticky && 'stays']
      .filter(Boolean)
      .join(' ') || undefined;
  const lines = rows.map((row) =>
    h(
      'tr',
      {class: rowClass(row) || undefined},
      columns.map((column) =>
        h('td', {class: classOf(column)}, show((column.text ?? column.value)(row))),
      ),
    ),
  );
  const keysOf = ({value}, i) =>
    new Map(
      lines.map((line, j) => [line, sortKey(value ? value(rows[j]) : line.cells[i].textContent)]),
    );
  const body = h('tbody', {}, lines);
  const heads = columns.map((column) =>
    h(
      'th',
      {class: classOf(column), scope: 'col'},
      column.title &&
        h('button', {type: 'button', class: 'sort', onclick: () => turn(column)}, column.title),
    ),
  );
  const table = h('table', {}, h('thead', {}, h('tr', {}, heads)), body);
  const place = columns.map(({title}) => title).join();
  const sort = () => {
    const {title, isDown} = sortedBy.get(place) ?? {};
    const at = columns.findIndex((column) => column.title === title);
    heads.forEach((head) => head.removeAttribute('aria-sort'));
    table.classList.toggle('sorted', at >= 0);
    if (at < 0) return body.replaceChildren(...lines);
    heads[at].setAttribute('aria-sort', isDown ? 'descending' : 'ascending');
    const keys = keysOf(columns[at], at);
    const compare = (a, b) => compareKeys(keys.get(a), keys.get(b), isDown ? -1 : 1);
    body.replaceChildren(...[...lines].sort(compare));
  };
  // Cycles through ascending, descending and unsorted.
  const turn = ({title}) => {
    const {title: before, isDown} = sortedBy.get(place) ?? {};
    if (before !== title) sortedBy.set(place, {title, isDown: false});
    else if (!isDown) sortedBy.set(place, {title, isDown: true});
    else sortedBy.delete(place);
    sort();
  };
  if (sortedBy.has(place)) sort();
  return h('div', {class: 'wide', tabindex: 0}, table);
}

function isOfNames({title}) {
  return ['backend', 'service', 'queue'].includes(title);
}

// Returns a number if the value is one.
function sortKey(value) {
  if (typeof value !== 'string') return value;
  const number = Number.parseFloat(value.replace(/[×\u202f]/g, ''));
  return Number.isNaN(number) ? value : number;
}

// Missing values sort last, and words after numbers.
function compareKeys(a, b, direction) {
  const group = (key) =>
    ['', '–', null, undefined].includes(key) ? 2 : typeof key === 'string' ? 1 : 0;
  if (group(a) !== group(b)) return group(a) - group(b);
  if (group(a) === 2) return 0;
  return direction * (typeof a === 'string' ? a.localeCompare(b) : a - b);
}

function show(content) {
  return content === null || content === undefined
    ? '–'
    : typeof content === 'number'
      ? Number.isInteger(content)
        ? grouped(String(content))
        : digits(content)
      : content;
}

function csvOf(all, rows) {
  const columns = all.filter(({only}) => only !== 'table');
  const quoted = (value) => {
    const text = value === null || value === undefined ? '' : String(value);
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  const line = (values) => values.map(quoted).join(',');
  return (
    [
      line(columns.map(({title, csv}) => csv ?? title)),
      ...rows.map((row) => line(columns.map(({value, text}) => (value ?? text)(row)))),
    ].join('\n') + '\n'
  );
}

function download(name, type, content) {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], {type}));
  h('a', {href: url, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

// Writes powers of ten as 1e5 and 5e4, so that file names tell sizes apart.
function fileName(title) {
  return title
    .replace(
      /(?:(\d)·)?10([⁰¹²³⁴⁵⁶⁷⁸⁹]+)/g,
      (_, tens, power10) =>
        `${tens ?? 1}e${[...power10].map((digit) => SUPERSCRIPTS.indexOf(digit)).join('')}`,
    )
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_|_$/g, '')
    .slice(0, 80);
}
