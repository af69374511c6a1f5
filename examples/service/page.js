// The page shows the loops and steers them. All text of agents, tasks and names goes into
// textContent, so none of it is ever markup, and without control characters.
'use strict';

const $ = id => document.getElementById(id);
let token = sessionStorage.getItem('token') || ''; // of this tab alone, and of this port
let chosen = ''; // the loop that is shown
let watching = null; // what ends its stream
let stale = false; // what is said is of a refresh that failed
let known = ''; // what can be chosen, as it was shown

// plain is text without what turns its direction around or a terminal would obey.
const plain = text => String(text ?? '').replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g, '\ufffd');

function node(name, text, cls) {
  const n = document.createElement(name);
  n.textContent = plain(text);
  if (cls) n.className = cls;
  return n;
}

const say = text => { stale = false; $('said').textContent = plain(text); };

// call asks the service; an error has its words.
async function call(method, path, body) {
  const by = token;
  const answer = await fetch(path, {
    method, headers: {Authorization: 'Bearer ' + token}, body: body && JSON.stringify(body),
  });
  if (answer.status === 401) {
    if (by === token) leave();
    throw new Error('That is not the token of this service.');
  }
  const text = await answer.text();
  if (by !== token) throw new Error('Logged out.');
  let result = {error: text}; // of what stands between, as a proxy, no JSON
  try { result = JSON.parse(text); } catch {}
  if (!answer.ok) throw new Error(result.error);
  return result;
}

// attempt does what may fail, and says why.
async function attempt(what) {
  try {
    say('');
    return await what();
  } catch (error) {
    say(error.message);
  }
}

function leave() {
  token = '';
  sessionStorage.removeItem('token');
  watching?.abort();
  chosen = '';
  $('all').hidden = $('leave').hidden = $('one').hidden = true;
  $('login').hidden = false;
  $('loops').replaceChildren();
  $('events').replaceChildren();
}

function status(loop, idle) {
  if (loop.status === 'interrupted' && loop.state.paused) return 'paused';
  return loop.status === 'running' && idle ? 'waiting' : loop.status;
}
const cost = usage => usage?.cost_usd == null ? '' : (usage.estimated ? '≈ ' : '') + '$' + usage.cost_usd.toFixed(2);
const label = loop => loop.state.task.title || (loop.state.task.prompt ?? '').split('\n')[0].slice(0, 80);

// refresh shows where all loops stand. Rows stay where they are, so that nobody clicks on
// another one than the one they saw.
async function refresh() {
  const all = await call('GET', 'loops');
  $('login').hidden = true;
  $('all').hidden = $('leave').hidden = false;
  choices(all);
  const body = $('loops');
  const rows = new Map([...body.children].map(row => [row.dataset.loop, row]));
  for (const loop of all.loops) {
    const row = rows.get(loop.loop) ?? newRow(loop.loop);
    rows.delete(loop.loop);
    fill(row, loop, all.idle[loop.loop]);
  }
  for (const row of rows.values()) row.remove();
  $('none').hidden = body.children.length > 0;
  if (stale) say('');
  stale = false;
}

function newRow(loop) {
  const row = node('tr', '');
  row.dataset.loop = loop;
  row.append(node('td', ''), node('td', ''), node('td', ''), node('td', ''), node('td', ''), node('td', ''));
  const open = node('button', loop);
  open.onclick = () => attempt(() => show(loop));
  row.children[0].append(open, node('div', ''));
  $('loops').prepend(row);
  return row;
}

function fill(row, loop, idle) {
  const s = loop.state;
  const where = status(loop, idle);
  const cells = [where, loop.iteration + (loop.max_iterations > 0 ? ' of ' + loop.max_iterations : ''), cost(loop.used),
    (loop.meta?.agent ?? '') + ', ' + (loop.meta?.check ?? ''), s.task.dir];
  cells.forEach((text, i) => { row.children[i + 1].textContent = plain(text); });
  row.children[0].lastChild.textContent = plain(label(loop));
  row.children[1].className = where;
  row.classList.toggle('chosen', loop.loop === chosen);
  if (loop.loop !== chosen) return;
  $('title').textContent = plain(loop.loop + ': ' + label(loop));
  $('stands').textContent = plain([where, s.stop && s.stop !== 'verified' ? s.stop + ': ' + (s.detail ?? '') : '', idle ?? ''].filter(Boolean).join('; '));
  const over = where === 'completed' || where === 'cancelled';
  for (const b of document.querySelectorAll('[data-verb]')) {
    b.disabled = over || (b.dataset.verb === 'continue' ? where === 'running' && !s.paused : where === 'failed' || b.dataset.verb === 'pause' && s.paused);
  }
  $('guide').hidden = over || where === 'failed';
  $('limit').hidden = over;
  $('limit').dataset.limits = JSON.stringify(s.task.limits ?? {});
}

function choices(all) {
  const now = JSON.stringify([all.agents, all.checks, all.folders]);
  if (now === known) return;
  known = now;
  for (const [id, names] of [['agent', all.agents], ['check', all.checks]]) {
    $(id).replaceChildren(...names.map(name => node('option', name)));
  }
  $('dir').value = all.folders[0];
}

// show shows a loop, from its start on, until another one is shown.
async function show(loop) {
  if (chosen !== loop) $('text').value = $('most').value = ''; // they were meant for another one
  chosen = loop;
  $('one').hidden = false;
  $('one').scrollIntoView({block: 'nearest'});
  $('events').replaceChildren();
  watching?.abort();
  watching = new AbortController();
  watch(loop, watching.signal);
  await refresh();
}

// watch reads the events of a loop. EventSource cannot send the token, so this is what it
// does: a connection that breaks is made again, from the event that was seen last.
async function watch(loop, signal) {
  for (let seen = ''; !signal.aborted;) {
    try {
      const answer = await fetch('loops/' + encodeURIComponent(loop) + '/events', {
        headers: {Authorization: 'Bearer ' + token, 'Last-Event-ID': seen}, signal,
      });
      if (answer.status === 401 || answer.status === 404) return;
      if (!answer.ok) throw new Error(answer.statusText); // it may be better in a second
      let rest = '';
      for await (const piece of pieces(answer.body)) {
        const whole = (rest + piece).split('\n\n');
        rest = whole.pop();
        for (const text of whole) {
          const fields = Object.fromEntries(text.split('\n').map(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]));
          if (fields.id && !signal.aborted) {
            seen = fields.id;
            append(JSON.parse(fields.data));
          }
        }
      }
    } catch {} // it broke, or it was ended
    await new Promise(done => setTimeout(done, 1000));
  }
}

async function* pieces(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  for (let r = await reader.read(); !r.done; r = await reader.read()) yield r.value;
}

// append shows an event; of a long loop the first ones go.
function append(event) {
  const [text, more, cls] = words(event);
  if (!text) return;
  const item = node('li', '', cls);
  item.append(node('time', new Date(event.time).toLocaleTimeString()), node('span', text));
  for (const part of more ?? []) if (part) item.append(node('pre', part));
  $('events').append(item);
  if ($('events').children.length > 500) $('events').firstChild.remove();
}

// words are what an event says: a line, texts of others, and whether it is good or bad.
function words(e) {
  const it = e.iteration ?? {};
  const s = e.state ?? {};
  switch (e.kind) {
    case 'loop_started': return $('events').children.length === 0 ? ['accepted', [s.task?.prompt]] : [s.iteration > 1 || s.attempt > 1 ? 'goes on' : 'begins'];
    case 'iteration_started': return ['iteration ' + it.number + (it.attempt > 1 ? ', attempt ' + it.attempt : '')];
    case 'answered': return ['the agent has answered' + (it.claimed ? ', and says that it is done' : ''), [e.answer?.output]];
    case 'iteration_ended': return ended(it);
    case 'waiting': return ['waits', [e.text]];
    case 'guided': return ['guided', [e.text]];
    case 'requested': return ['asked for: ' + (e.meta?.kind ?? ''), [e.text]];
    case 'limits_changed': return ['limits: ' + JSON.stringify(s.task?.limits ?? {})];
    case 'loop_stopped': return [s.stop === 'verified' ? 'verified' : 'stopped: ' + s.stop, [s.detail], s.stop === 'verified' ? 'good' : 'bad'];
    case 'cancelled': return ['cancelled', [e.text], 'bad'];
    case 'paused': return ['paused'];
    case 'continued': return ['goes on'];
    case 'reopened': return ['gets another try'];
  }
  return [];
}

function ended(it) {
  if (it.fault) return ['the agent failed: ' + it.fault, [it.error], it.fault === 'interrupted' ? '' : 'bad'];
  if (it.verdict?.passed) return ['the check agrees', [], 'good'];
  if (!it.claimed) return ['not claimed to be done'];
  return ['rejected', [it.verdict?.feedback], 'bad'];
}

const act = (verb, body) => attempt(async () => {
  await call('POST', 'loops/' + encodeURIComponent(chosen) + '/' + verb, body);
  await refresh();
});

$('login').onsubmit = event => {
  event.preventDefault();
  token = $('token').value.trim();
  $('token').value = '';
  attempt(async () => {
    await refresh();
    sessionStorage.setItem('token', token);
  });
};
$('leave').onclick = leave;
$('start').onsubmit = event => {
  event.preventDefault();
  attempt(async () => {
    const limits = {iterations: Number($('iterations').value)};
    if ($('cost').value) limits.cost_usd = Number($('cost').value);
    const loop = await call('POST', 'loops', {
      name: $('name').value, prompt: $('prompt').value, dir: $('dir').value, agent: $('agent').value, check: $('check').value, limits,
    });
    $('prompt').value = $('name').value = '';
    $('new').open = false;
    await show(loop.loop);
  });
};
$('verbs').onclick = event => {
  const verb = event.target.dataset?.verb;
  if (verb && (verb !== 'cancel' || confirm('Cancel this loop for good?'))) act(verb, {});
};
$('guide').onsubmit = event => {
  event.preventDefault();
  act('guide', {text: $('text').value});
  $('text').value = '';
};
$('limit').onsubmit = event => {
  event.preventDefault();
  act('limit', {limits: {...JSON.parse($('limit').dataset.limits), iterations: Number($('most').value)}});
};

setInterval(() => { if (token && !document.hidden) refresh().catch(error => { if (token) { say(error.message); stale = true; } }); }, 1000);
if (token) attempt(refresh);
