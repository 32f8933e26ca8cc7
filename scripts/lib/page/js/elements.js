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

function swatch(backend, campaign) {
  return h('span', {class: 'swatch', style: `background:${colourOf(backend, campaign)}`});
}

function named(backend, campaign) {
  return h(
    'span',
    {title: campaign.backends.get(backend)?.summary},
    swatch(backend, campaign),
    backend,
  );
}

function remakeNote(command) {
  return h('span', {}, 'Remake: ', h('code', {}, command));
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
