import { readFile } from "node:fs/promises";
import { Cluster } from "#config/cluster.ts";
import { connect } from "#kube/client/connect.ts";
import { systemClock } from "#kube/follow/clock.ts";
import { createSweepTurns, sweepCluster } from "#sweep/sweep-cluster.ts";
import { buildReport } from "#test/relay/report-builders.ts";

// One process that sweeps a cluster, for tests that measure what it takes: its arguments are a server, its
// authority and a token's file.
const [server = "", authority = "", tokenFile = ""] = process.argv.slice(2);
const token = (await readFile(tokenFile, "utf8")).trim();
const transport = connect({
  server,
  certificateAuthority: await readFile(authority, "utf8"),
  authorization: async () => `Bearer ${token}`,
});
const controllers = ["cloud-node-controller", "csr-approver"];
const cluster = Cluster.parse({
  ...{ name: "one", server, controllers },
  cloud: { provider: "memory", instancesFile: "/none" },
});
let peakRss = 0;
const watching = setInterval(() => {
  peakRss = Math.max(peakRss, process.memoryUsage.rss());
}, 5);
const sweep = await sweepCluster(
  cluster,
  {
    api: async () => transport,
    invoker: { invoke: async (event) => ({ kind: "report", report: buildReport(event) }) },
    turns: createSweepTurns(systemClock),
    ...{ clock: systemClock, random: () => 0.5, identity: "test" },
  },
  { minute: 0, signal: new AbortController().signal },
);
clearInterval(watching);
process.stdout.write(
  `${JSON.stringify({ ...sweep, peakRss: Math.max(peakRss, process.memoryUsage.rss()) })}\n`,
);
await transport.close();
