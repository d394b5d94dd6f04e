// Requests to the process that serves this page. The key is in a header, and in no cookie.

const stored = 'spillway-key';

// begin exchanges the token in the URL for the key. The token disappears from the address bar.
export async function begin() {
  const token = new URLSearchParams(location.hash.slice(1)).get('token');
  if (!token) return;
  history.replaceState(null, '', location.pathname);
  const answer = await fetch('/api/session', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ token }) });
  if (answer.ok) {
    sessionStorage.setItem(stored, (await answer.json()).key);
  } else if (!sessionStorage.getItem(stored)) {
    throw new Failure(answer.status, await answer.text());
  }
}

export class Failure extends Error {
  constructor(status, text) {
    super(text.trim());
    this.status = status;
  }
}

async function request(path, options = {}) {
  const answer = await fetch(path, { ...options, headers: { ...options.headers, Authorization: `Bearer ${sessionStorage.getItem(stored) || ''}` } });
  if (!answer.ok) throw new Failure(answer.status, await answer.text());
  return answer;
}

// get returns the answer to a query; null if there is nothing new.
export async function get(path, query) {
  const answer = await request(`${path}?${new URLSearchParams(query)}`);
  return answer.status === 204 ? null : answer.json();
}

async function* lines(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split('\n');
    rest = parts.pop();
    yield* parts;
  }
}

// stream calls on(event, data) for each server-sent event, until the connection ends. EventSource cannot send a key.
export async function stream(on, open) {
  const answer = await request('/api/stream');
  open();
  let event = '';
  for await (const line of lines(answer.body)) {
    if (line.startsWith('event: ')) event = line.slice(7);
    else if (line.startsWith('data: ')) on(event, JSON.parse(line.slice(6)));
  }
}

// resolve decides about a field, and calls say for each line of the command.
export async function resolve(choice, say) {
  const answer = await request('/api/resolve', { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(choice) });
  for await (const line of lines(answer.body)) {
    if (!line) continue;
    const said = JSON.parse(line);
    if (said.text) say(said.text);
    if (said.error) throw new Failure(500, said.error);
    if (said.done) return;
  }
  throw new Failure(500, 'the connection has ended: look at the values again');
}
