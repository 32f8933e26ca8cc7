'use strict';
// Formats numbers for readers, like scripts/lib/words.py.

const SUPERSCRIPTS = '⁰¹²³⁴⁵⁶⁷⁸⁹';

function superscript(text) {
  return [...text].map((digit) => SUPERSCRIPTS[digit] ?? '⁻').join('');
}

function grouped(text) {
  return text.replace(/\B(?=(\d{3})+(?!\d))/g, '\u202f');
}

// Formats 10⁵, 3·10⁴ or 1 234.
function power(size) {
  const text = String(size);
  const exponent = text.length - 1;
  if (exponent < 3 || !/^.0*$/.test(text)) return grouped(text);
  const tens = `10${superscript(String(exponent))}`;
  return text[0] === '1' ? tens : `${text[0]}·${tens}`;
}

// Formats three digits, or two below 1; 1.0·10⁻⁷ for tiny or huge values.
function digits(value) {
  if (value === 0) return '0';
  if (typeof value !== 'number' || Number.isNaN(value)) return '–';
  if (!Number.isFinite(value)) return value > 0 ? '∞' : '−∞';
  if (Math.abs(value) < 1e-6 || Math.abs(value) >= 1e15) {
    const [mantissa, exponent] = value.toExponential(1).split('e');
    return `${mantissa}·10${superscript(exponent.replace('+', ''))}`;
  }
  if (Math.abs(value) >= 999.5) return grouped(value.toFixed(0));
  const magnitude = Math.floor(Math.log10(Math.abs(value)) + 1e-9);
  return value.toFixed(magnitude >= 0 ? 2 - magnitude : 1 - magnitude);
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

// Formats a value in its unit, if there is a value.
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

// The unit by the end of a counter's name.
function unitOf(counter) {
  if (counter.endsWith('_ns') || counter.includes('_ns_per_')) return time;
  if (counter.endsWith('_share')) return percent;
  if (counter.includes('bytes')) return bytes;
  return count;
}

// Formats a count: 1 comparison, 2 comparisons.
function counted(number, thing) {
  return `${number} ${thing}${number === 1 ? '' : 's'}`;
}

// Formats ticks: 10 ms instead of 10.0 ms.
function tick(unit) {
  return (value) =>
    unit(value)
      .replace(/(\.\d*?[1-9])0+(?!\d)/, '$1')
      .replace(/\.0+(?!\d)/, '');
}

// Formats a ratio: ×0.0042, ×0.998, ×2.31, ×45.6; three decimals near 1.
function ratio(value) {
  return value < 0.1 || value >= 10 ? `×${digits(value)}` : `×${value.toFixed(value < 2 ? 3 : 2)}`;
}

function ratioWithInterval(one) {
  if (!(one.low > 0) || one.high === Infinity) return `${ratio(one.middle)} [?]`;
  return `${ratio(one.middle)} [${ratio(one.low).slice(1)} – ${ratio(one.high).slice(1)}]`;
}

// A cost with the interval of its median.
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
