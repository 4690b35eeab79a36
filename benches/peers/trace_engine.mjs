// Reads traces that `umtop export --format perfetto` wrote with Chrome DevTools' own trace engine, and compares the bytes in the
// slices that it gives back with the totals that umtop reports of the same recordings. By hand, anywhere with Node 20:
//
//   npm install --ignore-scripts @paulirish/trace_engine@0.0.65
//   node benches/peers/trace_engine.mjs target/release/umtop assets/recordings/*.umr
//
// Ends with 1 if a sum differs. Module resolution starts here, so install in this folder or above it.

import {execFileSync} from 'node:child_process';

// The engine expects a browser's rectangle.
globalThis.DOMRect ??= class {
  constructor(x, y, width, height) { Object.assign(this, {x, y, width, height}); }
};
const {TraceModel} = await import('@paulirish/trace_engine/models/trace/trace.js');

const [umtop, ...recordings] = process.argv.slice(2);
const output = args => execFileSync(umtop, args, {maxBuffer: 2 ** 30, stdio: ['ignore', 'pipe', 'ignore']}).toString();
const name = proc => proc === 'cpu' ? 'cpu' : `gpu${proc.gpu}`;

/** Bytes by the name of the track, as the engine has them. */
async function read(recording) {
  const trace = JSON.parse(output(['export', recording, '--format', 'perfetto', '-o', '-']));
  const model = TraceModel.Model.createWithAllHandlers();
  await model.parse(trace.traceEvents);
  const sums = new Map();
  for (const {threads} of model.parsedTrace().data.Renderer.processes.values()) {
    for (const thread of threads.values()) {
      const bytes = thread.entries.reduce((sum, entry) => sum + (entry.args?.bytes ?? 0), 0);
      if (bytes > 0) sums.set(thread.name, bytes);
    }
  }
  return {sums, events: trace.traceEvents.length};
}

/** The same from umtop's totals. */
function reported(recording) {
  const {totals} = JSON.parse(output(['replay', recording, '--format', 'json']));
  const sums = [
    ['moved HtoD (counter page)', totals.bytes_htod],
    ['moved DtoH (counter page)', totals.bytes_dtoh],
    ...(totals.by_cause ?? []).map(m => [`copies ${name(m.src)} to ${name(m.dst)}, ${m.cause}`, m.bytes]),
  ];
  return new Map(sums.filter(([, bytes]) => bytes > 0));
}

let differ = false;
for (const recording of recordings) {
  const {sums, events} = await read(recording);
  const ours = reported(recording);
  const tracks = [...new Set([...sums.keys(), ...ours.keys()])];
  const wrong = tracks.filter(track => sums.get(track) !== ours.get(track));
  const way = track => sums.get(track) ?? 0;
  console.log(`${wrong.length ? 'DIFFERS' : 'equal'}  ${recording}: ${events} events, ${tracks.length} sums, ` +
    `HtoD ${way('moved HtoD (counter page)')}, DtoH ${way('moved DtoH (counter page)')} bytes`);
  for (const track of wrong) console.log(`  ${track}: engine ${sums.get(track)}, umtop ${ours.get(track)}`);
  differ ||= wrong.length > 0;
}
process.exit(differ ? 1 : 0);
