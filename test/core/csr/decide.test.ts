import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { inWords } from "#core/cluster-events.ts";
import type { RelatedObjects } from "#core/controller.ts";
import { createCsrController } from "#core/csr/controller.ts";
import type { CertificateSigningRequest } from "#core/csr/csr.ts";
import { type ApproveWrite, type Decision, Decision as DecisionSchema } from "#core/decision.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";
import {
  asked,
  csr,
  csrController,
  NODE_NAME,
  parseJsonRequest,
  related,
  relatedNode,
  USERNAME,
} from "#test/core/csr/builders.ts";
import { given } from "#test/core/given.ts";
import { bornSecondsAgo, external, found, internal, NOW } from "#test/core/node/builders.ts";

const CLOUD_NAMES = { type: "InternalDNS", address: "ip-10-0-1-17.example.internal" };
const FOUND = found({ addresses: [internal("10.0.1.17"), external("203.0.113.5"), CLOUD_NAMES] });

function decide(
  object: CertificateSigningRequest,
  answer: InstanceAnswer | "unasked" = FOUND,
  nodes: RelatedObjects = related(relatedNode()),
): Decision {
  const plan = csrController.decide(
    [{ object, answer: answer === "unasked" ? undefined : answer, hint: undefined }],
    {
      reason: "watch",
      now: NOW,
      related: nodes,
      settings: DEFAULT_SETTINGS,
    },
  );
  if (plan.kind === "shared" || plan.decisions[0] === undefined) throw new Error("not one decision");
  // Strict: what is no decision cannot be reported either.
  return DecisionSchema.parse(plan.decisions[0]);
}

describe("approved", () => {
  test("is what names the node and what the cloud gives for its instance, in one guarded patch", () => {
    expect(decide(csr())).toEqual({
      kind: "change",
      object: {
        apiVersion: "certificates.k8s.io/v1",
        kind: "CertificateSigningRequest",
        name: "csr-abcde",
        uid: "9d3f7c1e-0000-4000-8000-00000000000c",
      },
      because: { code: "InstanceVerified", message: expect.stringContaining("i-0a1b2c3d4e5f60718") },
      writes: [
        {
          on: "cluster",
          apiVersion: "certificates.k8s.io/v1",
          resource: "certificatesigningrequests",
          name: "csr-abcde",
          verb: "approve",
          precondition: [
            { op: "test", path: "/metadata/uid", value: "9d3f7c1e-0000-4000-8000-00000000000c" },
            { op: "test", path: "/status/conditions", value: null },
          ],
          patch: [
            {
              op: "add",
              path: "/status/conditions",
              value: [
                {
                  type: "Approved",
                  status: "True",
                  reason: "InstanceVerified",
                  message: expect.stringContaining("i-0a1b2c3d4e5f60718"),
                  lastUpdateTime: "2026-03-01T12:00:00Z",
                },
              ],
            },
          ],
        },
      ],
      events: [],
      warnings: [],
    });
  });

  test.each([
    ["with an RSA key", csr({ spec: { usages: ["server auth", "key encipherment", "digital signature"] } })],
    ["for addresses alone", csr({ asks: { dnsNames: [] } })],
    ["for names alone", csr({ asks: { ipAddresses: [] } })],
    ["for all that the cloud gives", csr({ asks: { ipAddresses: ["203.0.113.5", "10.0.1.17"] } })],
    ["for a name in another spelling", csr({ asks: { dnsNames: ["IP-10-0-1-17.Example.Internal"] } })],
    ["with conditions that are an empty list", csr({ status: { conditions: [] } })],
    ["that is almost too old", csr({ metadata: { creationTimestamp: bornSecondsAgo(3_600) } })],
  ])("%s", (_, object) => {
    expect(typeOfCondition(decide(object))).toBe("Approved");
  });

  test("by an IPv6 address in whatever spelling", () => {
    const object = csr({ asks: { ipAddresses: ["fd00:0:0:0:0:0:0:1"] } });
    expect(typeOfCondition(decide(object, found({ addresses: [internal("fd00::1")] })))).toBe("Approved");
  });
});

describe("denied is what can never be right:", () => {
  test.each([
    [
      "another node's common name",
      csr({ asks: { commonNames: ["system:node:b"] } }),
      "CommonNameNotRequestor",
    ],
    ["no common name", csr({ asks: { commonNames: [] } }), "CommonNameNotRequestor"],
    ["two common names", csr({ asks: { commonNames: [USERNAME, USERNAME] } }), "CommonNameNotRequestor"],
    [
      "an extra organization",
      csr({ asks: { organizations: ["system:nodes", "system:masters"] } }),
      "OrganizationForbidden",
    ],
    ["another organization", csr({ asks: { organizations: ["system:masters"] } }), "OrganizationForbidden"],
    ["no organization", csr({ asks: { organizations: [] } }), "OrganizationForbidden"],
    ["an e-mail address", csr({ asks: { emailAddresses: ["a@example.com"] } }), "EmailAddressForbidden"],
    ["a URI", csr({ asks: { uris: ["spiffe://a"] } }), "URIForbidden"],
    ["a wildcard", csr({ asks: { dnsNames: [NODE_NAME, "*.example.com"] } }), "WildcardForbidden"],
    ["no name", csr({ asks: { dnsNames: [], ipAddresses: [] } }), "NoNames"],
    ["no usages", csr({ spec: { usages: [] } }), "UsagesForbidden"],
    ["a client's usage", csr({ spec: { usages: ["digital signature", "client auth"] } }), "UsagesForbidden"],
    [
      "a usage more",
      csr({ spec: { usages: ["digital signature", "server auth", "client auth"] } }),
      "UsagesForbidden",
    ],
    ["a usage less", csr({ spec: { usages: ["server auth"] } }), "UsagesForbidden"],
  ])("%s", (_, object, code) => {
    const decision = decide(object, "unasked", related(relatedNode()));
    expect(decision.because.code).toBe(code);
    expect(typeOfCondition(decision)).toBe("Denied");
    expect(eventsOf(decision)).toEqual([
      {
        reason: "ServingCertificate",
        code,
        facts: expect.objectContaining({ request: "csr-abcde" }),
        about: { apiVersion: "v1", kind: "Node", name: NODE_NAME, uid: "node-uid" },
      },
      { reason: "ServingCertificate", code, facts: expect.objectContaining({ request: "csr-abcde" }) },
    ]);
  });

  test("which takes no node, and without one the request alone is told", () => {
    const decision = decide(csr({ asks: { uris: ["spiffe://a"] } }), "unasked", {});
    expect(typeOfCondition(decision)).toBe("Denied");
    expect(eventsOf(decision)).toEqual([
      { reason: "ServingCertificate", code: "URIForbidden", facts: { request: "csr-abcde" } },
    ]);
  });
});

describe("pending, to be looked at again:", () => {
  const error = (code: Extract<InstanceAnswer, { kind: "error" }>["code"]): InstanceAnswer => ({
    kind: "error",
    code,
    message: "vpc-9 of account 9, tag kubernetes.io/cluster/secret",
  });
  const lasting = csr({ metadata: { creationTimestamp: bornSecondsAgo(60) } });

  test.each([
    ["without its node", csr(), FOUND, related(), "NodeUnknown", 5, false],
    ["without any related object", csr(), FOUND, {}, "NodeUnknown", 5, false],
    ["with a node that is none", csr(), FOUND, related({ metadata: {} }), "NodeUnknown", 5, false],
    [
      "with another node alone",
      csr(),
      FOUND,
      related(relatedNode({ metadata: { name: "b" } })),
      "NodeUnknown",
      5,
      false,
    ],
    [
      "with a node on its way out",
      csr(),
      FOUND,
      related(relatedNode({ metadata: { deletionTimestamp: "now" } })),
      "NodeBeingDeleted",
      30,
      false,
    ],
    ["before the cloud was asked", csr(), "unasked", undefined, "NoAnswer", 5, false],
    [
      "before the cloud shows the instance",
      csr(),
      { kind: "not-found", message: "none" },
      undefined,
      "InstanceNotFound",
      5,
      false,
    ],
    [
      "while the cloud shows no instance",
      lasting,
      { kind: "not-found", message: "none" },
      undefined,
      "InstanceNotFound",
      60,
      true,
    ],
    [
      "while the instance starts",
      csr(),
      found({ state: "pending" }),
      undefined,
      "InstanceNotRunning",
      5,
      false,
    ],
    [
      "while the instance is stopped",
      lasting,
      found({ state: "stopped" }),
      undefined,
      "InstanceNotRunning",
      60,
      true,
    ],
    [
      "once the instance is terminated",
      lasting,
      found({ state: "terminated" }),
      undefined,
      "InstanceNotRunning",
      60,
      true,
    ],
    ["of another cluster's instance", csr(), error("Foreign"), undefined, "Foreign", 5, false],
    ["of one of several instances", csr(), error("Ambiguous"), undefined, "Ambiguous", 30, true],
    ["of another cloud's node", csr(), error("ForeignProviderID"), undefined, "ForeignProviderID", 30, true],
    [
      "of a node that names no instance",
      csr(),
      error("InvalidProviderID"),
      undefined,
      "InvalidProviderID",
      30,
      true,
    ],
    ["while the cloud refuses us", csr(), error("Denied"), undefined, "Denied", 5, false],
    ["while the cloud throttles", csr(), error("Throttled"), undefined, "Throttled", 5, false],
    ["while the cloud is down", csr(), error("Unavailable"), undefined, "Unavailable", 5, false],
    ["when time was up", csr(), error("Aborted"), undefined, "Aborted", 5, false],
    [
      "with another node's address",
      csr({ asks: { ipAddresses: ["10.0.1.18"] } }),
      FOUND,
      undefined,
      "NameNotOfInstance",
      5,
      true,
    ],
    [
      "with another node's name",
      csr({ asks: { dnsNames: ["node-b"] } }),
      FOUND,
      undefined,
      "NameNotOfInstance",
      5,
      true,
    ],
    [
      "with an address as a name",
      csr({ asks: { dnsNames: ["10.0.1.17"] } }),
      FOUND,
      undefined,
      "NameNotOfInstance",
      5,
      true,
    ],
    [
      "with what is no address",
      csr({ asks: { ipAddresses: ["10.0.1.0/255.255.255.0"] } }),
      FOUND,
      undefined,
      "NameNotOfInstance",
      5,
      true,
    ],
    [
      "with other parts",
      csr({ asks: { others: ["attribute 1.2.3"] } }),
      undefined,
      undefined,
      "RequestUnusual",
      300,
      true,
    ],
    [
      "with what cannot be read",
      csr({ spec: { request: "rubbish" } }),
      undefined,
      undefined,
      "RequestUnreadable",
      300,
      true,
    ],
    [
      "with a request too long to be kept",
      csr({ spec: { request: undefined } }),
      undefined,
      undefined,
      "RequestTooLarge",
      300,
      true,
    ],
  ] as const)("%s", (_, object, answer, nodes, code, afterSeconds, warns) => {
    const decision = decide(object, answer, nodes);
    expect(decision).toMatchObject({ kind: "retry", because: { code }, afterSeconds });
    const events = eventsOf(decision);
    expect(events.map((event) => event.code)).toEqual(warns ? [code, code] : []);
    expect(JSON.stringify(events.map(inWords))).not.toMatch(/vpc-9|account 9|secret/);
    expect(events.map(({ about }) => about?.uid)).toEqual(warns ? ["node-uid", undefined] : []);
  });

  test("an instance that is somebody else's, one that may not be seen and one that is not there are told alike", () => {
    const absent = decide(lasting, { kind: "not-found", message: "none" });
    expect(eventsOf(absent)).toMatchObject([{ code: "InstanceNotFound" }, { code: "InstanceNotFound" }]);
    expect(absent).toMatchObject({ kind: "retry", afterSeconds: 60 });
    for (const code of ["Foreign", "Denied"] as const) {
      expect({ ...decide(lasting, error(code)), because: absent.because }).toEqual(absent);
    }
  });

  test("the Event names what the cloud does not give, and nothing else", () => {
    const asks = { dnsNames: [NODE_NAME, "node-b"], ipAddresses: ["10.0.1.17", "10.0.1.18"] };
    const [event] = eventsOf(decide(csr({ asks })));
    expect(event && inWords(event).message).toMatch(/: node-b, 10\.0\.1\.18$/);
  });

  test("an Event is no longer than Kubernetes takes, whatever a node asks for", () => {
    const metadata = { name: "c".repeat(253) };
    const [event] = eventsOf(decide(csr({ metadata, asks: { dnsNames: ["x".repeat(5_000)] } })));
    expect(event && inWords(event).message.length).toBeLessThanOrEqual(1_024);
  });

  test.each([
    [0, 2],
    [0.5, 2],
    [40, 40],
    [299, 299],
    [301, 300],
    [-20, 2],
    [Number.NaN, 2],
  ])("at %d seconds of age it waits %d", (age, wait) => {
    const creationTimestamp = Number.isNaN(age) ? "once" : bornSecondsAgo(age);
    const object = csr({ metadata: { creationTimestamp } });
    expect(decide(object, FOUND, {})).toMatchObject({ kind: "retry", afterSeconds: wait });
  });

  test("it is looked at 21 times in its hour, and then never again", () => {
    let age = 0;
    let looks = 0;
    for (;;) {
      const object = csr({ metadata: { creationTimestamp: bornSecondsAgo(age) } });
      const decision = decide(object, { kind: "not-found", message: "none" });
      if (decision.kind !== "retry") {
        expect(decision).toMatchObject({ kind: "skip", because: { code: "TooOld" } });
        break;
      }
      age += decision.afterSeconds;
      looks += 1;
    }
    expect(looks).toBe(21);
  });
});

describe("left alone", () => {
  test.each([
    ["approved", csr({ status: { conditions: [{ type: "Approved" }] } })],
    ["denied", csr({ status: { conditions: [{ type: "Denied" }] } })],
    ["failed", csr({ status: { conditions: [{ type: "Failed" }] } })],
    ["issued", csr({ status: { certificate: "LS0t" } })],
    ["being deleted", csr({ metadata: { deletionTimestamp: "2026-03-01T11:59:00Z" } })],
    ["of another signer", csr({ spec: { signerName: "kubernetes.io/kube-apiserver-client-kubelet" } })],
    ["asked for by an administrator", csr({ spec: { username: "kubernetes-admin" } })],
    ["asked for by a node outside of the group", csr({ spec: { groups: ["system:authenticated"] } })],
    ["asked for by what can be no node", csr({ spec: { username: "system:node:A/b" } })],
    ["asked for by a node without a name", csr({ spec: { username: "system:node:" } })],
    ["asked for under too long a name", csr({ spec: { username: `system:node:${"a".repeat(254)}` } })],
  ])("%s", (_, object) => {
    expect(csrController.needsWork(object, { labelPrefixes: [], settings: DEFAULT_SETTINGS })).toBe(false);
    expect(decide(object)).toMatchObject({ kind: "unchanged" });
    expect(question(object)).toBeUndefined();
  });

  test("a decision's result is, for every change there is", () => {
    const names = fc.subarray([NODE_NAME, "10.0.1.17", "203.0.113.5", "10.0.1.18", "*.a"]);
    const usages = fc.subarray(["digital signature", "server auth", "key encipherment", "client auth"]);
    given([names, usages, fc.boolean()], (list, spec, withNode) => {
      const isIp = (name: string) => /^\d/.test(name);
      const asks = { dnsNames: list.filter((name) => !isIp(name)), ipAddresses: list.filter(isIp) };
      const object = csr({ spec: { usages: spec, request: JSON.stringify(asked(asks)) } });
      const decision = decide(object, FOUND, withNode ? related(relatedNode()) : {});
      if (decision.kind !== "change") return;
      const [condition] = conditionsOf(decision);
      expect(condition?.lastUpdateTime).toBe("2026-03-01T12:00:00Z");
      expect(decide({ ...object, status: { conditions: conditionsOf(decision) } })).toMatchObject({
        kind: "unchanged",
      });
    });
  });

  test("nothing is approved that the cloud does not give, whatever is asked for", () => {
    const ours = ["10.0.1.17", "203.0.113.5"];
    const addresses = fc.array(fc.oneof(fc.constantFrom(...ours), fc.ipV4(), fc.ipV6(), fc.string()));
    given([addresses], (ipAddresses) => {
      const type = typeOfCondition(decide(csr({ asks: { ipAddresses } })));
      expect(type).toBe(ipAddresses.every((ip) => ours.includes(ip)) ? "Approved" : undefined);
    });
  });
});

describe("the cloud", () => {
  test("is asked about the node of the request, by what identifies its instance", () => {
    expect(question(csr())).toEqual({
      capability: "instances",
      node: {
        metadata: { ...(relatedNode()["metadata"] as object), resourceVersion: "0" },
        spec: { providerID: "aws:///eu-central-1a/i-0a1b2c3d4e5f60718" },
        status: {},
      },
    });
  });

  test("is asked one question by all requests of a node", () => {
    const nodes = related(relatedNode());
    const [a, b] = [csr(), csr({ metadata: { name: "csr-b", uid: "b" } })].map((each) =>
      question(each, nodes),
    );
    expect(a !== undefined && "node" in a && a.node).toBe(b !== undefined && "node" in b && b.node);
  });

  test.each([
    ["denied", csr({ asks: { uris: ["spiffe://a"] } }), undefined],
    ["unreadable", csr({ spec: { request: "rubbish" } }), undefined],
    ["too old", csr({ metadata: { creationTimestamp: bornSecondsAgo(3_601) } }), undefined],
    ["without a node", csr(), related()],
    ["of a node on its way out", csr(), related(relatedNode({ metadata: { deletionTimestamp: "now" } }))],
  ])("is not asked about what is %s", (_, object, nodes) => {
    expect(question(object, nodes)).toBeUndefined();
  });
});

test("a request is read once, for question and decision, and one that is too long never", () => {
  const read: string[] = [];
  const controller = createCsrController((text) => {
    read.push(text);
    return parseJsonRequest(text);
  });
  const long = csr({ spec: { request: JSON.stringify(asked({ others: ["x".repeat(128 * 1_024)] })) } });
  for (const value of [csr(), long]) {
    const parsed = controller.parse(value);
    if (parsed.kind === "malformed") throw new Error("not a request");
    const context = {
      reason: "watch",
      now: NOW,
      related: related(relatedNode()),
      settings: DEFAULT_SETTINGS,
    } as const;
    const question = controller.asks(parsed.object, context);
    controller.decide([{ object: parsed.object, answer: FOUND, hint: undefined }], context);
    expect(question === undefined).toBe(value === long);
  }
  expect(read).toEqual([csr().spec.request]);
});

function question(object: CertificateSigningRequest, nodes: RelatedObjects = related(relatedNode())) {
  return csrController.asks(object, {
    reason: "watch",
    now: NOW,
    related: nodes,
    settings: DEFAULT_SETTINGS,
  });
}

function conditionsOf(decision: Decision): { type: string; lastUpdateTime: string }[] {
  if (decision.kind !== "change") return [];
  const [write] = decision.writes as [ApproveWrite];
  const [operation] = write.patch;
  if (operation.op !== "add") throw new Error("not an addition");
  return operation.value as { type: string; lastUpdateTime: string }[];
}

function typeOfCondition(decision: Decision): string | undefined {
  return conditionsOf(decision)[0]?.type;
}

function eventsOf(decision: Decision) {
  return "events" in decision ? decision.events : [];
}
