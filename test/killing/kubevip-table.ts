import { kubeVipWorld } from "#test/clouds/kubevip/load-balancer-world.ts";
import { operationsOf } from "./operations.ts";
import { tableOf } from "./table.ts";

/** What is played on addresses of kube-vip. */
export const kubeVipTable = tableOf(async () => kubeVipWorld, operationsOf({ hasSettings: false }));
