// probe.js ioredis|redis PORT default|once WORD...: one command by a cluster client.
const [library, port, mode, ...words] = process.argv.slice(2);
const key = words[1];

async function send() {
  if (library === "ioredis") {
    const { Cluster } = require("ioredis");
    const cluster = new Cluster([{ host: "127.0.0.1", port: Number(port) }], {
      redisOptions: { commandTimeout: 300, autoResendUnfulfilledCommands: mode !== "once" },
    });
    return cluster.call(...words);
  }
  const { createCluster } = require("redis");
  const cluster = createCluster({ rootNodes: [{ url: `redis://127.0.0.1:${port}` }] });
  cluster.on("error", () => {});
  await cluster.connect();
  const late = new Promise((_, no) =>
    setTimeout(() => no(new Error("late, by our own timer")), 300));
  const reply = cluster.sendCommand(key, false, words);
  reply.catch(() => {});
  return words.includes("BLOCK") ? Promise.race([reply, late]) : reply;
}

send()
  .then((reply) => console.log("reply", reply), (error) => console.log("error", error.message))
  .then(() => setTimeout(() => process.exit(0), 1000 * Number(process.env.STAY ?? 0)));
