import { describe, expect, test } from "vitest";
import { SHUTDOWN_TAINT } from "#core/contracts.ts";
import { listNodeWriters } from "#core/node-writers.ts";
import { type ClusterTraces, findSecondCcms, isCcm, MAX_SECOND_CCMS, WINDOW_MS } from "#core/second-ccm.ts";

const NOW = new Date("2026-03-01T12:00:00Z");
const STOCK = "aws-cloud-controller-manager";

const ago = (seconds: number): string => new Date(NOW.getTime() - seconds * 1_000).toISOString();

interface Entry {
  readonly manager?: unknown;
  readonly time?: unknown;
  readonly subresource?: string;
  readonly fieldsV1?: unknown;
}

const node = (managedFields: readonly Entry[], taints?: readonly unknown[]): unknown => ({
  metadata: { name: "a", managedFields },
  spec: { ...(taints === undefined ? {} : { taints }) },
});
const wrote = (manager: string, fieldsV1: unknown, seconds = 60): Entry => ({
  manager,
  time: ago(seconds),
  fieldsV1,
});
const ADDRESSES = { "f:status": { "f:addresses": {} } };
const PROVIDER_ID = { "f:spec": { "f:providerID": {} } };
const TAINTS = { "f:spec": { "f:taints": {} } };
const LABELS = { "f:metadata": { "f:labels": { "f:topology.kubernetes.io/zone": {} } } };
const TAG_MARK = { "f:metadata": { "f:labels": { "f:k8s.io/cloud-provider-aws": {} } } };
const ROUTES = { "f:status": { "f:conditions": { 'k:{"type":"NetworkUnavailable"}': { "f:status": {} } } } };

const event = (component: string, difference: Record<string, unknown> = {}): unknown => ({
  metadata: { name: "a.1", managedFields: [{ manager: STOCK }] },
  source: { component },
  lastTimestamp: ago(60),
  ...difference,
});
const lease = (difference: Record<string, unknown> = {}): unknown => ({
  metadata: { name: "cloud-controller-manager", managedFields: [{ manager: "kubectl" }, { manager: STOCK }] },
  spec: { holderIdentity: "host_1", renewTime: ago(2) },
  ...difference,
});

describe("the writers of a node", () => {
  test.each([
    ["addresses", node([wrote(STOCK, ADDRESSES)]), ["cloud-node-controller"]],
    ["a provider ID", node([wrote(STOCK, PROVIDER_ID)]), ["cloud-node-controller"]],
    ["labels of the cloud", node([wrote(STOCK, LABELS)]), ["cloud-node-controller"]],
    [
      "the shutdown taint",
      node([wrote(STOCK, TAINTS)], [SHUTDOWN_TAINT]),
      ["cloud-node-lifecycle-controller"],
    ],
    ["other taints", node([wrote(STOCK, TAINTS)], [{ key: "a", effect: "NoSchedule" }]), []],
    [
      "the key of the shutdown taint with another effect",
      node([wrote(STOCK, TAINTS)], [{ key: SHUTDOWN_TAINT.key, effect: "NoExecute" }]),
      [],
    ],
    ["taints of a node that has none now", node([wrote(STOCK, TAINTS)]), []],
    ["the condition of routes", node([wrote(STOCK, ROUTES)]), ["node-route-controller"]],
    ["the mark of tags", node([wrote(STOCK, TAG_MARK)]), ["tagging"]],
    [
      "addresses and the condition of routes",
      node([wrote(STOCK, { "f:status": { ...ADDRESSES["f:status"], ...ROUTES["f:status"] } })]),
      ["cloud-node-controller", "node-route-controller"],
    ],
    ["a label of its own", node([wrote("x", { "f:metadata": { "f:labels": { "f:mine": {} } } })]), []],
    ["no time", node([{ manager: STOCK, fieldsV1: ADDRESSES }]), []],
    ["an invalid time", node([{ manager: STOCK, time: "then", fieldsV1: ADDRESSES }]), []],
    ["no manager", node([{ time: ago(1), fieldsV1: ADDRESSES }]), []],
    ["no fields", node([{ manager: STOCK, time: ago(1) }]), []],
    ["a node without managedFields", { metadata: {}, spec: {} }, []],
    ["no node", null, []],
  ])("%s", (_, given, expected) => {
    expect(listNodeWriters(given).map(({ controller }) => controller)).toEqual(expected);
  });

  test("have a manager and a time", () => {
    expect(listNodeWriters(node([wrote("kubelet", ADDRESSES, 30)]))).toEqual([
      { manager: "kubelet", controller: "cloud-node-controller", at: ago(30) },
    ]);
  });
});

test.each([
  ["cloud-controller-manager", true],
  [STOCK, true],
  ["cloud-node-manager", true],
  ["serverless-ccm", false],
  ["kube-controller-manager", false],
  ["notacloud-controller-manager", false],
  ["kubelet", false],
])("%s is a cloud-controller-manager: %s", (manager, expected) => {
  expect(isCcm(manager)).toBe(expected);
});

const NOTHING: ClusterTraces = { nodes: [], events: [] };

describe("a second cloud-controller-manager", () => {
  const rows: readonly (readonly [string, Partial<ClusterTraces>, readonly string[]])[] = [
    ["is not where nothing is", {}, []],
    ["wrote nodes", { nodes: [node([wrote(STOCK, ADDRESSES)])] }, [`${STOCK} live: cloud-node-controller`]],
    [
      "wrote nodes long ago",
      { nodes: [node([wrote(STOCK, ADDRESSES, 3_600)])] },
      [`${STOCK} quiet: (cloud-node-controller)`],
    ],
    ["is not ours", { nodes: [node([wrote("serverless-ccm", ADDRESSES)])] }, []],
    ["is no kubelet", { nodes: [node([wrote("kubelet", ADDRESSES)])] }, []],
    ["sent an Event", { events: [event("cloud-node-controller")] }, [`${STOCK} live: cloud-node-controller`]],
    [
      "sent Events of all its controllers",
      {
        events: [
          event("service-controller"),
          event("route_controller"),
          event("cloud-node-lifecycle-controller"),
          event("cloud-controller-manager"),
        ],
      },
      [`${STOCK} live: cloud-node-lifecycle-controller node-route-controller service-lb-controller`],
    ],
    ["elected its leader", { events: [event("cloud-controller-manager")] }, [`${STOCK} live: `]],
    [
      "sent an Event long ago",
      { events: [event("cloud-node-controller", { lastTimestamp: ago(WINDOW_MS / 1_000 + 1) })] },
      [`${STOCK} quiet: (cloud-node-controller)`],
    ],
    ["sent an Event of something else", { events: [event("kubelet")] }, []],
    [
      "sent an Event in the new form",
      {
        events: [
          event("", {
            source: {},
            reportingComponent: "service-controller",
            lastTimestamp: null,
            eventTime: ago(5),
          }),
        ],
      },
      [`${STOCK} live: service-lb-controller`],
    ],
    [
      "sent an Event without a time",
      { events: [event("cloud-node-controller", { lastTimestamp: null })] },
      [],
    ],
    [
      "sent an Event that does not say who",
      { events: [event("cloud-node-controller", { metadata: {} })] },
      ["unknown live: cloud-node-controller"],
    ],
    [
      "is not the sender of our Events, by its field manager",
      {
        events: [
          event("cloud-node-controller", { metadata: { managedFields: [{ manager: "serverless-ccm" }] } }),
        ],
      },
      [],
    ],
    [
      "is not the sender of our Events, by the function's name",
      {
        events: [event("cloud-node-controller", { metadata: {}, reportingInstance: "serverless-ccm-node" })],
      },
      [],
    ],
    [
      "is known by its Events where its name says nothing",
      {
        nodes: [node([wrote("k3s", PROVIDER_ID), wrote("kubelet", ADDRESSES)])],
        events: [
          event("cloud-node-lifecycle-controller", { metadata: { managedFields: [{ manager: "k3s" }] } }),
        ],
      },
      ["k3s live: cloud-node-controller cloud-node-lifecycle-controller"],
    ],
    [
      "is not every manager without a name where an Event does not say who",
      {
        nodes: [node([wrote("unknown", ADDRESSES)])],
        events: [event("service-controller", { metadata: {} })],
      },
      ["unknown live: service-lb-controller"],
    ],
    ["holds the Lease", { leases: [lease()] }, [`${STOCK} live: `]],
    ["let the Lease go", { leases: [lease({ spec: { holderIdentity: "", renewTime: ago(2) } })] }, []],
    ["holds another Lease", { leases: [lease({ metadata: { name: "other" } })] }, []],
    ["holds a Lease without a time", { leases: [lease({ spec: { holderIdentity: "host_1" } })] }, []],
    [
      "holds the Lease under another name",
      { leases: [lease({ metadata: { name: "cloud-controller-manager" } })] },
      ["unknown live: "],
    ],
    [
      "is live by its Lease, where all that it wrote is old",
      { nodes: [node([wrote(STOCK, ADDRESSES, 3_600)])], leases: [lease()] },
      [`${STOCK} live: (cloud-node-controller)`],
    ],
    [
      "is one of two, the last seen first",
      { nodes: [node([wrote(STOCK, ADDRESSES, 300), wrote("cloud-controller-manager", LABELS, 10)])] },
      ["cloud-controller-manager live: cloud-node-controller", `${STOCK} live: cloud-node-controller`],
    ],
    [
      "has a name that moves no cursor",
      { nodes: [node([wrote("\u001b[2J-cloud-controller-manager", ADDRESSES)])] },
      ["\\u{001B}[2J-cloud-controller-manager live: cloud-node-controller"],
    ],
  ];
  test.each(rows)("%s", (_, traces, expected) => {
    const found = findSecondCcms({ ...NOTHING, ...traces }, NOW).map(
      ({ manager, isLive, controllers }) =>
        `${manager} ${isLive ? "live" : "quiet"}: ${controllers
          .map(({ name, isRecent }) => (isRecent ? name : `(${name})`))
          .join(" ")}`,
    );
    expect(found).toEqual(expected);
  });

  test("was last observed at its newest trace, and so were its controllers", () => {
    const nodes = [60, 20, 40].map((seconds) => node([wrote(STOCK, ADDRESSES, seconds)]));
    const [found] = findSecondCcms({ nodes, events: [event("cloud-node-controller")] }, NOW);
    expect(found?.lastSeen).toBe(ago(20));
    expect(found?.controllers).toEqual([
      { name: "cloud-node-controller", lastSeen: ago(20), by: "node", isRecent: true },
    ]);
  });

  test("is one of a limited number, however many names a tenant invents", () => {
    const nodes = Array.from({ length: MAX_SECOND_CCMS * 3 }, (_, index) =>
      node([wrote(`x${index}-cloud-controller-manager`, ADDRESSES)]),
    );
    expect(findSecondCcms({ nodes, events: [] }, NOW)).toHaveLength(MAX_SECOND_CCMS);
  });
});
