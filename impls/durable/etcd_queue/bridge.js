'use strict';
// The bridge to etcd: a client of one queue. Arguments: the path of the server's socket, and the name
// of the queue. It speaks to the JSON gateway of etcd's version 3 interface, over HTTP. etcd_queue.h
// says what the keys are, and why.

const http = require('http');
const {serve} = require('../bridge/serve.js');

const LEAST_TTL = 2; // seconds; etcd prolongs shorter ones
const CONNECTIONS = 64;
const TOGETHER = 100; // of the 128 operations that a transaction of etcd may have
const CATCH_UP_MS = 20; // for what the server has done to be seen here
const SOON_MS = 50; // a lease may end

const NEWS = 'news'; // the name of a key beside the alarms
const GONE = '-';
const DUE = '+';

const encode = (text) => Buffer.from(text, 'latin1').toString('base64');
const decode = (base64) => Buffer.from(base64 ?? '', 'base64').toString('latin1');
const nameOf = (key) => decode(key).split('/').pop();
const seconds = (ms) => String(Math.max(Math.ceil(ms / 1000), LEAST_TTL));
const toMs = (ns) => Number((BigInt(ns) + 999999n) / 1000000n); // rounded up
const soon = () => `${Date.now() + SOON_MS}000000`;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

class Client {
  #socket;
  #agent = new http.Agent({keepAlive: true, maxSockets: CONNECTIONS});
  #prefix;
  #watch = null;
  #due = new Set(); // ids that may be due
  #seen = 0n; // the last revision that the watch has told
  #whenSeen = () => {};
  #claims = new Map(); // the lease of those of a token, and which are left

  constructor(socket, queue) {
    this.#socket = socket;
    this.#prefix = `${queue}/`;
  }

  async ready() {
    const {etcdserver: version} = await this.#ask('/version', 'GET');
    const [major, minor] = version.split('.').map(Number);
    if (major < 3 || (major === 3 && minor < 4)) {
      const lacks = `its version ${version} has no gateway /v3/`;
      throw new Error(`etcd at ${this.#socket}: ${lacks}; take 3.4 or newer`);
    }
    await this.size(); // which waits for a leader
  }

  async schedule({timers}) {
    const arms = await Promise.all(timers.map((timer) => this.#arming(timer)));
    const due = arms.filter(({isDue}) => isDue).map(({id}) => id);
    const news = due.length > 0 ? DUE + due.join(' ') : null;
    await this.#revokeOld(await this.#change(arms, news));
  }

  async cancel({id}) {
    const success = [this.#read(this.#alarm(id)), ...this.#removal(id)];
    const [done] = await this.#change([{compare: [this.#isThere(id)], success}], GONE);
    if (done.succeeded) await this.#revokeOld([done]);
    return {done: Boolean(done.succeeded)};
  }

  // Who is first to set an alarm for the end of its claim has the timer.
  async claim({most, lease, token}) {
    this.#watch ??= await this.#startWatch();
    if (this.#due.size === 0) {
      const next = await this.#catchUp();
      if (this.#due.size === 0) return {timers: [], next};
    }
    const held = await this.#grant(seconds(toMs(lease)));
    const timers = [];
    while (timers.length < most && this.#due.size > 0) {
      const ids = this.#someDue(Math.min(most - timers.length, TOGETHER));
      const claimed = await this.#change(ids.map((id) => this.#claiming(id, token, held)));
      claimed.forEach(({succeeded, responses}, i) => {
        this.#due.delete(ids[i]);
        if (!succeeded) return;
        const text = decode(responses[0].response_range.kvs[0].value);
        const end = text.indexOf('\n');
        timers.push([ids[i], text.slice(0, end), text.slice(end + 1)]);
      });
    }
    if (timers.length === 0) {
      await this.#revoke(held);
      return {timers, next: soon()};
    }
    this.#claims.set(token, {lease: held, left: new Set(timers.map(([id]) => id))});
    return {timers};
  }

  async complete({claims}) {
    const changes = claims.map(([id, token]) => ({
      compare: [this.#isHeld(id, token)],
      success: this.#removal(id),
    }));
    const done = await this.#change(changes, GONE);
    await this.#release(claims);
    return {held: done.map(({succeeded}) => Boolean(succeeded))};
  }

  async giveBack({claims}) {
    const changes = claims.map(([id, token]) => ({
      compare: [this.#isHeld(id, token)],
      success: [this.#erase(this.#alarm(id)), this.#erase(this.#holder(id))],
    }));
    await this.#change(changes);
    await this.#release(claims);
  }

  async first() {
    this.#watch ??= await this.#startWatch();
    return {first: this.#due.size > 0 ? '0' : null};
  }

  async size() {
    return {size: Number((await this.#count()).count ?? 0)};
  }

  #timer = (id) => encode(`${this.#prefix}timer/${id}`);
  #alarm = (id) => encode(`${this.#prefix}alarm/${id}`);
  #holder = (id) => encode(`${this.#prefix}holder/${id}`);
  #allOf = (kind) => ({
    key: encode(`${this.#prefix}${kind}/`),
    range_end: encode(`${this.#prefix}${kind}0`), // what follows "/" is "0"
  });

  #isThere = (id) => ({key: this.#timer(id), target: 'VERSION', result: 'GREATER', version: '0'});
  #hasNoAlarm = (id) => ({key: this.#alarm(id), target: 'VERSION', result: 'EQUAL', version: '0'});
  #isHeld = (id, token) => ({
    key: this.#holder(id),
    target: 'VALUE',
    result: 'EQUAL',
    value: encode(token),
  });

  #read = (key) => ({request_range: {key}});
  #write = (key, text, lease = '0') => ({request_put: {key, value: encode(text), lease}});
  #erase = (key) => ({request_delete_range: {key}});
  #removal = (id) => [this.#timer(id), this.#holder(id), this.#alarm(id)].map(this.#erase);

  async #arming([id, deadline, payload]) {
    const left = toMs(deadline) - Date.now();
    if (left === 1) await sleep(2); // else 2 s for less than a tick of this clock
    const isDue = left <= 1;
    const alarm = this.#alarm(id);
    return {
      id,
      isDue,
      success: [
        this.#read(alarm),
        this.#write(this.#timer(id), `${deadline}\n${payload}`),
        this.#erase(this.#holder(id)),
        isDue ? this.#erase(alarm) : this.#write(alarm, '', await this.#grant(seconds(left))),
      ],
    };
  }

  #claiming(id, token, lease) {
    return {
      compare: [this.#isThere(id), this.#hasNoAlarm(id)],
      success: [
        this.#read(this.#timer(id)),
        this.#write(this.#holder(id), token),
        this.#write(this.#alarm(id), token, lease),
      ],
    };
  }

  // Any, so that workers do not all try to have the same.
  #someDue(most) {
    const ids = [];
    let skipped = Math.floor(Math.random() * (this.#due.size - most + 1));
    for (const id of this.#due) {
      if (skipped-- > 0) continue;
      if (ids.length === most) break;
      ids.push(id);
    }
    return ids;
  }

  // Makes each change whose comparison holds; many of them are one transaction. The news are told to
  // all watchers with it.
  async #change(changes, news = null) {
    const parts = [];
    for (let i = 0; i < changes.length; i += TOGETHER) {
      const success = changes
        .slice(i, i + TOGETHER)
        .map(({compare, success}) => ({request_txn: {compare, success}}));
      if (news) success.push(this.#write(this.#alarm(NEWS), news));
      parts.push(this.#post('kv/txn', {success}));
    }
    const answers = (await Promise.all(parts)).flatMap(({responses}) => responses);
    return answers.flatMap(({response_txn}) => response_txn ?? []);
  }

  // Ends leases that hold nothing any more.
  async #release(claims) {
    const ended = [];
    for (const [id, token] of claims) {
      const claim = this.#claims.get(token);
      if (!claim || !claim.left.delete(id) || claim.left.size > 0) continue;
      this.#claims.delete(token);
      ended.push(this.#revoke(claim.lease));
    }
    await Promise.all(ended);
  }

  // The leases of alarms that were replaced or erased, and that are of no claim.
  async #revokeOld(changes) {
    const old = changes.flatMap(({responses}) => responses[0].response_range.kvs ?? []);
    await Promise.all(old.filter(({value}) => !value).map(({lease}) => this.#revoke(lease)));
  }

  async #grant(ttl) {
    return (await this.#post('lease/grant', {TTL: ttl})).ID;
  }

  async #revoke(lease) {
    await this.#post('lease/revoke', {ID: lease}).catch((error) => {
      if (!error.message.includes('lease not found')) throw error; // it has ended by itself
    });
  }

  #count() {
    return this.#post('kv/range', {...this.#allOf('timer'), count_only: true});
  }

  // Returns when something may be due; null: there is nothing. What has happened until now is seen,
  // unless other queues of this server change so much that this takes too long.
  async #catchUp() {
    const {count, header} = await this.#count();
    const revision = BigInt(header.revision);
    const giveUp = Date.now() + CATCH_UP_MS;
    while (this.#seen < revision && Date.now() < giveUp) {
      await new Promise((resolve) => {
        const timeout = setTimeout(resolve, giveUp - Date.now());
        this.#whenSeen = () => {
          clearTimeout(timeout);
          resolve();
        };
      });
    }
    return count ? soon() : null;
  }

  // What has no alarm is due; from then on the ends of alarms are told.
  async #startWatch() {
    const {header, responses} = await this.#post('kv/txn', {
      success: ['timer', 'alarm'].map((kind) => ({
        request_range: {...this.#allOf(kind), keys_only: true},
      })),
    });
    const [timers, alarms] = responses.map(({response_range: {kvs}}) =>
      (kvs ?? []).map(({key}) => nameOf(key)),
    );
    this.#due = new Set(timers);
    for (const id of alarms) this.#due.delete(id);
    this.#seen = BigInt(header.revision);
    return this.#follow({...this.#allOf('alarm'), start_revision: String(this.#seen + 1n)});
  }

  #follow(start) {
    return new Promise((resolve, reject) => {
      const request = this.#request('/v3/watch', 'POST', undefined, reject, (response) => {
        let rest = '';
        response.setEncoding('utf8');
        response.on('data', (chunk) => {
          const lines = chunk.split('\n');
          lines[0] = rest + lines[0];
          rest = lines.pop();
          for (const line of lines) if (line) this.#see(JSON.parse(line).result);
          this.#whenSeen();
        });
        response.on('error', () => {}); // which `close` follows
        response.on('close', () => (this.#watch = null));
        resolve(request);
      });
      request.end(JSON.stringify({create_request: start}));
    });
  }

  #see({header, events, canceled}) {
    if (canceled) return this.#watch?.destroy();
    const gone = new Set(); // revisions that ended alarms of what is gone
    for (const {kv} of events ?? []) {
      if (nameOf(kv.key) === NEWS && decode(kv.value) === GONE) gone.add(kv.mod_revision);
    }
    for (const {type, kv} of events ?? []) {
      const id = nameOf(kv.key);
      if (id === NEWS) {
        const news = decode(kv.value);
        if (news[0] === DUE)
          news
            .slice(1)
            .split(' ')
            .forEach((due) => this.#due.add(due));
      } else if (type === 'DELETE' && !gone.has(kv.mod_revision)) {
        this.#due.add(id);
      } else {
        this.#due.delete(id);
      }
    }
    this.#seen = BigInt(header.revision);
  }

  #post(path, body) {
    return this.#ask(`/v3/${path}`, 'POST', body);
  }

  #ask(path, method, body) {
    return new Promise((resolve, reject) => {
      const request = this.#request(path, method, this.#agent, reject, (response) => {
        const chunks = [];
        response.on('data', (chunk) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          try {
            const answer = JSON.parse(Buffer.concat(chunks).toString());
            if (answer.error) reject(new Error(answer.error));
            else resolve(answer);
          } catch (error) {
            reject(error);
          }
        });
      });
      request.end(body && JSON.stringify(body));
    });
  }

  #request(path, method, agent, reject, take) {
    const options = {socketPath: this.#socket, path, method, agent};
    return http.request(options, take).on('error', reject);
  }
}

const main = ([socket, queue]) => {
  const client = new Client(socket, queue);
  serve({
    ready: () => client.ready(),
    schedule: (request) => client.schedule(request),
    cancel: (request) => client.cancel(request),
    claim: (request) => client.claim(request),
    complete: (request) => client.complete(request),
    giveBack: (request) => client.giveBack(request),
    first: () => client.first(),
    size: () => client.size(),
  });
};

main(process.argv.slice(2));
