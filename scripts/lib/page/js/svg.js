'use strict';
// A canvas context that writes SVG, with the subset of calls that Chart.js and the plugins here
// use.

class SvgContext {
  constructor(canvas) {
    this.canvas = canvas;
    this.parts = [];
    this.clips = [];
    this.path = '';
    this.stack = [];
    this.state = {
      matrix: new DOMMatrix(),
      clip: '',
      fillStyle: '#000',
      strokeStyle: '#000',
      lineWidth: 1,
      lineCap: 'butt',
      lineJoin: 'miter',
      miterLimit: 10,
      font: '10px sans-serif',
      textAlign: 'start',
      textBaseline: 'alphabetic',
      globalAlpha: 1,
      dash: [],
      lineDashOffset: 0,
    };
    this.ruler = document.createElement('canvas').getContext('2d'); // measures text
  }

  // The whole drawing.
  text(width, height, background) {
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
      `viewBox="0 0 ${width} ${height}"><defs>${this.clips.join('')}</defs>` +
      `<rect width="100%" height="100%" fill="${background}"/>\n${this.parts.join('\n')}\n</svg>\n`
    );
  }

  save() {
    this.stack.push({...this.state});
  }
  restore() {
    if (this.stack.length) this.state = this.stack.pop();
  }
  translate(x, y) {
    this.state.matrix = this.state.matrix.translate(x, y);
  }
  rotate(angle) {
    this.state.matrix = this.state.matrix.rotate((angle * 180) / Math.PI);
  }
  scale(x, y) {
    this.state.matrix = this.state.matrix.scale(x, y);
  }
  setTransform(a, b, c, d, e, f) {
    this.state.matrix = new DOMMatrix(typeof a === 'number' ? [a, b, c, d, e, f] : a);
  }
  resetTransform() {
    this.state.matrix = new DOMMatrix();
  }
  getTransform() {
    return this.state.matrix;
  }
  setLineDash(dash) {
    this.state.dash = dash;
  }
  getLineDash() {
    return this.state.dash;
  }
  measureText(text) {
    this.ruler.font = this.state.font;
    return this.ruler.measureText(text);
  }

  point(x, y) {
    const {x: right, y: down} = this.state.matrix.transformPoint({x, y});
    return `${round(right)} ${round(down)}`;
  }

  beginPath() {
    this.path = '';
  }
  moveTo(x, y) {
    this.path += `M${this.point(x, y)}`;
  }
  lineTo(x, y) {
    this.path += `${this.path ? 'L' : 'M'}${this.point(x, y)}`;
  }
  bezierCurveTo(a, b, c, d, x, y) {
    this.path += `C${this.point(a, b)} ${this.point(c, d)} ${this.point(x, y)}`;
  }
  quadraticCurveTo(a, b, x, y) {
    this.path += `Q${this.point(a, b)} ${this.point(x, y)}`;
  }
  closePath() {
    this.path += 'Z';
  }

  rect(x, y, width, height) {
    this.moveTo(x, y);
    this.lineTo(x + width, y);
    this.lineTo(x + width, y + height);
    this.lineTo(x, y + height);
    this.closePath();
  }

  // Scales are always uniform here, so an arc stays an arc.
  arc(x, y, radius, start, end, backwards = false) {
    const full = Math.abs(end - start) >= 2 * Math.PI - 1e-6;
    const at = (angle) => [x + radius * Math.cos(angle), y + radius * Math.sin(angle)];
    const large = Math.abs(end - start) > Math.PI ? 1 : 0;
    const sweep = backwards ? 0 : 1;
    this.lineTo(...at(start));
    if (full)
      this.path += `A${radius} ${radius} 0 1 ${sweep} ${this.point(...at(start + Math.PI))}`;
    this.path += `A${radius} ${radius} 0 ${full ? 1 : large} ${sweep} ${this.point(...at(full ? start + 2 * Math.PI : end))}`;
  }

  ellipse(x, y, radius, _, __, start, end) {
    this.arc(x, y, radius, start, end);
  }

  clip() {
    this.clips.push(`<clipPath id="clip${this.clips.length}"><path d="${this.path}"/></clipPath>`);
    this.state.clip = `clip${this.clips.length - 1}`;
  }

  fill() {
    this.put(`path d="${this.path}"`, `fill="${this.state.fillStyle}"`);
  }
  stroke() {
    this.put(`path d="${this.path}"`, `fill="none" ${this.lines()}`);
  }
  clearRect() {}

  fillRect(x, y, width, height) {
    const path = this.path;
    this.beginPath();
    this.rect(x, y, width, height);
    this.fill();
    this.path = path;
  }

  strokeRect(x, y, width, height) {
    const path = this.path;
    this.beginPath();
    this.rect(x, y, width, height);
    this.stroke();
    this.path = path;
  }

  fillText(text, x, y) {
    const {a, b, c, d} = this.state.matrix;
    const anchor = {center: 'middle', right: 'end', end: 'end'}[this.state.textAlign] ?? 'start';
    const rise = {middle: 0.35, top: 0.8, hanging: 0.8, bottom: -0.2}[this.state.textBaseline] ?? 0;
    const size = parseFloat(/([\d.]+)px/.exec(this.state.font)?.[1] ?? 10);
    const [right, down] = this.point(x, y + rise * size).split(' ');
    const font = this.state.font.replaceAll('"', "'");
    this.put(
      `text transform="matrix(${[a, b, c, d].map(round).join(' ')} ${right} ${down})" ` +
        `style="font:${font}" text-anchor="${anchor}"`,
      `fill="${this.state.fillStyle}"`,
      escaped(text),
    );
  }

  strokeText() {}

  lines() {
    const {strokeStyle, lineWidth, dash, lineCap, lineJoin, lineDashOffset} = this.state;
    return (
      `stroke="${strokeStyle}" stroke-width="${round(lineWidth)}" stroke-linecap="${lineCap}" ` +
      `stroke-linejoin="${lineJoin}"` +
      (dash.length
        ? ` stroke-dasharray="${dash.join(' ')}" stroke-dashoffset="${lineDashOffset}"`
        : '')
    );
  }

  // The clip belongs to a group, because an element's own clip would move with its transform.
  put(element, look, content = '') {
    const {clip, globalAlpha} = this.state;
    const alpha = globalAlpha < 1 ? ` opacity="${globalAlpha}"` : '';
    const drawn = `<${element} ${look}${alpha}${content ? `>${content}</text>` : '/>'}`;
    this.parts.push(clip ? `<g clip-path="url(#${clip})">${drawn}</g>` : drawn);
  }
}

for (const name of [
  'fillStyle',
  'strokeStyle',
  'lineWidth',
  'lineCap',
  'lineJoin',
  'miterLimit',
  'font',
  'textAlign',
  'textBaseline',
  'globalAlpha',
  'lineDashOffset',
]) {
  Object.defineProperty(SvgContext.prototype, name, {
    get() {
      return this.state[name];
    },
    set(value) {
      this.state[name] = value;
    },
  });
}

function round(value) {
  return Math.round(value * 100) / 100;
}

function escaped(text) {
  return String(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}

// The chart as SVG, as a canvas of this size would show it.
function svgOf(config, width, height, background) {
  const canvas = document.createElement('canvas');
  canvas.width = width;
  canvas.height = height;
  const context = new SvgContext(canvas);
  canvas.getContext = () => context;
  const chart = new Chart(canvas, {
    ...config,
    options: {...config.options, responsive: false, animation: false, devicePixelRatio: 1},
  });
  context.parts.length = context.clips.length = 0; // discards earlier drawing
  chart.draw();
  const text = context.text(width, height, background);
  chart.destroy();
  return text;
}
