// Hosted clusters: fields that differ, with their three values, and whose value holds.
import { resolve } from './api.js';
import { age, el, keyed } from './dom.js';
import { badge } from './map.js';

const sideNames = { spec: 'spec', cloud: 'cloud' };

function field(cluster, row) {
  const buttons = (row.takes || []).map((take) => el('button', {
    type: 'button', id: `take-${take}-${cluster.name}-${row.path}`, 'data-take': take, disabled: Boolean(cluster.blocked), click: () => ask(cluster, row, take),
  }, `Take ${sideNames[take]}`));
  return el('tr', { class: row.state === 'Conflict' ? 'conflict' : '' },
    el('th', { scope: 'row', class: 'mono' }, row.path),
    el('td', { class: 'mono value' }, row.before), el('td', { class: 'mono value' }, row.spec), el('td', { class: 'mono value' }, row.cloud),
    el('td', {}, badge(row.state, row.state === 'Pushed' || row.state === 'Floating' || row.state === 'WrittenBack'), row.since ? el('span', { class: 'quiet' }, ` for ${age(row.since)}`) : '', el('div', { class: 'quiet' }, row.meaning)),
    el('td', { class: 'buttons' }, buttons));
}

function cluster(one) {
  const bad = one.conditions.filter((c) => c.status === 'False' || (c.type === 'Updating' && c.status === 'True'));
  const ready = one.conditions.find((c) => c.type === 'Ready');
  return el('article', { class: 'card' },
    el('h3', {}, one.name, ' ', ready && badge(ready.status === 'True' ? 'Ready' : ready.reason, ready.status === 'True')),
    bad.length > 0 && el('ul', { class: 'waits' }, bad.map((c) => el('li', {}, el('strong', {}, `${c.type} ${c.reason}`), c.message ? `: ${c.message}` : ''))),
    one.error && el('p', { class: 'quiet' }, one.error),
    one.blocked && el('p', {}, `Nothing happens for now, because ${one.blocked}.`),
    one.fields.length > 0 && el('div', { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': `Fields of ${one.name} that differ` }, el('table', { class: 'fields' },
      el('thead', {}, el('tr', {}, ['Field', 'Before (last agreed)', 'Spec (desired)', 'Cloud (live)', 'State', ''].map((title) => (title ? el('th', { scope: 'col' }, title) : el('td', {}))))),
      el('tbody', {}, one.fields.map((row) => field(one, row))))),
    !one.error && el('p', { class: 'quiet' }, `${one.fields.length === 0 ? 'No field differs. ' : ''}${one.agree} ${one.agree === 1 ? 'field agrees' : 'fields agree'}.${one.more ? ` ${one.more} more differ: kubectl spillway hosted plan ${one.name}` : ''}`));
}

// drawHosted draws all hosted clusters.
export function drawHosted(clusters) {
  const none = !clusters || clusters.length === 0;
  document.getElementById('hosted').hidden = none;
  document.getElementById('to-hosted').hidden = none;
  keyed(document.getElementById('clusters'), clusters || [], (one) => one.name, cluster);
}

// ask asks before it decides, with the values that were shown when the user clicked.
function ask(of, row, take) {
  const dialog = document.getElementById('decide');
  const body = dialog.querySelector('.body');
  const yes = document.getElementById('decide-yes');
  const [holds, lost] = take === 'spec' ? [row.spec, row.cloud] : [row.cloud, row.spec];
  document.getElementById('decide-title').textContent = `Take the value of the ${sideNames[take]}?`;
  body.replaceChildren(
    el('p', {}, 'HostedCluster ', el('strong', {}, of.name), ', field ', el('code', {}, row.path)),
    el('dl', {}, el('dt', {}, 'holds'), el('dd', { class: 'mono' }, holds), el('dt', {}, 'is lost'), el('dd', { class: 'mono' }, lost)),
    el('p', { class: 'quiet' }, take === 'spec' ? 'The operator sends the value to the cloud.' : 'The cloud stays as it is.', ' It is written as you, and only if the values are still these.'));
  yes.textContent = `Take ${sideNames[take]}`;
  yes.hidden = false;
  yes.disabled = false;
  yes.onclick = () => decide(dialog, body, yes, { name: of.name, uid: of.uid, path: row.path, take, shown: row.shown });
  dialog.querySelector('.close').textContent = 'Cancel';
  dialog.showModal();
}

async function decide(dialog, body, yes, choice) {
  yes.disabled = true;
  const log = el('ul', { class: 'log', role: 'log' });
  body.append(log);
  try {
    await resolve(choice, (text) => log.append(el('li', {}, text)));
    yes.hidden = true;
    log.append(el('li', { class: 'good' }, 'Done.'));
  } catch (problem) {
    log.append(el('li', { class: 'bad', role: 'alert' }, problem.message));
  }
  dialog.querySelector('.close').textContent = 'Close';
}
