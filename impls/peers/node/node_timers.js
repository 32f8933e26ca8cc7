'use strict';
// The timers of Node.js: a list for each duration, and a heap of the lists.
//
// What runs: what setTimeout() does, the class Timeout and insert() of lib/internal/timers.js,
// which --expose-internals makes visible; clearTimeout(); and processTimers(), which the event
// loop calls. Each fire calls a function with the id as an argument.
//
// Clock: insert() and processTimers() take it as an argument. A tick is a millisecond. insert()
// also sets the one timer of libuv behind all, on the clock of the system; the loop never runs,
// so it never fires.
//
// Deviates: processTimers() is made anew with an empty function where the event loop would run
// promises and process.nextTick() after each callback. setTimeout() makes a duration of 0 one of
// 1; here it stays 0.
//
// Cannot: wait longer than 2^31 - 1 ms. A longer timer is armed again when that has passed, as
// programs do. On a jump, the lists fire in the order of their first timers.
//
// Cost: arm and cancel O(1) if others have the same duration, else O(log lists); a fire the same.
// 200 bytes a timer, and 100 a list.
//
// Follows: lib/internal/timers.js of Node.js 18 and 20.

const internal = require('internal/timers');
const {main, unexpected} = require('./replay.js');

for (const name of ['Timeout', 'getTimerCallbacks', 'insert']) {
  if (typeof internal[name] !== 'function') {
    unexpected('Node.js 18 and 20', `internal/timers has no ${name}()`);
  }
}
const {Timeout, getTimerCallbacks, insert} = internal;

const LONGEST = 2 ** 31 - 1;
const {processTimers} = getTimerCallbacks(() => {});

class NodeTimers {
  #handles;
  #deadlines;
  #now = 0;
  #fire = null; // of the advance() that runs

  constructor(capacity) {
    this.#handles = new Array(capacity).fill(null);
    this.#deadlines = new Array(capacity).fill(0);
    processTimers(0); // nothing is pending, so it forgets when it was to wake up
  }

  #start(id, now) {
    const duration = Math.min(this.#deadlines[id] - now, LONGEST);
    const timeout = new Timeout(this.#onTimeout, Math.max(1, duration), [id], false, true);
    insert(timeout, duration, now);
    this.#handles[id] = timeout;
  }

  #onTimeout = (id) => {
    this.#handles[id] = null;
    if (this.#deadlines[id] <= this.#now) {
      this.#fire(id, this.#deadlines[id]);
    } else {
      this.#start(id, this.#now);
    }
  };

  arm(id, now, deadline) {
    this.cancel(id);
    this.#deadlines[id] = deadline;
    this.#start(id, now);
  }

  cancel(id) {
    const timeout = this.#handles[id];
    if (timeout === null) return false;
    clearTimeout(timeout);
    this.#handles[id] = null;
    return true;
  }

  advance(now, fire) {
    this.#now = now;
    this.#fire = fire;
    processTimers(now);
  }

  // Also cancels them, for the next replay has the same lists.
  pending() {
    return this.#handles.filter((_, id) => this.cancel(id)).length;
  }
}

main(
  {
    name: 'node_timers',
    summary: 'setTimeout and clearTimeout: a list for each duration, in a heap',
    precision: 'exact',
  },
  (capacity) => new NodeTimers(capacity),
);
