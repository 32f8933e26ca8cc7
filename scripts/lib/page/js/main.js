'use strict';
// The list of pages, and the start of the program.

const PAGES = [
  {
    id: 'decide',
    title: 'Decide',
    draw: drawDecide,
    kind: 'costs',
    lead: 'Which structure for your load? Describe the load; backends of the same precision are ranked.',
  },
  {
    id: 'scaling',
    title: 'Scaling',
    draw: drawScaling,
    kind: 'costs',
    lead: 'The cost of an operation by the number of pending timers.',
  },
  {
    id: 'limit',
    title: 'Limit',
    draw: drawLimit,
    kind: 'costs',
    lead: 'How many times as much as one store a timer costs: one store is the least that a backend can do.',
  },
  {
    id: 'map',
    title: 'Map',
    draw: drawMap,
    kind: 'costs',
    lead: 'The cheapest backend for each number of timers and share that never fires.',
  },
  {
    id: 'tails',
    title: 'Tails',
    draw: drawTails,
    kind: 'costs',
    pass: 'tails',
    lead: 'How long single calls take, and what the longest advance did.',
  },
  {
    id: 'accuracy',
    title: 'Accuracy',
    draw: drawServices('accuracy', 'scripts/bench accuracy'),
    kind: 'accuracy',
    lead: 'How late the timers of services fire on the wall clock, and why.',
  },
  {
    id: 'contention',
    title: 'Contention',
    draw: drawServices('contention', 'scripts/bench contention'),
    kind: 'contention',
    lead: 'What several threads do to services: calls per second, and how long they take.',
  },
  {
    id: 'purgatory',
    title: 'Purgatory',
    draw: drawServices('purgatory', 'scripts/bench purgatory'),
    kind: 'purgatory',
    lead: 'Requests that are answered or time out: processor time and lateness against their rate.',
  },
  {
    id: 'durable',
    title: 'Durable',
    draw: drawServices('durable', 'scripts/bench durable'),
    kind: 'durable',
    lead: 'Timers that outlive the process: what they cost, and how late they fire.',
  },
  {
    id: 'survival',
    title: 'Survival',
    draw: drawSurvival,
    kind: 'survival',
    lead: 'Durable timers while something breaks: which are lost, and which fire twice or late.',
  },
  {
    id: 'history',
    title: 'History',
    draw: drawHistory,
    kind: 'history',
    lead: 'The instructions of an operation from commit to commit: what became cheaper, and what dearer.',
  },
  {
    id: 'memory',
    title: 'Memory',
    draw: drawMemory,
    kind: 'costs',
    pass: 'memory',
    lead: 'The memory of a timer, and the instructions, cycles and cache misses of an operation.',
  },
  {
    id: 'pairwise',
    title: 'Pairwise',
    draw: drawPairwise,
    kind: 'costs',
    lead: 'Compare two backends on every load, or all backends on one load.',
  },
  {
    id: 'backend',
    title: 'Backend',
    draw: drawBackend,
    kind: '',
    lead: 'One backend on every load against the best of its precision: where it loses, and why.',
  },
  {
    id: 'machine',
    title: 'Machine',
    draw: drawMachine,
    kind: '',
    lead: 'The machine of the measurements, its fitness, and how sure the figures are.',
  },
  {id: 'raw', title: 'Raw', draw: drawRaw, kind: '', lead: 'Every cell, with what became of it.'},
];

function hasResults({kind, pass}) {
  return CAMPAIGNS.some(
    (campaign) => (!kind || campaign.kind === kind) && (!pass || campaign.passes[pass]),
  );
}

function chooseTheme(theme) {
  document.documentElement.dataset.theme = theme;
  const button = document.getElementById('theme');
  button.textContent = theme === 'dark' ? '☀' : '☾';
  button.setAttribute('aria-label', theme === 'dark' ? 'Light' : 'Dark');
}

async function begin() {
  const main = document.getElementById('page');
  if (typeof DecompressionStream === 'undefined') {
    main.textContent = 'This browser is too old for the page: it needs one of 2023 or later.';
    return;
  }
  understand(await unpack(document.getElementById('data').textContent));
  chooseTheme(matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
  const view = new View(main);
  document.getElementById('theme').addEventListener('click', () => {
    chooseTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');
    view.draw();
  });
  document.querySelector('nav').replaceChildren(
    ...PAGES.map((page) =>
      h(
        'a',
        {
          href: `#${page.id}`,
          class: hasResults(page) ? undefined : 'empty',
          onclick: (event) => {
            if (event.ctrlKey || event.metaKey || event.shiftKey) return;
            event.preventDefault();
            view.open(page.id);
          },
        },
        page.title,
      ),
    ),
  );
  // The keys left and right move between pages.
  document.querySelector('nav').addEventListener('keydown', ({key, target}) => {
    const next = {ArrowRight: target.nextElementSibling, ArrowLeft: target.previousElementSibling}[
      key
    ];
    next?.focus();
  });
  addEventListener('popstate', () => {
    view.readAddress();
    view.draw();
  });
  document.querySelector('.skip').addEventListener('click', (event) => {
    event.preventDefault(); // the address is the state of the view
    main.focus();
  });
  // Paper needs the light theme and a narrow page.
  let wasOpen = false;
  let onScreen = '';
  addEventListener('beforeprint', () => {
    onScreen = document.documentElement.dataset.theme;
    chooseTheme('light');
    main.classList.add('on-paper');
    view.draw();
    wasOpen = view.provenance.open;
    view.provenance.open = true;
  });
  addEventListener('afterprint', () => {
    main.classList.remove('on-paper');
    view.provenance.open = wasOpen;
    chooseTheme(onScreen);
    view.draw();
  });
  // The place of a legend depends on the width.
  let width = innerWidth;
  addEventListener('resize', () => {
    if (innerWidth === width || main.classList.contains('on-paper')) return;
    if (width > NARROW !== innerWidth > NARROW) view.folded.open = innerWidth > NARROW;
    width = innerWidth;
    view.drawSoon();
  });
  view.readAddress();
  view.draw();
  document.body.dataset.ready = 'yes';
}

begin();
