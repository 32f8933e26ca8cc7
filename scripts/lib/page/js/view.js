'use strict';
// What is looked at: a page, and what is chosen on it. The address behind # says so, as
// #scaling&w=hold&b=ring_512; it names only what differs from what the page would choose itself.
//
// A page is a function of the view. It asks for what is chosen, view.choose(...), by which the control
// comes to be, and returns what there is to see. It is run again after each change.

class View {
  constructor(main) {
    this.heading = h('h2');
    this.lead = h('p', {class: 'lead'});
    this.where = h('p', {class: 'note'});
    this.bar = h('div', {class: 'controls', role: 'group', 'aria-label': 'What is shown'});
    this.content = h('div');
    main.replaceChildren(this.heading, this.lead, this.bar, this.where, this.content);
    this.values = new Map(); // chosen, on all pages
    this.page = '';
    this.builtFrom = '';
  }

  readAddress() {
    const [page, ...pairs] = location.hash.slice(1).split('&');
    this.page = (PAGES.find(({id}) => id === page) ?? PAGES.find(hasResults) ?? PAGES[0]).id;
    this.values = new Map(
      pairs.map((pair) => {
        const [key, value = ''] = pair.split('=');
        return [key, decoded(value)];
      }),
    );
  }

  get address() {
    const pairs = this.controls
      .filter(({key, value, fallback}) => key && value !== fallback)
      .map(({key, value}) => `&${key}=${encodeURIComponent(value).replaceAll('%2F', '/')}`);
    return `#${this.page}${pairs.join('')}`;
  }

  open(page) {
    // Pages of all kinds begin with the campaign that was looked at.
    if (this.campaignShown) this.values.set('any', String(this.campaignShown.index));
    this.page = page;
    this.draw();
    history.pushState(null, '', this.address);
    document.getElementById('page').focus({preventScroll: true});
    scrollTo(0, 0);
  }

  set(key, value) {
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
    removeCharts(this.page);
    let shown;
    try {
      shown = page.draw(this);
    } catch (error) {
      console.error(error);
      shown = h('p', {class: 'warning'}, `This cannot be shown: ${error.message}`);
    }
    this.heading.textContent = page.title;
    this.lead.textContent = page.lead;
    this.where.textContent = this.campaignShown ? whereText(this.campaignShown) : '';
    this.placeControls();
    if (focused) this.focusAgain(before);
    this.content.replaceChildren(...[shown].flat(Infinity).filter((part) => part));
    mountCharts();
    const nav = document.querySelector('nav');
    for (const link of nav.children) {
      if (link.hash === `#${this.page}`) {
        link.setAttribute('aria-current', 'page');
        // Not scrollIntoView(), from which on some browsers the next Tab would start.
        const middle = link.offsetLeft - nav.offsetLeft + link.offsetWidth / 2;
        nav.scrollLeft = middle - nav.clientWidth / 2;
      } else {
        link.removeAttribute('aria-current');
      }
    }
    document.title = `timerbench: ${page.title}`;
  }

  // The control of the key, with what is selected in it, if it was built anew.
  focusAgain(before) {
    const control = this.bar.querySelector(`[data-key="${before.dataset.key}"]`);
    if (!control || control === before) return;
    control.focus();
    if (control.type === 'search')
      control.setSelectionRange(before.selectionStart, before.selectionEnd);
  }

  // Controls stay while they are the same, so that one can be dragged while the page changes.
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
    this.bar.hidden = this.controls.length === 0;
  }

  // One of [[value, text], ...]; `fallback` if nothing, or nothing that there is, has been chosen.
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

  // One of ascending numbers, by a slider.
  slide(key, label, steps, text, preferred = steps[steps.length >> 1]) {
    const fallback = nearest(steps, preferred);
    const chosen = Number(this.values.get(key));
    const value =
      this.values.has(key) && Number.isFinite(chosen) ? nearest(steps, chosen) : fallback;
    const build = () =>
      h(
        'label',
        {class: 'slider'},
        h('span', {}, `${label}: `, h('output', {}, text(value))),
        h('input', {
          'data-key': key,
          type: 'range',
          min: 0,
          max: steps.length - 1,
          value: steps.indexOf(value),
          oninput: ({target}) => this.set(key, String(steps[target.value])),
          'aria-valuetext': text(value),
        }),
      );
    const update = (element) => {
      element.querySelector('output').textContent = text(value);
      element.querySelector('input').value = steps.indexOf(value);
      element.querySelector('input').setAttribute('aria-valuetext', text(value));
    };
    if (steps.length > 1) {
      this.controls.push({
        key,
        label,
        options: steps,
        value: String(value),
        fallback: String(fallback),
        build,
        update,
      });
    }
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

  // A campaign of the kind, if there is any.
  campaign(kind) {
    const fitting = CAMPAIGNS.filter((campaign) => kind === '' || campaign.kind === kind);
    const options = fitting.map((campaign) => [String(campaign.index), campaignText(campaign)]);
    this.campaignShown =
      CAMPAIGNS[this.choose({'': 'any', costs: 'c'}[kind] ?? kind, 'Campaign', options)];
    return this.campaignShown;
  }

  scenario(campaign, label = 'Workload') {
    return this.choose(
      'w',
      label,
      campaign.scenarios.map((name) => [name, name]),
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

// Of an address that somebody may have typed.
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// On what and how well the figures of a page were measured.
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

// The largest at which three quarters of the contenders have a figure, or at which most have.
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
