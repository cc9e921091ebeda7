// Reads and follows a living memory with the official JavaScript client, and tries what must not work.
// Arguments: the file that tells how to connect, and the folder of the client's packages.
// Writes one JSON object a line; waits for a save between "following" and "news".
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const [accessFile, packages] = process.argv.slice(2);
const require = createRequire(`${packages}/package.json`);
globalThis.WebSocket ??= require('ws');
const { Surreal, Table } = require('surrealdb');

const say = (fact) => process.stdout.write(`${JSON.stringify(fact)}\n`);
const attempt = async (name, work) => {
  try {
    say({ attempt: name, answer: await work() ?? null });
  } catch (error) {
    say({ attempt: name, refused: String(error.message) });
  }
};

const access = JSON.parse(readFileSync(accessFile));
const db = new Surreal();
await db.connect(access.rpc);
await attempt('guest', () => db.query('SELECT * FROM memory'));
await attempt('guest use', async () => {
  await db.use({ namespace: access.namespace, database: access.database });
  return db.query('SELECT * FROM memory');
});
await attempt('wrong password', () => db.signin({
  namespace: access.namespace, database: access.database, username: access.user, password: 'guess',
}));
await attempt('root', () => db.signin({ username: 'root', password: 'root' }));
await db.signin({
  namespace: access.namespace, database: access.database, username: access.user, password: access.password,
});
await db.use({ namespace: access.namespace, database: access.database });

say({ titles: (await db.query('SELECT VALUE title FROM memory ORDER BY title'))[0] });
say({ recent: (await db.query('RETURN fn::cerebro::recent($p, 5)', { p: 'demo' }))[0].length });
for (const text of readFileSync(0, 'utf8').split('\n').filter(Boolean)) {
  await attempt(text, () => db.query(text));
}
await attempt('method create', () => db.create(new Table('memory')).content({ title: 'by method' }));
await attempt('method delete', () => db.delete(new Table('memory')));
await attempt('import', () => db.import('CREATE memory:imported SET title = 1;'));
await attempt('export', () => db.export());

const live = await db.live(new Table('memory'));
const news = new Promise((resolve) => live.subscribe((message) => resolve(message)));
say({ following: true });
const message = await news;
say({ news: { action: message.action, title: message.value.title } });
await live.kill();
await db.close();
