'use strict';
// The page of `trainlab plan RECIPE.lua`. `data` is the object of its --json with `text`, the plan in words.

const fine = seconds => seconds < 1 ? `${number(1e3 * seconds)} ms` : duration(seconds);
const interval = ({median, low, high}) => `${fine(median)} (${fine(low)} to ${fine(high)})`;
const atMost = name => data.at_most.includes(name) ? 'at most ' : '';
const whole = isKnown(data.seconds) ? {median: data.seconds, low: data.seconds_low, high: data.seconds_high} : null;
const hasOne = data.stage_kind === 'fit';  // whether the stage is its one training

// [label, seconds, and their interval] of all times that are known.
const times =
    [
      ['an epoch', data.epoch_seconds],
      ['a training', data.training_seconds],
      [`the ${data.stage_kind}`, hasOne ? null : whole],
      ['the stage\'s time', isKnown(data.usable) ? {median: data.usable} : null],
    ].filter(([, time]) => time);

function durations() {
  return config(
      'bar', [{
        data: times.map(([, time]) => time.median),
        backgroundColor: times.map(([, time]) => colour(isKnown(time.low) ? 'first' : 'faint')),
      }],
      {
        x: axis('', {type: 'logarithmic', ticks: {callback: fine, maxTicksLimit: 5}}),
        y: {grid: {display: false}, ticks: {autoSkip: false}},
      },
      item => `${item.label}: ${fine(item.raw)}`, {indexAxis: 'y', data: {labels: times.map(([name]) => name)}});
}

const ending = {
  length: 'the length of the stage',
  budget: 'the budget',
  unknown: 'unknown',
};

page.replaceChildren();
const title = `Plan for ${data.stage_kind} ${data.stage}`;
document.title = title;
make(page, 'h1', title);
make(page, 'p', 'Estimates from steps that were measured', {class: 'quiet'});
const hasBudget = isKnown(data.within) || isKnown(data.flops_budget);
const fits = isKnown(data.epochs) ? `${number(Math.floor(data.epochs))} epochs` :
    isKnown(data.steps)           ? `${number(Math.floor(data.steps))} steps` :
                                    '';
const mostOfOne = hasOne ? atMost('seconds') : '';
facts(page, [
  ['step', fine(data.step_seconds.median)],
  ['a training', data.training_seconds ? mostOfOne + interval(data.training_seconds) : 'unknown'],
  [`the ${data.stage_kind}`, hasOne ? '' : whole ? atMost('seconds') + interval(whole) : 'unknown'],
  ['budget', isKnown(data.within) ? duration(data.within) : ''],
  ['fits into one training', hasBudget ? fits : ''],
  ['whole trainings that fit', hasBudget && isKnown(data.trainings) ? data.trainings : ''],
  ['ends first', hasBudget ? ending[data.ends_first] : ''],
  ['costs', isKnown(data.cost) ? `${atMost('cost')}${number(data.cost)} ${data.currency}` : ''],
]);
const cards = make(page, 'div', '', {class: 'cards'});
if (times.length) chart(cards, 'How long it takes', durations, {wide: true});
make(card('In words', {parent: cards}), 'pre', data.text.trim());
show();
