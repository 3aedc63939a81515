// Writes the conformance list through the Node client: README.md defines the list.  The folder of the client is
// $WHIT_LOG_NODE.
//
// Node has no fork: a child is this program, started again with a list of its lines alone.
'use strict';

const { spawnSync } = require('node:child_process');
const { mkdtempSync, readFileSync, rmSync, writeFileSync } = require('node:fs');
const { tmpdir } = require('node:os');
const { join } = require('node:path');
const { Worker, isMainThread, workerData } = require('node:worker_threads');

const whit = require(process.env.WHIT_LOG_NODE);

const loggers = [];
const scopes = [{}];

function text(field) {
  const star = field.indexOf('*');
  return Buffer.from(field.slice(star + 1), 'hex').toString().repeat(Number(field.slice(0, star)));
}

const pairs = (fields) => Object.fromEntries(fields.map((field) => field.split('=').map(text)));

function floatOf(bits) {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, BigInt(bits));
  return view.getFloat64(0);
}

function threeDigits(value) {
  if (Math.abs(value) >= 1e21) return `${BigInt(value)}.000`;
  return (Object.is(value, -0) ? '-' : '') + value.toFixed(3);
}

function writeRow(fields) {
  const log = loggers[Number(fields[3])];
  const [form, level, scope] = [fields[1], fields[2], fields[4]].map(Number);
  const [i, u, f] = [BigInt(fields[5]), BigInt(fields[6]), floatOf(fields[7])];
  const [b, t, s] = [fields[8] === '1', text(fields[9]), text(fields[10])];
  const write = (message, data) => {
    if (scope === 0) log.log(level, message, data);
    else whit.withScope(scopes[scope], () => log.log(level, message, data));
  };
  switch (form) {
    case 0: return write('constant text');
    case 1: return write('100% of {braces}');
    case 2: return write(`signed ${i}`);
    case 3: return write(`unsigned ${u}`);
    case 4: return write(`float ${threeDigits(f)}`);
    case 5: return write(`text ${t}`);
    case 6: return write(`mixed ${t} ${i} ${s} ${u}`);
    case 7: return write(`data ${i}`, { Signed: i, Unsigned: u, Float: whit.float(f), Is: b, Text: t });
    case 8: return write(`failed: ${t}`, { StackId: s, StackLevel: i, exception: { stacktrace: t } });
    case 9: return write(`many${` ${i}`.repeat(16)}`);
    default: return write(t);
  }
}

function define(lines) {
  for (const line of lines) {
    const fields = line.split(' ');
    if (fields[0] === 'logger') loggers.push(new whit.Logger(text(fields[1]), pairs(fields.slice(2))));
    if (fields[0] === 'scope') scopes.push(pairs(fields.slice(1)));
  }
}

function inThread(lines) {
  return new Promise((done, failed) => {
    const worker = new Worker(__filename, { workerData: lines });
    worker.on('error', failed);
    worker.on('exit', done);
  });
}

function inProcess(lines) {
  const folder = mkdtempSync(join(tmpdir(), 'list-'));
  const list = join(folder, 'list');
  writeFileSync(list, `${lines.join('\n')}\n`);
  const { status } = spawnSync(process.execPath, [__filename, list, '0'], { stdio: 'inherit' });
  rmSync(folder, { recursive: true });
  if (status !== 0) throw new Error(`the child ended with ${status}`);
}

async function main(path, first) {
  const lines = readFileSync(path, 'utf8').trimEnd().split('\n');
  const definitions = lines.filter((line) => /^(logger|scope) /.test(line));
  define(definitions);
  for (let at = first; at < lines.length; at += 1) {
    const fields = lines[at].split(' ');
    const count = ['thread', 'process'].includes(fields[0]) ? Number(fields[1]) : 0;
    const part = [...definitions, ...lines.slice(at + 1, at + 1 + count)];
    if (fields[0] === 'record') writeRow(fields);
    else if (fields[0] === 'thread') await inThread(part);
    else if (fields[0] === 'process') inProcess(part);
    else if (fields[0] === 'kill') {
      process.kill(process.pid, 'SIGKILL');
      for (;;);
    }
    at += count;
  }
  whit.end();
}

whit.start({ level: whit.Level.TRACE });
if (isMainThread) {
  main(process.argv[2], Number(process.argv[3]));
} else {
  define(workerData);
  workerData.filter((line) => line.startsWith('record ')).forEach((line) => writeRow(line.split(' ')));
}
