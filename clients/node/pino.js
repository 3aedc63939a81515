// pino's records in whit's rings: as a destination in the thread that logs, or as a transport in pino's worker.
//
//     const log = pino(require('whit-log/pino').destination('CONTROL/PM01'));
//     const log = pino({ transport: { target: 'whit-log/pino', options: { logger: 'CONTROL/PM01' } } });
//
// A record of the destination is safe when the call returns.  One of the transport is so when pino's worker has
// taken it: what is on the way is lost with the program.
'use strict';

const { Writable } = require('node:stream');

const { Level, Logger } = require('.');

/** Longest line that is kept while its end has not come. */
const LINE_MAX = 16 << 20;

/** The level of a number of pino: 10 is trace, 20 debug, 30 info, 40 warn, 50 error, 60 fatal. */
function levelOf(number) {
  if (!(number >= 20)) return Level.TRACE;
  if (number < 30) return Level.DEBUG;
  if (number < 40) return Level.INFO;
  if (number < 50) return Level.WARNING;
  return number < 60 ? Level.ERROR : Level.CRITICAL;
}

/** Stores a line of pino; one that is no record is a message. */
function store(log, line, messageKey) {
  if (line === '') return;
  let record;
  try {
    record = JSON.parse(line);
  } catch {
    record = null;
  }
  if (typeof record !== 'object' || record === null || Array.isArray(record)) {
    log.info(line);
    return;
  }
  // The ring has the time; host and process are of the file of the process.
  const { level, time, pid, hostname, [messageKey]: message, ...data } = record;
  log.log(levelOf(level), message === undefined ? '' : message, data);
}

/** A destination: `pino(destination)` or `pino(options, destination)`. */
function destination(logger, context = {}, { messageKey = 'msg' } = {}) {
  const log = new Logger(logger, context);
  return {
    // By this pino tells a destination from options.
    writable: true,
    write(lines) {
      for (const line of lines.split('\n')) store(log, line, messageKey);
    },
  };
}

/** The stream of a transport; the options name the logger and its context. */
function transport({ logger = 'pino', context = {}, messageKey = 'msg' } = {}) {
  const log = new Logger(logger, context);
  let rest = '';
  return new Writable({
    decodeStrings: false,
    defaultEncoding: 'utf8',
    write(chunk, _encoding, done) {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop();
      if (rest.length > LINE_MAX) {
        log.warning('a line of pino without an end is left out', { bytes: rest.length });
        rest = '';
      }
      for (const line of lines) store(log, line, messageKey);
      done();
    },
    final(done) {
      store(log, rest, messageKey);
      done();
    },
  });
}

module.exports = transport;
module.exports.default = transport;
module.exports.destination = destination;
