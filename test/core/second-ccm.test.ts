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

describe("the controllers that wrote a node, by the fields of", () => {
  test.each([
    ["addresses", node([wrote(STOCK, ADDRESSES)]), ["cloud-node-controller"]],
    ["a provider ID", node([wrote(STOCK, PROVIDER_ID)]), ["cloud-node-controller"]],
    ["labels that the cloud sets", node([wrote(STOCK, LABELS)]), ["cloud-node-controller"]],
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
    ["taints, on a node that has none now", node([wrote(STOCK, TAINTS)]), []],
    ["the condition NetworkUnavailable", node([wrote(STOCK, ROUTES)]), ["node-route-controller"]],
    ["the label of the tagging controller", node([wrote(STOCK, TAG_MARK)]), ["tagging"]],
    [
      "addresses and the condition NetworkUnavailable",
      node([wrote(STOCK, { "f:status": { ...ADDRESSES["f:status"], ...ROUTES["f:status"] } })]),
      ["cloud-node-controller", "node-route-controller"],
    ],
    [
      "a label that the cloud does not set",
      node([wrote("x", { "f:metadata": { "f:labels": { "f:mine": {} } } })]),
      [],
    ],
    ["an entry without a time", node([{ manager: STOCK, fieldsV1: ADDRESSES }]), []],
    ["an entry with an invalid time", node([{ manager: STOCK, time: "then", fieldsV1: ADDRESSES }]), []],
    ["an entry without a manager", node([{ time: ago(1), fieldsV1: ADDRESSES }]), []],
    ["an entry without fields", node([{ manager: STOCK, time: ago(1) }]), []],
    ["a node without managedFields", { metadata: {}, spec: {} }, []],
    ["null", null, []],
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
    ["is not found without traces", {}, []],
    [
      "is live if it wrote nodes",
      { nodes: [node([wrote(STOCK, ADDRESSES)])] },
      [`${STOCK} live: cloud-node-controller`],
    ],
    [
      "is quiet if it wrote nodes long ago",
      { nodes: [node([wrote(STOCK, ADDRESSES, 3_600)])] },
      [`${STOCK} quiet: (cloud-node-controller)`],
    ],
    ["is not serverless-ccm itself", { nodes: [node([wrote("serverless-ccm", ADDRESSES)])] }, []],
    ["is not a kubelet", { nodes: [node([wrote("kubelet", ADDRESSES)])] }, []],
    [
      "is live if it sent an Event",
      { events: [event("cloud-node-controller")] },
      [`${STOCK} live: cloud-node-controller`],
    ],
    [
      "runs the controllers whose Events it sent",
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
    [
      "is live if it sent an Event about leader election",
      { events: [event("cloud-controller-manager")] },
      [`${STOCK} live: `],
    ],
    [
      "is quiet if it sent an Event long ago",
      { events: [event("cloud-node-controller", { lastTimestamp: ago(WINDOW_MS / 1_000 + 1) })] },
      [`${STOCK} quiet: (cloud-node-controller)`],
    ],
    ["is not the sender of another component's Event", { events: [event("kubelet")] }, []],
    [
      "is live if it sent an Event with eventTime",
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
      "is not found by an Event without a time",
      { events: [event("cloud-node-controller", { lastTimestamp: null })] },
      [],
    ],
    [
      "is unknown if its Event has no field manager",
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
      "is known by its Events if its field manager's name is not known",
      {
        nodes: [node([wrote("k3s", PROVIDER_ID), wrote("kubelet", ADDRESSES)])],
        events: [
          event("cloud-node-lifecycle-controller", { metadata: { managedFields: [{ manager: "k3s" }] } }),
        ],
      },
      ["k3s live: cloud-node-controller cloud-node-lifecycle-controller"],
    ],
    [
      "is unknown if neither its Event nor its field manager has a name",
      {
        nodes: [node([wrote("unknown", ADDRESSES)])],
        events: [event("service-controller", { metadata: {} })],
      },
      ["unknown live: service-lb-controller"],
    ],
    ["is live if it holds the Lease", { leases: [lease()] }, [`${STOCK} live: `]],
    [
      "is not found if it has released the Lease",
      { leases: [lease({ spec: { holderIdentity: "", renewTime: ago(2) } })] },
      [],
    ],
    ["is not the holder of another Lease", { leases: [lease({ metadata: { name: "other" } })] }, []],
    [
      "is not found by a Lease without a time",
      { leases: [lease({ spec: { holderIdentity: "host_1" } })] },
      [],
    ],
    [
      "is unknown if the Lease has no field manager",
      { leases: [lease({ metadata: { name: "cloud-controller-manager" } })] },
      ["unknown live: "],
    ],
    [
      "is live by its Lease, even if all its writes are old",
      { nodes: [node([wrote(STOCK, ADDRESSES, 3_600)])], leases: [lease()] },
      [`${STOCK} live: (cloud-node-controller)`],
    ],
    [
      "is one of two, the most recent one first",
      { nodes: [node([wrote(STOCK, ADDRESSES, 300), wrote("cloud-controller-manager", LABELS, 10)])] },
      ["cloud-controller-manager live: cloud-node-controller", `${STOCK} live: cloud-node-controller`],
    ],
    [
      "has a name without terminal control characters",
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
