'use strict';
// The page of `trainlab plan data` and `trainlab plan model`. `data` is the object of their --json. A size is a
// number of training samples or of parameters; each has the values by seed.

const isData = data.kind === 'plan_data';
const unit = isData ? 'samples' : 'parameters';
const sizeOf = one => one[unit];

function bySize() {
  const means = data.sizes.map(one => ({x: sizeOf(one), y: one.mean}));
  const values = data.sizes.flatMap(one => one.values.map(y => ({x: sizeOf(one), y})));
  const sets = [line('mean', means, colour('second')), dots('a seed', values, colour('first'))];
  const known = (data.forecasts ?? []).filter(one => one.value !== null).map(one => ({x: one.samples, ...one}));
  if (known.length > 0) {
    const label = one => `80 % of values at ${number(one.samples)} samples`;
    sets.push(...forecastLines(colour('second'), means.at(-1), known, label));
  }
  return config(
      'line', sets, {x: axis(unit, {type: 'logarithmic', ticks: {maxTicksLimit: 8}}), y: axis(data.metric)},
      item => `${item.dataset.label}: ${number(item.raw.x)} ${unit}, ${number(item.raw.y)}`, {legend: true});
}

function sizesTable(section) {
  if (isData) {
    const rows = data.sizes.map(one => [one.samples, one.mean, one.error, null, null]);
    const forecasts = data.forecasts.map(one => [one.samples, one.value, null, one.low, one.high]);
    table(section, ['samples', data.metric, '± (standard error)', 'low', 'high'], [...rows, ...forecasts]);
    return;
  }
  const rows = data.sizes.map(one => {
    const {mean, low, high} = one.difference ?? {};
    return [one.factor, one.parameters, one.mean, one.error, mean, low, high, one.verdict ?? 'its own', one.seconds];
  });
  table(
      section,
      [
        'features, times', 'parameters', data.metric, '± (standard error)', 'difference', 'low', 'high', 'verdict',
        'seconds of a training'
      ],
      rows);
}

page.replaceChildren();
const question = isData ? 'Would more data help' : 'Would a larger model help';
document.title = `${question}: ${data.stage}`;
make(page, 'h1', `${question}: ${data.stage}`);
facts(page, [
  ['metric', `${data.metric}, ${data.goal === 'min' ? 'to minimise' : 'to maximise'}`],
  ['seeds', data.seeds],
  ['failed seeds', data.failed || ''],
  ['trained', data.note],
  ['all trainings took', duration(data.seconds)],
]);
if (data.unknown) make(page, 'p', `Unknown: ${data.unknown}`);
for (const one of data.left_out ?? []) make(page, 'p', `Left out: ${one}`);
const cards = make(page, 'div', '', {class: 'cards'});
chart(cards, `${data.metric} by ${unit}`, bySize, {wide: true});
const section = card('The sizes', {parent: cards});
sizesTable(section);
show();
