'use strict';
// The filter of precisions, families and backends, which applies to every page.

// The choices in groups: [[title, names], ...].
function filterGroups(campaign) {
  const of = (property) => [
    ...new Set([...campaign.backends.values()].map((backend) => backend[property])),
  ];
  return [
    ['Precision', of('precision').filter((name) => name !== 'unknown')],
    ['Family', of('family').filter((name) => name && !campaign.backends.has(name))],
    [capital(campaign.contender), [...campaign.backends.keys()]],
  ];
}

// A backend is shown if its precision is chosen or none is, and if its family or name is chosen or
// none is.
function passes(campaign, name, chosen) {
  const {precision, family} = campaign.backends.get(name);
  const [precisions, others] = [[], []];
  for (const one of chosen) (PRECISIONS[one] ? precisions : others).push(one);
  return (
    (!precisions.length || precisions.includes(precision)) &&
    (!others.length || others.includes(name) || others.includes(family))
  );
}

// Checkboxes in a fold that stays open while the reader uses them.
function filterControl(view, groups, chosen) {
  const value = chosen.join(',');
  const summary = () => (chosen.length ? `Filter: ${chosen.join(', ')}` : 'Filter: none');
  const toggle = (name, isOn) =>
    view.set(
      'only',
      groups
        .flatMap(([, names]) => names)
        .filter((one) => (one === name ? isOn : chosen.includes(one)))
        .join(','),
    );
  const box = (name) =>
    h(
      'label',
      {class: 'check'},
      h('input', {
        'data-key': `only:${name}`,
        type: 'checkbox',
        checked: chosen.includes(name),
        onchange: ({target}) => toggle(name, target.checked),
      }),
      name,
    );
  const build = () =>
    h(
      'details',
      {
        class: 'filter',
        open: view.isFilterOpen,
        ontoggle: ({target}) => {
          view.isFilterOpen = target.open;
        },
      },
      h('summary', {'data-key': 'only'}, summary()),
      h(
        'div',
        {class: 'choices'},
        groups.map(([title, names]) =>
          h('fieldset', {}, h('legend', {}, title), [...new Set(names)].map(box)),
        ),
        h(
          'button',
          {type: 'button', 'data-key': 'only:none', onclick: () => view.set('only', '')},
          'Show all',
        ),
      ),
    );
  // The choice is part of the control's state, because its boxes refer to it.
  return {key: 'only', label: value, options: groups, value, fallback: '', build};
}
