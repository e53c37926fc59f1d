import { readFile, writeFile } from "node:fs/promises";
import * as z from "zod";
import { joinSteadily } from "#bench/hostile/join-steadily.ts";
import { JoiningPlan } from "#bench/hostile/joining-plan.ts";
import { keepNodes, registerNodes } from "#bench/idle/kubelets.ts";
import { connectAsAdmin, type Tenant, tenantOf } from "#bench/idle/tenant.ts";
import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import { recordNodeHistory } from "#emulators/harness/node-history.ts";

// Embedded API servers in a process of its own, whose nodes join all the time: `node tenants.ts PLANS TENANTS EVERY_MS`. PLANS is a file
// of joining plans; where they are is written to the file TENANTS. It says "ready" once all standing nodes are registered, and then of
// each node that joined a line of JSON on standard error.

const FOREVER = new AbortController().signal;
const HEARTBEAT_SECONDS = 300;
const [plansFile = "", tenantsFile = "", everyMs = "10000"] = process.argv.slice(2);
const plans = z.array(JoiningPlan).parse(JSON.parse(await readFile(plansFile, "utf8")));
const tenants: Tenant[] = [];
for (const { name, folder, nodes, machines } of plans) {
  const tenant = tenantOf(name, await startEmbeddedControlPlane({ folder }));
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
