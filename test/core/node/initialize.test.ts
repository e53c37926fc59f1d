import { describe, expect, test } from "vitest";
import { inWords } from "#core/cluster-events.ts";
import type { Decision } from "#core/decision.ts";
import { type Instance, type InstanceAnswer, InstanceErrorCode } from "#core/instance.ts";
import { decideNode } from "#core/node/decide.ts";
import type { Node, NodeAddress } from "#core/node/node.ts";
import { removeUninitialized } from "#core/node/taints.ts";
import { managerOf } from "#core/tenant-fact.ts";
import {
  bornSecondsAgo,
  external,
  found,
  hostname,
  IDENTITY,
  initialized,
  internal,
  NOW,
  node,
  TAINT,
} from "#test/core/node/builders.ts";
import { carriedOut, failedTests, patchesOf } from "#test/core/node/carry-out.ts";

const PROVIDED = "alpha.kubernetes.io/provided-node-ip";
const OTHERS = {
  key: "example.com/gpu",
  value: "a100",
  effect: "NoSchedule",
  timeAdded: "2026-03-01T11:59:59Z",
};
const DUAL_STACK = [internal("10.0.1.17"), external("203.0.113.7"), internal("2001:db8::17")];

describe("a node that has just registered", () => {
  test("becomes one with addresses, provider ID, labels and instance, and without the taint", () => {
    const { metadata, spec, status } = initialize(node(), found());
    expect({ metadata, spec, status }).toEqual({
      metadata: { ...node().metadata, ...initialized().metadata },
      spec: { taints: [], providerID: "aws:///eu-central-1a/i-0a1b2c3d4e5f60718" },
      status: { addresses: [internal("10.0.1.17")] },
    });
  });

  test("is written twice: its addresses, and then the rest with the taint", () => {
    const subject = node({
      metadata: { labels: { "topology.kubernetes.io/region": "eu-central-1" } },
      spec: { taints: [TAINT, OTHERS, { ...TAINT, effect: "NoExecute" }] },
      status: { addresses: [hostname("node-a")] },
    });
    const { uid } = subject.metadata;
    const labels = { "topology.k8s.aws/zone-id": "euc1-az2" };
    expect(change(subject, found({ labels })).writes).toEqual([
      {
        on: "cluster",
        apiVersion: "v1",
        resource: "nodes",
        subresource: "status",
        verb: "patch",
        name: "node-a",
        precondition: [
          { op: "test", path: "/metadata/uid", value: uid },
          { op: "test", path: "/status/addresses", value: [hostname("node-a")] },
          { op: "test", path: "/spec/providerID", value: null },
        ],
        patch: [{ op: "add", path: "/status/addresses", value: [internal("10.0.1.17"), hostname("node-a")] }],
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
          { op: "test", path: "/status/addresses", value: [internal("10.0.1.17"), hostname("node-a")] },
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
    ["are written", [hostname("node-a")]],
    ["are there already", [internal("10.0.1.17"), hostname("node-a")]],
  ])("keeps its taint where a kubelet takes the addresses away that %s", (_, addresses) => {
    const subject = node({ status: { addresses: [...addresses] } });
    const untaint = change(subject, found()).writes.at(-1);
    const stale = { ...subject, status: { addresses: [hostname("node-a")] } };
    if (untaint === undefined) throw new Error("nothing is written");
    expect(failedTests(stale, untaint).map(({ path }) => path)).toEqual(["/status/addresses"]);
  });

  test("without maps gets them whole, on the condition that they are still not there", () => {
    const { labels: _, annotations: __, ...bare } = node().metadata;
    const subject = { ...node(), metadata: bare };
    const [, second] = change(subject, found()).writes;
    const ofMaps = second?.precondition.filter(({ path }) => path.startsWith("/metadata/"));
    expect(ofMaps?.slice(1, 3)).toEqual([
      { op: "test", path: "/metadata/annotations", value: null },
      { op: "test", path: "/metadata/labels", value: null },
    ]);
    expect(initialize(subject, found()).metadata).toEqual(initialized().metadata);
  });

  test("is told so in the stock controller's words", () => {
    const { because, events } = change(node(), found());
    expect(because).toEqual({
      code: "Initialized",
      message: "initialized from instance i-0a1b2c3d4e5f60718",
    });
    expect(events.map(inWords)).toEqual([
      { type: "Normal", reason: "Synced", message: "Node synced successfully" },
    ]);
  });

  test.each([
    ["somebody keeps restoring", "other-controller", ["Synced", "TaintRestored"]],
    ["nobody restores", undefined, ["Synced"]],
  ])("whose taint %s says so in a Warning", (_given, undoneBy, reasons) => {
    const taintRestoredBy = managerOf({ undoneBy });
    const decision = decideNode(node(), found(), { reason: "retry", now: NOW, taintRestoredBy });
    const events = decision.kind === "change" ? decision.events : [];
    expect(events.map(({ reason }) => reason)).toEqual(reasons);
    expect(events.map((event) => inWords(event).message).join()).toContain(undoneBy ?? "synced");
  });

  test("whose taint somebody restores, but that cannot be initialized, gets no such Warning", () => {
    const taintRestoredBy = managerOf({ undoneBy: "other-controller" });
    const context = { reason: "retry", now: NOW, taintRestoredBy } as const;
    expect(decideNode(node(), { kind: "not-found", message: "unknown" }, context)).toMatchObject({
      kind: "retry",
      events: [],
    });
  });

  test("that is tainted again is written only what it lacks", () => {
    const { providerID } = initialized().spec;
    const { writes } = change(
      initialized({ spec: { ...(providerID && { providerID }), taints: [TAINT] } }),
      found(),
    );
    expect(writes.map(({ patch }) => patch)).toEqual([[{ op: "remove", path: "/spec/taints/0" }]]);
  });

  test("keeps the taints of others, verbatim and in order", () => {
    const subject = node({ spec: { taints: [OTHERS, TAINT, { key: "z", effect: "NoExecute" }, TAINT] } });
    expect(initialize(subject, found()).spec.taints).toEqual([OTHERS, { key: "z", effect: "NoExecute" }]);
  });

  test.each(["pending", "running", "stopping", "stopped"] as const)(
    "is initialized while its instance is %s",
    (state) => {
      expect(decide(node(), found({ state })).kind).toBe("change");
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
    const decision = decide(node({ spec }), found());
    expect(decision.kind === "change" && decision.warnings.map(({ code }) => code)).toEqual(codes);
    // kube-apiserver leaves an empty provider ID out, so that the test of null holds.
    const stored = spec.providerID === "" ? node({ spec: { taints: [TAINT] } }) : node({ spec });
    expect(carriedOut(stored, decision).spec.providerID).toBe(providerID);
  });
});

describe("labels", () => {
  const BETA_ZONE = "failure-domain.beta.kubernetes.io/zone";
  const ZONE = "topology.kubernetes.io/zone";
  test.each<
    [string, Record<string, string>, Partial<Instance>, Record<string, string | undefined>, string[]]
  >([
    [
      "of the pairs override the node's",
      { [BETA_ZONE]: "a", [ZONE]: "b" },
      { zone: "c" },
      { [BETA_ZONE]: "c", [ZONE]: "c" },
      [],
    ],
    [
      "with an empty value are left alone",
      { [ZONE]: "b" },
      { zone: "" },
      { [BETA_ZONE]: undefined, [ZONE]: "b" },
      [],
    ],
    [
      "with an empty value leave beta the truth",
      { [BETA_ZONE]: "a", [ZONE]: "b" },
      { zone: "" },
      { [ZONE]: "a" },
      [],
    ],
    [
      "with a bad value are left alone",
      { [ZONE]: "b" },
      { zone: "c d" },
      { [BETA_ZONE]: undefined, [ZONE]: "b" },
      ["InvalidLabel"],
    ],
    [
      "beyond are added",
      {},
      { labels: { "topology.k8s.aws/zone-id": "x" } },
      { "topology.k8s.aws/zone-id": "x" },
      [],
    ],
    ["beyond never override", { rack: "a" }, { labels: { rack: "b" } }, { rack: "a" }, ["LabelTaken"]],
    ["beyond that the node has already", { rack: "a" }, { labels: { rack: "a" } }, { rack: "a" }, []],
    ["beyond under a name of every object", {}, { labels: { constructor: "a" } }, { constructor: "a" }, []],
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
    ["with a bad key are left out", {}, { labels: { "a b": "x" } }, { "a b": undefined }, ["InvalidLabel"]],
    ["with a bad value are left out", {}, { labels: { ab: "x y" } }, { ab: undefined }, ["InvalidLabel"]],
  ])("%s", (_, labels, difference, expected, codes) => {
    const subject = node({ metadata: { labels } });
    const written = initialize(subject, found(difference)).metadata.labels ?? {};
    const seen = Object.keys(expected).map((key) => [
      key,
      Object.hasOwn(written, key) ? written[key] : undefined,
    ]);
    expect(seen).toEqual(Object.entries(expected));
    expect(change(subject, found(difference)).warnings.map(({ code }) => code)).toEqual(codes);
  });
});

describe("addresses", () => {
  test.each([
    ["are the cloud's, in its order", [], DUAL_STACK, undefined, DUAL_STACK],
    ["replace the node's", [internal("10.9.9.9")], DUAL_STACK, undefined, DUAL_STACK],
    [
      "keep the kubelet's host names where the cloud has none",
      [hostname("a"), hostname("b")],
      DUAL_STACK,
      undefined,
      [...DUAL_STACK, hostname("a"), hostname("b")],
    ],
    [
      "have the cloud's host name where it has one",
      [hostname("a")],
      [...DUAL_STACK, hostname("c")],
      undefined,
      [...DUAL_STACK, hostname("c")],
    ],
    [
      "stay as they are where the cloud has none",
      [internal("10.9.9.9")],
      [],
      undefined,
      [internal("10.9.9.9")],
    ],
    [
      "have the node IP first and alone of its type",
      [],
      DUAL_STACK,
      "2001:db8::17",
      [internal("2001:db8::17"), external("203.0.113.7")],
    ],
    [
      "have a pair of node IPs in its order",
      [],
      DUAL_STACK,
      "2001:db8::17,10.0.1.17",
      [internal("2001:db8::17"), internal("10.0.1.17"), external("203.0.113.7")],
    ],
    [
      "claim every type that a node IP has",
      [],
      [external("10.0.1.17"), internal("10.0.1.18"), internal("10.0.1.17"), external("10.0.1.18")],
      "10.0.1.17",
      [external("10.0.1.17"), internal("10.0.1.17")],
    ],
    [
      "keep the cloud's spelling of a node IP",
      [],
      [internal("2001:DB8:0::17")],
      "2001:db8::17",
      [internal("2001:DB8:0::17")],
    ],
    [
      "match a node IP with leading zeros",
      [],
      [internal("10.0.1.17")],
      "010.000.001.017",
      [internal("10.0.1.17")],
    ],
    [
      "match a node IP that is mapped into IPv6",
      [],
      [internal("10.0.1.17")],
      "::ffff:10.0.1.17",
      [internal("10.0.1.17")],
    ],
    [
      "keep the host name beside a node IP",
      [hostname("a")],
      DUAL_STACK,
      "10.0.1.17",
      [internal("10.0.1.17"), external("203.0.113.7"), hostname("a")],
    ],
    ["an ExternalIP suffices", [], [external("203.0.113.7")], undefined, [external("203.0.113.7")]],
  ])("%s", (_, present, addresses, provided, expected) => {
    const annotations = provided === undefined ? {} : { [PROVIDED]: provided };
    const subject = node({ metadata: { annotations }, status: { addresses: present } });
    expect(initialize(subject, found({ addresses })).status.addresses).toEqual(expected);
  });

  test("that are the same already are not written", () => {
    const subject = node({ status: { addresses: DUAL_STACK } });
    expect(
      change(subject, found({ addresses: DUAL_STACK })).writes.map(({ subresource }) => subresource),
    ).toEqual([undefined]);
  });

  test("in another order are written", () => {
    const subject = node({ status: { addresses: [...DUAL_STACK].reverse() } });
    expect(initialize(subject, found({ addresses: DUAL_STACK })).status.addresses).toEqual(DUAL_STACK);
  });

  test("that are absent are tested to be so", () => {
    const [first] = change(node(), found()).writes;
    expect(first?.precondition[1]).toEqual({ op: "test", path: "/status/addresses", value: null });
  });

  test("hold only for the annotation as it was read", () => {
    const subject = node({ metadata: { annotations: { [PROVIDED]: "10.0.1.17" } } });
    expect(change(subject, found()).writes.at(-1)?.precondition[1]).toEqual({
      op: "test",
      path: "/metadata/annotations/alpha.kubernetes.io~1provided-node-ip",
      value: "10.0.1.17",
    });
  });
});

describe("the instance that was looked at", () => {
  const OTHERS_ID = "aws:///eu-central-1a/i-0bbbbbbbbbbbbbbbb";
  test.each([
    ["none", undefined, null],
    ["none, in other words", "", null],
    ["another", OTHERS_ID, OTHERS_ID],
  ])("has to be what the node says, in every patch: %s", (_, providerID, value) => {
    const subject = node({ spec: { taints: [TAINT], ...(providerID === undefined ? {} : { providerID }) } });
    const { writes } = change(subject, found());
    expect(writes).toHaveLength(2);
    for (const { precondition } of writes)
      expect(precondition).toContainEqual({ op: "test", path: "/spec/providerID", value });
  });
});

describe("the taint stays", () => {
  const provided = (text: string) => node({ metadata: { annotations: { [PROVIDED]: text } } });
  const error = (code: Extract<InstanceAnswer, { kind: "error" }>["code"]) =>
    ({ kind: "error", code, message: "as the cloud says" }) as const;
  test.each<[string, Node, InstanceAnswer | undefined, string, number, string | undefined]>([
    ["while the cloud was not asked", node(), undefined, "NoAnswer", 1, undefined],
    [
      "while the instance is not found",
      node(),
      { kind: "not-found", message: "none" },
      "InstanceNotFound",
      1.3,
      undefined,
    ],
    ["while the cloud throttles", node(), error("Throttled"), "Throttled", 3, undefined],
    ["while the cloud is not available", node(), error("Unavailable"), "Unavailable", 2, undefined],
    ["where time was up", node(), error("Aborted"), "Aborted", 0.5, undefined],
    ["where the instance is another cluster's", node(), error("Foreign"), "Foreign", 1.3, undefined],
    [
      "where the provider ID is another cloud's",
      node(),
      error("ForeignProviderID"),
      "ForeignProviderID",
      30,
      "ForeignProviderID",
    ],
    ["where instances are ambiguous", node(), error("Ambiguous"), "Ambiguous", 30, "Ambiguous"],
    [
      "where the provider ID is none",
      node(),
      error("InvalidProviderID"),
      "InvalidProviderID",
      30,
      "InvalidProviderID",
    ],
    ["where the cloud denies", node(), error("Denied"), "Denied", 1.3, undefined],
    [
      "where the instance shuts down",
      node(),
      found({ state: "shutting-down" }),
      "InstanceTerminated",
      30,
      "InstanceTerminated",
    ],
    [
      "where the instance is terminated",
      node(),
      found({ state: "terminated" }),
      "InstanceTerminated",
      30,
      "InstanceTerminated",
    ],
    ["without any address", node(), found({ addresses: [] }), "NoNodeAddress", 1.3, undefined],
    [
      "without an IP",
      node({ status: { addresses: [internal("10.0.0.9")] } }),
      found({ addresses: [hostname("a")] }),
      "NoNodeAddress",
      1.3,
      undefined,
    ],
    [
      "where the node IP is empty",
      provided(""),
      found(),
      "ProvidedNodeIPInvalid",
      30,
      "ProvidedNodeIPInvalid",
    ],
    [
      "where the node IP is garbage",
      provided("eth0"),
      found(),
      "ProvidedNodeIPInvalid",
      30,
      "ProvidedNodeIPInvalid",
    ],
    [
      "where the node IP is very long",
      provided("eth0".repeat(1_000)),
      found(),
      "ProvidedNodeIPInvalid",
      30,
      "ProvidedNodeIPInvalid",
    ],
    [
      "where there is space around the node IP",
      provided("10.0.1.17, 2001:db8::17"),
      found({ addresses: DUAL_STACK }),
      "ProvidedNodeIPInvalid",
      30,
      "ProvidedNodeIPInvalid",
    ],
    [
      "with two node IPs of a family",
      provided("10.0.1.17,10.0.1.18"),
      found(),
      "ProvidedNodeIPInvalid",
      30,
      "ProvidedNodeIPInvalid",
    ],
    [
      "with a node IP and itself mapped",
      provided("10.0.1.17,::ffff:10.0.1.17"),
      found(),
      "ProvidedNodeIPInvalid",
      30,
      "ProvidedNodeIPInvalid",
    ],
    [
      "with three node IPs",
      provided("10.0.1.17,2001:db8::17,::1"),
      found({ addresses: DUAL_STACK }),
      "ProvidedNodeIPInvalid",
      30,
      "ProvidedNodeIPInvalid",
    ],
    [
      "with an unspecified address in a pair",
      provided("10.0.1.17,::"),
      found({ addresses: [...DUAL_STACK, internal("::")] }),
      "ProvidedNodeIPInvalid",
      30,
      "ProvidedNodeIPInvalid",
    ],
    // No kubelet writes these: with --node-ip=:: or 0.0.0.0 it writes none.
    ...["::", "0.0.0.0", "::ffff:0.0.0.0"].map(
      (text): [string, Node, InstanceAnswer, string, number, string] => [
        `with the unspecified address ${text}`,
        provided(text),
        found({ addresses: DUAL_STACK }),
        "ProvidedNodeIPUnmatched",
        1.3,
        "ProvidedNodeIPUnmatched",
      ],
    ),
    [
      "where the node IP is not the instance's",
      provided("10.0.1.18"),
      found(),
      "ProvidedNodeIPUnmatched",
      1.3,
      "ProvidedNodeIPUnmatched",
    ],
    [
      "where one of a pair is not the instance's",
      provided("10.0.1.17,2001:db8::18"),
      found({ addresses: DUAL_STACK }),
      "ProvidedNodeIPUnmatched",
      1.3,
      "ProvidedNodeIPUnmatched",
    ],
    [
      "where the instance has no address to match",
      provided("10.0.1.17"),
      found({ addresses: [] }),
      "ProvidedNodeIPUnmatched",
      1.3,
      "ProvidedNodeIPUnmatched",
    ],
  ])("%s", (_, subject, answer, code, afterSeconds, told) => {
    const { because, ...decision } = retried(subject, answer);
    expect({ code: because.code, afterSeconds: decision.afterSeconds }).toEqual({ code, afterSeconds });
    expect(decision.events.map((event) => [inWords(event).type, event.reason, event.code])).toEqual(
      told ? [["Warning", "CloudInitializationFailed", told]] : [],
    );
    expect(because.message.length).toBeLessThan(400);
  });

  test.each([
    ["not found", { kind: "not-found", message: "none" }, [0, 1, 60, 600], [0.5, 0.5, 15, 60], [0, 0, 1, 1]],
    ["denied", error("Denied"), [0, 1, 60, 600], [0.5, 0.5, 15, 60], [0, 0, 1, 1]],
    ["foreign", error("Foreign"), [0, 1, 60, 600], [0.5, 0.5, 15, 60], [0, 0, 1, 1]],
    ["ambiguous", error("Ambiguous"), [0, 60, 600, 7_200], [30, 30, 150, 600], [1, 1, 1, 1]],
    ["terminated", found({ state: "terminated" }), [0, 60, 600, 7_200], [30, 30, 150, 600], [1, 1, 1, 1]],
    ["throttled", error("Throttled"), [0, 59, 60, 7_200], [3, 3, 3, 3], [0, 0, 1, 1]],
  ] as const)("the longer, the older the node is: %s", (_, answer, ages, waits, warnings) => {
    const decisions = ages.map((age) =>
      retried(node({ metadata: { creationTimestamp: bornSecondsAgo(age) } }), answer),
    );
    expect(decisions.map(({ afterSeconds }) => afterSeconds)).toEqual(waits);
    expect(decisions.map(({ events }) => events.length)).toEqual(warnings);
  });

  test.each(["soon", bornSecondsAgo(-60)])(
    "and is looked at soon where its age is not to be known: %s",
    (creationTimestamp) => {
      const subject = node({ metadata: { creationTimestamp } });
      expect(retried(subject, { kind: "not-found", message: "none" }).afterSeconds).toBe(0.5);
    },
  );
});

describe("what a Warning tells the cluster", () => {
  const DETAIL = "vpc-0fedcba9876543210";
  const old = (annotations: Record<string, string> = {}) =>
    node({ metadata: { creationTimestamp: bornSecondsAgo(120), annotations } });
  const ofCode = (code: InstanceErrorCode): [string, Node, InstanceAnswer] => [
    code,
    old(),
    { kind: "error", code, message: `as the cloud says: ${DETAIL}` },
  ];
  const problems: [string, Node, InstanceAnswer][] = [
    ...InstanceErrorCode.options.map(ofCode),
    ["InstanceNotFound", old(), { kind: "not-found", message: `none: ${DETAIL}` }],
    ["InstanceTerminated", old(), found({ state: "terminated", id: DETAIL })],
    ["NoNodeAddress", old(), found({ addresses: [], id: DETAIL })],
    ["ProvidedNodeIPInvalid", old({ [PROVIDED]: DETAIL }), found()],
    ["ProvidedNodeIPUnmatched", old({ [PROVIDED]: "10.9.9.9" }), found({ id: DETAIL })],
  ];

  test.each(problems)("holds no detail, which the report keeps: %s", (code, subject, answer) => {
    const { because, events } = retried(subject, answer);
    expect(because).toMatchObject({ code, message: expect.stringContaining(DETAIL) });
    const shown = JSON.stringify([events, events.map(inWords)]);
    for (const detail of [DETAIL, "10.0.1.17", "10.9.9.9"]) expect(shown).not.toContain(detail);
    expect(events).toHaveLength(1);
    for (const { message } of events.map(inWords)) {
      expect(message).toMatch(/^[A-Z].{40,}\.$/);
      expect(message.length).toBeLessThanOrEqual(MAX_EVENT_MESSAGE);
    }
  });

  test.each(["Foreign", "Denied"] as const)("is the same of %s as of no instance", (code) => {
    for (const ageSeconds of [0, 30, 60, 600, 7_200]) {
      const subject = node({ metadata: { creationTimestamp: bornSecondsAgo(ageSeconds) } });
      const other = retried(subject, { kind: "error", code, message: DETAIL });
      const absent = retried(subject, { kind: "not-found", message: "none" });
      expect({ ...other, because: absent.because }).toEqual(absent);
    }
  });
});

/** What Kubernetes takes as an Event's message. */
const MAX_EVENT_MESSAGE = 1_024;

test("a node that is going is left alone, tainted or not", () => {
  const deletionTimestamp = "2026-03-01T11:59:59Z";
  for (const subject of [
    node({ metadata: { deletionTimestamp } }),
    initialized({ metadata: { deletionTimestamp } }),
  ])
    expect(decide(subject, found({ zone: "elsewhere" }))).toMatchObject({
      kind: "skip",
      because: { code: "BeingDeleted" },
    });
});

function decide(subject: Node, answer: InstanceAnswer | undefined): Decision {
  return decideNode(subject, answer, { reason: "watch", now: NOW });
}

function initialize(subject: Node, answer: InstanceAnswer): Node {
  return carriedOut(subject, decide(subject, answer));
}

function change(subject: Node, answer: InstanceAnswer) {
  const decision = decide(subject, answer);
  if (decision.kind !== "change") throw new Error(JSON.stringify(decision));
  return { ...decision, writes: patchesOf(decision) };
}

function retried(subject: Node, answer: InstanceAnswer | undefined) {
  const decision = decide(subject, answer);
  if (decision.kind !== "retry") throw new Error(JSON.stringify(decision));
  return decision;
}

test("a node without taints has none to be removed", () => {
  expect(removeUninitialized(node({ spec: {} }))).toEqual({ tests: [], operations: [] });
});
