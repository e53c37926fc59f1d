import { readFile, writeFile } from "node:fs/promises";
import * as z from "zod";
import { joinSteadily } from "#bench/hostile/join-steadily.ts";
import { JoiningPlan } from "#bench/hostile/joining-plan.ts";
import { keepNodes, registerNodes } from "#bench/idle/kubelets.ts";
import { connectAsAdmin, type Tenant, toTenant } from "#bench/idle/tenant.ts";
import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { recordNodeHistory } from "#emulators/harness/node-history.ts";

// Runs embedded API servers in their own process, whose nodes join all the time: `node tenants.ts PLANS
// TENANTS EVERY_MS`. PLANS is a file of joining plans; the program writes the clusters' locations to the file
// TENANTS. It prints "ready" once all existing nodes are registered, and then a line of JSON on standard
// error for each node that joined.

const FOREVER = new AbortController().signal;
const HEARTBEAT_SECONDS = 300;
const [plansFile = "", tenantsFile = "", everyMs = "10000"] = process.argv.slice(2);
const plans = z.array(JoiningPlan).parse(JSON.parse(await readFile(plansFile, "utf8")));
const tenants: Tenant[] = [];
for (const { name, folder, nodes, machines } of plans) {
  const tenant = toTenant(name, await startEmbeddedControlPlane({ folder }));
  const admin = await connectAsAdmin(tenant);
  await registerNodes(admin, nodes);
  void keepNodes(admin, nodes, HEARTBEAT_SECONDS, FOREVER);
  void joinSteadily({
    admin,
    history: await recordNodeHistory(admin),
    machines,
    everyMs: Number(everyMs),
    signal: FOREVER,
    onJoined: (node) => void process.stderr.write(`${JSON.stringify(node)}\n`),
  });
  tenants.push(tenant);
}
await writeFile(tenantsFile, JSON.stringify(tenants));
process.stdout.write("ready\n");
