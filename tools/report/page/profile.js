'use strict';
// The page of a profile. `data` is the object of `trainlab profile --json` with `timeline`: the spans of some steps.

const milliseconds = seconds => `${number(seconds * 1e3)} ms`;
const percent = share => `${(100 * share).toFixed(1)} %`;
const billions = x => x === null || x === undefined ? null : x / 1e9;

function bytes(count) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  for (; count >= 1000 && unit + 1 < units.length; ++unit) count /= 1024;
  return `${number(Number(count.toPrecision(3)))} ${units[unit]}`;
}

// "0.81 (0.8 to 0.82)"
const interval = (of, text) => of ? `${text(of.median)} (${text(of.low)} to ${text(of.high)})` : '';

// Horizontal bars of named amounts, the largest first.
function bars(amounts, text) {
  const all = Object.entries(amounts).filter(([, amount]) => amount > 0).sort((a, b) => b[1] - a[1]);
  return config(
      'bar', [{data: all.map(([, amount]) => amount), backgroundColor: all.map((_, i) => palette(i))}],
      {
        x: axis('', {ticks: {callback: text, maxTicksLimit: 6}}),
        y: {grid: {display: false}, ticks: {autoSkip: false}},
      },
      item => `${item.label}: ${text(item.raw)}`, {indexAxis: 'y', data: {labels: all.map(([name]) => name)}});
}

// One bar for the whole step.
function stepBar() {
  const parts = Object.entries(data.shares).filter(([, share]) => share >= 0.0005).sort((a, b) => b[1] - a[1]);
  return config(
      'bar', parts.map(([name, share], i) => ({
                         label: `${name} ${percent(share)}`,
                         data: [share],
                         backgroundColor: palette(i),
                         barThickness: 34,
                       })),
      {
        x: axis('', {stacked: true, min: 0, max: 1, ticks: {callback: percent}}),
        y: {stacked: true, display: false},
      },
      item => `${item.dataset.label}: ${milliseconds(item.raw * data.wall_seconds)}`,
      {indexAxis: 'y', data: {labels: ['']}, legend: true});
}

function memoryCurve() {
  return config(
      'line', [{
        label: 'tensors',
        data: data.memory.curve.map(point => ({x: point.seconds * 1e3, y: point.bytes})),
        stepped: true,
        fill: true,
        backgroundColor: colour('first') + '33',
        borderColor: colour('first'),
        borderWidth: 1.5,
        pointRadius: 0,
        pointHitRadius: 4,
      }],
      {x: axis('ms of a step', {type: 'linear'}), y: axis('', {min: 0, ticks: {callback: bytes}})},
      item => `${number(item.raw.x)} ms: ${bytes(item.raw.y)}`);
}

// Names of spans that are wide enough to be read.
const spanLabels = {
  id: 'spanLabels',
  afterDatasetsDraw(chart) {
    const {ctx, chartArea} = chart;
    ctx.save();
    ctx.font = '11px system-ui, sans-serif';
    ctx.textBaseline = 'middle';
    ctx.textAlign = 'left';
    ctx.fillStyle = '#ffffff';
    chart.data.datasets.forEach((set, k) => chart.getDatasetMeta(k).data.forEach((bar, i) => {
      const left = Math.max(Math.min(bar.base, bar.x), chartArea.left);
      const width = Math.min(Math.max(bar.base, bar.x), chartArea.right) - left - 6;
      if (width < 24) return;
      const characters = Math.floor(width / 6.5);  // about so wide in this font
      const {name} = set.data[i];
      ctx.fillText(name.length > characters ? name.slice(0, characters - 1) + '…' : name, left + 3, bar.y);
    }));
    ctx.restore();
  },
};

const kinds = {phase: 0, layer: 1, recipe: 2, operator: 3, input: 4};

// The spans of each thread below the thread's name: a span stands below the one that it is in.
function flameRows() {
  const {threads, spans} = data.timeline;
  const deepest = threads.map((_, thread) => Math.max(0, ...spans.filter(s => s[0] === thread).map(s => s[1])));
  const firsts = [];
  let rows = 0;
  for (const depth of deepest) {
    firsts.push(rows);
    rows += depth + 1.5;
  }
  return {firsts, rows};
}

// Shows the milliseconds from `from` to `to` of a flame chart.
function zoom(chart, from, to) {
  Object.assign(chart.options.scales.x, {min: from, max: to});
  chart.update();
}

function flame() {
  const {threads, names, spans, seconds} = data.timeline;
  const {firsts, rows} = flameRows();
  const sets = Object.keys(kinds).map(kind => ({
    label: kind,
    data: spans.filter(span => span[2] === kind).map(([thread, depth, , name, begin, lasts]) => ({
      x: [begin * 1e3, (begin + lasts) * 1e3],
      y: firsts[thread] + depth,
      name: names[name],
      lasts,
    })),
    backgroundColor: `hsl(${(215 + kinds[kind] * 137.5) % 360} 45% 42%)`,
    barThickness: 16,
    grouped: false,
    minBarLength: 1,
  }));
  const flameChart = config(
      'bar', sets.filter(set => set.data.length),
      {
        x: axis('ms', {type: 'linear', min: 0, max: seconds * 1e3}),
        y: {
          type: 'linear',
          offset: false,  // of bars by default, which would leave a part of the height to no row
          min: -0.75,
          max: rows,
          reverse: true,
          grid: {display: false},
          afterBuildTicks: scale => {
            scale.ticks = firsts.map(value => ({value}));
          },
          ticks: {callback: at => threads[firsts.indexOf(at)] ?? '', autoSkip: false},
        },
      },
      item => `${item.raw.name}: ${milliseconds(item.raw.lasts)}`,
      {indexAxis: 'y', legend: true, plugins: [spanLabels]});
  flameChart.options.onClick = (_, items, chart) => {
    const [from, to] = items.length ?
        chart.data.datasets[items[0].datasetIndex].data[items[0].index].x :
        [0, seconds * 1e3];
    zoom(chart, from, to);
  };
  return flameChart;
}

function verdict() {
  document.title = `${data.recipe}: ${data.verdict}`;
  make(page, 'h1', `${data.verdict}: ${data.plain}`);
  const whole = data.verdict === 'contention' ? 'the time' : 'a step';
  const share = data.share > 0 ? `${percent(data.share)} of ${whole}, ` : '';
  make(
      page, 'p', `${data.stage_kind} ${data.stage} of ${data.recipe}; ${share}confidence ${data.confidence}`,
      {class: 'quiet'});
  if (data.note) make(page, 'p', `${data.note} was measured`, {class: 'quiet'});
  for (const sentence of data.evidence) make(page, 'p', sentence);
  const {cores, roofline, memory, operators} = data;
  facts(page, [
    ['step', interval(data.step_seconds, milliseconds)],
    ['samples/s', interval(data.samples_per_second, number)],
    ['steps timed', data.steps],
    ['memory of a step', memory ? bytes(memory.peak) : ''],
    ['GFLOP/s in both passes', data.flops_per_second ? number(billions(data.flops_per_second)) : ''],
    ['roof, GFLOP/s', roofline && roofline.flops_roof ? number(billions(roofline.flops_roof)) : ''],
    ['MFU', data.mfu === null ? 'unknown' : percent(data.mfu)],
    ['operators a step', operators.per_step === null ? '' : number(operators.per_step)],
    ['cores busy', cores.busy === null ? '' : `${cores.busy.toFixed(2)} of ${cores.usable}`],
  ]);
}

// The effect on the validation part of a remedy that changes the result, where that was asked for.
function price(quality) {
  if (!quality) return '';
  const {metric, with: changed, without, difference, verdict, reason} = quality;
  if (reason) return `; quality not judged: ${reason}`;
  if (!difference) return `; no ${metric} to compare`;
  return `; ${metric} ${number(changed)} instead of ${number(without)}: ${verdict}`;
}

function effect({tried, result, quality, reason, ended_by: error}) {
  if (!tried) return `not tried: ${reason}`;
  return result + (error ? `; no more pairs: ${error}` : '') + price(quality);
}

function remedies() {
  if (!data.remedies.length) return;
  const section = card('Remedies', {note: 'Speed with the change to the speed without, with a 95 % interval.'});
  const rows = data.remedies.map(
      one => [one.name, one.set.join(', '), one.ratio?.median ?? null, one.ratio?.low ?? null, one.ratio?.high ?? null,
              one.bytes ?? null, effect(one)]);
  const {applied} = data;
  if (applied && !data.remedies.some(one => one.set.join() === applied.set.join()))
    rows.push(['together', applied.set.join(', '), ...['median', 'low', 'high'].map(x => applied.ratio[x]), null, '']);
  table(section, ['change', 'option', 'speed', 'from', 'to', 'bytes saved', 'result'], rows);
}

function input(cards) {
  const {pipeline} = data;
  if (!pipeline) return;
  const isStage = value => value !== null && typeof value === 'object' && 'threads' in value && 'items' in value;
  const stages = Object.entries(pipeline).filter(([, value]) => isStage(value));
  chart(
      cards, 'Input', () => bars(Object.fromEntries(stages.map(([name, one]) => [name, one.seconds])), milliseconds),
      {note: `Time of all threads while the loader alone made ${number(pipeline.samples_per_second)} samples/s.`});
  const section = card('Stages of the input', {
    parent: cards,
    note: `${pipeline.limits} takes longest` +
        (pipeline.threads_needed === undefined ?
             '' :
             `; ${pipeline.threads_needed} loader threads would feed the step, and there are ${pipeline.threads}`)
  });
  table(
      section, ['stage', 'ms', 'samples', 'samples/s of a thread', 'threads busy'],
      stages.map(([name, one]) => [name, one.seconds * 1e3, one.items, one.items_per_second ?? null, one.threads]));
  if (pipeline.slowest && pipeline.slowest.length) {
    table(
        section, ['slow sample', 'name', 'ms'],
        pipeline.slowest.map(one => [one.index, one.name, one.seconds * 1e3]));
  }
}

function memory(cards) {
  if (!data.memory) return;
  const {predicted, memory: {at, peak, categories, resident}} = data;
  chart(cards, 'Memory over a step', memoryCurve, {
    note: `At most ${bytes(peak)}, in ${at.phase}${at.layer ? ` of ${at.layer}` : ''}` +
        (predicted ? `; ${predicted.estimated_because ? 'at least ' : ''}${bytes(predicted.peak)} were predicted, ` +
                 'with all buffers of the loader.' :
                     '.')
  });
  chart(
      cards, 'Memory at the peak', () => bars(categories, bytes),
      {note: `The process holds ${bytes(resident)}; ${bytes(categories.program + categories.lua)} are not of live tensors.`});
}

function layers() {
  if (!data.layers) return;
  const {step_seconds: step, overhead} = data.layer_steps;
  const cost = overhead === null ? 'the cost of the timing is not known' :
                                   `the timing took ${percent(overhead)} more time`;
  const section = card('Layers', {
    note: `Of a step of ${milliseconds(step)}; ${cost}. ` +
        'A click on a head sorts.'
  });
  table(
      section, ['layer', 'forward ms', 'backward ms', '%', 'MFLOP', 'GFLOP/s', 'GB/s', '% roof', 'kept KiB', 'calls'],
      data.layers.map(one => [one.path, one.forward * 1e3, one.backward * 1e3, 100 * (one.forward + one.backward) / step,
                              one.flops === null ? null : one.flops / 1e6, billions(one.flops_per_second),
                              billions(one.bytes_per_second), one.roof_share === null ? null : 100 * one.roof_share,
                              one.activations === null ? null : one.activations / 1024, one.calls]));
}

page.replaceChildren();
verdict();
if (data.shares) {
  chart(make(page, 'div', '', {class: 'cards'}), 'A step', stepBar, {
    wide: true,
    height: '8.5rem',
    note: `Of ${milliseconds(data.wall_seconds)}, with its part of validations and checkpoints.`
  });
}
remedies();
const cards = make(page, 'div', '', {class: 'cards'});
memory(cards);
input(cards);
layers();
if (data.timeline) {
  const {steps, left_out: out} = data.timeline;
  const note = `${steps} step${steps === 1 ? '' : 's'}. A click on a span zooms in, a click beside the spans shows ` +
      `everything.${out ? ` ${out} short spans are left out.` : ''}`;
  chart(
      make(page, 'div', '', {class: 'cards'}), 'Timeline', flame,
      {wide: true, height: `${Math.ceil(flameRows().rows * 1.25) + 6}rem`, note});
}
for (const one of data.missing) make(page, 'p', `not measured: ${one}`, {class: 'quiet'});
show();
