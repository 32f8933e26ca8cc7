'use strict';
// The page is made of these files, one after another: what one declares at its margin, all can use.

const fs = require('node:fs');
const path = require('node:path');

const folder = path.join(__dirname, '../../scripts/lib/page/js');
const declared = fs
  .readdirSync(folder)
  .map((file) => fs.readFileSync(path.join(folder, file), 'utf8'))
  .flatMap((text) => [...text.matchAll(/^(?:async )?(?:class|const|function|let) (\w+)/gm)])
  .map((match) => match[1]);

module.exports = [
  {
    languageOptions: {
      sourceType: 'script',
      globals: {
        ...require('globals').browser,
        ...Object.fromEntries(['Chart', ...declared].map((name) => [name, 'writable'])),
      },
    },
    linterOptions: {reportUnusedDisableDirectives: true},
    rules: {
      ...require('@eslint/js').configs.recommended.rules,
      eqeqeq: 'error',
      'no-redeclare': ['error', {builtinGlobals: false}],
      'no-unused-vars': ['error', {vars: 'local', ignoreRestSiblings: true}],
      'no-var': 'error',
      'prefer-const': 'error',
    },
  },
];
