'use strict';
// The page of a comparison. `data` is the object of `trainlab compare --json` with `text`, `a`, `b` and `pairs`: of each
// seed the seconds to the target (null: never reached) and the value of the metric of A and of B.

// A point for each seed, for A and B; `of` gives what is shown of a training.
function bySeed(title, of) {
  const set = (side, i) => ({
    label: side.toUpperCase(),
    data: data.pairs.map(pair => ({x: pair.seed, y: of(pair[side])})).filter(point => typeof point.y === 'number'),
    borderColor: palette(i),
    backgroundColor: palette(i),
    showLine: false,
    pointRadius: 4,
  });
  return config(
      'line', [set('a', 0), set('b', 1)], {x: axis('seed', {type: 'linear'}), y: axis(title)},
      item => `${item.dataset.label}, seed ${item.raw.x}: ${number(item.raw.y)}`, {legend: true});
}

const interval = (mean, {low, high}) => {
  if (!isKnown(mean)) return '';
  return isKnown(low) && isKnown(high) ? `${number(mean)} (${number(low)} to ${number(high)})` : number(mean);
};
// Where trainings count with another time to the target than their own, an end of the interval is not known.
const times = ({ratio, low, high, is_bounded: isBounded}) => {
  if (!isBounded || !isKnown(ratio)) return interval(ratio, {low, high});
  if (isKnown(low)) return `at least ${number(low)}`;
  return isKnown(high) ? `at most ${number(high)}` : `about ${number(ratio)}`;
};

page.replaceChildren();
const {speed, quality, failed, target} = data;
const [headline, ...lines] = data.text.trim().split('\n');
document.title = headline;
make(page, 'h1', headline);
make(page, 'p', `A: ${data.a}`, {class: 'quiet'});
make(page, 'p', `B: ${data.b}`, {class: 'quiet'});
facts(page, [
  ['speed of B, times A', times(speed)],
  [`${target.metric}, B − A`, interval(quality.difference, quality)],
  ['in equal time', interval(quality.at_equal_time.difference, quality.at_equal_time)],
  ['p of the speed', isKnown(data.p) ? data.p.toPrecision(2) : ''],
  ['seeds', data.seeds],
  ['failed', failed.a + failed.b ? `${failed.a} of A, ${failed.b} of B` : ''],
]);
const cards = make(page, 'div', '', {class: 'cards'});
const missing = data.pairs.length * 2 - speed.arrived.a - speed.arrived.b;
chart(cards, `Seconds to ${target.metric} = ${target.value}`, () => bySeed('seconds', side => side.arrival), {
  note: missing ? `${missing} trainings never reached it, and are not shown.` : '',
});
chart(cards, `${target.metric} that is delivered`, () => bySeed(target.metric, side => side.value));
const section = card('In words', {parent: cards});
make(section, 'pre', lines.join('\n'));
show();
