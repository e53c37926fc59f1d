import { createKubeVipWorld } from "#test/clouds/kubevip/load-balancer-world.ts";
import { listOperations } from "./operations.ts";
import { createTable } from "./table.ts";

/** The operations on kube-vip addresses. */
export const kubeVipTable = createTable(
  async () => createKubeVipWorld,
  listOperations({ hasSettings: false }),
);
