'use strict';
// The page of a law that was fitted to runs. `data` is described in plan/fit.h (page_value).

const constant = Object.fromEntries(data.constants.map(one => [one.name, one]));
const ofRun = item => `${item.dataset.label || 'run'}: ${amount(item.raw.x)}, ${number(item.raw.y)}`;
const amounts = {type: 'logarithmic', ticks: {callback: amount, maxTicksLimit: 6}};
const flops = {type: 'logarithmic', ticks: {callback: threeDigits, maxTicksLimit: 6}};

// The law as lines, a model each, and the runs as points: those of these models in the colour of their line.
function byTokens() {
  const points = runs => runs.map(run => ({x: run.tokens, y: run.loss}));
  const shades = new Map(data.models.map((model, i) => [model.parameters, palette(i)]));
  const lines = data.models.flatMap(({parameters, curve}) => {
    const runs = data.points.filter(run => run.parameters === parameters), shade = shades.get(parameters);
    return [
      line(`${amount(parameters)} parameters`, points(curve), shade, {pointRadius: 0}),
      dots('', points(runs), shade),
    ];
  });
  const others = data.points.filter(run => !shades.has(run.parameters));
  if (others.length) lines.push(dots('runs of other sizes', points(others), colour('faint')));
  return config('line', lines, {x: axis('tokens', amounts), y: axis('loss')}, ofRun, ofLabelled);
}

// A quantity of the best models by their FLOPs, with its interval, and of the runs. `bounds`: the members that hold the
// interval; `title`: of the quantity.
function byFlops(name, bounds, title, scale) {
  const points = (list, of) => list.map(one => ({x: one.flops, y: one[of]}));
  const [low, high] = bounds.map(bound => points(data.best.filter(one => isKnown(one[bound])), bound));
  const shade = colour('second'), bare = {pointRadius: 0};
  const best = points(data.best, name), runs = points(data.points, name);
  const all = [...best, ...runs].map(point => point.y);
  const end = line('interval', high, shade, {...bare, ...dashed, borderWidth: 1});
  return config(
      'line',
      [
        dots('a run', runs, colour('first')),
        line('best', best, shade, bare),
        end,
        {...end, label: '', data: low},
        ...marks([['longest run', data.most_flops, colour('faint')]], [Math.min(...all), Math.max(...all)]),
      ],
      {x: axis('FLOPs', flops), y: axis(title, scale)}, ofRun, ofLabelled);
}

page.replaceChildren();
const {E, A, B, alpha, beta, exponent} = constant;
const title = `A law of the loss from ${data.runs} runs`;
document.title = title;
make(page, 'h1', title);
make(page, 'p', data.of, {class: 'quiet'});
const terms = `${number(A.value)}/N^${number(alpha.value)} + ${number(B.value)}/D^${number(beta.value)}`;
make(page, 'p', `L(N, D) = ${isKnown(E.value) ? number(E.value) : 'E (unknown)'} + ${terms}`);
facts(page, [
  ['runs', data.runs],
  ['off the law (root mean square)', `${threeDigits(100 * data.deviation)} %`],
  [
    'a law of the shorter runs alone predicts the longest',
    isKnown(data.drift) ?
        `${threeDigits(100 * Math.abs(Math.expm1(data.drift)))} % too ${data.drift > 0 ? 'high' : 'low'}, a doubling of FLOPs` :
        '',
  ],
  ['the best parameters grow as', `FLOPs^${number(exponent.value)}`],
]);
if (!isKnown(E.value)) make(page, 'p', 'E is unknown, because none of these runs comes near the limit of the loss.');
for (const one of data.left_out) make(page, 'p', `Left out: ${one}`);
const cards = make(page, 'div', '', {class: 'cards'});
chart(cards, 'Loss by tokens', byTokens, {
  wide: true,
  note: 'Points are runs, and lines are the law for some of the models.'
});
const further = 'Beyond the longest run it is an extrapolation.';
chart(cards, 'Least loss by FLOPs', () => byFlops('loss', ['loss_low', 'loss_high'], 'loss'), {
  note: `The loss of a run is expected within the interval in 80 of 100 cases. ${further}`
});
chart(cards, 'Best size by FLOPs', () => byFlops('parameters', ['low', 'high'], 'parameters', amounts), {
  note: `The interval is that of 10 to 90 % of laws of resampled runs. ${further}`
});
table(
    card('The best model for a budget', {parent: cards, note: '1, 10 and 100 times the FLOPs of the longest run.'}),
    ['FLOPs', 'parameters', '10 %', '90 %', 'tokens', 'tokens per parameter', 'loss', 'from', 'to'],
    data.budgets.map(
        one => [threeDigits(one.flops), amount(one.parameters), amount(one.low), amount(one.high), amount(one.tokens),
                threeDigits(one.tokens / one.parameters), one.loss, one.loss_low, one.loss_high]),
    {sortable: false});
table(
    card('The constants', {parent: cards}), ['constant', 'estimate', '10 %', '90 %'],
    data.constants.map(one => [one.name, ...[one.value, one.low, one.high].map(x => isKnown(x) ? x : 'unknown')]),
    {sortable: false});
show();
