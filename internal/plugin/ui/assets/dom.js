// Elements, texts and times. No text from the cluster is ever read as HTML.

const svgSpace = 'http://www.w3.org/2000/svg';

// el creates an element. attributes that are functions are event listeners; null and false leave an attribute out.
export function el(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

// svg creates an element of a picture.
export function svg(tag, attributes, ...children) {
  return fill(document.createElementNS(svgSpace, tag), attributes, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (typeof value === 'function') element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false && child !== ''));
  return element;
}

// keyed shows items in a container, and keeps the elements of those that have not changed: with their focus, and under
// the mouse.
export function keyed(container, items, keyOf, render) {
  const before = new Map([...container.children].map((child) => [child.dataset.key, child]));
  const focused = document.activeElement && document.activeElement.id;
  const next = items.map((item) => {
    const key = keyOf(item);
    const text = JSON.stringify(item);
    const old = before.get(key);
    if (old && old.shownItem === text) return old;
    const element = render(item);
    element.dataset.key = key;
    element.shownItem = text;
    return element;
  });
  if (next.length !== container.children.length || next.some((element, i) => container.children[i] !== element)) {
    container.replaceChildren(...next);
    if (focused && document.activeElement.id !== focused) document.getElementById(focused)?.focus({ preventScroll: true });
  }
}

// waitText is a wait in the words of kubectl spillway.
export function waitText(wait) {
  const head = wait.type ? `${wait.type} ${wait.reason}` : wait.reason;
  return wait.message ? `${head}: ${wait.message}` : head;
}

export function waitList(waits) {
  if (!waits || waits.length === 0) return null;
  return el('ul', { class: 'waits' }, waits.map((wait) => el('li', {},
    el('strong', {}, wait.type ? `${wait.type} ${wait.reason}` : wait.reason), wait.message ? `: ${wait.message}` : '')));
}

// age is how long ago something was, as kubectl prints it.
export function age(time, now = Date.now()) {
  const seconds = Math.max(0, Math.round((now - Date.parse(time)) / 1000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 172800) return `${Math.floor(seconds / 3600)}h`;
  return `${Math.floor(seconds / 86400)}d`;
}

export function placeName(place) {
  if (place === 'here') return 'this cluster';
  return place === '' || place === 'none' ? 'no node' : place;
}

const plural = (n, one, many) => `${n} ${n === 1 ? one : many}`;

// countsText says how many pods are in each state.
export function countsText(counts) {
  const parts = [];
  if (counts.runs) parts.push(plural(counts.runs, 'runs', 'run'));
  if (counts.waits) parts.push(plural(counts.waits, 'waits', 'wait'));
  if (counts.failed) parts.push(`${counts.failed} failed`);
  if (counts.succeeded) parts.push(`${counts.succeeded} succeeded`);
  return parts.join(', ') || 'no pods';
}

export const states = ['runs', 'waits', 'failed', 'succeeded'];
