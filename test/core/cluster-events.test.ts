import { describe, expect, test } from "vitest";
import {
  type ClusterEventReason,
  EVENTS,
  inWords,
  isDispensable,
  isSaidOnce,
  isTold,
  type Told,
  tell,
} from "#core/cluster-events.ts";
import { CONDITIONS, conditionOf } from "#core/csr/conditions.ts";
import { ClusterEvent } from "#core/decision.ts";
import { FACTS, type FactName, factsIn } from "#core/saying.ts";
import {
  instanceIdOf,
  kindOf,
  managerOf,
  nameOf,
  namesIn,
  type TenantFact,
  usagesOf,
  wordsOfServer,
} from "#core/tenant-fact.ts";
import { asked, csr } from "#test/core/csr/builders.ts";
import { found } from "#test/core/node/builders.ts";

const rows = Object.entries(EVENTS).flatMap(([reason, { says }]) =>
  Object.entries(says).map(([code, { sentence, when }]) => ({ reason, code, sentence, when })),
);

/** An Event with as much of each fact as there could be. */
function fullest(reason: string, code: string): Told {
  const names = Object.keys(FACTS) as FactName[];
  const much = nameOf({ metadata: { name: "\u001b[31m".repeat(2_000) } });
  const facts = Object.fromEntries(names.map((name) => [name, name === "kind" ? kind("Node") : much]));
  return { reason: reason as ClusterEventReason, code, facts };
}

function kind(text: string): TenantFact {
  return kindOf({ apiVersion: "v1", kind: text, name: "a", uid: "b" });
}

describe.each(rows)("the Event $reason with the code $code", ({ reason, code, sentence, when }) => {
  const event = fullest(reason, code);

  test("is one that a decision may hold", () => {
    expect(ClusterEvent.parse(event)).toEqual(event);
  });

  test("is within what Kubernetes takes, whatever its facts are, and none of them acts", () => {
    const words = inWords(event);
    expect(words.message.length).toBeLessThanOrEqual(1_024);
    expect(words.reason).toMatch(/^[A-Z]\w{1,127}$/);
    expect(words.message).not.toMatch(/\p{Cc}|\{\w+\}$/u);
  });

  test("has room for known facts alone, and says when it is told", () => {
    expect(Object.keys(FACTS)).toEqual(expect.arrayContaining(factsIn(sentence)));
    expect(when).toMatch(/^[A-Z].*\.$/);
  });
});

test("an Event of an API server's refusal names the kind and quotes the server", () => {
  const words = wordsOfServer({ kind: "rejected", message: "403: no\u0007" });
  expect(inWords(tell("{kind}UpdateRejected", "Forbidden", { kind: kind("Node"), words }))).toEqual({
    type: "Warning",
    reason: "NodeUpdateRejected",
    message: "The API server does not accept the update of this Node: 403: no\\u{0007}",
  });
});

test("of a node that cannot be initialized one Event is enough, whatever its code", () => {
  const once = (Object.keys(EVENTS) as ClusterEventReason[]).filter(isSaidOnce);
  expect(once).toEqual(["CloudInitializationFailed"]);
});

test("what may be left out while other objects wait is neither a Warning nor something that is said always", () => {
  const reasons = Object.keys(EVENTS) as ClusterEventReason[];
  const kept = reasons.filter((reason) => EVENTS[reason].type === "Normal" && !isDispensable({ reason }));
  expect(kept.every((reason) => "always" in EVENTS[reason])).toBe(true);
  expect(kept).not.toEqual([]);
  const dispensable = reasons.filter((reason) => isDispensable({ reason }));
  expect(dispensable).not.toEqual([]);
  expect(dispensable.filter((reason) => EVENTS[reason].type === "Warning")).toEqual([]);
});

test("a fact that an Event from elsewhere lacks is left out", () => {
  const { message } = inWords({ reason: "TaintRestored", code: "TaintRestored", facts: {} });
  expect(message).toMatch(/last written by ""$/);
});

test("of facts that a sentence has no room for nothing is kept", () => {
  const facts = { request: nameOf(csr()), names: [nameOf(csr())], usages: usagesOf(csr()) };
  expect(tell("ServingCertificate", "RequestUnusual", facts).facts).toEqual({ request: "csr-abcde" });
});

test.each([
  ["a sentence of its own", { reason: "Synced", code: "Initialized", facts: {}, message: "vpc-of-theirs" }],
  ["an unknown reason", { reason: "Whim", code: "Initialized", facts: {} }],
  ["a code of another reason", { reason: "Synced", code: "NoNames", facts: {} }],
  ["a code that every object has", { reason: "Synced", code: "toString", facts: {} }],
  ["an unknown fact", { reason: "Synced", code: "Initialized", facts: { vpc: "vpc-of-theirs" } }],
])("%s is no Event that a decision may hold", (_, event) => {
  expect(ClusterEvent.safeParse(event).success).toBe(false);
});

test("an Event that is not in the catalogue is not told", () => {
  const event: Told = { reason: "Synced", code: "NoNames", facts: {} };
  expect(isTold(event)).toBe(false);
  expect(() => inWords(event)).toThrow("there is no Event Synced with the code NoNames");
});

test("a cloud's message does not fit where a fact is asked for", () => {
  const answer = { kind: "not-found", message: "vpc-of-theirs" } as const;
  // @ts-expect-error a string is no fact: this line must not compile
  tell("TaintRestored", "TaintRestored", { manager: answer.message });
  // @ts-expect-error nor is there room for a sentence
  const event: ClusterEvent = { ...tell("Synced", "Initialized", {}), message: answer.message };
  expect(ClusterEvent.safeParse(event).success).toBe(false);
});

test("facts are what the tenant has already", () => {
  const { answer } = { answer: found() };
  expect({
    manager: managerOf({ undoneBy: "other-controller" }),
    nobody: [managerOf(undefined), managerOf({})],
    names: namesIn(asked()),
    usages: usagesOf(csr({ spec: { usages: ["server auth", "digital signature", "server auth"] } })),
    instance: answer.kind === "found" && instanceIdOf(answer.instance),
  }).toEqual({
    manager: "other-controller",
    nobody: [undefined, undefined],
    names: { dnsNames: asked().dnsNames, ipAddresses: asked().ipAddresses },
    usages: ["digital signature", "server auth"],
    instance: "i-0a1b2c3d4e5f60718",
  });
});

test("each condition is within what people read, and none of its facts acts", () => {
  for (const code of Object.keys(CONDITIONS) as (keyof typeof CONDITIONS)[]) {
    const much = nameOf({ metadata: { name: "\u001b".repeat(5_000) } });
    const { because, type } = conditionOf({ code, facts: { usages: [much, much], instance: much } });
    expect([because.code, type]).toEqual([code, CONDITIONS[code].type]);
    expect(because.message.length).toBeLessThan(500);
    expect(because.message).not.toMatch(/\p{Cc}|\{\w+\}$/u);
  }
});
