// The discovery engine of the second design, driven by second_engine.py: one JSON value a line.
//
// In:  {"capabilities": [...]} once, then for each request {"query": text, "config": {...}}.
// Out: {"texts": [...]} wherever the engine asks for vectors, answered by {"vectors": [[...]]};
//      {"ready": count} once, then for each request what the engine found and its prompt.
//
// node second_engine.mjs FOLDER, where FOLDER holds node_modules with the package.

import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

// The package reports to stdout, which is the channel here.
console.log = console.info = console.debug = () => {};

const { resolve: find } = createRequire(join(resolve(process.argv[2]), 'any.js'));
const load = (name) => import(pathToFileURL(find(`@framers/agentos/${name}`)).href);
const { CapabilityDiscoveryEngine } = await load('discovery');
const { InMemoryVectorStore } = await load('rag/vector_stores/InMemoryVectorStore');

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const receive = async () => {
  const { value, done } = await lines.next();
  return done ? null : JSON.parse(value);
};
const send = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);

const embeddings = {
  async generateEmbeddings({ texts }) {
    send({ texts: [texts].flat() });
    return { embeddings: (await receive()).vectors };
  },
};
const store = new InMemoryVectorStore();
await store.initialize({ id: 'bench', type: 'in_memory' });
const engine = new CapabilityDiscoveryEngine(embeddings, store);
await engine.initialize({ manifests: (await receive()).capabilities });
send({ ready: engine.listCapabilityIds().length });

for (let request = await receive(); request; request = await receive()) {
  const found = await engine.discover(request.query, { config: request.config });
  send({
    summaries: found.tier1.map((item) => item.capability.id),
    details: found.tier2.map((item) => item.capability.id),
    overview: found.tier0,
    text: engine.renderForPrompt(found),
  });
}
