import { readFile, writeFile } from "node:fs/promises";
import * as z from "zod";
import { keepNodes, registerNodes } from "#bench/idle/kubelets.ts";
import { connectAsAdmin, type Tenant, TenantPlan, toTenant } from "#bench/idle/tenant.ts";
import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";

// Runs embedded API servers and the kubelets of their nodes in their own process: `node tenants.ts PLANS
// TENANTS HEARTBEAT_SECONDS`. PLANS is a file of tenant plans; the program writes the clusters' locations to
// the file TENANTS. It prints "ready" once all nodes are registered.

const FOREVER = new AbortController().signal;
const [plansFile = "", tenantsFile = "", heartbeatSeconds = "300"] = process.argv.slice(2);
const plans = z.array(TenantPlan).parse(JSON.parse(await readFile(plansFile, "utf8")));
const tenants: Tenant[] = [];
for (const { name, folder, nodes } of plans) {
  const tenant = toTenant(name, await startEmbeddedControlPlane({ folder }));
  const admin = await connectAsAdmin(tenant);
  await registerNodes(admin, nodes);
  void keepNodes(admin, nodes, Number(heartbeatSeconds), FOREVER);
  tenants.push(tenant);
}
await writeFile(tenantsFile, JSON.stringify(tenants));
process.stdout.write("ready\n");
