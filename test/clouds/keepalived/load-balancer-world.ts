import { createKeepalivedCloud } from "#clouds/keepalived/cloud.ts";
import { KeepalivedCloudConfig } from "#clouds/keepalived/kind.ts";
import { type Entry, readLedger, STATE_ANNOTATION, writtenEntries } from "#clouds/keepalived/ledger.ts";
import { keepalivedModel } from "#clouds/keepalived/model.ts";
import type { ControlPlane } from "#emulators/harness/control-plane.ts";
import { clusterObjects } from "#functions/parts/cluster-objects.ts";
import { connect } from "#kube/client/connect.ts";
import { access } from "#test/access.ts";
import { askForJson } from "#test/ask.ts";
import { gated } from "#test/clouds/gated-transport.ts";
import type { Gate, LoadBalancerWorld } from "#test/clouds/load-balancer-world.ts";
import { outlineOf } from "#test/clouds/outline.ts";

const COLLECTION = "/api/v1/namespaces/kube-system/configmaps";
const PATH = `${COLLECTION}/vip-configmap`;

/** Of a Service that this stage never sees. */
const FOREIGN: Entry = {
  ...{ uid: "11111111-2222-3333-4444-555555555555", ip: "10.210.0.1" },
  ...{ serviceNamespace: "other", serviceName: "web", forwardMethod: "NAT" },
};

interface Stored {
  readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
  readonly data: Readonly<Record<string, string>>;
}

/** The ConfigMap of a cluster's addresses, one of which somebody else has; what passes its gate are requests for it. */
export async function keepalivedWorld(plane: ControlPlane): Promise<LoadBalancerWorld> {
  const admin = connect(await access(plane, "admin"));
  const functions = connect(await access(plane, "service"));
  let gate: Gate | undefined;
  const before: Stored = {
    metadata: { annotations: { "example.com/by": "hand", [STATE_ANNOTATION]: writtenEntries([FOREIGN]) } },
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
    manifests: ["rbac/keepalived", "admission/keepalived", "admission/addresses"],
    model: keepalivedModel,
    connect: ({ cloud }) =>
      createKeepalivedCloud(KeepalivedCloudConfig.parse(cloud), {
        objects: clusterObjects(async () => gated(functions, () => gate)),
      }),
    nodes: ["a", "b", "c", "d"].map((name) => ({ name, providerID: `keepalived://${name}` })),
    otherSettings: { annotations: { "k8s.co/keepalived-forward-method": "DR" } },
    refused: [
      {
        title: "an address that is none",
        code: "InvalidField",
        spec: { loadBalancerIP: "web" },
      },
      { title: "an address of IPv6", code: "InvalidField", spec: { loadBalancerIP: "fd00::1" } },
      { title: "an address of somebody else", code: "AddressInUse", spec: { loadBalancerIP: FOREIGN.ip } },
      {
        title: "an address outside of the pool, where that is refused",
        code: "AddressOutsidePool",
        spec: { loadBalancerIP: "192.0.2.1" },
        cloud: { outsidePool: "refuse" },
      },
      {
        title: "a pool that has none left",
        code: "PoolExhausted",
        cloud: { serviceCIDR: `${FOREIGN.ip}/32` },
      },
      {
        title: "a method that nobody knows",
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
      const ledger = readLedger({ ...stored, metadata: { resourceVersion: "1", ...stored.metadata } });
      if (typeof ledger === "string") throw new Error(ledger);
      const { [STATE_ANNOTATION]: _, ...annotations } = stored.metadata.annotations;
      const names = Object.fromEntries(services.map(({ name, uid }) => [uid, `<uid of ${name}>`]));
      const isOurs = ({ uid }: Entry): boolean => Object.hasOwn(names, uid);
      return outlineOf(
        [
          { kind: "ConfigMap", annotations, keys: Object.keys(ledger.data).length - ledger.entries.length },
          // Which address it is depends on who came first.
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
