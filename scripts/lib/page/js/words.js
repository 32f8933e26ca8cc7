'use strict';
// Numbers as readers want them: the same as scripts/lib/words.py.

const SUPERSCRIPTS = '⁰¹²³⁴⁵⁶⁷⁸⁹';

function grouped(text) {
  if (text.includes('e')) return text; // 1e+21
  return text.replace(/\B(?=(\d{3})+(?!\d))/g, '\u202f');
}

// 10⁵, 3·10⁴ or 1 234.
function power(size) {
  const text = String(size);
  const exponent = text.length - 1;
  if (exponent < 3 || !/^.0*$/.test(text)) return grouped(text);
  const tens = '10' + [...String(exponent)].map((digit) => SUPERSCRIPTS[digit]).join('');
  return text[0] === '1' ? tens : `${text[0]}·${tens}`;
}

// Three of them, and two below 1.
function digits(value) {
  if (value === 0) return '0';
  if (typeof value !== 'number' || Number.isNaN(value)) return '–';
  if (!Number.isFinite(value)) return value > 0 ? '∞' : '−∞';
  if (Math.abs(value) < 1e-6) return value.toExponential(1);
  if (Math.abs(value) >= 999.5) return grouped(value.toFixed(0));
  const magnitude = Math.floor(Math.log10(Math.abs(value)) + 1e-9);
  return value.toFixed(magnitude >= 0 ? Math.max(0, 2 - magnitude) : 1 - magnitude);
}

function scaled(value, units) {
  for (const [unit, factor] of units) {
    if (Math.abs(value) >= factor * 0.9995) return `${digits(value / factor)} ${unit}`;
  }
  return null;
}

function time(ns) {
  const units = [
    ['h', 3600e9],
    ['s', 1e9],
    ['ms', 1e6],
    ['µs', 1e3],
  ];
  return scaled(ns, units) ?? `${digits(ns)} ns`;
}

function bytes(value) {
  return (
    scaled(value, [
      ['GiB', 2 ** 30],
      ['MiB', 2 ** 20],
      ['KiB', 2 ** 10],
    ]) ?? `${digits(value)} B`
  );
}

// In its unit, if there is such a value.
function inUnit(value, unit) {
  return value === null ? null : unit(value);
}

function count(value) {
  return (
    scaled(value, [
      ['M', 1e6],
      ['k', 1e3],
    ]) ?? digits(value)
  );
}

function percent(share) {
  return `${digits(100 * share)} %`;
}

// By the end of a counter's name.
function unitOf(counter) {
  if (counter.endsWith('_ns') || counter.includes('_ns_per_')) return time;
  if (counter.endsWith('_share')) return percent;
  if (counter.includes('bytes')) return bytes;
  return count;
}

// 1 comparison, 2 comparisons.
function counted(number, thing) {
  return `${number} ${thing}${number === 1 ? '' : 's'}`;
}

// For an axis: 10 ms and not 10.0 ms.
function tick(unit) {
  return (value) =>
    unit(value)
      .replace(/(\.\d*?[1-9])0+(?!\d)/, '$1')
      .replace(/\.0+(?!\d)/, '');
}

function ratio(value) {
  return value < 0.1 || value >= 10 ? `×${digits(value)}` : `×${value.toFixed(value < 2 ? 3 : 2)}`;
}

function ratioWithInterval(one) {
  if (!(one.low > 0) || one.high === Infinity) return `${ratio(one.middle)} [?]`;
  return `${ratio(one.middle)} [${ratio(one.low).slice(1)} – ${ratio(one.high).slice(1)}]`;
}

// A cost with what its median is sure to lie between.
function costWithInterval(cell) {
  const {low, high} = cell.interval;
  return (
    digits(cell.cost) +
    (Number.isFinite(low) && Number.isFinite(high) ? ` [${digits(low)} – ${digits(high)}]` : ' [?]')
  );
}

function capital(text) {
  return text[0].toUpperCase() + text.slice(1);
}
