import { describe, expect, test } from "vitest";
import {
  buildClusterEvent,
  type CatalogEvent,
  type ClusterEventReason,
  isCatalogEvent,
  isDispensable,
  isEmittedOnce,
  limitOnKind,
  renderEvent,
} from "#core/cluster-events.ts";
import { buildCondition, CONDITIONS } from "#core/csr/conditions.ts";
import { ClusterEvent } from "#core/decision.ts";
import { EVENTS } from "#core/event-catalog.ts";
import { FACTS, type FactName, listFactNames } from "#core/message-template.ts";
import {
  getInstanceIdFact,
  getKindFact,
  getManagerFact,
  getNameFact,
  getServerMessageFact,
  listRequestedNameFacts,
  listUsageFacts,
  type TenantFact,
} from "#core/tenant-fact.ts";
import { buildCsr, buildRequest } from "#test/core/csr/builders.ts";
import { buildFoundAnswer } from "#test/core/node/builders.ts";

const rows = Object.entries(EVENTS).flatMap(([reason, { says }]) =>
  Object.entries(says).map(([code, { sentence, when }]) => ({ reason, code, sentence, when })),
);

/** An Event with each fact at its maximum length. */
function fullest(reason: string, code: string): CatalogEvent {
  const names = Object.keys(FACTS) as FactName[];
  const much = getNameFact({ metadata: { name: "\u001b[31m".repeat(2_000) } });
  const facts = Object.fromEntries(names.map((name) => [name, name === "kind" ? kind("Node") : much]));
  return { reason: reason as ClusterEventReason, code, facts };
}

function kind(text: string): TenantFact {
  return getKindFact({ apiVersion: "v1", kind: text, name: "a", uid: "b" });
}

describe.each(rows)("the Event $reason with the code $code", ({ reason, code, sentence, when }) => {
  const event = fullest(reason, code);

  test("is valid in a decision", () => {
    expect(ClusterEvent.parse(event)).toEqual(event);
  });

  test("fits Kubernetes' limits with any facts, which cannot act on a terminal", () => {
    const words = renderEvent(event);
    expect(words.message.length).toBeLessThanOrEqual(1_024);
    expect(words.reason).toMatch(/^[A-Z]\w{1,127}$/);
    expect(words.message).not.toMatch(/\p{Cc}|\{\w+\}$/u);
  });

  test("uses only known facts, and documents when it is recorded", () => {
    expect(Object.keys(FACTS)).toEqual(expect.arrayContaining(listFactNames(sentence)));
    expect(when).toMatch(/^[A-Z].*\.$/);
  });
});

test("the Event for an API server's rejection names the kind and quotes the server", () => {
  const words = getServerMessageFact({ kind: "rejected", message: "403: no\u0007" });
  expect(
    renderEvent(buildClusterEvent("{kind}UpdateRejected", "Forbidden", { kind: kind("Node"), words })),
  ).toEqual({
    type: "Warning",
    reason: "NodeUpdateRejected",
    message: "The API server does not accept the update of this Node: 403: no\\u{0007}",
  });
});

test("one Event is enough for a node that cannot be initialized, whatever the code", () => {
  const once = (Object.keys(EVENTS) as ClusterEventReason[]).filter(isEmittedOnce);
  expect(once).toEqual(["CloudInitializationFailed"]);
});

test.each<[ClusterEventReason, string, number | undefined]>([
  ["ServingCertificate", "CertificateSigningRequest", 1_000],
  ["ServingCertificate", "Node", undefined],
  ["ServingCertificate", "constructor", undefined],
  ["Synced", "CertificateSigningRequest", undefined],
])("a cluster's Events %s on objects of the kind %s are limited to %s", (reason, kind, limit) => {
  expect(limitOnKind(reason, kind)).toBe(limit);
});

test("no Warning and no Event that is always recorded may be left out while other objects wait", () => {
  const reasons = Object.keys(EVENTS) as ClusterEventReason[];
  const kept = reasons.filter((reason) => EVENTS[reason].type === "Normal" && !isDispensable({ reason }));
  expect(kept.every((reason) => "always" in EVENTS[reason])).toBe(true);
  expect(kept).not.toEqual([]);
  const dispensable = reasons.filter((reason) => isDispensable({ reason }));
  expect(dispensable).not.toEqual([]);
  expect(dispensable.filter((reason) => EVENTS[reason].type === "Warning")).toEqual([]);
});

test("leaves out a fact that an Event from outside lacks", () => {
  const { message } = renderEvent({ reason: "TaintRestored", code: "TaintRestored", facts: {} });
  expect(message).toMatch(/last written by ""$/);
});

test("drops facts that a sentence does not use", () => {
  const facts = {
    request: getNameFact(buildCsr()),
    names: [getNameFact(buildCsr())],
    usages: listUsageFacts(buildCsr()),
  };
  expect(buildClusterEvent("ServingCertificate", "RequestUnusual", facts).facts).toEqual({
    request: "csr-abcde",
  });
});

test.each([
  ["a sentence of its own", { reason: "Synced", code: "Initialized", facts: {}, message: "vpc-of-theirs" }],
  ["an unknown reason", { reason: "Whim", code: "Initialized", facts: {} }],
  ["a code of another reason", { reason: "Synced", code: "NoNames", facts: {} }],
  ["a code that every object has", { reason: "Synced", code: "toString", facts: {} }],
  ["an unknown fact", { reason: "Synced", code: "Initialized", facts: { vpc: "vpc-of-theirs" } }],
])("%s is not a valid Event in a decision", (_, event) => {
  expect(ClusterEvent.safeParse(event).success).toBe(false);
});

test("does not record an Event outside the catalogue", () => {
  const event: CatalogEvent = { reason: "Synced", code: "NoNames", facts: {} };
  expect(isCatalogEvent(event)).toBe(false);
  expect(() => renderEvent(event)).toThrow("there is no Event Synced with the code NoNames");
});

test("the types reject a cloud's message as a fact", () => {
  const answer = { kind: "not-found", message: "vpc-of-theirs" } as const;
  // @ts-expect-error a string is no fact: this line must not compile
  buildClusterEvent("TaintRestored", "TaintRestored", { manager: answer.message });
  // @ts-expect-error nor is there room for a sentence
  const event: ClusterEvent = { ...buildClusterEvent("Synced", "Initialized", {}), message: answer.message };
  expect(ClusterEvent.safeParse(event).success).toBe(false);
});

test("facts contain only what the tenant already has", () => {
  const { answer } = { answer: buildFoundAnswer() };
  expect({
    manager: getManagerFact({ undoneBy: "other-controller" }),
    missing: [getManagerFact(undefined), getManagerFact({})],
    names: listRequestedNameFacts(buildRequest()),
    usages: listUsageFacts(
      buildCsr({ spec: { usages: ["server auth", "digital signature", "server auth"] } }),
    ),
    instance: answer.kind === "found" && getInstanceIdFact(answer.instance),
  }).toEqual({
    manager: "other-controller",
    missing: [undefined, undefined],
    names: { dnsNames: buildRequest().dnsNames, ipAddresses: buildRequest().ipAddresses },
    usages: ["digital signature", "server auth"],
    instance: "i-0a1b2c3d4e5f60718",
  });
});

test("each condition is short enough for people, and its facts cannot act on a terminal", () => {
  for (const code of Object.keys(CONDITIONS) as (keyof typeof CONDITIONS)[]) {
    const much = getNameFact({ metadata: { name: "\u001b".repeat(5_000) } });
    const { because, type } = buildCondition({ code, facts: { usages: [much, much], instance: much } });
    expect([because.code, type]).toEqual([code, CONDITIONS[code].type]);
    expect(because.message.length).toBeLessThan(500);
    expect(because.message).not.toMatch(/\p{Cc}|\{\w+\}$/u);
  }
});
