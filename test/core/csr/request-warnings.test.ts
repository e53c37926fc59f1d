import { describe, expect, test } from "vitest";
import { buildRequestWarnings, limitRequestWarnings } from "#core/csr/request-warnings.ts";
import type { Decision } from "#core/decision.ts";
import { leaveUnchanged, retry, toReference } from "#core/decisions.ts";
import type { Node } from "#core/node/node.ts";
import { CERTIFICATE_SIGNING_REQUESTS } from "#core/resources/resource.ts";
import { buildCsr } from "#test/core/csr/builders.ts";

const node = (name: string): Node => ({
  metadata: { name, uid: `uid-of-${name}`, resourceVersion: "1", creationTimestamp: "2026-03-01T12:00:00Z" },
  spec: {},
  status: {},
});

let made = 0;
function warned(by: Node | undefined): Decision {
  made += 1;
  const request = buildCsr({ metadata: { name: `csr-${made}`, uid: `csr-uid-${made}` } });
  const events = buildRequestWarnings(by, request, "NameNotOfInstance");
  const because = { code: "NameNotOfInstance", message: "" };
  return retry(toReference(CERTIFICATE_SIGNING_REQUESTS, request), because, 5, events);
}

/** The number of Warnings on requests, and on nodes. */
function counts(decisions: readonly Decision[]): { readonly requests: number; readonly nodes: number } {
  const events = decisions.flatMap((decision) => ("events" in decision ? decision.events : []));
  const nodes = events.filter(({ about }) => about !== undefined).length;
  return { requests: events.length - nodes, nodes };
}

describe("Warnings on requests in one batch", () => {
  test("are all kept if they are few, with those on the nodes", () => {
    const quiet = leaveUnchanged(toReference(CERTIFICATE_SIGNING_REQUESTS, buildCsr()));
    const decisions = [warned(node("a")), quiet, warned(node("a")), warned(node("b")), warned(undefined)];
    expect(limitRequestWarnings(decisions)).toEqual(decisions);
    expect(counts(decisions)).toEqual({ requests: 4, nodes: 3 });
  });

  test("are at most five for one node", () => {
    const decisions = Array.from({ length: 90 }, () => warned(node("a")));
    expect(counts(limitRequestWarnings(decisions))).toEqual({ requests: 5, nodes: 90 });
  });

  test("are at most five if the cluster does not have their nodes", () => {
    const decisions = Array.from({ length: 90 }, () => warned(undefined));
    expect(counts(limitRequestWarnings(decisions))).toEqual({ requests: 5, nodes: 0 });
  });

  test("are at most twenty: the first of every node precedes the second of any", () => {
    const floods = ["a", "b", "c", "d", "e"].flatMap((name) =>
      Array.from({ length: 10 }, () => warned(node(name))),
    );
    const last = warned(node("z"));
    const limited = limitRequestWarnings([...floods, last]);
    expect(counts(limited)).toEqual({ requests: 20, nodes: 51 });
    expect(limited.at(-1)).toEqual(last);
  });
});
