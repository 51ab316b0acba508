'use strict';
// Runs the scripts of a page without a browser: node run_page.js PAGE [HEAD], where HEAD is the head of a column that is
// clicked twice. Prints what the page shows: its title, the text of each element, tables, and charts with the values
// that the chart library was given. The elements are plain objects that hold what the scripts set.
const fs = require('fs');
const vm = require('vm');

const text = fs.readFileSync(process.argv[2], 'utf8');
const scripts = [...text.matchAll(/<script>([^]*?)<\/script>/g)].map(match => match[1]);
const data = text.match(/<script type="application\/json" id="data">([^]*?)<\/script>/)[1];

class Element {
  constructor(tag) {
    Object.assign(this, {tag, children: [], attributes: {}, listeners: {}, textContent: ''});
  }
  get textContent() { return this.text; }
  set textContent(text) { this.text = String(text); }
  append(child) { this.children.push(child); }
  replaceChildren() { this.children = []; }
  setAttribute(name, value) { this.attributes[name] = value; }
  getAttribute(name) { return this.attributes[name] ?? null; }
  removeAttribute(name) { delete this.attributes[name]; }
  addEventListener(name, listener) { this.listeners[name] = listener; }
  remove() {}
  all(tag) {
    const inside = this.children.flatMap(child => child.all(tag));
    return this.tag === tag ? [this, ...inside] : inside;
  }
  texts() { return [this.textContent, ...this.children.flatMap(child => child.texts())].filter(Boolean); }
}

const page = new Element('main');
const drawn = [];
class Chart {
  constructor(canvas, config) { drawn.push({title: canvas.attributes['aria-label'], config}); }
  static getChart() { return undefined; }
  destroy() {}
}
Chart.defaults = {font: {}};

const document = {
  title: '',
  documentElement: page,
  getElementById: id => id === 'data' ? {textContent: data} : page,
  createElement: tag => new Element(tag),
};
const context = vm.createContext({
  document,
  Chart,
  getComputedStyle: () => ({getPropertyValue: () => '#204080'}),
  matchMedia: () => ({matches: false, addEventListener() {}}),
});
for (const script of scripts.slice(1)) vm.runInContext(script, context);  // the first one is the chart library

const headTexts = table => table.all('th').map(cell => cell.texts().join(''));
for (const table of page.all('table')) {
  const at = headTexts(table).indexOf(process.argv[3]);
  if (at < 0) continue;
  const [button] = table.all('th')[at].all('button');
  button.listeners.click();
  button.listeners.click();
}
const tables = page.all('table').map(table => ({
  heads: headTexts(table),
  rows: table.all('tbody')[0].all('tr').map(row => row.all('td').map(cell => cell.textContent)),
}));
const charts = drawn.map(({title, config}) => ({
  title,
  type: config.type,
  labels: config.data.labels ?? null,
  sets: config.data.datasets.map(set => ({label: set.label ?? null, data: set.data})),
}));
// A click on the widest span of the timeline, and one beside the spans.
const zooms = [];
for (const {config} of drawn) {
  if (!config.options.onClick) continue;
  const chart = {options: config.options, data: config.data, update() {}};
  for (const items of [[{datasetIndex: 0, index: 0}], []]) {
    config.options.onClick(null, items, chart);
    const {min, max} = chart.options.scales.x;
    zooms.push([min, max]);
  }
}
console.log(JSON.stringify({title: document.title, texts: page.texts(), tables, charts, zooms}));
