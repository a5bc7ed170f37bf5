'use strict';
// Judges objects: passes messages to the module for WebAssembly. The page starts a new worker if this one takes too long.

// A promise of the module, for which all messages wait in their order.
let started;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

const call = (instance, request, parts) => {
  const { memory, reserve, answer, answer_len: answerLen } = instance.exports;
  const line = encoder.encode(`${JSON.stringify(request)}\n`);
  const pieces = [line, ...parts.map(part => new Uint8Array(part))];
  const size = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const address = reserve(size) >>> 0;
  if (address === 0) throw new Error(`no memory for ${size} bytes`);
  // The memory may have grown, so the view is made anew.
  const message = new Uint8Array(memory.buffer, address, size);
  let offset = 0;
  for (const piece of pieces) {
    message.set(piece, offset);
    offset += piece.length;
  }
  const start = answer() >>> 0;
  return JSON.parse(decoder.decode(new Uint8Array(memory.buffer, start, answerLen() >>> 0)));
};

addEventListener('message', async ({ data: { id, module, request, parts } }) => {
  let answer;
  try {
    if (module) started = WebAssembly.instantiate(module, {});
    answer = call(await started, request, parts ?? []);
  } catch (error) {
    // The module is in an unknown state.
    answer = { crash: String(error) };
  }
  postMessage({ id, answer });
});
