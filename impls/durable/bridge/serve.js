'use strict';
// Serves a client over its socket, as durable/bridge.h says: a request is a line of JSON, whose `call`
// names the function that answers it.

// handlers: functions of a request, each of which returns an answer, or a promise of one. One runs
// at a time.
exports.serve = (handlers) => {
  let rest = '';
  let last = Promise.resolve();

  const answer = async (line) => {
    try {
      const request = JSON.parse(line);
      write((await handlers[request.call](request)) ?? {});
    } catch (error) {
      write({error: error.message});
    }
  };

  process.stdin.setEncoding('utf8');
  process.stdin.on('data', (chunk) => {
    const lines = chunk.split('\n');
    lines[0] = rest + lines[0];
    rest = lines.pop();
    for (const line of lines) last = last.then(() => answer(line));
  });
  process.stdin.on('end', () => process.exit());
  process.stdin.on('error', () => process.exit());
  write({});
};

// Ends this program, as what it needs is not there.
exports.fail = (what) => {
  write({error: what});
  process.exitCode = 1;
  process.stdin.destroy();
};

const write = (answer) => process.stdout.write(JSON.stringify(answer) + '\n');
