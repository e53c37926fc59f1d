import { describe, expect, test } from "vitest";
import { parseEventList } from "#functions/parts/audit/event-list.ts";
import { buildAuditEvent, buildEventList } from "#test/functions/audit/event-builders.ts";

/** The touched objects as plain values. */
function listTouched(text: string): unknown {
  const reported = parseEventList(text);
  if (reported === undefined) return undefined;
  const { touched, ...counts } = reported;
  const names = [...touched].map(([resource, each]) => [resource, each === "all" ? each : [...each.keys()]]);
  return { ...Object.fromEntries(names), ...counts };
}

const NONE = { malformed: 0, ignored: 0 };

describe("a list of audit events", () => {
  test("names the touched objects once, whatever their order and number", () => {
    const events = [
      buildAuditEvent("patch", { resource: "nodes", name: "b" }),
      buildAuditEvent("create", { resource: "nodes", name: "a" }),
      buildAuditEvent("delete", { resource: "nodes", name: "b" }),
      buildAuditEvent("update", { resource: "services", namespace: "default", name: "web" }),
    ];
    const expected = { nodes: ["b", "a"], services: ["default/web"], ...NONE };
    expect(listTouched(buildEventList(events))).toEqual(expected);
    expect(listTouched(buildEventList([...events, ...events]))).toEqual(expected);
  });

  const APPROVALS = { apiGroup: "certificates.k8s.io", resource: "certificatesigningrequests" };

  test.each([
    ["a name that the server generated", buildAuditEvent("create", APPROVALS), "certificatesigningrequests"],
    ["a collection", buildAuditEvent("deletecollection", { resource: "nodes" }), "nodes"],
    [
      "a Service without namespace",
      buildAuditEvent("patch", { resource: "services", name: "a" }),
      "services",
    ],
    [
      "a node in a namespace",
      buildAuditEvent("patch", { resource: "nodes", name: "a", namespace: "b" }),
      "nodes",
    ],
  ])("counts %s as the whole resource", (_, event, resource) => {
    const named = buildAuditEvent("patch", { resource: "nodes", name: "a" });
    expect(listTouched(buildEventList([event, named]))).toMatchObject({ [resource]: "all" });
  });

  test.each([
    ["a read", buildAuditEvent("get", { resource: "nodes", name: "a" })],
    ["a kubelet's status", buildAuditEvent("patch", { resource: "nodes", name: "a", subresource: "status" })],
    ["another resource", buildAuditEvent("create", { resource: "secrets", namespace: "a", name: "a" })],
    [
      "nodes of another group",
      buildAuditEvent("create", { ...{ apiGroup: "x.io" }, resource: "nodes", name: "a" }),
    ],
    ["CSRs of the core group", buildAuditEvent("create", { ...APPROVALS, apiGroup: undefined, name: "a" })],
    [
      "an earlier stage",
      { ...buildAuditEvent("create", { resource: "nodes", name: "a" }), stage: "RequestReceived" },
    ],
    ["no object", { verb: "create", stage: "ResponseComplete" }],
  ])("ignores %s", (_, event) => {
    expect(listTouched(buildEventList([event]))).toEqual({ malformed: 0, ignored: 1 });
  });

  test.each([
    ["null", null],
    ["a text", "create"],
    ["a number as verb", { ...buildAuditEvent("create", { resource: "nodes", name: "a" }), verb: 1 }],
    [
      "a name with another selector",
      buildAuditEvent("create", { resource: "nodes", name: "a,metadata.name!=b" }),
    ],
    ["a name with a path", buildAuditEvent("create", { resource: "nodes", name: "../secrets" })],
    ["a long name", buildAuditEvent("create", { resource: "nodes", name: "a".repeat(254) })],
    [
      "a namespace with a path",
      buildAuditEvent("create", { resource: "services", namespace: "a/b", name: "a" }),
    ],
    ["a name from a prototype", buildAuditEvent("create", { resource: "nodes", name: "__proto__" })],
  ])("leaves out and counts %s, and reads the others", (_, event) => {
    const other = buildAuditEvent("create", { resource: "nodes", name: "other" });
    expect(listTouched(buildEventList([event, other]))).toEqual({
      nodes: ["other"],
      malformed: 1,
      ignored: 0,
    });
  });

  test.each([
    ["no JSON", "<html>"],
    ["nothing", ""],
    ["a list", "[]"],
    ["another kind", JSON.stringify({ apiVersion: "audit.k8s.io/v1", kind: "Event", items: [] })],
    ["another version", JSON.stringify({ apiVersion: "audit.k8s.io/v2", kind: "EventList", items: [] })],
    [
      "items of another type",
      JSON.stringify({ apiVersion: "audit.k8s.io/v1", kind: "EventList", items: "a" }),
    ],
  ])("is not %s", (_, text) => {
    expect(parseEventList(text)).toBeUndefined();
  });

  const EVERYTHING = { nodes: "all", services: "all", certificatesigningrequests: "all", ...NONE };

  test("counts as a report of everything if it has too many events", () => {
    const events = Array.from({ length: 4_001 }, () =>
      buildAuditEvent("get", { resource: "nodes", name: "a" }),
    );
    expect(listTouched(buildEventList(events))).toEqual(EVERYTHING);
  });

  test("counts as a report of everything if it is too long to read", () => {
    expect(listTouched("x".repeat(4 * 1024 * 1024 + 1))).toEqual(EVERYTHING);
  });

  test("counts as a report of the whole resource if it names too many objects", () => {
    const events = Array.from({ length: 501 }, (_, index) =>
      buildAuditEvent("create", { resource: "nodes", name: `n${index}` }),
    );
    expect(listTouched(buildEventList(events))).toEqual({ nodes: "all", ...NONE });
  });
});
