// The map: this cluster, the providers, their namespaces and pods.
import { countsText, el, keyed, placeName, states, waitList } from './dom.js';

const mostDots = 40; // More pods of a namespace are a bar.
const mostNamespaces = 100; // More are found with the filter.

const total = (counts) => states.reduce((sum, state) => sum + counts[state], 0);

// pods draws the pods of a namespace.
function pods(counts) {
  const all = total(counts);
  if (all === 0) return null;
  if (all > mostDots) {
    const bar = el('span', { class: 'stack', 'aria-hidden': 'true' });
    for (const state of states) {
      if (!counts[state]) continue;
      const part = el('span', { class: `pod ${state}` });
      part.style.flexGrow = counts[state];
      bar.append(part);
    }
    return bar;
  }
  return el('span', { class: 'dots', 'aria-hidden': 'true' }, states.flatMap((state) => Array.from({ length: counts[state] }, () => el('span', { class: `pod ${state}` }))));
}

function namespace(one, place, choose) {
  const about = [one.remote && one.remote !== one.name ? `remote ${one.remote}` : '', one.notOffloaded ? 'not offloaded' : '', !one.ready && !one.notOffloaded ? 'not Ready' : ''];
  return el('div', { class: 'namespace' },
    el('button', { type: 'button', id: `ns-${place}-${one.name}`, class: 'plain', click: () => choose(one.name, place, one.pods) },
      el('span', { class: 'name' }, one.name), el('span', { class: 'about' }, about.filter(Boolean).join(', ')), pods(one.pods), el('span', { class: 'counts' }, countsText(one.pods))),
    waitList(one.waits));
}

function namespaces(all, filters, place, choose) {
  const wanted = all.filter((one) => !filters.namespace || one.name === filters.namespace);
  const left = wanted.length - mostNamespaces;
  return el('div', { class: 'namespaces' }, wanted.slice(0, mostNamespaces).map((one) => namespace(one, place, choose)),
    left > 0 && el('p', { class: 'quiet' }, `${left} more namespaces: choose one in the filter`));
}

function meter(use) {
  const level = use.percent >= 95 ? 'full' : use.percent >= 80 ? 'high' : '';
  const bar = el('span', { class: `fill ${level}` });
  bar.style.width = `${Math.min(100, use.percent)}%`;
  return el('div', { class: 'use' }, el('span', { class: 'resource' }, use.resource),
    el('span', { class: 'meter', role: 'img', 'aria-label': `${use.percent} percent of ${use.resource} requested` }, bar),
    el('span', { class: 'amount' }, `${use.used} of ${use.offered}`));
}

function node(one) {
  const says = [one.ready ? 'Ready' : 'NotReady', one.cordoned ? 'cordoned' : ''].filter(Boolean).join(', ');
  return el('div', { class: 'node' }, el('p', {}, el('span', { class: 'mono' }, one.name), ' ', badge(says, one.ready && !one.cordoned)), one.resources.map(meter));
}

export function badge(text, good) {
  return el('span', { class: good ? 'badge good' : 'badge bad' }, text);
}

function provider(item, choose, open) {
  const { one, filters } = item;
  const known = one.name !== undefined;
  return el('article', { class: 'card' },
    el('h3', {}, el('button', { type: 'button', class: 'plain title', id: `provider-${one.id}`, click: () => open(one) }, one.name || one.id), ' ',
      known && badge(one.ready ? 'Ready' : one.reason || 'not Ready', one.ready), one.version && el('span', { class: 'quiet' }, ` ${one.version}`)),
    waitList(one.waits), one.lastKnown && el('p', { class: 'quiet' }, `Nodes and pods as last known at ${new Date(one.lastKnown).toLocaleString()}.`), one.nodes.map(node), namespaces(one.namespaces, filters, one.id, choose),
    one.namespaces.length === 0 && el('p', { class: 'quiet' }, 'no namespace is offloaded to it'));
}

function manager(one) {
  if (!one) return null;
  const about = one.outside ? ` outside of this cluster, as ${one.outside}` : one.message ? ` ${one.message}` : '';
  return el('p', { class: 'manager' }, 'Manager ', badge(one.available ? 'available' : 'not available', one.available), about);
}

function consumer(item, choose) {
  const { local, unplaced, filters } = item;
  const shown = (place) => !filters.place || filters.place === place;
  return el('article', { class: 'card consumer' },
    el('h3', {}, 'This cluster'),
    manager(item.manager),
    shown('here') && el('h4', {}, 'on its own nodes'),
    shown('here') && (local.length ? namespaces(local, filters, 'here', choose) : el('p', { class: 'quiet' }, 'no pod of an offloaded namespace')),
    shown('none') && el('h4', {}, 'without a node'),
    shown('none') && (unplaced.length ? namespaces(unplaced, filters, 'none', choose) : el('p', { class: 'quiet' }, 'no pod waits for a node')));
}

// drawMap draws the map. choose is called with a namespace and a place, open with a provider.
export function drawMap(page, filters, choose, open) {
  const by = { namespace: filters.namespace, place: filters.place };
  keyed(document.getElementById('consumer'), [{ local: page.local, unplaced: page.unplaced, manager: page.manager, filters: by }], () => 'consumer', (item) => consumer(item, choose));
  const shown = page.providers.filter((one) => !filters.place || one.id === filters.place);
  const items = shown.map((one) => ({ one, filters: by }));
  const container = document.getElementById('providers');
  if (page.providers.length === 0) items.push({ empty: true });
  keyed(container, items, (item) => (item.empty ? '' : item.one.id), (item) => (item.empty ?
    el('p', { class: 'card quiet' }, page.notes?.some((note) => note.startsWith('ClusterBindings')) ? 'no pod of yours is in a provider' : 'No provider is bound. ', el('code', {}, 'kubectl spillway bind NAME --provider-context CONTEXT')) :
    provider(item, choose, open)));
}

// providerDetails shows all conditions of a provider, and how much of its quotas is used.
export function providerDetails(one) {
  const rows = (one.conditions || []).map((c) => el('tr', {}, el('td', {}, c.type), el('td', {}, c.status), el('td', {}, c.reason), el('td', { class: 'message' }, c.message || ''), el('td', { class: 'mono' }, c.since)));
  return [
    el('p', {}, `clusterID ${one.id}`, one.version ? `, Kubernetes ${one.version}` : '', `. Pods: ${countsText(one.pods)}.`),
    ...(one.quota || []).map((used) => el('p', {}, `Quota ${used}.`)),
    rows.length === 0 ? el('p', { class: 'quiet' }, 'You may not read its ClusterBinding, or it has no conditions yet.') :
      el('div', { class: 'scroll' }, el('table', {}, el('thead', {}, el('tr', {}, ['Condition', 'Status', 'Reason', 'Message', 'Since'].map((title) => el('th', { scope: 'col' }, title)))), el('tbody', {}, rows))),
  ];
}

export function fillSelect(select, values, labelOf = placeName) {
  const wanted = ['', ...values];
  if (!wanted.includes(select.value)) wanted.push(select.value);
  const shown = [...select.options].map((option) => option.value);
  if (JSON.stringify(shown) === JSON.stringify(wanted)) return;
  const value = select.value;
  select.replaceChildren(...wanted.map((one) => el('option', { value: one }, one === '' ? 'all' : labelOf(one))));
  select.value = value;
}
