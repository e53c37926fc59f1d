import {
  ADDRESSES_ANNOTATION,
  IMPLEMENTATION_LABEL,
  KUBE_VIP,
} from "#clouds/kubevip/load-balancers/holders.ts";
import type { Transport } from "#kube/client/transport.ts";
import { askForJson } from "#test/ask.ts";
import { createPlainMachines } from "#test/e2e/clouds/plain-machines.ts";
import type { StagedCloud } from "#test/e2e/clouds/staged-cloud.ts";

const POOLS = { metadata: { name: "kubevip" }, data: { "cidr-global": "10.210.0.0/24" } };

export async function stageKubeVip(): Promise<StagedCloud> {
  return {
    provider: "kubevip",
    config: {},
    environment: {},
    manifests: ["rbac/kubevip", "admission/kubevip"],
    async prepare(admin) {
      const path = "/api/v1/namespaces/kube-system/configmaps";
      await askForJson(admin, { method: "POST", path, body: POOLS });
    },
    add: createPlainMachines("kubevip"),
    requests: () => 0,
    loadBalancers: {
      async outline(admin) {
        const path = `/api/v1/namespaces/kube-system/configmaps/${POOLS.metadata.name}`;
        const { data } = (await askForJson(admin, { method: "GET", path })) as { readonly data: object };
        const addresses = (await announced(admin)).map(
          ({ metadata }) => metadata.annotations?.[ADDRESSES_ANNOTATION],
        );
        return [data, ...addresses].map((thing) => JSON.stringify(thing));
      },
      advance: announce,
    },
    close: async () => undefined,
  };
}

interface Announced {
  readonly metadata: {
    readonly namespace: string;
    readonly name: string;
    readonly deletionTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
}

/** Returns the Services that kube-vip must announce. */
async function announced(admin: Transport): Promise<readonly Announced[]> {
  const list = await askForJson(admin, { method: "GET", path: "/api/v1/services" });
  return (list as { readonly items: readonly Announced[] }).items.filter(
    ({ metadata }) =>
      metadata.labels?.[IMPLEMENTATION_LABEL] === KUBE_VIP &&
      metadata.annotations?.[ADDRESSES_ANNOTATION] !== undefined,
  );
}

/** Writes the status in place of kube-vip, which owns it. */
async function announce(admin: Transport): Promise<void> {
  for (const { metadata } of await announced(admin)) {
    const { namespace, name, deletionTimestamp, annotations } = metadata;
    if (deletionTimestamp !== undefined) continue;
    const ingress = annotations?.[ADDRESSES_ANNOTATION]?.split(",").map((ip) => ({ ip }));
    await askForJson(admin, {
      method: "PATCH",
      path: `/api/v1/namespaces/${namespace}/services/${name}/status`,
      body: { status: { loadBalancer: { ingress } } },
      contentType: "application/merge-patch+json",
    });
  }
}
