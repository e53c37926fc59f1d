import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { renderEvent } from "#core/cluster-events.ts";
import type { RelatedObjects } from "#core/controller.ts";
import { createCsrController } from "#core/csr/controller.ts";
import type { CertificateSigningRequest } from "#core/csr/csr.ts";
import { type ApproveWrite, type Decision, Decision as DecisionSchema } from "#core/decision.ts";
import type { InstanceAnswer } from "#core/instance.ts";
import { DEFAULT_SETTINGS } from "#core/settings.ts";
import { checkProperty } from "#test/core/check-property.ts";
import {
  buildCsr,
  buildRelated,
  buildRelatedNode,
  buildRequest,
  csrController,
  NODE_NAME,
  parseJsonRequest,
  USERNAME,
} from "#test/core/csr/builders.ts";
import {
  buildExternalAddress,
  buildFoundAnswer,
  buildInternalAddress,
  getCreationTime,
  NOW,
} from "#test/core/node/builders.ts";

const CLOUD_NAMES = { type: "InternalDNS", address: "ip-10-0-1-17.example.internal" };
const FOUND = buildFoundAnswer({
  addresses: [buildInternalAddress("10.0.1.17"), buildExternalAddress("203.0.113.5"), CLOUD_NAMES],
});

function decide(
  object: CertificateSigningRequest,
  answer: InstanceAnswer | "unasked" = FOUND,
  nodes: RelatedObjects = buildRelated(buildRelatedNode()),
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
  // Strict: the report rejects an invalid decision too.
  return DecisionSchema.parse(plan.decisions[0]);
}

describe("approves a CSR", () => {
  test("whose names are those of the node and its instance, in one guarded patch", () => {
    expect(decide(buildCsr())).toEqual({
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
    [
      "with an RSA key",
      buildCsr({ spec: { usages: ["server auth", "key encipherment", "digital signature"] } }),
    ],
    ["for IP addresses only", buildCsr({ asks: { dnsNames: [] } })],
    ["for DNS names only", buildCsr({ asks: { ipAddresses: [] } })],
    [
      "for several addresses of the instance",
      buildCsr({ asks: { ipAddresses: ["203.0.113.5", "10.0.1.17"] } }),
    ],
    ["for a DNS name in another case", buildCsr({ asks: { dnsNames: ["IP-10-0-1-17.Example.Internal"] } })],
    ["with an empty list of conditions", buildCsr({ status: { conditions: [] } })],
    ["just below the maximum age", buildCsr({ metadata: { creationTimestamp: getCreationTime(3_600) } })],
  ])("%s", (_, object) => {
    expect(typeOfCondition(decide(object))).toBe("Approved");
  });

  test("for an IPv6 address in any spelling", () => {
    const object = buildCsr({ asks: { ipAddresses: ["fd00:0:0:0:0:0:0:1"] } });
    expect(
      typeOfCondition(decide(object, buildFoundAnswer({ addresses: [buildInternalAddress("fd00::1")] }))),
    ).toBe("Approved");
  });
});

describe("denies a CSR at once that has", () => {
  test.each([
    [
      "another node's common name",
      buildCsr({ asks: { commonNames: ["system:node:b"] } }),
      "CommonNameNotRequestor",
    ],
    ["no common name", buildCsr({ asks: { commonNames: [] } }), "CommonNameNotRequestor"],
    ["two common names", buildCsr({ asks: { commonNames: [USERNAME, USERNAME] } }), "CommonNameNotRequestor"],
    [
      "an additional organization",
      buildCsr({ asks: { organizations: ["system:nodes", "system:masters"] } }),
      "OrganizationForbidden",
    ],
    [
      "another organization",
      buildCsr({ asks: { organizations: ["system:masters"] } }),
      "OrganizationForbidden",
    ],
    ["no organization", buildCsr({ asks: { organizations: [] } }), "OrganizationForbidden"],
    ["an e-mail address", buildCsr({ asks: { emailAddresses: ["a@example.com"] } }), "EmailAddressForbidden"],
    ["a URI", buildCsr({ asks: { uris: ["spiffe://a"] } }), "URIForbidden"],
    [
      "a DNS name with a wildcard",
      buildCsr({ asks: { dnsNames: [NODE_NAME, "*.example.com"] } }),
      "WildcardForbidden",
    ],
    ["no DNS name and no IP address", buildCsr({ asks: { dnsNames: [], ipAddresses: [] } }), "NoNames"],
    ["no usages", buildCsr({ spec: { usages: [] } }), "UsagesForbidden"],
    [
      'the usage "client auth" in place of "server auth"',
      buildCsr({ spec: { usages: ["digital signature", "client auth"] } }),
      "UsagesForbidden",
    ],
    [
      "an additional usage",
      buildCsr({ spec: { usages: ["digital signature", "server auth", "client auth"] } }),
      "UsagesForbidden",
    ],
    ['only the usage "server auth"', buildCsr({ spec: { usages: ["server auth"] } }), "UsagesForbidden"],
  ])("%s", (_, object, code) => {
    const decision = decide(object, "unasked", buildRelated(buildRelatedNode()));
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

  test("the denial is reported on the CSR only if the node is missing", () => {
    const decision = decide(buildCsr({ asks: { uris: ["spiffe://a"] } }), "unasked", {});
    expect(typeOfCondition(decision)).toBe("Denied");
    expect(eventsOf(decision)).toEqual([
      { reason: "ServingCertificate", code: "URIForbidden", facts: { request: "csr-abcde" } },
    ]);
  });
});

describe("retries a CSR", () => {
  const error = (code: Extract<InstanceAnswer, { kind: "error" }>["code"]): InstanceAnswer => ({
    kind: "error",
    code,
    message: "vpc-9 of account 9, tag kubernetes.io/cluster/secret",
  });
  const lasting = buildCsr({ metadata: { creationTimestamp: getCreationTime(60) } });

  test.each([
    ["if its node is missing", buildCsr(), FOUND, buildRelated(), "NodeUnknown", 5, false],
    ["if the event has no related objects", buildCsr(), FOUND, {}, "NodeUnknown", 5, false],
    ["if its node is invalid", buildCsr(), FOUND, buildRelated({ metadata: {} }), "NodeUnknown", 5, false],
    [
      "if only another node exists",
      buildCsr(),
      FOUND,
      buildRelated(buildRelatedNode({ metadata: { name: "b" } })),
      "NodeUnknown",
      5,
      false,
    ],
    [
      "if its node is being deleted",
      buildCsr(),
      FOUND,
      buildRelated(buildRelatedNode({ metadata: { deletionTimestamp: "now" } })),
      "NodeBeingDeleted",
      30,
      false,
    ],
    ["if the cloud was not asked", buildCsr(), "unasked", undefined, "NoAnswer", 5, false],
    [
      "if the cloud does not show the instance yet",
      buildCsr(),
      { kind: "not-found", message: "none" },
      undefined,
      "InstanceNotFound",
      5,
      false,
    ],
    [
      "with a Warning if the cloud still does not show the instance after a minute",
      lasting,
      { kind: "not-found", message: "none" },
      undefined,
      "InstanceNotFound",
      60,
      true,
    ],
    [
      "if the instance is starting",
      buildCsr(),
      buildFoundAnswer({ state: "pending" }),
      undefined,
      "InstanceNotRunning",
      5,
      false,
    ],
    [
      "with a Warning if the instance is stopped",
      lasting,
      buildFoundAnswer({ state: "stopped" }),
      undefined,
      "InstanceNotRunning",
      60,
      true,
    ],
    [
      "with a Warning if the instance is terminated",
      lasting,
      buildFoundAnswer({ state: "terminated" }),
      undefined,
      "InstanceNotRunning",
      60,
      true,
    ],
    [
      "if the instance belongs to another cluster",
      buildCsr(),
      error("Foreign"),
      undefined,
      "Foreign",
      5,
      false,
    ],
    ["if several instances match the node", buildCsr(), error("Ambiguous"), undefined, "Ambiguous", 30, true],
    [
      "if the node belongs to another cloud",
      buildCsr(),
      error("ForeignProviderID"),
      undefined,
      "ForeignProviderID",
      30,
      true,
    ],
    [
      "if the provider ID is invalid",
      buildCsr(),
      error("InvalidProviderID"),
      undefined,
      "InvalidProviderID",
      30,
      true,
    ],
    ["if the cloud denies access", buildCsr(), error("Denied"), undefined, "Denied", 5, false],
    ["if the cloud throttles", buildCsr(), error("Throttled"), undefined, "Throttled", 5, false],
    ["if the cloud is unavailable", buildCsr(), error("Unavailable"), undefined, "Unavailable", 5, false],
    ["if the call to the cloud was aborted", buildCsr(), error("Aborted"), undefined, "Aborted", 5, false],
    [
      "for another node's address",
      buildCsr({ asks: { ipAddresses: ["10.0.1.18"] } }),
      FOUND,
      undefined,
      "NameNotOfInstance",
      5,
      true,
    ],
    [
      "for another node's name",
      buildCsr({ asks: { dnsNames: ["node-b"] } }),
      FOUND,
      undefined,
      "NameNotOfInstance",
      5,
      true,
    ],
    [
      "for an address as a DNS name",
      buildCsr({ asks: { dnsNames: ["10.0.1.17"] } }),
      FOUND,
      undefined,
      "NameNotOfInstance",
      5,
      true,
    ],
    [
      "for an invalid IP address",
      buildCsr({ asks: { ipAddresses: ["10.0.1.0/255.255.255.0"] } }),
      FOUND,
      undefined,
      "NameNotOfInstance",
      5,
      true,
    ],
    [
      "with unusual attributes",
      buildCsr({ asks: { others: ["attribute 1.2.3"] } }),
      undefined,
      undefined,
      "RequestUnusual",
      300,
      true,
    ],
    [
      "that cannot be parsed",
      buildCsr({ spec: { request: "rubbish" } }),
      undefined,
      undefined,
      "RequestUnreadable",
      300,
      true,
    ],
    [
      "that is above the maximum size",
      buildCsr({ spec: { request: undefined } }),
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
    expect(JSON.stringify(events.map(renderEvent))).not.toMatch(/vpc-9|account 9|secret/);
    expect(events.map(({ about }) => about?.uid)).toEqual(warns ? ["node-uid", undefined] : []);
  });

  test("reports a foreign, a hidden and a missing instance with the same Event", () => {
    const absent = decide(lasting, { kind: "not-found", message: "none" });
    expect(eventsOf(absent)).toMatchObject([{ code: "InstanceNotFound" }, { code: "InstanceNotFound" }]);
    expect(absent).toMatchObject({ kind: "retry", afterSeconds: 60 });
    for (const code of ["Foreign", "Denied"] as const) {
      expect({ ...decide(lasting, error(code)), because: absent.because }).toEqual(absent);
    }
  });

  test("names in the Event only what the cloud does not confirm", () => {
    const asks = { dnsNames: [NODE_NAME, "node-b"], ipAddresses: ["10.0.1.17", "10.0.1.18"] };
    const [event] = eventsOf(decide(buildCsr({ asks })));
    expect(event && renderEvent(event).message).toMatch(/: node-b, 10\.0\.1\.18$/);
  });

  test("keeps the Event within Kubernetes' limit, whatever a node requests", () => {
    const metadata = { name: "c".repeat(253) };
    const [event] = eventsOf(decide(buildCsr({ metadata, asks: { dnsNames: ["x".repeat(5_000)] } })));
    expect(event && renderEvent(event).message.length).toBeLessThanOrEqual(1_024);
  });

  test.each([
    [0, 2],
    [0.5, 2],
    [40, 40],
    [299, 299],
    [301, 300],
    [-20, 2],
    [Number.NaN, 2],
  ])("at an age of %d seconds retries after %d seconds", (age, wait) => {
    const creationTimestamp = Number.isNaN(age) ? "once" : getCreationTime(age);
    const object = buildCsr({ metadata: { creationTimestamp } });
    expect(decide(object, FOUND, {})).toMatchObject({ kind: "retry", afterSeconds: wait });
  });

  test("checks a CSR 21 times in an hour, and then never again", () => {
    let age = 0;
    let looks = 0;
    for (;;) {
      const object = buildCsr({ metadata: { creationTimestamp: getCreationTime(age) } });
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

describe("ignores a CSR that is", () => {
  test.each([
    ["approved", buildCsr({ status: { conditions: [{ type: "Approved" }] } })],
    ["denied", buildCsr({ status: { conditions: [{ type: "Denied" }] } })],
    ["failed", buildCsr({ status: { conditions: [{ type: "Failed" }] } })],
    ["issued", buildCsr({ status: { certificate: "LS0t" } })],
    ["being deleted", buildCsr({ metadata: { deletionTimestamp: "2026-03-01T11:59:00Z" } })],
    ["for another signer", buildCsr({ spec: { signerName: "kubernetes.io/kube-apiserver-client-kubelet" } })],
    ["requested by an administrator", buildCsr({ spec: { username: "kubernetes-admin" } })],
    [
      "requested by a node outside of the group system:nodes",
      buildCsr({ spec: { groups: ["system:authenticated"] } }),
    ],
    ["requested under an invalid node name", buildCsr({ spec: { username: "system:node:A/b" } })],
    ["requested under an empty node name", buildCsr({ spec: { username: "system:node:" } })],
    [
      "requested under a node name that is too long",
      buildCsr({ spec: { username: `system:node:${"a".repeat(254)}` } }),
    ],
  ])("%s", (_, object) => {
    expect(csrController.needsWork(object, { labelPrefixes: [], settings: DEFAULT_SETTINGS })).toBe(false);
    expect(decide(object)).toMatchObject({ kind: "unchanged" });
    expect(question(object)).toBeUndefined();
  });

  test("a second decision on the result of any change writes nothing", () => {
    const names = fc.subarray([NODE_NAME, "10.0.1.17", "203.0.113.5", "10.0.1.18", "*.a"]);
    const usages = fc.subarray(["digital signature", "server auth", "key encipherment", "client auth"]);
    checkProperty([names, usages, fc.boolean()], (list, spec, withNode) => {
      const isIp = (name: string) => /^\d/.test(name);
      const asks = { dnsNames: list.filter((name) => !isIp(name)), ipAddresses: list.filter(isIp) };
      const object = buildCsr({ spec: { usages: spec, request: JSON.stringify(buildRequest(asks)) } });
      const decision = decide(object, FOUND, withNode ? buildRelated(buildRelatedNode()) : {});
      if (decision.kind !== "change") return;
      const [condition] = conditionsOf(decision);
      expect(condition?.lastUpdateTime).toBe("2026-03-01T12:00:00Z");
      expect(decide({ ...object, status: { conditions: conditionsOf(decision) } })).toMatchObject({
        kind: "unchanged",
      });
    });
  });

  test("never approves a name that the cloud does not confirm", () => {
    const ours = ["10.0.1.17", "203.0.113.5"];
    const addresses = fc.array(fc.oneof(fc.constantFrom(...ours), fc.ipV4(), fc.ipV6(), fc.string()));
    checkProperty([addresses], (ipAddresses) => {
      const type = typeOfCondition(decide(buildCsr({ asks: { ipAddresses } })));
      expect(type).toBe(ipAddresses.every((ip) => ours.includes(ip)) ? "Approved" : undefined);
    });
  });
});

describe("the question to the cloud", () => {
  test("contains the fields of the requesting node that identify its instance", () => {
    expect(question(buildCsr())).toEqual({
      capability: "instances",
      node: {
        metadata: { ...(buildRelatedNode()["metadata"] as object), resourceVersion: "0" },
        spec: { providerID: "aws:///eu-central-1a/i-0a1b2c3d4e5f60718" },
        status: {},
      },
    });
  });

  test("is the same for all CSRs of a node", () => {
    const nodes = buildRelated(buildRelatedNode());
    const [a, b] = [buildCsr(), buildCsr({ metadata: { name: "csr-b", uid: "b" } })].map((each) =>
      question(each, nodes),
    );
    expect(a !== undefined && "node" in a && a.node).toBe(b !== undefined && "node" in b && b.node);
  });

  test.each([
    ["denied", buildCsr({ asks: { uris: ["spiffe://a"] } }), undefined],
    ["unreadable", buildCsr({ spec: { request: "rubbish" } }), undefined],
    ["too old", buildCsr({ metadata: { creationTimestamp: getCreationTime(3_601) } }), undefined],
    ["without a node", buildCsr(), buildRelated()],
    [
      "of a node that is being deleted",
      buildCsr(),
      buildRelated(buildRelatedNode({ metadata: { deletionTimestamp: "now" } })),
    ],
  ])("is not asked for a CSR that is %s", (_, object, nodes) => {
    expect(question(object, nodes)).toBeUndefined();
  });
});

test("question and decision parse a CSR once, and never one above the maximum size", () => {
  const read: string[] = [];
  const controller = createCsrController((text) => {
    read.push(text);
    return parseJsonRequest(text);
  });
  const long = buildCsr({
    spec: { request: JSON.stringify(buildRequest({ others: ["x".repeat(128 * 1_024)] })) },
  });
  for (const value of [buildCsr(), long]) {
    const parsed = controller.parse(value);
    if (parsed.kind === "malformed") throw new Error("not a request");
    const context = {
      reason: "watch",
      now: NOW,
      related: buildRelated(buildRelatedNode()),
      settings: DEFAULT_SETTINGS,
    } as const;
    const question = controller.buildQuestion(parsed.object, context);
    controller.decide([{ object: parsed.object, answer: FOUND, hint: undefined }], context);
    expect(question === undefined).toBe(value === long);
  }
  expect(read).toEqual([buildCsr().spec.request]);
});

function question(
  object: CertificateSigningRequest,
  nodes: RelatedObjects = buildRelated(buildRelatedNode()),
) {
  return csrController.buildQuestion(object, {
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
