'use strict';
// Shared by the pages: elements, cards with charts, tables that sort. `data` is what the page shows.

const data = JSON.parse(document.getElementById('data').textContent);
const page = document.getElementById('page');
const charts = [];  // [canvas, function that gives its configuration]

function make(parent, tag, text = '', attributes = {}) {
  const element = document.createElement(tag);
  element.textContent = text;
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  parent.append(element);
  return element;
}

// `height`: of the chart as CSS says it; without one, that of all charts.
function chart(parent, title, configure, {note = '', wide = false, height = ''} = {}) {
  const card = make(parent, 'section', '', {class: wide ? 'card wide' : 'card'});
  make(card, 'h3', title);
  const built = configure();
  const outside = built.beyond ? `At the axis's end: ${built.beyond} far worse.` : '';
  if (note || outside) make(card, 'p', `${note} ${outside}`.trim(), {class: 'quiet'});
  const box = make(card, 'div', '', {class: 'chart', ...(height && {style: `height: ${height}`})});
  const canvas = make(box, 'canvas', '', {role: 'img', 'aria-label': title});
  charts.push([canvas, configure]);
}

// A card as wide as the page, for what is no chart.
function card(title, {note = '', parent = page} = {}) {
  const section = make(parent, 'section', '', {class: 'card wide'});
  make(section, 'h3', title);
  if (note) make(section, 'p', note, {class: 'quiet'});
  return section;
}

function duration(seconds) {
  if (seconds < 60) return seconds.toFixed(1) + ' s';
  const minutes = Math.floor(seconds / 60);
  return minutes < 60 ? `${minutes} min ${Math.floor(seconds % 60)} s` :
                        `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function facts(parent, list) {
  const items = make(parent, 'ul', '', {class: 'facts'});
  for (const [name, value] of list) {
    if (value === '' || value === null || value === undefined) continue;
    const item = make(items, 'li');
    make(item, 'span', name, {class: 'quiet'});
    make(item, 'b', value);
  }
}

// A table that a click on a column's head sorts: cells are numbers, texts or null, which come last.
const firstRows = 200;
function table(parent, heads, rows, {caption = '', sortable = true, mark = () => ''} = {}) {
  const box = make(parent, 'div', '', {class: 'table'});
  const element = make(box, 'table');
  if (caption) make(element, 'caption', caption);
  const head = make(make(element, 'thead'), 'tr');
  const body = make(element, 'tbody');
  const isText = heads.map((_, i) => rows.some(row => typeof row[i] === 'string'));
  const kind = i => isText[i] ? 'text' : 'number';
  let all = false;
  const fill = () => {
    body.replaceChildren();
    for (const row of all ? rows : rows.slice(0, firstRows)) {
      const line = make(body, 'tr', '', {class: mark(row)});
      row.forEach((value, i) => {
        const text = shown(value);
        make(
            line, 'td', text,
            {class: text.length > 40  ? 'text long' :
                 heads[i] === 'state' ? `text ${text}` :
                                        kind(i)});
      });
    }
  };
  heads.forEach((name, i) => {
    const cell = make(head, 'th', '', {class: kind(i), scope: 'col'});
    if (!sortable) {
      cell.textContent = name;
      return;
    }
    make(cell, 'button', name, {type: 'button'}).addEventListener('click', () => {
      const sign = cell.getAttribute('aria-sort') === 'ascending' ? -1 : 1;
      for (const other of head.children) other.removeAttribute('aria-sort');
      cell.setAttribute('aria-sort', sign > 0 ? 'ascending' : 'descending');
      const nothing = value => value === null || value === undefined || value === '';
      rows.sort((a, b) => {
        const [x, y] = [a[i], b[i]];
        if (nothing(x) || nothing(y)) return nothing(x) - nothing(y);
        return sign * (typeof x === 'number' && typeof y === 'number' ? x - y : shown(x).localeCompare(shown(y)));
      });
      fill();
    });
  });
  fill();
  if (rows.length > firstRows) {
    const more = make(parent, 'button', `show all ${rows.length}`, {type: 'button', class: 'more'});
    more.addEventListener('click', () => {
      all = true;
      fill();
      more.remove();
    });
  }
}

function draw() {
  Chart.defaults.color = colour('quiet');
  Chart.defaults.font.family = 'system-ui, sans-serif';
  for (const [canvas, configure] of charts) {
    Chart.getChart(canvas)?.destroy();
    new Chart(canvas, configure());
  }
}

// To be called once, when the page is built.
function show() {
  draw();
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
}
