'use strict';
// The page of a run: a part for each of its stages.

// What took 1 % of the time of the trainings or more, the most first.
function timeWentTo(speed) {
  const words = {training: 'training', input: 'waiting for data', transform: 'data:transform', evaluation: 'evaluation',
                 checkpoint: 'checkpoints', other: 'other work'};
  const shares = {...speed?.shares};
  if (speed?.transform) {  // a part of the input in which nothing is waited for
    shares.input -= speed.transform;
    shares.transform = speed.transform;
  }
  return Object.entries(shares)
      .map(([name, share]) => [words[name], Math.round(100 * share)])
      .filter(([, percent]) => percent > 0)
      .sort((a, b) => b[1] - a[1])
      .map(([word, percent]) => `${percent} % ${word}`)
      .join(', ');
}

function heading(stage) {
  const title = make(page, 'h2', `${stage.name} `);
  if (stage.status) make(title, 'span', stage.status, {class: `status ${stage.status}`});
  make(page, 'p', [stage.kind, stage.reason].filter(Boolean).join(': '), {class: 'quiet'});
  const {promotion} = stage;
  if (promotion) make(page, 'p', `${promotion.promoted ? 'Promoted' : 'Not promoted'}: ${promotion.reason}`);
  for (const warning of stage.warnings ?? []) make(page, 'p', `Warning: ${warning}`);
  for (const note of stage.speed?.notes ?? []) make(page, 'p', `Note: ${note}`);
  for (const fix of stage.fixes ?? []) {
    const change = fix.value === undefined ? fix.option : `${fix.option} = ${shown(fix.value)}`;
    const from = fix.from === 0 ? 'from the beginning' : `from step ${fix.from} on`;
    make(page, 'p', `Fixed: ${change} because of ${fix.kind} at step ${fix.step}, ${from}. ${fix.evidence}.`);
  }
  for (const verdict of stage.health ?? []) {
    const {trials, count, ended} = verdict;
    const others = trials?.length < count ? ', …' : '';
    const where = trials ? ` in ${count} of ${ended} trials (${trials.join(', ')}${others}); in trial ${trials[0]}` : '';
    const found = `${verdict.kind}${where} (${verdict.confidence} confidence, after ${verdict.step} steps): ${verdict.evidence}.`;
    make(page, 'p', `${found} Remedy: ${verdict.remedy}`);
  }
  if (stage.floor) {
    const {loss, low, high, wrong_labels: wrong, groups} = stage.floor;
    const why = `${number(100 * wrong)} % of the labels are wrong, as those of ${groups} groups of equal samples show`;
    make(page, 'p', `Floor: a loss of ${number(loss)} (${number(low)} to ${number(high)}), because ${why}.`);
  }
  const forecast = stage.forecast;
  if (forecast && forecast.at !== stage.steps) {
    const interval = `${shown(forecast.value)} (${shown(forecast.low)} to ${shown(forecast.high)})`;
    const bound = forecast.rate_falls ? ', or better,' : '';
    const runs = forecast.references === 1 ? 'a finished run' : `${forecast.references} finished runs`;
    const from = forecast.references ? `, from ${runs}${forecast.of_other_data ? ' on other data' : ''}` : '';
    const step = `${forecast.at_is_estimate ? 'about ' : ''}step ${forecast.at}`;
    make(page, 'p', `Would reach ${forecast.metric} ${interval}${bound} by ${step}${from}.`);
  }
  const {flags = [], compute_share: share, passes, loss_ratio: ratio} = stage.efficiency ?? {};
  if (flags.includes('compute_inefficient'))
    make(page, 'p', `Compute-inefficient: what is kept was reached with ${number(share)} of the FLOPs.`);
  if (flags.includes('data_inefficient')) {
    const known = `train.loss is ${number(ratio)} of val.loss`;
    make(page, 'p', `Data-inefficient: ${number(passes)} passes over the same data, and ${known}.`);
  }
  if (stage.budget) facts(page, budgetFacts(stage.budget));
}

// The part of the run's budget that was used when the stage ended.
function budgetFacts({seconds, used, reserve, flops, money}) {
  return [
    ['used of the budget', seconds ? `${duration(used)} of ${duration(seconds)}` : ''],
    ['reserve', reserve ? duration(reserve) : ''],
    ['FLOPs', flops ? `${number(flops.used)} of ${number(flops.limit)}` : ''],
    ['money', money ? `${number(money.used)} of ${number(money.limit)} ${money.currency}` : ''],
  ];
}

function trialsTable(stage) {
  const names = stage.study.space.map(parameter => parameter.name);
  const metrics = stage.study.objectives.map(one => one.metric);
  const heads = ['trial', 'state', ...metrics, ...names, 'seeds', 'seconds', 'ran', 'attempt', 'worker', 'reason'];
  const rows = stage.rows.map(
      row =>
          [row.trial, row.state, ...(row.values ? metrics.map((_, k) => row.values[k] ?? null) : [row.value]),
           ...names.map(name => row.params[name]), row.seed_values.map(shown).join(' '), row.seconds ?? null,
           row.duplicate_of === undefined ? row.ran ?? '' : `as trial ${row.duplicate_of}`, row.attempt, row.worker,
           row.reason ?? '']);
  const used = heads.map((_, i) => rows.some(row => row[i] !== '' && row[i] !== null));
  const card = make(page, 'section', '', {class: 'card'});
  make(card, 'h3', 'Trials');
  table(card, heads.filter((_, i) => used[i]), rows.map(row => row.filter((_, i) => used[i])));
}

function members(stage) {
  if (!stage.members || !stage.members.length) return;
  const metrics = Object.keys(stage.ensemble ?? {});
  const row = (name, seed, values) => [name, seed, ...metrics.map(metric => (values ?? {})[metric] ?? null)];
  const card = make(page, 'section', '', {class: 'card'});
  make(card, 'h3', 'Members and what they reach together');
  const same = (a, b) =>
      a.trial === b.trial && a.seed === b.seed;  // chosen greedily, one may stand there several times
  const times = member => stage.members.filter(one => same(one, member)).length;
  const different = stage.members.filter((member, i) => stage.members.findIndex(one => same(one, member)) === i);
  table(
      card, ['', 'seed', ...metrics],
      [
        ...different.map(
            member =>
                row(`trial ${member.trial}${times(member) > 1 ? ` ×${times(member)}` : ''}`, member.seed ?? null,
                    member.metrics)),
        row('best', null, stage.best_member),
        row('mean', null, stage.mean_member),
        row('ensemble', null, stage.ensemble),
      ],
      {sortable: false, mark: line => line[0] === 'ensemble' ? 'together' : ''});
  const cards = make(page, 'div', '', {class: 'cards small'});
  for (const metric of metrics) chart(cards, metric, () => together(stage, metric));
}

// The best trials of a search, trained again on fresh seeds.
function confirmed(stage) {
  if (!stage.confirmed || !stage.confirmed.length) return;
  const card = make(page, 'section', '', {class: 'card'});
  make(card, 'h3', 'The best trials on fresh seeds');
  const hasLengths = isKnown(stage.confirmed[0].validations);  // with a scheduler
  const order = hasLengths ? 'The best first' : 'In the order of all trainings together';
  make(card, 'p', `${order}; ± is the 95 % interval.`, {class: 'quiet'});
  const value = one => isKnown(one.value) ? plusMinus(one.value, one.interval) : 'none';
  table(
      card, ['trial', stage.metric, 'in the search', ...(hasLengths ? ['after validations'] : []), 'seeds', 'failed'],
      stage.confirmed.map(
          one =>
              [one.trial, value(one), one.observed ?? null, ...(hasLengths ? [one.validations] : []),
               one.seed_values.length, one.failed || null]),
      {sortable: false});
}

function plusMinus(value, interval) {
  return isKnown(interval) ? `${number(value)} ± ${interval.toPrecision(2)}` : number(value);
}

// By how much the best value may be too good, because it is the best of many.
function luck({spread, maximize}, value) {
  const {optimism, compared, deviation} = spread;
  if (!isKnown(optimism)) return '';
  const worse = value + (maximize ? -1 : 1) * optimism * deviation;
  const expected = isKnown(deviation) ? `: on fresh seeds expect ${number(value)} to ${number(worse)}` : '';
  return `as the best of ${compared} up to ${number(optimism)} standard deviations of a seed too good${expected}`;
}

function study(stage) {
  heading(stage);
  if (!stage.study) {
    members(stage);  // of a sweep's trials: it has none of its own
    if (!stage.members) make(page, 'p', 'No trial has begun.');
    return;
  }
  const objectives = stage.study.objectives;
  const byTrial = new Map(stage.rows.map(row => [row.trial, row]));
  const order = stage.front ?? stage.leaderboard;
  Object.assign(stage, {
    metric: objectives[0].metric,
    maximize: objectives[0].goal === 'max',
    leaders: order.slice(0, 10).map(trial => byTrial.get(trial)),
    varied: stage.study.space.filter(p => p.labels ? p.labels.length > 1 : p.high > p.low),
  });
  const several = objectives.length > 1;
  const best = stage.leaders[0];
  const deviation = stage.spread.best?.deviation;
  const isConfirmed = isKnown(stage.best?.observed);
  const counts = ['complete', 'pruned', 'failed', 'running', 'waiting']
                     .filter(state => stage.trials[state])
                     .map(state => `${stage.trials[state]} ${state}`)
                     .join(', ');
  facts(page, [
    ['goal', objectives.map(one => `${one.goal} ${one.metric}`).join(', ')],
    [
      several ? 'Pareto front' : `best, trial ${isConfirmed ? stage.best.trial : best?.trial}`,
      !best           ? '' :
          several     ? `${stage.front.length} trials` :
          isConfirmed ? `${plusMinus(stage.best.value, stage.best.interval)} on fresh seeds` :
                        plusMinus(best.value, deviation || null)
    ],
    ['luck', luck(stage, best?.value)],
    ['trials', counts],
    ['seeds for each', stage.study.seeds > 1 ? stage.study.seeds : ''],
    ['took', stage.seconds ? duration(stage.seconds) : ''],
    ['time went to', timeWentTo(stage.speed)],
    ['training', stage.training_seconds ? duration(stage.training_seconds) : ''],
    ['chosen by', [stage.study.sampler, stage.study.pruner].filter(Boolean).join(', ')],
  ]);
  members(stage);
  confirmed(stage);
  if (best) {
    const cards = make(page, 'div', '', {class: 'cards'});
    if (several)
      chart(cards, 'Pareto front', () => front(stage), {note: 'Nothing is better than these in all objectives.'});
    if (!several) chart(cards, 'Values by trial', () => history(stage));
    if (stage.varied.length > 1) {
      const {trials, best: few, fanova} = stage.importance[0];
      if (trials >= 10 && few < trials) {
        const pruned = stage.trials.pruned ? '; pruned ones count as worse' : '';
        chart(
            cards, 'Importance', () => importance(stage, stage.importance),
            {note: `Estimate (PED-ANOVA): what tells the best ${few} of ${trials} trials from all of them${pruned}.`});
        chart(
            cards, 'Importance over the whole space', () => importance(stage, stage.importance.map(one => one.fanova)),
            {note: `Estimate (fANOVA, ${fanova.trials} trials): the share of the variance that each makes by itself.`});
      }
      if (!several) {
        chart(cards, 'Parameters together', () => parallel(stage), {
          wide: true,
          note: stage.leaderboard.length > mostLines ? `The best ${mostLines} trials, the best one bold.` :
                                                       'The best trial is bold.'
        });
      }
    }
    if (stage.curves.some(curve => curve.values.length > 1)) {
      chart(cards, 'Learning curves', () => learning(stage), {note: 'The best trials, the mean of their seeds.'});
    }
    if (stage.leaders.filter(row => row.seed_values.length > 1).length > 1 && !several) {
      const one = stage.spread.deviation;
      chart(cards, 'Seeds', () => seeds(stage), {
        note: one === null ?
            '' :
            `One seed differs by ${number(one)} from its trial's mean (standard deviation, median of these trials).`
      });
    }
    if (stage.varied.length) {
      make(page, 'h3', `${stage.metric} by parameter`, {style: 'margin-top: 1rem'});
      make(
          page, 'p',
          `Each point is a trial, late ones orange${
              stage.trials.pruned ? ', pruned ones grey with the value that they had' : ''}.` +
              (drawn(stage).beyond ? ' Far worse ones stand at the axis\'s end.' : ''),
          {class: 'quiet'});
      const shares = stage.importance[0].shares;
      const small = make(page, 'div', '', {class: 'cards small'});
      for (const one of [...stage.varied].sort((a, b) => shares[b.name] - shares[a.name]).slice(0, mostParameters)) {
        chart(small, one.name, () => slice(stage, one));
      }
    }
    if (stage.paste) {
      const card = make(make(page, 'div', '', {class: 'cards'}), 'section', '', {class: 'card wide'});
      make(card, 'h3', `Parameters of trial ${stage.paste.trial}`);
      make(card, 'pre', [`params = ${stage.paste.lua}`, stage.paste.flags].filter(Boolean).join('\n'));
    }
  }
  make(page, 'div', '', {class: 'cards'});
  trialsTable(stage);
}

function fit(stage) {
  heading(stage);
  facts(page, [
    [`best ${stage.best?.metric ?? ''}`, stage.best ? number(stage.best.value) : ''],
    ...Object.entries(stage.metrics ?? {}).map(([name, value]) => [name, number(value)]),
    ['took', stage.seconds ? duration(stage.seconds) : ''],
    ['time went to', timeWentTo(stage.speed)],
  ]);
  if (!stage.rows || !stage.rows.length) return;
  const groups = new Map();  // what is measured → its names
  for (const name of new Set(stage.rows.flatMap(Object.keys))) {
    if (['step', 'epoch', 'samples', 'seconds'].includes(name)) continue;
    const metric = name.slice(name.indexOf('.') + 1);
    groups.set(metric, [...(groups.get(metric) ?? []), name]);
  }
  const cards = make(page, 'div', '', {class: 'cards'});
  const isMeasured = ([, names]) => names.some(name => name.includes('.'));  // lr and what the recipe logs come last
  for (const [metric, names] of [...groups].sort((a, b) => isMeasured(b) - isMeasured(a)))
    chart(cards, metric, () => rowsChart(stage.rows, names, stage.forecast));
}

// lab.find.lr, lab.find.batch or lab.find.optimizer, whose summary has the answer and, as `search`, all else.
function search(stage) {
  heading(stage);
  const answer = stage.kind.replace('find.', '');
  if (stage[answer]) finding(page, {...stage.search, [answer]: stage[answer]});
}

function drawerOf({kind}) {
  if (kind.startsWith('find.')) return search;
  return ['sweep', 'ensemble', 'study'].includes(kind) ? study : fit;
}

page.replaceChildren();
document.title = `${data.run.recipe} ${data.run.path}`;
make(page, 'h1', data.run.recipe);
make(
    page, 'p',
    // A study's file belongs to no run.
    data.run.started ? `${data.run.path}, begun ${data.run.started}; seed ${data.run.seed}, ${data.run.device}, ` +
            `trainlab ${data.run.trainlab}` :
                       data.run.path,
    {class: 'quiet'});
if (data.run.parameters) make(page, 'p', data.run.parameters, {class: 'quiet'});
for (const stage of data.stages) drawerOf(stage)(stage);
show();
