'use strict';
// The protocol of docs/processes.md, for any structure of timers: an object with
//   arm(id, now, deadline)  arms the timer, or moves it if it is pending
//   cancel(id)              returns true if this prevented a fire
//   advance(now, fire)      moves the clock, and calls fire(id, deadline) for all that is due
//   pending()               how many timers are pending; asked once, at the end of a replay

const fs = require('node:fs');

const ADVANCE = 0xffffffff; // an id
const CANCEL = 0xffffffff; // an argument

function load(name) {
  const {setup_ops: setup, capacity} = JSON.parse(fs.readFileSync(name + '.json', 'utf8'));
  const file = fs.readFileSync(name + '.npy');
  const body = file.subarray(10 + file.readUInt16LE(8)); // after the header
  const words = new Uint32Array(body.length / 4);
  body.copy(Buffer.from(words.buffer)); // its own memory need not be aligned
  return {words, setup, capacity};
}

// Replays with new timers, and returns the line that tells of it.
function replay({words, setup, capacity}, makeTimers, write) {
  const timers = makeTimers(capacity);
  let now = 0;
  let fired = 0;
  let cancelled = 0;
  const fire = (id, deadline) => {
    ++fired;
    if (write) write(`${now},${id},${deadline}\n`);
  };
  const play = (begin, end) => {
    for (let i = begin; i < end; i += 2) {
      const id = words[i];
      const argument = words[i + 1];
      if (id === ADVANCE) {
        now += argument;
        timers.advance(now, fire);
      } else if (argument !== CANCEL) {
        timers.arm(id, now, now + argument);
      } else if (timers.cancel(id)) {
        ++cancelled;
      }
    }
  };
  play(0, 2 * setup);
  const begin = process.hrtime.bigint();
  play(2 * setup, words.length);
  const elapsed = Number(process.hrtime.bigint() - begin);
  return JSON.stringify({elapsed_ns: elapsed, fired, cancelled, pending: timers.pending()});
}

const version = `Node.js ${process.versions.node} (nodejs)`;

// Ends the program: the inside of Node.js is not as it was in the version that the program was
// written for.
exports.unexpected = (expected, found) => {
  fs.writeSync(2, `it was written for ${expected}; ${found} in ${version}\n`);
  process.exit(1);
};

const print = (line) => fs.writeSync(1, line + '\n');

// Does what the command line asks for. `about` is what `describe` tells, but the version.
exports.main = (about, makeTimers) => {
  const [call, ...words] = process.argv.slice(2);
  if (call === 'describe') {
    print(JSON.stringify({...about, version, files: [__filename]}));
    return;
  }
  const options = Object.fromEntries(
    words.filter((word) => word.startsWith('--')).map((word) => word.slice(2).split('=', 2)),
  );
  const traces = words.filter((word) => !word.startsWith('--')).map(load);
  if (options.fires) {
    const rows = ['now,id,deadline\n'];
    print(replay(traces[0], makeTimers, (row) => rows.push(row)));
    fs.writeFileSync(options.fires, rows.join(''));
    return;
  }
  const end = performance.now() + 1000 * options.seconds;
  for (let i = 0; i < Math.max(3, traces.length) || performance.now() < end; ++i) {
    print(replay(traces[i % traces.length], makeTimers));
  }
};
