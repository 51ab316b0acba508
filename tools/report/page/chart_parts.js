'use strict';
// Shared by the charts: colours, numbers as texts, axes, the frame of a configuration (Chart.js).

const colour = name => getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();

// Whether a number is there: null and undefined stand for one that is not known.
const isKnown = x => typeof x === 'number';

const number = x => {
  if (x === null || x === undefined || Number.isNaN(x)) return 'unknown';
  if (Number.isSafeInteger(x)) return String(x);
  const size = Math.abs(x);
  if (size >= 1e4 && size < 1e9) return x.toFixed(0);
  const text = size >= 1e-4 && size < 1e4 ? x.toPrecision(4) : x.toExponential(3);
  return text.replace(/(\.\d*?)0+(e|$)/, '$1$2').replace(/\.(e|$)/, '$1');
};
const shown = value => value === null || value === undefined ? '' :
    typeof value === 'number'                                ? number(value) :
    typeof value === 'object'                                ? JSON.stringify(value) :
                                                               String(value);

const threeDigits = x => isKnown(x) ? x.toPrecision(3) : '';

// Three digits as papers write sizes: 2.92e9 is "2.92 B".
function amount(x) {
  const rounded = 0.9995;  // what is rounded up to a unit has this unit
  const unit = [[1e12, ' T'], [1e9, ' B'], [1e6, ' M']].find(([size]) => x >= rounded * size && x < rounded * 1e15);
  return unit ? (x / unit[0]).toPrecision(3) + unit[1] : x < 1e6 ? String(Math.round(x)) : x.toExponential(2);
}

const short = text => text.length > 12 ? text.slice(0, 11) + '…' : text;

// Colours that tell the lines or parts of a chart apart.
const palette = i =>
    `hsl(${(215 + i * 137.5) % 360} 65% ${matchMedia('(prefers-color-scheme: dark)').matches ? 65 : 45}%)`;

// From the second colour (the worst) to the first (the best); t in 0…1.
function blend(t, alpha) {
  const parts = name => colour(name).match(/\w\w/g).map(hex => parseInt(hex, 16));
  const worst = parts('second'), best = parts('first');
  return `rgba(${worst.map((c, i) => Math.round(c + (best[i] - c) * t)).join(',')},${alpha})`;
}

// Ends of an axis that shows the good values well: far worse ones, of trials that diverged or were pruned early, lie
// beyond it. {} where all are shown.
function ends(values, maximize, pruned = []) {
  const sorted = [...values].sort((a, b) => a - b);
  const at = q => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))];
  const low = sorted[0], high = sorted[sorted.length - 1], range = high - low;
  const wide = maximize ? at(0.95) - at(0.1) : at(0.9) - at(0.05);
  if (sorted.length >= 10 && wide > 0 && range > 4 * wide) {
    return maximize ? {min: at(0.1) - wide} : {max: at(0.9) + wide};
  }
  const isFar = y => maximize ? y < low - 2 * range : y > high + 2 * range;
  if (sorted.length >= 3 && range > 0 && pruned.some(isFar)) {
    return maximize ? {min: low - range} : {max: high + range};
  }
  return {};
}
const within = (y, {min = -Infinity, max = Infinity}) => Math.min(max, Math.max(min, y));
const beyond = (values, limits) => values.filter(y => within(y, limits) !== y).length;

const line = (label, points, shade, more = {}) => ({
  label,
  data: points,
  borderColor: shade,
  backgroundColor: shade,
  borderWidth: 2,
  pointRadius: 3,
  ...more,
});
const dots = (label, points, shade, more = {}) => line(label, points, shade, {showLine: false, ...more});
const dashed = {borderDash: [6, 4]};

// A line from low to high at x: a thick one is an interval.
const upright = (label, x, [low, high], shade, more = {}) =>
    line(label, [{x, y: low}, {x, y: high}], shade, {pointRadius: 0, ...more});
const thick = {borderWidth: 4};
// Upright lines that mark places, [label, x, colour], of which those that are not known are left out.
const marks = (places, height) =>
    places.filter(([, x]) => isKnown(x)).map(([label, x, shade]) => upright(label, x, height, shade, dashed));
// A legend of the lines that have a label.
const ofLabelled = {
  legend: true,
  legendLabels: {filter: item => Boolean(item.text), usePointStyle: true, pointStyle: 'line', pointStyleWidth: 24},
};

// A forecast as lines of a chart in one colour: dashes from the last point through the values, and an upright bar for
// the interval of each. `label` gives the label of a bar.
function forecastLines(lineColour, last, forecasts, label) {
  const small = {pointRadius: 2};
  const values = forecasts.map(({x, value}) => ({x, y: value}));
  const bars = forecasts.map(one => upright(label(one), one.x, [one.low, one.high], lineColour, {...thick, ...small}));
  return [line('forecast', [last, ...values], lineColour, {...dashed, ...small}), ...bars];
}

const axis = (title, more = {}) => ({
  title: {display: Boolean(title), text: title},
  grid: {color: colour('line'), borderColor: colour('faint')},
  ...more,
  ticks: {callback: value => number(value), maxRotation: 0, autoSkip: true, includeBounds: false, ...more.ticks},
});

const logarithmic = {type: 'logarithmic', ticks: {maxTicksLimit: 8}};

function config(type, datasets, scales, label, more = {}) {
  return {
    type,
    data: {datasets, ...more.data},
    options: {
      maintainAspectRatio: false,
      animation: false,
      scales,
      indexAxis: more.indexAxis,
      layout: more.layout,
      plugins: {
        legend: {display: Boolean(more.legend), labels: {boxWidth: 12, ...more.legendLabels}},
        tooltip: {callbacks: label ? {title: () => '', label} : {}},
      },
    },
    plugins: more.plugins || [],
  };
}
