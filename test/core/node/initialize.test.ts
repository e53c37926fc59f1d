import { describe, expect, test } from "vitest";
import { renderEvent } from "#core/cluster-events.ts";
import type { Decision } from "#core/decision.ts";
import { type Instance, type InstanceAnswer, InstanceErrorCode } from "#core/instance.ts";
import { decideNode } from "#core/node/decide.ts";
import type { Node, NodeAddress } from "#core/node/node.ts";
import { removeUninitialized } from "#core/node/taints.ts";
import { getManagerFact } from "#core/tenant-fact.ts";
import {
  buildExternalAddress,
  buildFoundAnswer,
  buildHostname,
  buildInitializedNode,
  buildInternalAddress,
  buildNode,
  getCreationTime,
  IDENTITY,
  NOW,
  TAINT,
} from "#test/core/node/builders.ts";
import { carryOut, listFailedTests, listPatches } from "#test/core/node/carry-out.ts";

const PROVIDED = "alpha.kubernetes.io/provided-node-ip";
const OTHERS = {
  key: "example.com/gpu",
  value: "a100",
  effect: "NoSchedule",
  timeAdded: "2026-03-01T11:59:59Z",
};
const DUAL_STACK = [
  buildInternalAddress("10.0.1.17"),
  buildExternalAddress("203.0.113.7"),
  buildInternalAddress("2001:db8::17"),
];

describe("a node that has just registered", () => {
  test("gets addresses, provider ID, labels and instance, and loses the taint", () => {
    const { metadata, spec, status } = initialize(buildNode(), buildFoundAnswer());
    expect({ metadata, spec, status }).toEqual({
      metadata: { ...buildNode().metadata, ...buildInitializedNode().metadata },
      spec: { taints: [], providerID: "aws:///eu-central-1a/i-0a1b2c3d4e5f60718" },
      status: { addresses: [buildInternalAddress("10.0.1.17")] },
    });
  });

  test("is written twice: first its addresses, then the rest with the taint", () => {
    const subject = buildNode({
      metadata: { labels: { "topology.kubernetes.io/region": "eu-central-1" } },
      spec: { taints: [TAINT, OTHERS, { ...TAINT, effect: "NoExecute" }] },
      status: { addresses: [buildHostname("node-a")] },
    });
    const { uid } = subject.metadata;
    const labels = { "topology.k8s.aws/zone-id": "euc1-az2" };
    expect(change(subject, buildFoundAnswer({ labels })).writes).toEqual([
      {
        on: "cluster",
        apiVersion: "v1",
        resource: "nodes",
        subresource: "status",
        verb: "patch",
        name: "node-a",
        precondition: [
          { op: "test", path: "/metadata/uid", value: uid },
          { op: "test", path: "/status/addresses", value: [buildHostname("node-a")] },
          { op: "test", path: "/spec/providerID", value: null },
        ],
        patch: [
          {
            op: "add",
            path: "/status/addresses",
            value: [buildInternalAddress("10.0.1.17"), buildHostname("node-a")],
          },
        ],
      },
      {
        on: "cluster",
        apiVersion: "v1",
        resource: "nodes",
        verb: "patch",
        name: "node-a",
        precondition: [
          { op: "test", path: "/metadata/uid", value: uid },
          { op: "test", path: "/metadata/annotations/alpha.kubernetes.io~1provided-node-ip", value: null },
          {
            op: "test",
            path: "/status/addresses",
            value: [buildInternalAddress("10.0.1.17"), buildHostname("node-a")],
          },
          { op: "test", path: "/metadata/labels/topology.k8s.aws~1zone-id", value: null },
          { op: "test", path: "/spec/providerID", value: null },
          { op: "test", path: "/spec/taints/2/key", value: TAINT.key },
          { op: "test", path: "/spec/taints/0/key", value: TAINT.key },
        ],
        patch: [
          { op: "add", path: "/metadata/labels/beta.kubernetes.io~1instance-type", value: "m7g.large" },
          { op: "add", path: "/metadata/labels/node.kubernetes.io~1instance-type", value: "m7g.large" },
          {
            op: "add",
            path: "/metadata/labels/failure-domain.beta.kubernetes.io~1zone",
            value: "eu-central-1a",
          },
          { op: "add", path: "/metadata/labels/topology.kubernetes.io~1zone", value: "eu-central-1a" },
          {
            op: "add",
            path: "/metadata/labels/failure-domain.beta.kubernetes.io~1region",
            value: "eu-central-1",
          },
          { op: "add", path: "/metadata/labels/topology.k8s.aws~1zone-id", value: "euc1-az2" },
          { op: "add", path: "/spec/providerID", value: "aws:///eu-central-1a/i-0a1b2c3d4e5f60718" },
          { op: "add", path: "/metadata/annotations/serverless-ccm.io~1instance", value: IDENTITY },
          { op: "remove", path: "/spec/taints/2" },
          { op: "remove", path: "/spec/taints/0" },
        ],
      },
    ]);
  });

  test.each<[string, readonly NodeAddress[]]>([
    ["are written", [buildHostname("node-a")]],
    ["are there already", [buildInternalAddress("10.0.1.17"), buildHostname("node-a")]],
  ])("keeps its taint if a kubelet removes the addresses that %s", (_, addresses) => {
    const subject = buildNode({ status: { addresses: [...addresses] } });
    const untaint = change(subject, buildFoundAnswer()).writes.at(-1);
    const stale = { ...subject, status: { addresses: [buildHostname("node-a")] } };
    if (untaint === undefined) throw new Error("nothing is written");
    expect(listFailedTests(stale, untaint).map(({ path }) => path)).toEqual(["/status/addresses"]);
  });

  test("without maps gets whole maps, if they are still absent", () => {
    const { labels: _, annotations: __, ...bare } = buildNode().metadata;
    const subject = { ...buildNode(), metadata: bare };
    const [, second] = change(subject, buildFoundAnswer()).writes;
    const ofMaps = second?.precondition.filter(({ path }) => path.startsWith("/metadata/"));
    expect(ofMaps?.slice(1, 3)).toEqual([
      { op: "test", path: "/metadata/annotations", value: null },
      { op: "test", path: "/metadata/labels", value: null },
    ]);
    expect(initialize(subject, buildFoundAnswer()).metadata).toEqual(buildInitializedNode().metadata);
  });

  test("gets an Event in the stock controller's words", () => {
    const { because, events } = change(buildNode(), buildFoundAnswer());
    expect(because).toEqual({
      code: "Initialized",
      message: "initialized from instance i-0a1b2c3d4e5f60718",
    });
    expect(events.map(renderEvent)).toEqual([
      { type: "Normal", reason: "Synced", message: "Node synced successfully" },
    ]);
  });

  test.each([
    ["another manager keeps restoring", "other-controller", ["Synced", "TaintRestored"]],
    ["is not restored", undefined, ["Synced"]],
  ])("whose taint %s gets a Warning about it", (_given, undoneBy, reasons) => {
    const taintRestoredBy = getManagerFact({ undoneBy });
    const decision = decideNode(buildNode(), buildFoundAnswer(), {
      reason: "retry",
      now: NOW,
      taintRestoredBy,
    });
    const events = decision.kind === "change" ? decision.events : [];
    expect(events.map(({ reason }) => reason)).toEqual(reasons);
    expect(events.map((event) => renderEvent(event).message).join()).toContain(undoneBy ?? "synced");
  });

  test("with a restored taint that cannot be initialized gets no such Warning", () => {
    const taintRestoredBy = getManagerFact({ undoneBy: "other-controller" });
    const context = { reason: "retry", now: NOW, taintRestoredBy } as const;
    expect(decideNode(buildNode(), { kind: "not-found", message: "unknown" }, context)).toMatchObject({
      kind: "retry",
      events: [],
    });
  });

  test("that is tainted again gets only what it lacks", () => {
    const { providerID } = buildInitializedNode().spec;
    const { writes } = change(
      buildInitializedNode({ spec: { ...(providerID && { providerID }), taints: [TAINT] } }),
      buildFoundAnswer(),
    );
    expect(writes.map(({ patch }) => patch)).toEqual([[{ op: "remove", path: "/spec/taints/0" }]]);
  });

  test("keeps the taints of others, verbatim and in order", () => {
    const subject = buildNode({
      spec: { taints: [OTHERS, TAINT, { key: "z", effect: "NoExecute" }, TAINT] },
    });
    expect(initialize(subject, buildFoundAnswer()).spec.taints).toEqual([
      OTHERS,
      { key: "z", effect: "NoExecute" },
    ]);
  });

  test.each(["pending", "running", "stopping", "stopped"] as const)(
    "is initialized while its instance is %s",
    (state) => {
      expect(decide(buildNode(), buildFoundAnswer({ state })).kind).toBe("change");
    },
  );
});

describe("a provider ID", () => {
  test.each([
    ["that is absent is set", { taints: [TAINT] }, "aws:///eu-central-1a/i-0a1b2c3d4e5f60718", []],
    [
      "that is empty is set",
      { providerID: "", taints: [TAINT] },
      "aws:///eu-central-1a/i-0a1b2c3d4e5f60718",
      [],
    ],
    [
      "that differs stays, with a warning",
      { providerID: "aws:////i-1", taints: [TAINT] },
      "aws:////i-1",
      ["ProviderIDDiffers"],
    ],
  ])("%s", (_, spec: Node["spec"], providerID, codes) => {
    const decision = decide(buildNode({ spec }), buildFoundAnswer());
    expect(decision.kind === "change" && decision.warnings.map(({ code }) => code)).toEqual(codes);
    // kube-apiserver omits an empty provider ID, so the test for null passes.
    const stored = spec.providerID === "" ? buildNode({ spec: { taints: [TAINT] } }) : buildNode({ spec });
    expect(carryOut(stored, decision).spec.providerID).toBe(providerID);
  });
});

describe("labels", () => {
  const BETA_ZONE = "failure-domain.beta.kubernetes.io/zone";
  const ZONE = "topology.kubernetes.io/zone";
  test.each<
    [string, Record<string, string>, Partial<Instance>, Record<string, string | undefined>, string[]]
  >([
    [
      "of the cloud in both spellings override the node's",
      { [BETA_ZONE]: "a", [ZONE]: "b" },
      { zone: "c" },
      { [BETA_ZONE]: "c", [ZONE]: "c" },
      [],
    ],
    [
      "with an empty value are not written",
      { [ZONE]: "b" },
      { zone: "" },
      { [BETA_ZONE]: undefined, [ZONE]: "b" },
      [],
    ],
    [
      "with an empty value let the stable label follow the beta one",
      { [BETA_ZONE]: "a", [ZONE]: "b" },
      { zone: "" },
      { [ZONE]: "a" },
      [],
    ],
    [
      "with an invalid zone are not written",
      { [ZONE]: "b" },
      { zone: "c d" },
      { [BETA_ZONE]: undefined, [ZONE]: "b" },
      ["InvalidLabel"],
    ],
    [
      "in addition to the stock ones are added",
      {},
      { labels: { "topology.k8s.aws/zone-id": "x" } },
      { "topology.k8s.aws/zone-id": "x" },
      [],
    ],
    [
      "in addition to the stock ones never override the node's",
      { rack: "a" },
      { labels: { rack: "b" } },
      { rack: "a" },
      ["LabelTaken"],
    ],
    [
      "in addition to the stock ones are unchanged if they are equal",
      { rack: "a" },
      { labels: { rack: "a" } },
      { rack: "a" },
      [],
    ],
    [
      "with a member of Object.prototype as key are added",
      {},
      { labels: { constructor: "a" } },
      { constructor: "a" },
      [],
    ],
    [
      "under kubernetes.io are left out",
      {},
      { labels: { "kubernetes.io/os": "x" } },
      { "kubernetes.io/os": undefined },
      ["ReservedLabel"],
    ],
    [
      "under a subdomain of k8s.io are left out",
      {},
      { labels: { "a.k8s.io/b": "x" } },
      { "a.k8s.io/b": undefined },
      ["ReservedLabel"],
    ],
    [
      "under mykubernetes.io are added",
      {},
      { labels: { "mykubernetes.io/b": "x" } },
      { "mykubernetes.io/b": "x" },
      [],
    ],
    [
      "with an invalid key are left out",
      {},
      { labels: { "a b": "x" } },
      { "a b": undefined },
      ["InvalidLabel"],
    ],
    [
      "with an invalid value are left out",
      {},
      { labels: { ab: "x y" } },
      { ab: undefined },
      ["InvalidLabel"],
    ],
  ])("%s", (_, labels, difference, expected, codes) => {
    const subject = buildNode({ metadata: { labels } });
    const written = initialize(subject, buildFoundAnswer(difference)).metadata.labels ?? {};
    const seen = Object.keys(expected).map((key) => [
      key,
      Object.hasOwn(written, key) ? written[key] : undefined,
    ]);
    expect(seen).toEqual(Object.entries(expected));
    expect(change(subject, buildFoundAnswer(difference)).warnings.map(({ code }) => code)).toEqual(codes);
  });
});

describe("addresses", () => {
  test.each([
    ["are the cloud's, in its order", [], DUAL_STACK, undefined, DUAL_STACK],
    ["replace the node's", [buildInternalAddress("10.9.9.9")], DUAL_STACK, undefined, DUAL_STACK],
    [
      "keep the kubelet's host names where the cloud has none",
      [buildHostname("a"), buildHostname("b")],
      DUAL_STACK,
      undefined,
      [...DUAL_STACK, buildHostname("a"), buildHostname("b")],
    ],
    [
      "have the cloud's host name where it has one",
      [buildHostname("a")],
      [...DUAL_STACK, buildHostname("c")],
      undefined,
      [...DUAL_STACK, buildHostname("c")],
    ],
    [
      "stay as they are where the cloud has none",
      [buildInternalAddress("10.9.9.9")],
      [],
      undefined,
      [buildInternalAddress("10.9.9.9")],
    ],
    [
      "have the node IP first and alone of its type",
      [],
      DUAL_STACK,
      "2001:db8::17",
      [buildInternalAddress("2001:db8::17"), buildExternalAddress("203.0.113.7")],
    ],
    [
      "have a pair of node IPs in its order",
      [],
      DUAL_STACK,
      "2001:db8::17,10.0.1.17",
      [
        buildInternalAddress("2001:db8::17"),
        buildInternalAddress("10.0.1.17"),
        buildExternalAddress("203.0.113.7"),
      ],
    ],
    [
      "claim every type that a node IP has",
      [],
      [
        buildExternalAddress("10.0.1.17"),
        buildInternalAddress("10.0.1.18"),
        buildInternalAddress("10.0.1.17"),
        buildExternalAddress("10.0.1.18"),
      ],
      "10.0.1.17",
      [buildExternalAddress("10.0.1.17"), buildInternalAddress("10.0.1.17")],
    ],
    [
      "keep the cloud's spelling of a node IP",
      [],
      [buildInternalAddress("2001:DB8:0::17")],
      "2001:db8::17",
      [buildInternalAddress("2001:DB8:0::17")],
    ],
    [
      "match a node IP with leading zeros",
      [],
      [buildInternalAddress("10.0.1.17")],
      "010.000.001.017",
      [buildInternalAddress("10.0.1.17")],
    ],
    [
      "match a node IP that is mapped into IPv6",
      [],
      [buildInternalAddress("10.0.1.17")],
      "::ffff:10.0.1.17",
      [buildInternalAddress("10.0.1.17")],
    ],
    [
      "keep the host name beside a node IP",
      [buildHostname("a")],
      DUAL_STACK,
      "10.0.1.17",
      [buildInternalAddress("10.0.1.17"), buildExternalAddress("203.0.113.7"), buildHostname("a")],
    ],
    [
      "an ExternalIP suffices",
      [],
      [buildExternalAddress("203.0.113.7")],
      undefined,
      [buildExternalAddress("203.0.113.7")],
    ],
  ])("%s", (_, present, addresses, provided, expected) => {
    const annotations = provided === undefined ? {} : { [PROVIDED]: provided };
    const subject = buildNode({ metadata: { annotations }, status: { addresses: present } });
    expect(initialize(subject, buildFoundAnswer({ addresses })).status.addresses).toEqual(expected);
  });

  test("that are equal already are not written", () => {
    const subject = buildNode({ status: { addresses: DUAL_STACK } });
    expect(
      change(subject, buildFoundAnswer({ addresses: DUAL_STACK })).writes.map(
        ({ subresource }) => subresource,
      ),
    ).toEqual([undefined]);
  });

  test("in another order are written", () => {
    const subject = buildNode({ status: { addresses: [...DUAL_STACK].reverse() } });
    expect(initialize(subject, buildFoundAnswer({ addresses: DUAL_STACK })).status.addresses).toEqual(
      DUAL_STACK,
    );
  });

  test("that are absent are tested for absence", () => {
    const [first] = change(buildNode(), buildFoundAnswer()).writes;
    expect(first?.precondition[1]).toEqual({ op: "test", path: "/status/addresses", value: null });
  });

  test("are valid only for the annotation as read", () => {
    const subject = buildNode({ metadata: { annotations: { [PROVIDED]: "10.0.1.17" } } });
    expect(change(subject, buildFoundAnswer()).writes.at(-1)?.precondition[1]).toEqual({
      op: "test",
      path: "/metadata/annotations/alpha.kubernetes.io~1provided-node-ip",
      value: "10.0.1.17",
    });
  });
});

describe("the checked instance", () => {
  const OTHERS_ID = "aws:///eu-central-1a/i-0bbbbbbbbbbbbbbbb";
  test.each([
    ["none", undefined, null],
    ["none, in other words", "", null],
    ["another", OTHERS_ID, OTHERS_ID],
  ])("must be the one that the node names, in every patch: %s", (_, providerID, value) => {
    const subject = buildNode({
      spec: { taints: [TAINT], ...(providerID === undefined ? {} : { providerID }) },
    });
    const { writes } = change(subject, buildFoundAnswer());
    expect(writes).toHaveLength(2);
    for (const { precondition } of writes)
      expect(precondition).toContainEqual({ op: "test", path: "/spec/providerID", value });
  });
});

describe("the uninitialized taint stays", () => {
  const provided = (text: string) => buildNode({ metadata: { annotations: { [PROVIDED]: text } } });
  const error = (code: Extract<InstanceAnswer, { kind: "error" }>["code"]) =>
    ({ kind: "error", code, message: "as the cloud says" }) as const;
  test.each<[string, Node, InstanceAnswer | undefined, string, number, string | undefined]>([
    ["if the cloud was not asked", buildNode(), undefined, "NoAnswer", 1, undefined],
    [
      "if the instance is not found",
      buildNode(),
      { kind: "not-found", message: "none" },
      "InstanceNotFound",
      1.3,
      undefined,
    ],
    ["if the cloud throttles", buildNode(), error("Throttled"), "Throttled", 3, undefined],
    ["if the cloud is unavailable", buildNode(), error("Unavailable"), "Unavailable", 2, undefined],
    ["if the request was aborted", buildNode(), error("Aborted"), "Aborted", 0.5, undefined],
    ["if the instance belongs to another cluster", buildNode(), error("Foreign"), "Foreign", 1.3, undefined],
    [
      "if the provider ID belongs to another cloud",
      buildNode(),
      error("ForeignProviderID"),
      "ForeignProviderID",
      30,
      "ForeignProviderID",
    ],
    ["if several instances match", buildNode(), error("Ambiguous"), "Ambiguous", 30, "Ambiguous"],
    [
      "if the provider ID is invalid",
      buildNode(),
      error("InvalidProviderID"),
      "InvalidProviderID",
      30,
      "InvalidProviderID",
    ],
    ["if the cloud denies access", buildNode(), error("Denied"), "Denied", 1.3, undefined],
    [
      "if the instance is shutting down",
      buildNode(),
      buildFoundAnswer({ state: "shutting-down" }),
      "InstanceTerminated",
      30,
      "InstanceTerminated",
    ],
    [
      "if the instance is terminated",
      buildNode(),
      buildFoundAnswer({ state: "terminated" }),
      "InstanceTerminated",
      30,
      "InstanceTerminated",
    ],
    [
      "if the instance has no address",
      buildNode(),
      buildFoundAnswer({ addresses: [] }),
      "NoNodeAddress",
      1.3,
      undefined,
    ],
    [
      "if the instance has no IP address",
      buildNode({ status: { addresses: [buildInternalAddress("10.0.0.9")] } }),
      buildFoundAnswer({ addresses: [buildHostname("a")] }),
      "NoNodeAddress",
      1.3,
      undefined,
    ],
    [
      "if the provided node IP is empty",
      provided(""),
      buildFoundAnswer(),
      "ProvidedNodeIPInvalid",
      30,
      "ProvidedNodeIPInvalid",
    ],
    [
      "if the provided node IP is invalid",
      provided("eth0"),
      buildFoundAnswer(),
      "ProvidedNodeIPInvalid",
      30,
      "ProvidedNodeIPInvalid",
    ],
    [
      "if the provided node IP is very long",
      provided("eth0".repeat(1_000)),
      buildFoundAnswer(),
      "ProvidedNodeIPInvalid",
      30,
      "ProvidedNodeIPInvalid",
    ],
    [
      "if a provided node IP has spaces around it",
      provided("10.0.1.17, 2001:db8::17"),
      buildFoundAnswer({ addresses: DUAL_STACK }),
      "ProvidedNodeIPInvalid",
      30,
      "ProvidedNodeIPInvalid",
    ],
    [
      "if two node IPs of one family are provided",
      provided("10.0.1.17,10.0.1.18"),
      buildFoundAnswer(),
      "ProvidedNodeIPInvalid",
      30,
      "ProvidedNodeIPInvalid",
    ],
    [
      "if a node IP is also provided in its IPv4-mapped form",
      provided("10.0.1.17,::ffff:10.0.1.17"),
      buildFoundAnswer(),
      "ProvidedNodeIPInvalid",
      30,
      "ProvidedNodeIPInvalid",
    ],
    [
      "if three node IPs are provided",
      provided("10.0.1.17,2001:db8::17,::1"),
      buildFoundAnswer({ addresses: DUAL_STACK }),
      "ProvidedNodeIPInvalid",
      30,
      "ProvidedNodeIPInvalid",
    ],
    [
      "if one of two provided node IPs is unspecified",
      provided("10.0.1.17,::"),
      buildFoundAnswer({ addresses: [...DUAL_STACK, buildInternalAddress("::")] }),
      "ProvidedNodeIPInvalid",
      30,
      "ProvidedNodeIPInvalid",
    ],
    // No kubelet writes these: with --node-ip=:: or 0.0.0.0 it writes no annotation.
    ...["::", "0.0.0.0", "::ffff:0.0.0.0"].map(
      (text): [string, Node, InstanceAnswer, string, number, string] => [
        `if the provided node IP is the unspecified address ${text}`,
        provided(text),
        buildFoundAnswer({ addresses: DUAL_STACK }),
        "ProvidedNodeIPUnmatched",
        1.3,
        "ProvidedNodeIPUnmatched",
      ],
    ),
    [
      "if the provided node IP is not an address of the instance",
      provided("10.0.1.18"),
      buildFoundAnswer(),
      "ProvidedNodeIPUnmatched",
      1.3,
      "ProvidedNodeIPUnmatched",
    ],
    [
      "if one of two provided node IPs is not an address of the instance",
      provided("10.0.1.17,2001:db8::18"),
      buildFoundAnswer({ addresses: DUAL_STACK }),
      "ProvidedNodeIPUnmatched",
      1.3,
      "ProvidedNodeIPUnmatched",
    ],
    [
      "if a node IP is provided and the instance has no address",
      provided("10.0.1.17"),
      buildFoundAnswer({ addresses: [] }),
      "ProvidedNodeIPUnmatched",
      1.3,
      "ProvidedNodeIPUnmatched",
    ],
  ])("%s", (_, subject, answer, code, afterSeconds, told) => {
    const { because, ...decision } = retried(subject, answer);
    expect({ code: because.code, afterSeconds: decision.afterSeconds }).toEqual({ code, afterSeconds });
    expect(decision.events.map((event) => [renderEvent(event).type, event.reason, event.code])).toEqual(
      told ? [["Warning", "CloudInitializationFailed", told]] : [],
    );
    expect(because.message.length).toBeLessThan(400);
  });

  test.each([
    ["not found", { kind: "not-found", message: "none" }, [0, 1, 60, 600], [0.5, 0.5, 15, 60], [0, 0, 1, 1]],
    ["denied", error("Denied"), [0, 1, 60, 600], [0.5, 0.5, 15, 60], [0, 0, 1, 1]],
    ["foreign", error("Foreign"), [0, 1, 60, 600], [0.5, 0.5, 15, 60], [0, 0, 1, 1]],
    ["ambiguous", error("Ambiguous"), [0, 60, 600, 7_200], [30, 30, 150, 600], [1, 1, 1, 1]],
    [
      "terminated",
      buildFoundAnswer({ state: "terminated" }),
      [0, 60, 600, 7_200],
      [30, 30, 150, 600],
      [1, 1, 1, 1],
    ],
    ["throttled", error("Throttled"), [0, 59, 60, 7_200], [3, 3, 3, 3], [0, 0, 1, 1]],
  ] as const)("with an interval that grows with the node's age: %s", (_, answer, ages, waits, warnings) => {
    const decisions = ages.map((age) =>
      retried(buildNode({ metadata: { creationTimestamp: getCreationTime(age) } }), answer),
    );
    expect(decisions.map(({ afterSeconds }) => afterSeconds)).toEqual(waits);
    expect(decisions.map(({ events }) => events.length)).toEqual(warnings);
  });

  test.each(["soon", getCreationTime(-60)])(
    "and is checked soon if the node's age is unknown: %s",
    (creationTimestamp) => {
      const subject = buildNode({ metadata: { creationTimestamp } });
      expect(retried(subject, { kind: "not-found", message: "none" }).afterSeconds).toBe(0.5);
    },
  );
});

describe("a Warning in the cluster", () => {
  const DETAIL = "vpc-0fedcba9876543210";
  const old = (annotations: Record<string, string> = {}) =>
    buildNode({ metadata: { creationTimestamp: getCreationTime(120), annotations } });
  const ofCode = (code: InstanceErrorCode): [string, Node, InstanceAnswer] => [
    code,
    old(),
    { kind: "error", code, message: `as the cloud says: ${DETAIL}` },
  ];
  const issues: [string, Node, InstanceAnswer][] = [
    ...InstanceErrorCode.options.map(ofCode),
    ["InstanceNotFound", old(), { kind: "not-found", message: `none: ${DETAIL}` }],
    ["InstanceTerminated", old(), buildFoundAnswer({ state: "terminated", id: DETAIL })],
    ["NoNodeAddress", old(), buildFoundAnswer({ addresses: [], id: DETAIL })],
    ["ProvidedNodeIPInvalid", old({ [PROVIDED]: DETAIL }), buildFoundAnswer()],
    ["ProvidedNodeIPUnmatched", old({ [PROVIDED]: "10.9.9.9" }), buildFoundAnswer({ id: DETAIL })],
  ];

  test.each(issues)(
    "contains no details of the cloud, which only the report has: %s",
    (code, subject, answer) => {
      const { because, events } = retried(subject, answer);
      expect(because).toMatchObject({ code, message: expect.stringContaining(DETAIL) });
      const shown = JSON.stringify([events, events.map(renderEvent)]);
      for (const detail of [DETAIL, "10.0.1.17", "10.9.9.9"]) expect(shown).not.toContain(detail);
      expect(events).toHaveLength(1);
      for (const { message } of events.map(renderEvent)) {
        expect(message).toMatch(/^[A-Z].{40,}\.$/);
        expect(message.length).toBeLessThanOrEqual(MAX_EVENT_MESSAGE);
      }
    },
  );

  test.each(["Foreign", "Denied"] as const)("is the same for %s as for a missing instance", (code) => {
    for (const ageSeconds of [0, 30, 60, 600, 7_200]) {
      const subject = buildNode({ metadata: { creationTimestamp: getCreationTime(ageSeconds) } });
      const other = retried(subject, { kind: "error", code, message: DETAIL });
      const absent = retried(subject, { kind: "not-found", message: "none" });
      expect({ ...other, because: absent.because }).toEqual(absent);
    }
  });
});

/** Kubernetes' limit for an Event's message. */
const MAX_EVENT_MESSAGE = 1_024;

test("a node that is being deleted stays unchanged, tainted or not", () => {
  const deletionTimestamp = "2026-03-01T11:59:59Z";
  for (const subject of [
    buildNode({ metadata: { deletionTimestamp } }),
    buildInitializedNode({ metadata: { deletionTimestamp } }),
  ])
    expect(decide(subject, buildFoundAnswer({ zone: "elsewhere" }))).toMatchObject({
      kind: "skip",
      because: { code: "BeingDeleted" },
    });
});

function decide(subject: Node, answer: InstanceAnswer | undefined): Decision {
  return decideNode(subject, answer, { reason: "watch", now: NOW });
}

function initialize(subject: Node, answer: InstanceAnswer): Node {
  return carryOut(subject, decide(subject, answer));
}

function change(subject: Node, answer: InstanceAnswer) {
  const decision = decide(subject, answer);
  if (decision.kind !== "change") throw new Error(JSON.stringify(decision));
  return { ...decision, writes: listPatches(decision) };
}

function retried(subject: Node, answer: InstanceAnswer | undefined) {
  const decision = decide(subject, answer);
  if (decision.kind !== "retry") throw new Error(JSON.stringify(decision));
  return decision;
}

test("a node without taints needs no removal", () => {
  expect(removeUninitialized(buildNode({ spec: {} }))).toEqual({ tests: [], operations: [] });
});
