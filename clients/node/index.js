// Stores log records into rings in shared memory, which `whit log proxy` reads.
//
//     const { Logger } = require('whit-log');
//     const log = new Logger('CONTROL/PM01', { Antenna: 'DV01' });
//     log.info('antenna moves', { degrees: 45.25 });
//
// A call that returned is safe from then on, however the program ends.
'use strict';

const { AsyncLocalStorage } = require('node:async_hooks');
const { basename } = require('node:path');

const native = require('./build/whit_log.node');

/** ACS's levels, with its numbers. */
const Level = Object.freeze({
  TRACE: 1, DELOUSE: 2, DEBUG: 3, INFO: 4, NOTICE: 5, WARNING: 6,
  ERROR: 8, CRITICAL: 9, ALERT: 10, EMERGENCY: 11, OFF: 99,
});
/** How safe records are. */
const Tier = Object.freeze({ RING: 0, READ: 1, SYNCED: 2, CENTRAL: 3 });

/** Contexts that are known by their names and values; more are made again each time. */
const CONTEXTS_MAX = 4096;
/** Objects within objects whose fields are data by themselves. */
const DEPTH_MAX = 4;
const BY_VALUE = 0;
const AS_FLOAT = 1;

class Float {
  constructor(value) {
    this.value = Number(value);
  }
}

/** A number that is stored as a float even if it is whole. */
const float = (value) => new Float(value);

let isStarted = false;

/** Begins to log; without it the first logger does, with the defaults.  False: nothing is logged, or the
 * rings do not survive the process, and standard error says why. */
function start({ directory = '', process = program(), level = 0 } = {}) {
  isStarted = true;
  return native.start(String(directory), String(process), level) === 0;
}

/** The name of the script. */
const program = () => basename(globalThis.process.argv[1] ?? 'node').replace(/\.[cm]?js$/, '');

const pairsOf = (pairs) => Object.entries(pairs).flatMap(([name, value]) => [name, String(value)]);

const scopes = new AsyncLocalStorage();
const contexts = new Map();

function contextOf(pairs) {
  const key = JSON.stringify(pairs);
  let made = contexts.get(key);
  if (made === undefined) {
    made = native.context(pairs);
    if (made !== 0 && contexts.size < CONTEXTS_MAX) contexts.set(key, made);
  }
  return made;
}

/** Calls a function, whose records have these names and values; also those after it waits. */
function withScope(pairs, call) {
  if (!isStarted) start();
  const all = [...pairsOf(pairs), ...(scopes.getStore()?.pairs ?? [])];
  return scopes.run({ pairs: all, number: contextOf(all) }, call);
}

/** The text of anything; one that throws says so. */
function textOf(value) {
  try {
    if (typeof value !== 'object' || value === null) return String(value);
    if (value instanceof Date) return value.toISOString();
    return JSON.stringify(value) ?? String(value);
  } catch (why) {
    return `[its text cannot be made: ${why instanceof Error ? why.message : 'it throws'}]`;
  }
}

/** Appends the data of an error: what it is, and where it came from. */
function addError(data, error) {
  data.push('exception.type', String(error.name), BY_VALUE);
  data.push('exception.message', String(error.message), BY_VALUE);
  if (typeof error.stack === 'string') data.push('exception.stacktrace', error.stack, BY_VALUE);
}

function addValue(data, name, value, depth) {
  switch (typeof value) {
    case 'string':
    case 'number':
    case 'boolean':
      data.push(name, value, BY_VALUE);
      return;
    case 'bigint':
      // What has more than 64 bits is a text.
      data.push(name, BigInt.asIntN(64, value) === value || BigInt.asUintN(64, value) === value
        ? value : String(value), BY_VALUE);
      return;
    case 'object':
      if (value instanceof Float) data.push(name, value.value, AS_FLOAT);
      else if (value instanceof Error) addError(data, value);
      else if (depth < DEPTH_MAX && value !== null && Object.getPrototypeOf(value) === Object.prototype) {
        addAll(data, value, `${name}.`, depth + 1);
      } else data.push(name, textOf(value), BY_VALUE);
      return;
    default:
      data.push(name, textOf(value), BY_VALUE);
  }
}

function addAll(data, values, prefix, depth) {
  for (const name of Object.keys(values)) addValue(data, prefix + name, values[name], depth);
}

const NO_DATA = Object.freeze([]);

/** The data of a record, for the call into C; what throws is data of the record. */
function dataOf(values, error) {
  if (values === undefined && error === undefined) return NO_DATA;
  const data = [];
  try {
    if (error !== undefined) addError(data, error);
    if (values instanceof Error) addError(data, values);
    else if (values !== undefined && values !== null) addAll(data, values, '', 0);
  } catch (why) {
    data.push('DataLeftOut', textOf(why), BY_VALUE);
  }
  return data;
}

/** A named logger. */
class Logger {
  /** Records have the names and values of `context`, too. */
  constructor(name, context = {}) {
    if (!isStarted) start();
    this.number = native.logger(String(name), pairsOf(context));
  }

  /** Sets the levels for the central store and for local outputs; all loggers of its name follow. */
  setLevels(central, local = central) {
    native.setLevels(this.number, central, local);
  }

  /** Whether records of a level are made. */
  isEnabled(level) {
    return level >= native.level(this.number);
  }

  /** Stores a record: `data` has names and values, or is an error. */
  log(level, message, data, error) {
    if (level < native.level(this.number)) return;
    const scope = scopes.getStore();
    native.log(this.number, level, typeof message === 'string' ? message : textOf(message),
      dataOf(data, error), scope === undefined ? 0 : scope.number);
  }
}

for (const [name, level] of Object.entries(Level)) {
  if (level === Level.OFF) continue;
  Logger.prototype[name.toLowerCase()] = function logAt(message, data, error) {
    this.log(level, message, data, error);
  };
}

/** Waits, also for the event loop, until all that was logged is as safe as a tier says; false after the time. */
const flush = (tier = Tier.CENTRAL, ms = 5000) => native.flush(tier, ms);

/** Says that the process ends in order. */
const end = () => native.end();

module.exports = { Level, Logger, Tier, end, float, flush, start, withScope };
