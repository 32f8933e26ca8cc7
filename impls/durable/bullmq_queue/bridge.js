'use strict';
// The bridge to BullMQ: a client of one queue. Arguments: the path of the server's socket, the name of
// the queue, and the folder of node_modules.
//
// It calls the public interface of BullMQ alone. bullmq_queue.h says which calls, and why.

const {randomBytes} = require('crypto');
const {createRequire} = require('module');
const {fail, serve} = require('../bridge/serve.js');

const NS_PER_MS = 1000000n;
const ERRORS_OF_JOBS = -1; // the largest of BullMQ's codes: the job is gone, is not this client's, ...
const NO_LOCK = -2;
const LOOK_EVERY_MS = 250; // for leases that have ended
const REMEMBERED_MS = 60_000; // claims after their lease

const toMs = (ns) => Number((BigInt(ns) + NS_PER_MS - 1n) / NS_PER_MS); // rounded up
const toNs = (ms) => String(BigInt(ms) * NS_PER_MS);

// What the promise gives, or `otherwise` of the error if the job is not as it was thought to be.
const unless = (promise, otherwise) =>
  promise.catch((error) => {
    if (error.code <= ERRORS_OF_JOBS) return otherwise(error);
    throw error;
  });

class Client {
  #bullmq;
  #name;
  #mark = randomBytes(8).toString('hex'); // of this client's jobs
  #connection;
  #queue;
  #workers = new Map(); // by the length of their leases, in ms
  #held = new Map(); // jobs, and until when they are remembered, by their claims
  #armed = 0;

  constructor(bullmq, socket, name) {
    this.#bullmq = bullmq;
    this.#name = name;
    this.#connection = {
      path: socket,
      maxRetriesPerRequest: null, // the client has a patience of its own
      retryStrategy: (times) => Math.min(20 * times, 500),
    };
    this.#queue = new bullmq.Queue(name, {
      connection: this.#connection,
      defaultJobOptions: {removeOnComplete: true},
    });
    this.#queue.on('error', (error) => console.error(error.message));
  }

  async ready() {
    await this.#queue.waitUntilReady();
  }

  // A timer that was not delayed any more is armed anew before its old job is removed, so that it is
  // never lost.
  async schedule({timers}) {
    const old = [];
    for (let jobs = timers.map((timer) => this.#jobOf(timer)); jobs.length > 0;) {
      const added = await this.#add(jobs);
      const refused = [];
      added.forEach(({id}, i) => {
        if (id === jobs[i].opts.jobId) return;
        refused.push(jobs[i]);
        old.push(id);
      });
      await Promise.all(
        refused.map(async (job, i) => {
          const other = await this.#queue.getJob(old[old.length - refused.length + i]);
          await other?.removeDeduplicationKey();
        }),
      );
      jobs = refused;
    }
    await Promise.all(old.map((id) => this.#remove(id)));
  }

  async cancel({id}) {
    const job = await this.#queue.getDeduplicationJobId(id);
    return {done: job !== null && (await this.#remove(job))};
  }

  // Asks for one job, and then for as many as there are already.
  async claim({most, lease, token}) {
    const worker = await this.#workerFor(toMs(lease));
    const jobs = [];
    for (let more = 1; more > 0 && jobs.length < most;) {
      const asked = Math.min(more, most - jobs.length);
      const fetches = Array.from({length: asked}, () => worker.getNextJob(token, {block: false}));
      const found = (await Promise.all(fetches)).filter((job) => job);
      jobs.push(...found);
      more = found.length === asked ? jobs.length : 0;
    }
    this.#forgetWhatHasPassed();
    const until = Date.now() + toMs(lease) + REMEMBERED_MS;
    for (const job of jobs) this.#held.set(`${token} ${job.data.id}`, {job, until});
    if (jobs.length === 0) return {timers: [], next: await this.#next()};
    return {timers: jobs.map(({data}) => [data.id, data.deadline, data.payload])};
  }

  async complete({claims}) {
    return {held: await Promise.all(claims.map((claim) => this.#complete(claim)))};
  }

  async giveBack({claims}) {
    await Promise.all(
      claims.map(async (claim) => {
        const job = this.#take(claim);
        if (job) await unless(job.moveToWait(job.token), () => {});
      }),
    );
  }

  async first() {
    const [{waiting}, [first]] = await Promise.all([
      this.#queue.getJobCounts('waiting'),
      this.#queue.getDelayed(0, 0),
    ]);
    if (waiting > 0) return {first: '0'};
    return {first: first ? toNs(first.timestamp + first.delay) : null};
  }

  async size() {
    const counts = await this.#queue.getJobCounts('waiting', 'active', 'delayed');
    return {size: counts.waiting + counts.active + counts.delayed};
  }

  // addBulk() makes a pipeline, which costs more than a job.
  async #add(jobs) {
    if (jobs.length > 1) return this.#queue.addBulk(jobs);
    const [{name, data, opts}] = jobs;
    return [await this.#queue.add(name, data, opts)];
  }

  #jobOf([id, deadline, payload]) {
    const now = Date.now();
    return {
      name: 'timer',
      data: {id, deadline, payload},
      opts: {
        jobId: `${this.#mark}-${(++this.#armed).toString(36)}`,
        timestamp: now,
        delay: Math.max(toMs(deadline) - now, 0),
        deduplication: {id, replace: true},
      },
    };
  }

  // Tells whether it could: nobody else holds it.
  async #remove(id) {
    for (const [claim, {job}] of this.#held) {
      if (job.id !== id) continue;
      this.#held.delete(claim);
      return unless(
        job.moveToCompleted('', job.token, false).then(() => true),
        async () => (await this.#queue.remove(id)) === 1,
      );
    }
    return (await this.#queue.remove(id)) === 1;
  }

  async #complete(claim) {
    const job = this.#take(claim);
    if (!job) return false;
    return unless(
      job.moveToCompleted('', job.token, false).then(() => true),
      ({code}) => code === NO_LOCK && this.#completeLate(job),
    );
  }

  // After the lease, unless somebody else was handed it.
  async #completeLate(job) {
    const now = await this.#queue.getJob(job.id);
    if (now?.attemptsStarted !== job.attemptsStarted) return false;
    return (await this.#queue.remove(job.id)) === 1;
  }

  #take([id, token]) {
    const claim = `${token} ${id}`;
    const held = this.#held.get(claim);
    this.#held.delete(claim);
    return held?.job;
  }

  #forgetWhatHasPassed() {
    const now = Date.now();
    for (const [claim, {until}] of this.#held) {
      if (until > now) break;
      this.#held.delete(claim);
    }
  }

  async #next() {
    const [counts, [first]] = await Promise.all([
      this.#queue.getJobCounts('waiting', 'active'),
      this.#queue.getDelayed(0, 0),
    ]);
    const now = Date.now();
    const instants = [];
    if (first) instants.push(Math.max(first.timestamp + first.delay, now + 1));
    if (counts.active > 0) instants.push(now + LOOK_EVERY_MS); // its holder may have died
    if (counts.waiting > 0) instants.push(now + 1);
    return instants.length > 0 ? toNs(Math.min(...instants)) : null;
  }

  // The first worker looks for the jobs of those that have died.
  async #workerFor(lease) {
    let worker = this.#workers.get(lease);
    if (worker) return worker;
    worker = new this.#bullmq.Worker(this.#name, null, {
      connection: this.#connection,
      lockDuration: lease,
      stalledInterval: LOOK_EVERY_MS,
      maxStalledCount: Number.MAX_SAFE_INTEGER,
      skipStalledCheck: this.#workers.size > 0,
    });
    worker.on('error', (error) => console.error(error.message));
    this.#workers.set(lease, worker);
    await worker.waitUntilReady();
    await worker.startStalledCheckTimer();
    return worker;
  }
}

const main = ([socket, name, modules]) => {
  let bullmq;
  try {
    bullmq = createRequire(`${modules}/`)('bullmq');
  } catch (error) {
    return fail(`there is no BullMQ in ${modules}`);
  }
  const client = new Client(bullmq, socket, name);
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
