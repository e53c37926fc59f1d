import { createKeepalivedCloud } from "#clouds/keepalived/cloud.ts";
import { KeepalivedCloudConfig } from "#clouds/keepalived/config.ts";
import { keepalivedModel } from "#clouds/keepalived/load-balancers/model.ts";
import {
  type Entry,
  formatEntries,
  readVipAssignments,
  STATE_ANNOTATION,
} from "#clouds/keepalived/load-balancers/vip-assignments.ts";
import type { ControlPlane } from "#emulators/harness/control-plane.ts";
import { createClusterObjects } from "#functions/parts/cluster-objects.ts";
import { connect } from "#kube/client/connect.ts";
import { getConnectOptions } from "#test/access.ts";
import { askForJson } from "#test/ask.ts";
import { createGatedTransport } from "#test/clouds/gated-transport.ts";
import type { Gate, LoadBalancerWorld } from "#test/clouds/load-balancer-world.ts";
import { formatOutline } from "#test/clouds/outline.ts";

const COLLECTION = "/api/v1/namespaces/kube-system/configmaps";
const PATH = `${COLLECTION}/vip-configmap`;

/** An entry of a Service that this stage never sees. */
const FOREIGN: Entry = {
  ...{ uid: "11111111-2222-3333-4444-555555555555", ip: "10.210.0.1" },
  ...{ serviceNamespace: "other", serviceName: "web", forwardMethod: "NAT" },
};

interface Stored {
  readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
  readonly data: Readonly<Record<string, string>>;
}

/**
 * Creates the ConfigMap of a cluster's addresses, one of which another Service has. Requests for it pass the
 * gate.
 */
export async function createKeepalivedWorld(plane: ControlPlane): Promise<LoadBalancerWorld> {
  const admin = connect(await getConnectOptions(plane, "admin"));
  const functions = connect(await getConnectOptions(plane, "service"));
  let gate: Gate | undefined;
  const before: Stored = {
    metadata: { annotations: { "example.com/by": "hand", [STATE_ANNOTATION]: formatEntries([FOREIGN]) } },
    data: { [FOREIGN.ip]: "other/web:NAT" },
  };
  const body = { metadata: { name: "vip-configmap", ...before.metadata }, data: before.data };
  await askForJson(admin, { method: "POST", path: COLLECTION, body });
  const read = async (): Promise<Stored> =>
    (await askForJson(admin, { method: "GET", path: PATH })) as Stored;
  const write = async ({ metadata: { annotations }, data }: Stored): Promise<void> => {
    const operations = [
      { op: "add", path: "/metadata/annotations", value: annotations },
      { op: "add", path: "/data", value: data },
    ];
    await askForJson(admin, {
      ...{ method: "PATCH", path: PATH, body: operations, contentType: "application/json-patch+json" },
    });
  };
  return {
    cloud: { provider: "keepalived", configMap: "vip-configmap", serviceCIDR: "10.210.0.0/24" },
    manifests: ["rbac/keepalived", "admission/keepalived"],
    model: keepalivedModel,
    connect: ({ cloud }) =>
      createKeepalivedCloud(KeepalivedCloudConfig.parse(cloud), {
        objects: createClusterObjects(async () => createGatedTransport(functions, () => gate)),
      }),
    nodes: ["a", "b", "c", "d"].map((name) => ({ name, providerID: `keepalived://${name}` })),
    otherSettings: { annotations: { "k8s.co/keepalived-forward-method": "DR" } },
    refused: [
      {
        title: "an invalid address",
        code: "InvalidField",
        spec: { loadBalancerIP: "web" },
      },
      { title: "an address of IPv6", code: "InvalidField", spec: { loadBalancerIP: "fd00::1" } },
      { title: "a foreign address", code: "AddressInUse", spec: { loadBalancerIP: FOREIGN.ip } },
      {
        title: "an address outside of the pool, if that is rejected",
        code: "AddressOutsidePool",
        spec: { loadBalancerIP: "192.0.2.1" },
        cloud: { outsidePool: "refuse" },
      },
      {
        title: "an exhausted pool",
        code: "PoolExhausted",
        cloud: { serviceCIDR: `${FOREIGN.ip}/32` },
      },
      {
        title: "an unknown method",
        code: "InvalidAnnotation",
        annotations: { "k8s.co/keepalived-forward-method": "TUN" },
      },
    ],
    requestsFor: () => 1,
    setGate: (next) => {
      gate = next;
    },
    advance: async () => undefined,
    async outline(services) {
      const stored = await read();
      const ledger = readVipAssignments({
        ...stored,
        metadata: { resourceVersion: "1", ...stored.metadata },
      });
      if (typeof ledger === "string") throw new Error(ledger);
      const { [STATE_ANNOTATION]: _, ...annotations } = stored.metadata.annotations;
      const names = Object.fromEntries(services.map(({ name, uid }) => [uid, `<uid of ${name}>`]));
      const isOurs = ({ uid }: Entry): boolean => Object.hasOwn(names, uid);
      return formatOutline(
        [
          { kind: "ConfigMap", annotations, keys: Object.keys(ledger.data).length - ledger.entries.length },
          // The address depends on who came first.
          ...ledger.entries.map((entry) => ({
            ...{ kind: "entry", ...entry, ip: isOurs(entry) ? "<address>" : entry.ip },
            shown: ledger.data[entry.ip],
            others: ledger.entries.filter(({ ip }) => ip === entry.ip).length - 1,
          })),
        ],
        names,
      );
    },
    async point() {
      const then = await read();
      return { back: () => write(then) };
    },
    async close() {
      await Promise.all([admin.close(), functions.close()]);
    },
  };
}
