import {
  type Entry,
  formatEntries,
  STATE_ANNOTATION,
} from "#clouds/keepalived/load-balancers/vip-assignments.ts";
import { askForJson } from "#test/ask.ts";
import { createPlainMachines } from "#test/e2e/clouds/plain-machines.ts";
import type { StagedCloud } from "#test/e2e/clouds/staged-cloud.ts";

const COLLECTION = "/api/v1/namespaces/kube-system/configmaps";
const NAME = "vip-configmap";

/** The entry of a foreign Service. */
const FOREIGN: Entry = {
  ...{ uid: "11111111-2222-3333-4444-555555555555", ip: "10.210.0.1" },
  ...{ serviceNamespace: "other", serviceName: "web", forwardMethod: "NAT" },
};

export async function stageKeepalived(): Promise<StagedCloud> {
  return {
    provider: "keepalived",
    config: { configMap: NAME, serviceCIDR: "10.210.0.0/24" },
    environment: {},
    manifests: ["rbac/keepalived", "admission/keepalived"],
    async prepare(admin) {
      const annotations = { [STATE_ANNOTATION]: formatEntries([FOREIGN]) };
      const body = { metadata: { name: NAME, annotations }, data: { [FOREIGN.ip]: "other/web:NAT" } };
      await askForJson(admin, { method: "POST", path: COLLECTION, body });
    },
    add: createPlainMachines("keepalived"),
    requests: () => 0,
    loadBalancers: {
      async outline(admin) {
        const stored = await askForJson(admin, { method: "GET", path: `${COLLECTION}/${NAME}` });
        const { metadata, data } = stored as {
          readonly metadata: { readonly annotations: object };
          readonly data: object;
        };
        return [metadata.annotations, data].flatMap((all) =>
          Object.entries(all).map((entry) => JSON.stringify(entry)),
        );
      },
      // keepalived itself does not run.
      advance: async () => undefined,
    },
    close: async () => undefined,
  };
}
