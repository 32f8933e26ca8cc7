'use strict';
// The view: a page and the choices on it. The address behind # holds them, such as
// #scaling&w=hold&b=ring_512, without the page's defaults.
//
// A page is a function of the view. It calls view.choose(...) for each choice, which also adds the
// control, and returns its content. It runs again after each change.

const NARROW = 640; // pixels; below this width the controls are folded

class View {
  constructor(main) {
    this.heading = h('h2');
    this.lead = h('p', {class: 'lead'});
    this.answer = h('div', {class: 'answer', 'aria-live': 'polite'});
    this.bar = h('div', {class: 'controls', role: 'group', 'aria-label': 'What is shown'});
    this.folded = h('details', {class: 'fold', open: innerWidth > NARROW}, h('summary'), this.bar);
    this.filterNote = h('p', {class: 'note'});
    this.content = h('div');
    this.where = h('div', {class: 'note'});
    this.provenance = h(
      'details',
      {class: 'provenance'},
      h('summary', {}, 'On what, and how, this was measured'),
      this.where,
    );
    main.replaceChildren(
      ...[this.heading, this.lead, this.answer, this.folded, this.filterNote, this.content],
      this.provenance,
    );
    main.addEventListener('click', (event) => this.follow(event));
    this.values = new Map(); // the choices on all pages
    this.page = '';
    this.builtFrom = '';
  }

  readAddress() {
    const [page, values] = readAddress(location.hash);
    this.page = (PAGES.find(({id}) => id === page) ?? PAGES.find(hasResults) ?? PAGES[0]).id;
    this.values = new Map(values);
  }

  get address() {
    const told = this.controls.filter(({key, value, fallback}) => key && value !== fallback);
    return addressOf(this.page, Object.fromEntries(told.map(({key, value}) => [key, value])));
  }

  open(page) {
    // A new page starts with the last campaign.
    if (this.campaignShown) this.values.set('any', String(this.campaignShown.index));
    this.page = page;
    this.draw();
    history.pushState(null, '', this.address);
    document.getElementById('page').focus({preventScroll: true});
    scrollTo(0, 0);
  }

  // Follows a link to another view; choices that the link omits stay as they are.
  follow(event) {
    const link = event.target.closest?.('a[href^="#"]');
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    this.visit(link.hash);
  }

  visit(address) {
    const [page, values] = readAddress(address);
    for (const [key, value] of values) this.values.set(key, value);
    this.open(page);
  }

  // Shows the answer of a page above the controls.
  answerWith(...parts) {
    this.answered = parts;
  }

  // Shows the explanations below them, folded.
  explain(...parts) {
    this.explained.push(...parts);
  }

  set(key, value) {
    this.beforeSet?.(key);
    this.values.set(key, value);
    this.drawSoon();
  }

  drawSoon() {
    this.scheduled ??= requestAnimationFrame(() => {
      this.scheduled = undefined;
      this.draw();
      history.replaceState(null, '', this.address);
    });
  }

  draw() {
    const page = PAGES.find(({id}) => id === this.page);
    const {activeElement: before} = document;
    const focused = before?.dataset?.key;
    this.controls = [];
    this.campaignShown = null;
    this.answered = [];
    this.explained = [];
    this.filtered = '';
    this.filterShown = null;
    this.beforeSet = null; // called before a choice changes
    removeCharts(this.page);
    let shown;
    try {
      shown = page.draw(this);
    } catch (error) {
      console.error(error);
      shown = h('p', {class: 'warning'}, `This cannot be shown: ${error.message}`);
    }
    if (this.filterShown) this.controls.push(this.filterShown);
    this.heading.textContent = page.title;
    this.heading.classList.toggle('answered', this.answered.length > 0);
    this.lead.textContent = page.lead;
    this.lead.hidden = this.answered.length > 0;
    const folds = () => [...this.answer.querySelectorAll('details')];
    const open = new Map(folds().map((fold) => [fold.firstChild.textContent, fold.open]));
    this.answer.replaceChildren(...this.answered.flat(Infinity).filter(Boolean));
    for (const fold of folds()) fold.open = open.get(fold.firstChild.textContent) ?? fold.open;
    this.filterNote.textContent = this.filtered;
    this.provenance.hidden = !this.campaignShown;
    if (this.campaignShown)
      this.where.replaceChildren(
        h('p', {}, whereText(this.campaignShown)),
        h('p', {}, 'Reproduce with: ', commandOf(this.campaignShown.remakeOfAll)),
        ...this.explained.flat(Infinity).filter(Boolean),
      );
    this.placeControls();
    this.content.replaceChildren(...[shown].flat(Infinity).filter((part) => part));
    if (focused) this.focusAgain(before);
    mountCharts();
    const nav = document.querySelector('nav');
    for (const link of nav.children) {
      if (link.hash === `#${this.page}`) {
        link.setAttribute('aria-current', 'page');
        // scrollIntoView() would move the start of the next Tab in some browsers.
        const middle = link.offsetLeft - nav.offsetLeft + link.offsetWidth / 2;
        nav.scrollLeft = middle - nav.clientWidth / 2;
      } else {
        link.removeAttribute('aria-current');
      }
    }
    document.title = `timerbench: ${page.title}`;
  }

  // Restores the focus and the selection of a control or a tile that was rebuilt.
  focusAgain(before) {
    const wanted = `[data-key="${CSS.escape(before.dataset.key)}"]`;
    const control = [this.bar, this.content]
      .map((part) => part.querySelector(wanted))
      .find(Boolean);
    if (!control || control === before) return;
    control.focus({preventScroll: true});
    if (control.type === 'search')
      control.setSelectionRange(before.selectionStart, before.selectionEnd);
  }

  // Keeps the controls while they are the same, so that the reader can drag one while the page
  // changes.
  placeControls() {
    const from = JSON.stringify([
      this.page,
      ...this.controls.map(({key, label, options}) => [key, label, options]),
    ]);
    if (from !== this.builtFrom) {
      this.bar.replaceChildren(...this.controls.map((control) => control.build()));
      this.builtFrom = from;
    } else {
      this.controls.forEach((control, i) => control.update?.(this.bar.children[i]));
    }
    this.folded.hidden = this.controls.length === 0;
    this.folded.firstChild.textContent =
      this.answered.length > 0 ? 'Your load, and what is shown' : 'What is shown';
  }

  // One of [[value, text], ...]; `fallback` if the choice is missing or unknown.
  choose(key, label, options, fallback = options[0]?.[0]) {
    const chosen = this.values.get(key);
    const value = options.some(([known]) => known === chosen) ? chosen : fallback;
    const build = () =>
      h(
        'label',
        {},
        label,
        h(
          'select',
          {'data-key': key, onchange: ({target}) => this.set(key, target.value)},
          options.map(([known, text]) =>
            h('option', {value: known, selected: known === value}, text),
          ),
        ),
      );
    const update = (element) => {
      element.querySelector('select').value = value;
    };
    if (options.length > 1)
      this.controls.push({key, label, options, value, fallback, build, update});
    return value;
  }

  check(key, label, fallback = false) {
    const value = this.values.has(key) ? this.values.get(key) === '1' : fallback;
    const build = () =>
      h(
        'label',
        {class: 'check'},
        h('input', {
          'data-key': key,
          type: 'checkbox',
          checked: value,
          onchange: ({target}) => this.set(key, target.checked ? '1' : '0'),
        }),
        label,
      );
    const update = (element) => {
      element.querySelector('input').checked = value;
    };
    this.controls.push({
      key,
      label,
      value: value ? '1' : '0',
      fallback: fallback ? '1' : '0',
      build,
      update,
    });
    return value;
  }

  // A number, set by a slider along ascending steps or typed. `read` parses the output of `text`
  // and other common forms. A typed value need not be a step.
  // `example`: what may be typed.
  measure(key, label, steps, {text, read, example, isFit = (value) => value > 0}, fallback) {
    const chosen = Number(this.values.get(key));
    const isKnown = this.values.has(key) && Number.isFinite(chosen) && isFit(chosen);
    const value = isKnown ? chosen : fallback;
    const at = () => steps.indexOf(nearest(steps, value));
    const typed = ({target}) => {
      const number = read(target.value);
      const isGood = Number.isFinite(number) && isFit(number);
      target.setAttribute('aria-invalid', String(!isGood));
      target.parentElement.querySelector('.wrong').textContent = isGood
        ? ''
        : `Not understood; write ${example}.`;
      if (isGood) this.set(key, String(number));
    };
    const build = () =>
      h(
        'div',
        {class: 'measure', role: 'group', 'aria-label': label},
        h('span', {}, label),
        h('input', {
          'data-key': `${key}:typed`,
          type: 'text',
          inputmode: 'text',
          value: text(value),
          'aria-label': `${label}, typed`,
          onchange: typed,
        }),
        h('input', {
          'data-key': key,
          type: 'range',
          min: 0,
          max: steps.length - 1,
          value: at(),
          oninput: ({target}) => this.set(key, String(steps[target.value])),
          'aria-label': label,
          'aria-valuetext': text(value),
        }),
        h('span', {class: 'wrong', role: 'alert'}),
      );
    const update = (element) => {
      const [field, slider] = element.querySelectorAll('input');
      element.querySelector('.wrong').textContent = '';
      if (document.activeElement !== field || read(field.value) !== value)
        field.value = text(value);
      field.setAttribute('aria-invalid', 'false');
      slider.value = at();
      slider.setAttribute('aria-valuetext', text(value));
    };
    this.controls.push({
      key,
      label,
      options: steps,
      value: String(value),
      fallback: String(fallback),
      build,
      update,
    });
    return value;
  }

  search(key, label) {
    const value = this.values.get(key) ?? '';
    const build = () =>
      h(
        'label',
        {},
        label,
        h('input', {
          'data-key': key,
          type: 'search',
          value,
          oninput: ({target}) => this.set(key, target.value),
        }),
      );
    this.controls.push({key, label, value, fallback: '', build});
    return value;
  }

  // The chosen campaign of the kind, `first` by default; any kind if `kind` is empty.
  campaign(kind, first = CAMPAIGNS.find((one) => one.kind === (kind || 'costs'))) {
    const fitting = CAMPAIGNS.filter((campaign) => kind === '' || campaign.kind === kind);
    const options = fitting.map((campaign) => [String(campaign.index), campaignText(campaign)]);
    const fallback = first ? String(first.index) : options[0]?.[0];
    const campaign = CAMPAIGNS[this.choose(campaignKey(kind), 'Campaign', options, fallback)];
    this.campaignShown = campaign && this.filter(campaign);
    return this.campaignShown;
  }

  // The campaign with the precisions, families or backends that the reader chose.
  filter(campaign) {
    const groups = filterGroups(campaign);
    const known = groups.flatMap(([, names]) => names);
    const chosen = (this.values.get('only') ?? '')
      .split(',')
      .filter((name) => known.includes(name));
    this.filterShown = filterControl(this, groups, chosen);
    const shown = [...campaign.backends.keys()].filter((name) => passes(campaign, name, chosen));
    if (!chosen.length || shown.length === campaign.backends.size) return campaign;
    this.filtered = shown.length
      ? `Filtered: ${shown.length} of ${campaign.backends.size} are shown, and ranked among themselves.`
      : `Nothing here is ${chosen.join(' and ')}: all are shown.`;
    return shown.length ? campaign.only(shown) : campaign;
  }

  // A workload; whole loads come before single operations.
  scenario(campaign, label = 'Workload') {
    return this.choose(
      'w',
      label,
      campaign.scenarios.map((name) => [name, name]),
      firstLoadOf(campaign),
    );
  }

  size(campaign, scenario, label = 'Pending timers') {
    const sizes = campaign.sizes(scenario);
    return Number(
      this.choose(
        's',
        label,
        sizes.map((size) => [String(size), power(size)]),
        String(tellingSize(campaign, scenario, sizes)),
      ),
    );
  }

  precision(campaign) {
    const groups = campaign
      .byPrecision([...campaign.backends.keys()])
      .filter(([precision]) => PRECISIONS[precision].ranked);
    return this.choose(
      'p',
      'Precision',
      groups.map(([precision]) => [precision, `${precision}: ${PRECISIONS[precision].meaning}`]),
    );
  }

  baseline(campaign, none) {
    return this.choose('b', 'Baseline', [
      ['', none],
      ...[...campaign.backends.keys()].map((name) => [name, name]),
    ]);
  }
}

function campaignText(campaign) {
  const same = CAMPAIGNS.filter((other) => other.name === campaign.name);
  return (
    `${same.length > 1 ? `${campaign.name} (${same.indexOf(campaign) + 1})` : campaign.name} · ` +
    `${campaign.facts.processor ?? 'unknown machine'}`
  );
}

// The first campaign that has one of these passes, if there is one.
function firstWithPass(...names) {
  return CAMPAIGNS.find(({passes}) => names.some((name) => passes?.[name]));
}

// The first campaign that has cells of this suite, if there is one.
function firstOfSuite(name) {
  return CAMPAIGNS.find(({suites}) => suites?.includes(name));
}

// The key of the chosen campaign.
function campaignKey(kind) {
  return {'': 'any', costs: 'c'}[kind] ?? kind;
}

// Formats #page&key=value.
function addressOf(page, values = {}) {
  const pairs = Object.entries(values).map(
    ([key, value]) =>
      `&${key}=${encodeURIComponent(value).replaceAll('%2F', '/').replaceAll('%2C', ',')}`,
  );
  return `#${page}${pairs.join('')}`;
}

function readAddress(address) {
  const [page, ...pairs] = address.slice(1).split('&');
  const values = pairs.map((pair) => {
    const [key, value = ''] = pair.split('=');
    return [key, decoded(value)];
  });
  return [page, values];
}

// Decodes part of an address that somebody may have typed.
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// Describes the machine and its fitness.
function whereText(campaign) {
  const noisy = campaign.cells.filter((cell) => cell.noisy).length;
  return (
    `${campaign.name} · ${campaign.machine}` +
    (noisy ? ` · ${noisy} of ${campaign.cells.length} cells disturbed in a round` : '')
  );
}

function nearest(steps, value) {
  return steps.reduce((best, step) =>
    Math.abs(step - value) < Math.abs(best - value) ? step : best,
  );
}

// The workload that is shown first: a whole load, if there is one.
function firstLoadOf(campaign) {
  return campaign.scenarios.find((name) => !campaign.isPart(name)) ?? campaign.scenarios[0];
}

// The largest size at which three quarters of the contenders have a figure, or else the one with
// the largest share.
function tellingSize(campaign, scenario, sizes) {
  const share = (size) => {
    const cells = campaign.at(scenario, size);
    return cells.filter((cell) => cell.hasFigure).length / cells.length;
  };
  const descending = [...sizes].reverse();
  return (
    descending.find((size) => share(size) >= 0.75) ??
    descending.reduce((best, size) => (share(size) > share(best) ? size : best), descending[0])
  );
}
