'use strict';
// Pieces of HTML. Text is only ever set as text, whatever results have in their names.

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

// The marker of a backend, as charts have it.
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

// The name of a backend, which leads to its page.
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

function remakeNote(command) {
  return h('span', {}, 'Reproduce with: ', h('code', {}, command));
}

// Columns are {title, text: row => string or node, value: row => what CSV has, left: whether it is
// text, only: 'table' or 'csv' if it is not in both}. rowClass says how a row looks.
function tableOf(all, rows, rowClass = () => '') {
  const columns = all.filter(({only}) => only !== 'csv');
  return h(
    'div',
    {class: 'wide', tabindex: 0},
    h(
      'table',
      {},
      h(
        'thead',
        {},
        h(
          'tr',
          {},
          columns.map(({title, left}) => h('th', {class: left && 'text', scope: 'col'}, title)),
        ),
      ),
      h(
        'tbody',
        {},
        rows.map((row) =>
          h(
            'tr',
            {class: rowClass(row) || undefined},
            columns.map(({text, value, left}) =>
              h(
                'td',
                {class: left && (left === 'words' ? 'words' : 'text')},
                show((text ?? value)(row)),
              ),
            ),
          ),
        ),
      ),
    ),
  );
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

// Powers of ten as 1e5 and 5e4, so that names tell sizes apart.
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
