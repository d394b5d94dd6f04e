// The page: it gets events from the process that serves it, and draws what has changed.
import { begin, Failure, get, stream } from './api.js';
import { drawChart } from './chart.js';
import { el, keyed } from './dom.js';
import { drawHosted } from './hosted.js';
import { drawMap, fillSelect, providerDetails } from './map.js';
import { drawRows, podDetails, refreshAges } from './pods.js';

const form = document.getElementById('filters');
const details = document.getElementById('details');
const state = { page: null, samples: [], from: 0, most: 1, opened: null, listing: false, listAgain: false, wait: 0 };

const filters = () => Object.fromEntries(new FormData(form));

function fail(text) {
  const box = document.getElementById('failure');
  box.textContent = text;
  box.hidden = !text;
}

function say(text, good) {
  const box = document.getElementById('connection');
  box.textContent = text;
  box.className = good ? 'good' : 'bad';
}

function draw() {
  const { page } = state;
  if (!page) return;
  document.getElementById('where').textContent = page.where + (page.namespace ? `, namespace ${page.namespace}` : '');
  keyed(document.getElementById('notes'), page.notes || [], (note) => note, (note) => el('li', {}, note));
  const names = new Set([...page.local, ...page.unplaced, ...page.providers.flatMap((one) => one.namespaces)].map((one) => one.name));
  fillSelect(form.elements.namespace, [...names].sort(), (name) => name);
  fillSelect(form.elements.place, ['here', ...page.providers.map((one) => one.id), 'none']);
  drawMap(page, filters(), choose, openProvider);
  drawChart(page, filters().namespace, state.samples);
  drawHosted(page.hosted);
}

// list asks for the pods that the filters choose. One question at a time; if more has changed meanwhile, it asks again.
async function list() {
  if (state.listing) {
    state.listAgain = true;
    return;
  }
  state.listing = true;
  try {
    do {
      state.listAgain = false;
      const asked = filters();
      const found = await get('/api/pods', { ...asked, from: state.from });
      state.most = found.most;
      if (found.rows.length === 0 && state.from > 0) {
        state.from = 0;
        state.listAgain = true;
      } else {
        drawRows(found, asked, openPod);
      }
    } while (state.listAgain);
    await refreshPod();
  } catch (problem) {
    if (problem instanceof Failure && problem.status !== 503) fail(problem.message);
  } finally {
    state.listing = false;
  }
}

function choose(namespace, place, counts) {
  form.elements.namespace.value = namespace;
  form.elements.place.value = place;
  if (counts && !counts[form.elements.state.value]) form.elements.state.value = '';
  changed();
  document.getElementById('pods').scrollIntoView();
}

function changed() {
  state.from = 0;
  draw();
  list();
}

function openDetails(title, content) {
  document.getElementById('details-title').textContent = title;
  details.querySelector('.body').replaceChildren(...content);
  if (!details.open) details.showModal();
}

function openProvider(one) {
  state.opened = null;
  openDetails(`Provider ${one.name || one.id}`, providerDetails(one));
}

async function openPod(one) {
  state.opened = { namespace: one.namespace, name: one.pod, known: '' };
  openDetails(`Pod ${one.namespace}/${one.pod}`, [el('p', { class: 'quiet' }, 'reading …')]);
  await refreshPod();
}

// refreshPod reads the open pod again if something about it has changed.
async function refreshPod() {
  const { opened } = state;
  if (!opened || !details.open) return;
  let content;
  try {
    const said = await get('/api/pod', opened);
    if (said === null) return;
    opened.known = said.version;
    content = podDetails(said);
  } catch (problem) {
    content = [el('p', { class: 'bad' }, problem.message)];
  }
  if (state.opened === opened) openDetails(`Pod ${opened.namespace}/${opened.name}`, content);
}

function on(event, data) {
  switch (event) {
    case 'history':
      state.samples = [...state.samples.slice(0, data.from), ...data.samples];
      if (state.page) drawChart(state.page, filters().namespace, state.samples);
      break;
    case 'page':
      fail('');
      state.wait = 1000;
      state.page = data;
      draw();
      list();
      break;
    case 'pods':
      list();
      break;
    case 'failure':
      fail(data);
      break;
  }
}

async function run() {
  await begin();
  for (state.wait = 1000; ; state.wait = Math.min(2 * state.wait, 15000)) {
    try {
      await stream(on, () => { state.samples = []; say('live', true); });
    } catch (problem) {
      if (problem instanceof Failure && problem.status === 401) throw problem;
      if (problem instanceof Failure) fail(problem.message);
    }
    say('not connected: kubectl spillway ui has ended, or cannot read the cluster', false);
    await new Promise((resolve) => { setTimeout(resolve, state.wait); });
  }
}

form.addEventListener('change', changed);
form.addEventListener('submit', (event) => event.preventDefault());
form.elements.name.addEventListener('input', changed);
document.getElementById('clear').addEventListener('click', () => { form.reset(); changed(); });
document.getElementById('earlier').addEventListener('click', () => { state.from = Math.max(0, state.from - state.most); list(); });
document.getElementById('later').addEventListener('click', () => { state.from += state.most; list(); });
details.addEventListener('close', () => { state.opened = null; });
for (const button of document.querySelectorAll('dialog .close')) button.addEventListener('click', () => button.closest('dialog').close());
setInterval(() => {
  refreshAges();
  if (state.page) drawChart(state.page, filters().namespace, state.samples);
}, 10000);

run().catch((problem) => {
  say('not connected', false);
  fail(problem.message);
});
