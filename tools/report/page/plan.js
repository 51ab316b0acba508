'use strict';
// The page of a plan. `data` is the object of `trainlab plan --json` with `curve`: the losses of models of other sizes
// for the same FLOPs.

function verdicts() {
  const share = data.compute_share, epochs = data.epochs;
  if (data.flags.includes('compute_inefficient'))
    make(page, 'p', `Compute-inefficient: this loss can be reached with ${threeDigits(share)} of the FLOPs.`);
  if (!data.flags.includes('data_inefficient')) return;
  const [ratio, best] = [data.tokens_per_parameter, data.best_tokens_per_parameter];
  if (data.flags.includes('compute_inefficient') && ratio > best) {
    make(page, 'p', `Data-inefficient: ${amount(ratio)} tokens for each parameter, ${threeDigits(best)} are best.`);
  }
  if (epochs > 4) make(page, 'p', `Data-inefficient: ${threeDigits(epochs)} passes over the data.`);
}

function sizes() {
  const point = (label, x, y, i) => ({
    label,
    data: [{x, y}],
    showLine: false,
    borderColor: palette(i),
    backgroundColor: palette(i),
    pointRadius: 5,
  });
  const line = {
    label: 'models of other sizes',
    data: data.curve.map(one => ({x: one.parameters, y: one.loss})),
    borderColor: palette(0),
    borderWidth: 2,
    pointRadius: 0,
  };
  const answers = data.approaches.map((one, i) => point(`approach ${one.name}`, one.parameters, one.loss, i + 1));
  return config(
      'line', [point('this plan', data.parameters, data.loss, answers.length + 1), ...answers, line],
      {
        x: axis('parameters', {type: 'logarithmic', ticks: {callback: amount, maxTicksLimit: 6}}),
        y: axis('loss, nats per token'),
      },
      item => `${item.dataset.label}: ${amount(item.raw.x)} parameters, loss ${number(item.raw.y)}`, {legend: true});
}

page.replaceChildren();
const asked = data.flops_budget ?? data.flops;
const leaves = data.ends_first === 'length';  // whether the training leaves some of its budget
document.title = `plan for ${threeDigits(asked)} FLOPs`;
make(page, 'h1', `Plan for ${threeDigits(asked)} FLOPs`);
make(page, 'p', `Estimates by a law of the loss: ${data.law.source}`, {class: 'quiet'});
const interval = data.loss_low ? ` (${number(data.loss_low)} to ${number(data.loss_high)})` : '';
facts(page, [
  ['parameters', amount(data.parameters)],
  ['tokens', amount(data.tokens)],
  ['loss', number(data.loss) + interval],
  ['FLOPs of the training', leaves ? threeDigits(data.flops) : ''],
  ['takes', data.seconds ? duration(data.seconds) : ''],
  ['costs', data.cost ? `${number(data.cost)} ${data.currency}, price of ${data.price_as_of}` : ''],
  ['MFU', threeDigits(data.mfu)],
]);
verdicts();
if (data.extrapolated) {
  const range = (name, text) => {
    const [least, most] = [data.law[`least_${name}`], data.law[`most_${name}`]];
    return least === null ? [] : [`${text(least)} to ${text(most)} ${name === 'flops' ? 'FLOPs' : name}`];
  };
  const ranges = [...range('flops', threeDigits), ...range('parameters', amount), ...range('tokens', amount)];
  const runs = ranges.join(', ').replace(/, ([^,]*)$/, ' and $1');
  make(page, 'p', `Beyond the runs behind the law, which had ${runs}: an extrapolation.`);
}
const cards = make(page, 'div', '', {class: 'cards'});
chart(cards, leaves ? 'Loss for the FLOPs of the training' : 'Loss for these FLOPs', sizes, {
  wide: true,
  note: 'A smaller model sees more tokens, a larger one fewer.',
});
const section = card('The best choice by each approach', {parent: cards});
table(
    section, ['approach', 'parameters', '10 %', '90 %', 'tokens', 'tokens per parameter', 'loss'],
    data.approaches.map(
        one => [one.name, amount(one.parameters), amount(one.low), amount(one.high), amount(one.tokens),
                threeDigits(one.tokens / one.parameters), one.loss]),
    {sortable: false});
show();
