'use strict';
// Starts a bridge: node start.js BRIDGE ARGUMENTS. Unless Node.js is too old to read what bridges are
// written in, which is said; so this file is written in the JavaScript of old versions.

const LEAST = 18; // what BullMQ wants
const version = process.versions.node;

if (parseInt(version, 10) < LEAST) {
  const error = 'the version ' + version + ' of Node.js is too old; take ' + LEAST + ' or newer';
  process.stdout.write(JSON.stringify({error: error}) + '\n');
} else {
  process.argv.splice(1, 1);
  require(process.argv[1]);
}
