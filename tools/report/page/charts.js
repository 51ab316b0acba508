'use strict';
// The charts of the page: each function gives the configuration of one (Chart.js).

const paramsText = row =>
    Object.entries(row.params).filter(([, value]) => value !== null).map(([name, value]) => `${name} ${shown(value)}`);
const trialText = row => [`trial ${row.trial} (${row.state}): ${shown(reached(row))}`, ...paramsText(row)];
const points = (rows, x, y) => rows.map(row => ({x: x(row), y: y(row), row}));
const ofPoint = item => item.raw.row ? trialText(item.raw.row) : number(item.raw.y);

// The axis of values: its ends, and where a trial is drawn on it: those beyond stand at the end.
function drawn(study) {
  const rows = study.rows.filter(row => reached(row) !== null);
  const of = state => rows.filter(row => row.state === state).map(reached);
  const limits = ends(of('complete'), study.maximize, of('pruned'));
  return {limits, y: row => within(reached(row), limits), beyond: beyond(rows.map(reached), limits)};
}

// A pruned trial without a value has what its seeds had reached.
function reached(row) {
  const values = row.seed_values.filter(y => y !== null);
  if (row.value !== null || row.state !== 'pruned' || !values.length) return row.value;
  return values.reduce((a, b) => a + b) / values.length;
}

function history(study) {
  const rows = study.rows.filter(row => reached(row) !== null);
  const better = study.maximize ? (a, b) => a > b : (a, b) => a < b;
  const steps = [];
  for (const row of rows.filter(row => row.state === 'complete')) {
    const best = steps.length ? steps[steps.length - 1].y : null;
    steps.push({x: row.trial, y: best === null || better(row.value, best) ? row.value : best});
  }
  if (steps.length) steps.push({x: rows[rows.length - 1].trial, y: steps[steps.length - 1].y});
  const of = state => points(rows.filter(row => row.state === state), row => row.trial, y);
  const {limits, y, ...rest} = drawn(study);
  const isDense = rows.length > 1000;
  const dots = (label, state, name) => ({
    label,
    data: of(state),
    backgroundColor: colour(name) + (isDense ? '66' : 'aa'),
    borderWidth: 0,
    pointRadius: isDense ? 2 : 3.5,
    clip: false
  });
  return {
    ...config(
        'scatter',
        [
          {
            label: 'best so far',
            type: 'line',
            data: steps,
            stepped: true,
            borderColor: colour('second'),
            borderWidth: 2,
            pointRadius: 0
          },
          dots('complete', 'complete', 'first'),
          dots('pruned', 'pruned', 'faint'),
        ].filter(set => set.data.length),
        {x: axis('trial', {min: 0, max: study.rows.length - 1 || 1}), y: axis(study.metric, limits)}, ofPoint,
        {legend: true}),
    ...rest,
  };
}

function front(study) {
  const [a, b] = study.study.objectives;
  const rows = study.rows.filter(row => row.state === 'complete');
  const best = new Set(study.front);
  const dots = (label, some, name, radius) => ({
    label,
    data: points(some, row => row.values[0], row => row.values[1]),
    backgroundColor: colour(name),
    pointRadius: radius
  });
  return config(
      'scatter',
      [
        dots('Pareto front', rows.filter(row => best.has(row.trial)), 'first', 5),
        dots('others', rows.filter(row => !best.has(row.trial)), 'faint', 3),
      ],
      {x: axis(`${a.metric} (${a.goal})`), y: axis(`${b.metric} (${b.goal})`)},
      item =>
          [`trial ${item.raw.row.trial}: ${item.raw.row.values.map(number).join(', ')}`, ...paramsText(item.raw.row)],
      {legend: true});
}

const mostParameters = 12;
// The parameters that matter most, in the order in which they came.
function important(study, parameters) {
  const shares = study.importance[0].shares;
  const some = [...parameters].sort((a, b) => shares[b.name] - shares[a.name]).slice(0, mostParameters);
  return parameters.filter(one => some.includes(one));
}

// `estimates`: for each objective the shares of the parameters.
function importance(study, estimates) {
  const names = Object.keys(estimates[0].shares)
                    .sort((a, b) => estimates[0].shares[b] - estimates[0].shares[a])
                    .slice(0, mostParameters);
  return config(
      'bar', estimates.map((one, k) => ({
                                    label: study.importance[k].metric,
                                    data: names.map(name => one.shares[name]),
                                    backgroundColor: colour(k ? 'second' : 'first')
                                  })),
      {
        x: axis('', {ticks: {callback: value => Math.round(value * 100) + ' %'}}),
        y: {grid: {display: false}, ticks: {autoSkip: false}}
      },
      item => `${item.label}: ${(item.raw * 100).toFixed(1)} %`,
      {indexAxis: 'y', data: {labels: names}, legend: estimates.length > 1});
}

// Where a value lies on its parameter's own axis, 0…1.
function place(parameter, value) {
  if (parameter.labels) {
    const at = parameter.labels.findIndex(label => JSON.stringify(label) === JSON.stringify(value));
    return parameter.labels.length > 1 ? at / (parameter.labels.length - 1) : 0.5;
  }
  const f = parameter.log ? Math.log : x => x;
  return parameter.high > parameter.low ? (f(value) - f(parameter.low)) / (f(parameter.high) - f(parameter.low)) : 0.5;
}

const inactive = -0.14;  // where lines pass a parameter that the trial does not have

// Writes the ends of each axis, or its labels, beside it.
const axisLabels = parameters => ({
  id: 'axisLabels',
  afterDatasetsDraw(chart) {
    const {ctx, scales: {x, y}} = chart;
    ctx.save();
    ctx.font = '11px system-ui, sans-serif';
    ctx.textBaseline = 'middle';
    parameters.forEach((parameter, i) => {
      const marks = parameter.labels ? parameter.labels.map((label, n) => [place(parameter, label), shown(label), n]) :
                                       [[0, number(parameter.low)], [1, number(parameter.high)]];
      if (parameter.conditions) marks.push([inactive, 'inactive']);
      const isLast = i === parameters.length - 1;
      ctx.textAlign = isLast ? 'right' : 'left';
      const skip = Math.ceil(marks.length / 12);
      marks.filter((mark, n) => n % skip === 0).forEach(([at, text]) => {
        const label = short(text);
        const left = x.getPixelForValue(i) + (isLast ? -5 : 5), top = y.getPixelForValue(at);
        const width = ctx.measureText(label).width;
        ctx.fillStyle = colour('card') + 'cc';
        ctx.fillRect(isLast ? left - width - 1 : left - 1, top - 7, width + 2, 14);
        ctx.fillStyle = colour('text');
        ctx.fillText(label, left, top);
      });
    });
    ctx.restore();
  },
});

const mostLines = 200;
function parallel(study) {
  const order = new Map(study.leaderboard.map((trial, rank) => [trial, rank]));
  const rows = study.rows.filter(row => order.has(row.trial) && order.get(row.trial) < mostLines)
                   .sort((a, b) => order.get(a.trial) - order.get(b.trial));  // the first is drawn on top
  const values = rows.map(row => row.value);
  const limits = ends(values, study.maximize);
  const low = limits.min ?? Math.min(...values), high = limits.max ?? Math.max(...values);
  const metric = {name: study.metric, low, high};
  const parameters = [...important(study, study.varied), metric];
  const goodness = rank => 1 - rank / Math.max(1, rows.length - 1);
  return config(
      'line', rows.map((row, rank) => ({
                         data: parameters.map(one => {
                           const value = one === metric ? row.value : row.params[one.name];
                           return value === null ? inactive : Math.min(1, Math.max(0, place(one, value)));
                         }),
                         row,
                         borderWidth: rank === 0 ? 3 : 1.3,
                         pointRadius: 0,
                         pointHitRadius: 6,
                         borderColor: blend(goodness(rank), rank === 0 ? 1 : 0.45),
                         tension: 0.15,
                       })),
      {
        x: {grid: {color: colour('faint')}, ticks: {autoSkip: false, maxRotation: 30}},
        y: {display: false, min: inactive - 0.04, max: 1.04},
      },
      item => trialText(item.dataset.row), {
        data: {labels: parameters.map(one => one.name)},
        plugins: [axisLabels(parameters)],
        layout: {padding: {right: 8}}
      });
}

const mostPoints = 1500;
function slice(study, parameter) {
  const rows = study.rows.filter(row => reached(row) !== null && row.params[parameter.name] !== null);
  const every = Math.ceil(rows.length / mostPoints);
  const some = rows.filter((row, i) => i % every === 0).sort((a, b) => (a.state === 'pruned') - (b.state === 'pruned'));
  const labels = parameter.labels;
  const x = row => {
    if (!labels) return row.params[parameter.name];
    const value = JSON.stringify(row.params[parameter.name]);
    return labels.findIndex(label => JSON.stringify(label) === value) + ((row.trial * 0.618) % 1 - 0.5) * 0.3;
  };
  const best = study.rows.length - 1 || 1;
  const {limits, y} = drawn(study);
  const ticks = labels ?
      {callback: at => at in labels ? short(shown(labels[at])) : '', autoSkip: labels.length > 6, maxRotation: 30} :
      parameter.log ? {callback: value => isLabelled(value, parameter) ? number(value) : ''} :
                      {};
  return config(
      'scatter', [{
        data: points(some, x, y),
        pointRadius: some.length > 300 ? 2 : 3,
        borderWidth: 0,
        clip: false,
        backgroundColor:
            some.map(row => row.state === 'pruned' ? colour('faint') + '77' : blend(1 - row.trial / best, 0.8)),
      }],
      {
        x: axis('', {
          type: parameter.log ? 'logarithmic' : 'linear',
          ticks,
          min: parameter.low,
          max: parameter.high,
          ...(labels ? places(labels) : {})
        }),
        y: axis('', limits),
      },
      ofPoint);
}
// An axis on which each of a list has its place, 0, 1, …
const places = list => ({
  min: -0.5,
  max: list.length - 0.5,
  afterBuildTicks: scale => {
    scale.ticks = list.map((_, value) => ({value}));
  },
});

// Powers of ten, and within less than two decades what lies between them.
function isLabelled(value, parameter) {
  const leading = Math.round(value / 10 ** Math.floor(Math.log10(value) + 1e-9));
  return leading === 1 || (Math.log10(parameter.high / parameter.low) < 2 && (leading === 2 || leading === 5));
}

function learning(study) {
  const values = study.curves.flatMap(curve => curve.values).filter(y => y !== null);
  return config(
      'line', study.curves.map((curve, i) => ({
                                 label: `trial ${curve.trial}`,
                                 data: curve.validations.map((x, n) => ({x, y: curve.values[n]})),
                                 borderColor: palette(i),
                                 backgroundColor: palette(i),
                                 borderWidth: 2,
                                 pointRadius: 0,
                                 pointHitRadius: 6,
                               })),
      {
        x: axis(study.kind === 'study' ? 'step' : 'validation', {type: 'linear'}),
        y: axis(study.metric, ends(values, study.maximize)),
      },
      item => `${item.dataset.label}: ${number(item.raw.y)}`, {legend: true});
}

function seeds(study) {
  const leaders = study.leaders.filter(row => row.seed_values.length > 1);
  return config(
      'scatter',
      [
        {
          label: 'mean',
          data: points(leaders, row => leaders.indexOf(row), row => row.value),
          pointStyle: 'line',
          pointRadius: 12,
          borderColor: colour('second'),
          borderWidth: 3
        },
        {
          label: 'a seed',
          data: leaders.flatMap((row, i) => row.seed_values.filter(y => y !== null).map(y => ({x: i, y, row}))),
          backgroundColor: colour('first') + 'bb',
          pointRadius: 4
        },
      ],
      {
        x: axis('trial, best first', {
          ...places(leaders),
          grid: {display: false},
          ticks: {callback: at => leaders[at] ? leaders[at].trial : '', autoSkip: false}
        }),
        y: axis(study.metric, {grace: '5%'}),
      },
      item => `trial ${item.raw.row.trial}: ${number(item.raw.y)}`,
      {legend: true, legendLabels: {usePointStyle: true}});
}

function together(study, metric) {
  const members = study.members.map(member => member.metrics[metric] ?? null);
  const line = (label, value, name) => ({
    label: `${label} ${number(value)}`,
    type: 'line',
    borderColor: colour(name),
    borderWidth: 2,
    pointRadius: 0,
    data: [{x: -0.5, y: value}, {x: members.length - 0.5, y: value}]
  });
  return config(
      'scatter',
      [
        {label: 'members', data: members.map((y, x) => ({x, y})), backgroundColor: colour('faint'), pointRadius: 5},
        line('ensemble', study.ensemble[metric], 'first'),
        line('mean of members', study.mean_member[metric], 'second'),
      ],
      {
        x: axis('member\'s trial', {
          ...places(members),
          grid: {display: false},
          ticks: {callback: at => study.members[at] ? study.members[at].trial : ''}
        }),
        y: axis(metric, {grace: '8%'}),
      },
      item => `${item.dataset.label}: ${number(item.raw.y)}`, {legend: true});
}

// A fit: what train, val and test say of one metric; `names` are members of its rows. Where a forecast of one of them
// goes beyond the rows, it is drawn to its value, with the interval as a bar.
function rowsChart(rows, names, forecast) {
  const lines = names.map((name, i) => ({
                            label: name,
                            data: rows.filter(row => typeof row[name] === 'number')
                                      .map(row => ({x: row.step, y: row[name]})),
                            borderColor: palette(i * 2),
                            backgroundColor: palette(i * 2),
                            borderWidth: 2,
                            pointRadius: rows.length < 30 ? 2 : 0,
                            pointHitRadius: 6,
                          }));
  const known = lines.find(line => line.label === forecast?.metric);
  const last = known?.data.at(-1);
  if (last && forecast.at > last.x) {
    lines.push(...forecastLines(known.borderColor, last, [{x: forecast.at, ...forecast}], () => '80 % of trainings'));
  }
  return config(
      'line', lines,
      {x: axis('step', {type: 'linear'}), y: axis('')}, item => `${item.dataset.label}: ${number(item.raw.y)}`,
      {legend: true});
}
