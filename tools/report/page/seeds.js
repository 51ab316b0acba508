'use strict';
// The page of `trainlab plan seeds`. `data` is the object of its --json, with `of`: the recipe or the folder of runs.

const spread = data.deviation;
const hasSpread = spread.value > 0;

function valuesBySeed() {
  const ends = data.seeds.length ? [Math.min(...data.seeds), Math.max(...data.seeds)] : [];
  const level = (label, y, more) => line(label, ends.map(x => ({x, y})), colour('second'), {pointRadius: 0, ...more});
  const thin = {...dashed, borderWidth: 1};
  return config(
      'line',
      [
        dots('a seed', data.seeds.map((x, i) => ({x, y: data.values[i]})), colour('first')),
        level('mean', data.mean),
        level('standard deviation', data.mean + spread.value, thin),
        level('', data.mean - spread.value, thin),
      ],
      {x: axis('seed', {type: 'linear', ticks: {precision: 0}}), y: axis(data.metric)},
      item => `${item.dataset.label || 'standard deviation'}: ${number(item.raw.y)}`, ofLabelled);
}

// How exactly a number of seeds tells a mean, and from which difference on it tells two recipes apart.
function bySeeds() {
  const by = name => data.by_seeds.map(one => ({x: one.seeds, y: one[name]}));
  const differences = by('difference'), asked = data.needed && data.needed.difference;
  const sets = [
    line('a difference that is detected', differences, colour('first')),
    line('the mean is known to ±', by('half_width'), colour('second')),
  ];
  if (asked) {
    const across = [differences[0].x, differences.at(-1).x].map(x => ({x, y: asked}));
    sets.push(line('the difference that is asked for', across, colour('good'), {pointRadius: 0, ...dashed}));
  }
  return config(
      'line', sets, {x: axis('seeds of each recipe', {type: 'linear'}), y: axis(data.metric, {beginAtZero: true})},
      item => `${item.dataset.label}: ${item.raw.x} seeds, ${number(item.raw.y)}`, ofLabelled);
}

// 1000 is the most that is counted.
const seedsText = count => count < 1000 ? String(count) : 'more than 1000';

page.replaceChildren();
const title = `${data.metric} from seed to seed: ${data.of}`;
document.title = title;
make(page, 'h1', title);
const needed = data.needed;
facts(page, [
  ['mean', number(data.mean)],
  [
    'standard deviation (95 %)',
    hasSpread ? `${number(spread.value)} (${number(spread.low)} to ${number(spread.high)})` : 'unknown',
  ],
  ['seeds', data.seeds.length],
  ['failed', data.failed || ''],
  [
    needed ? `seeds for a difference of ${number(needed.difference)}` : '',
    needed ? `${seedsText(needed.seeds)} (${seedsText(needed.low)} to ${seedsText(needed.high)})` : '',
  ],
  ['all trainings took', duration(data.seconds)],
]);
if (!hasSpread)
  make(page, 'p', 'All values are equal: the metric is too coarse, or the seed changes nothing.');
const cards = make(page, 'div', '', {class: 'cards'});
chart(cards, `${data.metric} by seed`, valuesBySeed);
if (hasSpread) {
  chart(cards, 'What more seeds tell', bySeeds, {
    note: 'Of two recipes with seeds of their own; fewer are enough where both profit from the same seeds.'
  });
  table(
      card('Seeds', {parent: cards}), ['seeds', 'the mean is known to ±', 'a difference is detected from'],
      data.by_seeds.map(one => [one.seeds, one.half_width, one.difference]), {sortable: false});
}
show();
