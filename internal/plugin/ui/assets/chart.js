// Pods per tier, or per place, over time: stacked steps.
import { el, placeName, svg } from './dom.js';

const width = 1240;
const height = 200;
const left = 44;
const bottom = 22;

// seriesOf returns the series from the lowest to the highest, each with the places that it adds up.
function seriesOf(page, namespace, samples) {
  const tiers = page.tiers?.[namespace];
  const places = new Set(samples.flatMap((sample) => Object.keys(sample.places?.[namespace] || {})));
  const taken = new Set();
  const series = [];
  for (const tier of tiers || []) {
    tier.places.forEach((place) => taken.add(place));
    series.push({ label: `tier ${tier.number}: ${tier.places.map(placeName).join(', ') || 'no provider'}`, places: tier.places });
  }
  for (const place of ['here', ...[...places].filter((one) => one !== 'here' && one !== '').sort()]) {
    if (!taken.has(place) && places.has(place)) series.push({ label: placeName(place), places: [place] });
  }
  series.push({ label: 'no node', places: [''], waiting: true });
  return series;
}

const countIn = (sample, namespace, series) => series.places.reduce((sum, place) => sum + (sample.places?.[namespace]?.[place] || 0), 0);

function clock(time) {
  return new Date(time).toLocaleTimeString();
}

function area(points, baseline) {
  const forth = points.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`);
  const back = baseline.map(([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`).reverse();
  return `M${[...forth, ...back].join('L')}Z`;
}

// drawChart draws the history of one namespace, or of all.
export function drawChart(page, namespace, samples, now = Date.now()) {
  const box = document.getElementById('chart');
  const known = samples.filter((sample) => sample.places?.[namespace]);
  if (known.length === 0) {
    box.replaceChildren(el('p', { class: 'quiet' }, namespace ? `no pod of ${namespace} was seen yet` : 'no pod was seen yet'));
    return;
  }
  const series = seriesOf(page, namespace, samples);
  const first = Date.parse(samples[0].at);
  const last = Math.max(now, first + 1000);
  const most = Math.max(1, ...known.map((sample) => series.reduce((sum, one) => sum + countIn(sample, namespace, one), 0)));
  const x = (time) => left + ((time - first) / (last - first)) * (width - left - 10);
  const y = (count) => 10 + (1 - count / most) * (height - bottom - 10);
  const latest = samples[samples.length - 1];
  const title = `Pods of ${namespace || 'all namespaces'} since ${clock(first)}: ${series.map((one) => `${one.label} ${countIn(latest, namespace, one)}`).join(', ')}`;
  const picture = svg('svg', { viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': title });
  for (const count of new Set([0, Math.round(most / 2), most])) {
    picture.append(svg('line', { class: 'grid', x1: left, x2: width - 10, y1: y(count), y2: y(count) }), svg('text', { x: left - 6, y: y(count) + 4, 'text-anchor': 'end' }, String(count)));
  }
  series.forEach((one, index) => picture.append(svg('path', { class: colour(one, index), d: steps(index) })));
  picture.append(svg('text', { x: left, y: height - 5 }, clock(first)), svg('text', { x: width - 10, y: height - 5, 'text-anchor': 'end' }, clock(last)));
  const legend = el('ul', { class: 'legend' }, series.map((one, index) => el('li', {}, el('span', { class: `key ${colour(one, index)}`, 'aria-hidden': 'true' }), `${one.label}: ${countIn(latest, namespace, one)}`)));
  box.replaceChildren(picture, legend);

  // steps returns the area between a series and those below it. A gap in the history is a gap in the picture.
  function steps(index) {
    let path = '';
    let upper = [];
    let lower = [];
    const end = () => {
      if (upper.length > 0) path += area(upper, lower);
      upper = [];
      lower = [];
    };
    samples.forEach((sample, i) => {
      if (sample.gap) return end();
      const from = x(Date.parse(sample.at));
      const to = x(i + 1 < samples.length ? Date.parse(samples[i + 1].at) : last);
      const below = series.slice(0, index).reduce((sum, one) => sum + countIn(sample, namespace, one), 0);
      const above = below + countIn(sample, namespace, series[index]);
      upper.push([from, y(above)], [to, y(above)]);
      lower.push([from, y(below)], [to, y(below)]);
    });
    end();
    return path;
  }
}

function colour(series, index) {
  return series.waiting ? 'series waiting' : `series s${index % 6}`;
}
