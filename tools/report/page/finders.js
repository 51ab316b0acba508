'use strict';
// What finders have found, as figures, charts and tables below `parent`. `found` is the object of
// `trainlab find … --json`; of a stage lab.find.lr, lab.find.batch or lab.find.optimizer it is put together from its
// summary.

const fromTo = (low, high) => isKnown(low) && isKnown(high) ? `${number(low)} to ${number(high)}` : '';
const atPoint = item => `${item.dataset.label || 'interval'}: ${number(item.raw.x)}, ${number(item.raw.y)}`;

// Ends of an axis of losses that shows the good ones well: rates that are too high have losses far above the others.
function lossEnds(losses) {
  const sorted = [...losses].sort((a, b) => a - b);
  const least = sorted[0], median = sorted[Math.floor(sorted.length / 2)], most = sorted[sorted.length - 1];
  const end = least + 3 * (median - least);
  return median > least && most > end ? {max: end} : {};
}

const withLoss = points => points.filter(one => isKnown(one.loss));

// Losses by rate: `curves` are [label, points of lr and loss, colour, more]. Far worse points stand at the axis's end.
// `others` gives further sets of the chart, for the height of the axis and its ends.
function byRate(metric, curves, others = () => []) {
  const losses = curves.flatMap(([, points]) => withLoss(points).map(one => one.loss)), limits = lossEnds(losses);
  const height = [Math.min(...losses), limits.max ?? Math.max(...losses)];
  const sets = curves.map(
      ([label, points, shade, more]) =>
          line(label, withLoss(points).map(one => ({x: one.lr, y: within(one.loss, limits)})), shade, more));
  return {
    ...config(
        'line', [...sets, ...others(height, limits)], {x: axis('lr', logarithmic), y: axis(metric, limits)}, atPoint,
        ofLabelled),
    beyond: beyond(losses, limits),
  };
}

function rangeTest({lr, curve}) {
  return byRate(
      'loss', [['loss', curve, colour('first'), {pointRadius: 0}]],
      height => marks(
          [
            ['suggestion', lr.suggestion, colour('good')],
            ['start', lr.start, colour('second')],
            ['valley', lr.valley, palette(2)],
            ['steepest', lr.steepest, palette(3)],
          ],
          height));
}

function probedRates({lr, metric, probes}) {
  const shade = colour('first');
  const errors = limits =>
      withLoss(probes)
          .filter(one => one.error > 0 && one.loss === within(one.loss, limits))
          .map(one => upright('', one.lr, [one.loss - one.error, one.loss + one.error], shade, thick));
  return byRate(
      metric, [[metric, probes, shade]],
      (height, limits) =>
          [...errors(limits),
           ...marks(
               [
                 ['suggestion', lr.suggestion, colour('good')],
                 ['as good from', lr.low, colour('faint')],
                 ['as good to', lr.high, colour('faint')],
               ],
               height)]);
}

function foundRate(parent, found) {
  const {lr, metric, probes, curve, steps} = found;
  facts(parent, [
    ['lr', number(lr.suggestion)],
    ['as good as the best', fromTo(lr.low, lr.high)],
    ['start, by the range tests', isKnown(lr.start) ? number(lr.start) : ''],
    ['valley', isKnown(lr.valley) ? number(lr.valley) : ''],
    ['steepest', isKnown(lr.steepest) ? number(lr.steepest) : ''],
  ]);
  if (probes.length && !lr.is_bounded)
    make(parent, 'p', 'No worse rate was probed on one side of these: a rate beyond them may be better still.');
  const cards = make(parent, 'div', '', {class: 'cards'});
  if (withLoss(curve).length) {
    chart(cards, 'Range test', () => rangeTest(found), {
      note: 'The loss while the rate grows from step to step, the mean of the seeds. The start is a quarter of the ' +
          'rate of the least loss.'
    });
  }
  if (withLoss(probes).length) {
    chart(cards, `${metric} by rate`, () => probedRates(found), {
      note: `After ${steps} steps with the whole schedule in them, the mean of the seeds; bars are standard errors ` +
          'of the difference from the best.'
    });
  }
  if (!probes.length) return;
  const section = card('The rates that were probed', {parent: cards});
  table(
      section, ['lr', metric, 'standard error of the difference'],
      probes.map(one => [one.lr, one.loss ?? 'not finite', one.error > 0 ? one.error : null]), {sortable: false});
}

// Time and samples to a loss by the size of the batch: what a larger batch gains, and what it wastes.
function sizesOfBatch({batch, curve}) {
  const by = name => curve.map(one => ({x: one.batch, y: one[name]}));
  const time = by('time'), samples = by('samples'), ratios = [...time, ...samples].map(point => point.y);
  return config(
      'line',
      [
        line('time to a loss', time, colour('first')),
        line('samples to a loss', samples, colour('second')),
        ...marks(
            [
              ['suggestion', batch.suggestion, colour('good')],
              ['knee, low', batch.knee.low, colour('faint')],
              ['knee, high', batch.knee.high, colour('faint')],
            ],
            [Math.min(...ratios), Math.max(...ratios)]),
      ],
      {x: axis('samples in a step', logarithmic), y: axis(`times those of a batch of ${batch.now}`, logarithmic)},
      atPoint, ofLabelled);
}

function speedOfBatch({curve}) {
  const speeds = curve.map(one => ({x: one.batch, y: one.samples_per_second}));
  return config(
      'line', [line('samples/s', speeds, colour('first'))],
      {x: axis('samples in a step', logarithmic), y: axis('samples/s', {beginAtZero: true})}, atPoint);
}

function noiseScale({noise}) {
  const known = noise.filter(one => isKnown(one.value)), shade = colour('first');
  const intervals = known.filter(one => isKnown(one.low) && isKnown(one.high))
                        .map(one => upright('', one.step, [one.low, one.high], shade, thick));
  return config(
      'line', [line('noise scale', known.map(one => ({x: one.step, y: one.value})), shade), ...intervals],
      {x: axis('step', {type: 'linear'}), y: axis('samples')}, atPoint, ofLabelled);
}

function kneeText({low, high}) {
  if (isKnown(high)) return fromTo(low, high);
  return isKnown(low) ? `above ${number(low)}` : '';
}

function foundBatch(parent, found) {
  const {batch, noise, curve} = found;
  const wasted = isKnown(batch.efficiency.low) && isKnown(batch.efficiency.high) ?
      [1 - batch.efficiency.high, 1 - batch.efficiency.low].map(share => `${Math.round(100 * share)} %`).join(' to ') :
      '';
  facts(parent, [
    ['batch', batch.suggestion === batch.now ? `${batch.now}, as it is` : `${batch.suggestion} for ${batch.now}`],
    ['lr', isKnown(batch.lr) ? number(batch.lr) : ''],
    ['knee', kneeText(batch.knee)],
    [`samples that a batch of ${batch.now} wastes`, wasted],
  ]);
  const hasKnee = curve.length > 0 && curve.every(one => isKnown(one.time) && isKnown(one.samples));
  if (curve.length && !hasKnee)
    make(parent, 'p', 'Time and samples to a loss are unknown: the noise hides the gradient, or was not measured.');
  const cards = make(parent, 'div', '', {class: 'cards'});
  if (hasKnee) {
    chart(cards, 'Time and samples to the same loss', () => sizesOfBatch(found), {
      note: 'Beyond the knee, whose interval is drawn, a larger batch saves few steps and wastes samples: an estimate.'
    });
  }
  if (curve.length) chart(cards, 'Speed', () => speedOfBatch(found));
  if (noise.some(one => isKnown(one.value))) {
    chart(cards, 'Noise scale of the gradients', () => noiseScale(found), {
      note: 'The batch at which the noise of a gradient is as large as the gradient, at three places of a training; ' +
          'bars are 95 % intervals.'
    });
  }
  if (!curve.length) return;
  const section = card('The sizes', {parent: cards});
  table(
      section, ['batch', 'ms a step', 'samples/s', 'memory, MiB', 'time to a loss', 'samples to a loss'],
      curve.map(
          one =>
              [one.batch, one.step_seconds * 1e3, one.samples_per_second, one.memory && one.memory / 2 ** 20, one.time,
               one.samples]));
}

const optimizersByRate = ({metric, optimizers}) =>
    byRate(metric, optimizers.map((one, i) => [one.name, one.curve, palette(i)]));

function foundOptimizer(parent, found) {
  const {optimizer, optimizers, metric, seeds, steps, spread} = found;
  facts(parent, [
    ['optimizer', optimizer.suggestion],
    ['lr', number(optimizer.lr)],
    ['good rates', isKnown(optimizer.octaves) ? `${number(optimizer.octaves)} octaves` : ''],
    ['the worst optimizer, tuned', isKnown(spread) ? `${Math.round(100 * spread)} % above the best` : ''],
  ]);
  if (!optimizers.length) return;
  const cards = make(parent, 'div', '', {class: 'cards'});
  if (optimizers.some(one => withLoss(one.curve).length)) {
    chart(cards, `${metric} by rate`, () => optimizersByRate(found), {
      wide: true,
      note: `One seed of ${Math.floor(steps / 3)} steps each.`,
    });
  }
  const section = card('The optimizers', {
    parent: cards,
    note: `Tuned: the best of three rates with ${seeds} seeds of ${steps} steps; ± is the standard error. Good ` +
        'rates are those within 10 % of the least loss.'
  });
  table(
      section,
      [
        'optimizer', 'tuned lr', metric, '±', 'good from', 'to', 'octaves', 'usual lr', 'loss there', 'default lr',
        'loss there'
      ],
      optimizers.map(
          one =>
              [one.own ? `${one.name} (the recipe's)` : one.name, one.lr, one.loss ?? 'not finite', one.error,
               one.good.low, one.good.high, one.good.octaves, one.usual.lr, one.usual.loss, one.default?.lr ?? null,
               one.default?.loss ?? null]));
}

const loaderText = ({threads, prefetch}) => `${threads} threads, ${prefetch} ahead`;

function loaders({curve}) {
  const labels = curve.map(loaderText);
  const speeds = curve.map(one => one.samples_per_second.median);
  return config(
      'bar', [{label: 'samples/s', data: speeds, backgroundColor: colour('first')}],
      {x: axis('samples/s'), y: {grid: {display: false}, ticks: {autoSkip: false}}},
      item => `${item.label}: ${number(item.raw)} samples/s`, {indexAxis: 'y', data: {labels}});
}

function foundLoader(parent, found) {
  const {loader, curve} = found, {now, suggestion, ratio} = loader;
  const isSame = now.threads === suggestion.threads && now.prefetch === suggestion.prefetch;
  facts(parent, [
    ['loader', isSame ? `${loaderText(now)}, as it is` : loaderText(suggestion)],
    ['speed, times the fit\'s own', isSame ? '' : `${number(ratio.median)} (${fromTo(ratio.low, ratio.high)})`],
    ['share of a step that waits for data', `${(100 * loader.input).toFixed(1)} %`],
  ]);
  const cards = make(parent, 'div', '', {class: 'cards'});
  chart(cards, 'Speed', () => loaders(found));
  const section = card('The loaders', {parent: cards});
  table(
      section, ['threads', 'batches ahead', 'samples/s', 'times the fit\'s own', 'from', 'to'],
      curve.map(
          one =>
              [one.threads, one.prefetch, one.samples_per_second.median, one.ratio.median, one.ratio.low,
               one.ratio.high]),
      {sortable: false});
}

// What was found, by the member of the object that has the answer.
const findings = {lr: foundRate, batch: foundBatch, loader: foundLoader, optimizer: foundOptimizer};
const foundIn = found => Object.keys(findings).find(name => found[name]);

function finding(parent, found) {
  if (found.reason) make(parent, 'p', `Stopped: ${found.reason}; this was known by then.`);
  findings[foundIn(found)](parent, found);
}
