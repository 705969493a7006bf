#!/usr/bin/env bash
# ioredis writes a command once more when its connection breaks before the reply. autoResendUnfulfilledCommands: false is
# the option that stops this, for commands that must not be done twice.
# Guess: such a command then fails when its connection is lost, as with other clients.
# Seen with ioredis 6.0.0 on Redis 7.0.15: it is done once, and its promise is never fulfilled nor rejected, though the client
# connects again and goes on. maxRetriesPerRequest: 0 stops the repeat and rejects at once; commandTimeout ends the wait.
. "$(dirname "$0")/common.sh"
start redis-7.0
cd "$folder"
npm init -y >/dev/null
npm install --silent --no-audit --no-fund ioredis@6.0.0 >/dev/null
cat >probe.js <<'JS'
const net = require('net'), Redis = require('ioredis');
const [port, options] = [Number(process.argv[2]), JSON.parse(process.argv[3])];
let isArmed = false;
// Between client and server: hands a command on, and hangs up instead of handing the reply back, once.
const proxy = net.createServer((client) => {
  const server = net.connect(port, '127.0.0.1');
  for (const [from, to] of [[client, server], [server, client]]) from.on('error', () => {}).on('close', () => to.destroy());
  client.on('data', (bytes) => {
    if (isArmed && bytes.includes('counter')) {
      isArmed = false;
      server.removeAllListeners('data').on('data', () => client.destroy());
    }
    server.write(bytes);
  });
  server.on('data', (bytes) => client.write(bytes));
});
proxy.listen(0, '127.0.0.1', async () => {
  const redis = new Redis({ host: '127.0.0.1', port: proxy.address().port, ...options });
  redis.on('error', () => {});
  await new Promise((done) => redis.once('ready', done));
  await redis.del('counter');
  isArmed = true;
  const answer = redis.incr('counter').then((reply) => `replied ${reply}`, () => 'an error');
  const told = await Promise.race([answer, new Promise((late) => setTimeout(() => late('nothing in 5 s'), 5000))]);
  console.log(`${told}, done ${await redis.get('counter')} times`);
  process.exit(0);
});
JS
seen "as it comes" "replied 2, done 2 times" "$(node probe.js "$port" '{}')"
seen "without repeats" "nothing in 5 s, done 1 times" "$(node probe.js "$port" '{"autoResendUnfulfilledCommands":false}')"
seen "with a time-out, too" "an error, done 1 times" \
    "$(node probe.js "$port" '{"autoResendUnfulfilledCommands":false,"commandTimeout":1000}')"
seen "maxRetriesPerRequest: 0" "an error, done 1 times" "$(node probe.js "$port" '{"maxRetriesPerRequest":0}')"
verdict
