'use strict';
// A control: the loop over the operations, which calls a structure that does nothing.
//
// What it costs is in the figures of all others of this runtime.

const {main} = require('./replay.js');

class Nothing {
  arm() {}
  cancel() {
    return false;
  }
  advance() {}
  pending() {
    return 0;
  }
}

main(
  {name: 'node_null', summary: 'a control: does nothing', precision: 'none'},
  () => new Nothing(),
);
