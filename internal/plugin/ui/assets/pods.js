// The list of pods, and what is known about one.
import { age, el, keyed, placeName, waitList, waitText } from './dom.js';

const clock = (time) => new Date(time).toLocaleTimeString();

// tierText says since when a pod may use a tier, and why it is not there.
function tierText(tier) {
  const name = `tier ${tier.number} (${tier.places.map(placeName).join(', ') || 'no provider'})`;
  if (tier.hasPod) return `${name}: ${since(tier)}, the pod is here`;
  return `${name}: ${since(tier)}${tier.why ? `: ${tier.why}` : ''}`;
}

function since(tier) {
  if (tier.skipped) return 'skipped';
  if (tier.first) return 'open from the beginning';
  if (tier.open) return tier.at ? `opened at ${clock(tier.at)}` : 'open';
  return tier.opens ? `opens at ${clock(tier.opens)} if there is no room before` : 'not open';
}

export function tierList(tiers) {
  if (!tiers || tiers.length === 0) return null;
  return el('ul', { class: 'tiers' }, tiers.map((tier) => el('li', { class: tier.open ? 'open' : '' }, tierText(tier))));
}

const stateNames = { runs: 'running', waits: 'waiting', failed: 'failed', succeeded: 'succeeded' };

function row(one, open) {
  const key = `${one.namespace}/${one.pod}`;
  return el('tr', {},
    el('td', {}, el('span', { class: `pod ${one.state}`, title: stateNames[one.state] }), ' ',
      el('button', { type: 'button', class: 'plain link', id: `pod-${key}`, click: () => open(one) }, one.pod), el('div', { class: 'quiet' }, `${one.namespace}, ${stateNames[one.state]}`)),
    el('td', {}, placeName(one.place), one.place === 'here' && one.node ? el('div', { class: 'quiet mono' }, one.node) : ''),
    el('td', { 'data-since': one.since || '' }, one.since ? age(one.since) : ''),
    el('td', { class: 'message' }, waitList(one.waits), tierList(one.tiers)));
}

// drawRows draws a part of the list.
export function drawRows(list, filters, open) {
  const what = filters.state ? stateNames[filters.state] : '';
  const range = list.total > list.rows.length ? ` Shown are ${list.from + 1} to ${list.from + list.rows.length}, the oldest first.` : '';
  document.getElementById('pods-count').textContent = list.total === 0 ? `No ${what} pod.`.replace('  ', ' ') : `${list.total} ${what} ${list.total === 1 ? 'pod' : 'pods'}.${range}`.replace('  ', ' ');
  keyed(document.getElementById('rows'), list.rows, (one) => `${one.namespace}/${one.pod}`, (one) => row(one, open));
  document.querySelector('#pods .scroll').hidden = list.rows.length === 0;
  const earlier = document.getElementById('earlier');
  const later = document.getElementById('later');
  earlier.disabled = list.from === 0;
  later.disabled = list.from + list.rows.length >= list.total;
  earlier.parentElement.hidden = earlier.disabled && later.disabled;
}

// refreshAges counts on.
export function refreshAges() {
  for (const cell of document.querySelectorAll('[data-since]')) {
    if (cell.dataset.since) cell.textContent = age(cell.dataset.since);
  }
}

function section(title, lines) {
  if (!lines || lines.length === 0) return [];
  return [el('h3', {}, title), el('ul', {}, lines.map((line) => el('li', {}, line)))];
}

// podDetails shows what kubectl spillway explain says.
export function podDetails(said) {
  return [
    el('p', { class: 'quiet' }, `${said.phase}${said.provider ? `, in provider ${said.provider}` : ''}`),
    section('Where it is, and why', said.where),
    section('What it waits for, or what is wrong', (said.waits || []).map(waitText)),
    said.tiers ? [el('h3', {}, 'Tiers'), tierList(said.tiers)] : [],
    section('What is not sent to the provider', said.leftOut),
    section('Events', said.events),
  ].flat(2);
}
