import { expect, test } from "vitest";
import type { Exchange } from "#emulators/api-server/exchange.ts";
import { createExchangeJudge } from "#test/openapi/judge-exchanges.ts";
import { describeWithPart } from "#test/setup/parts.ts";

const NODE = {
  kind: "Node",
  apiVersion: "v1",
  metadata: { name: "a", uid: "u", resourceVersion: "1", creationTimestamp: "2026-01-02T03:04:05Z" },
  spec: {},
  status: { daemonEndpoints: { kubeletEndpoint: { Port: 0 } } },
};
const STATUS = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", code: 404 };
const JSON_PATCH = "application/json-patch+json";
const MERGE_PATCH = "application/merge-patch+json";

const answered = (status: number, body: unknown, contentType = "application/json"): Exchange["answer"] => ({
  status,
  contentType,
  body: typeof body === "string" ? body : JSON.stringify(body),
});
const watched = (type: string, object: object): Exchange["answer"] => ({
  line: `${JSON.stringify({ type, object })}\n`,
});

const READ: Exchange = {
  user: "serverless-ccm-node",
  method: "GET",
  path: "/api/v1/nodes/a",
  contentType: undefined,
  body: undefined,
  written: undefined,
  answer: answered(200, NODE),
};
const patch = (body: unknown, contentType = JSON_PATCH): Partial<Exchange> => ({
  method: "PATCH",
  contentType,
  body: JSON.stringify(body),
});
const WATCH = "/api/v1/nodes?watch=true";

describeWithPart("openapi", "the judge of exchanges with the API server", (documents) => {
  const judge = (exchange: Partial<Exchange>): readonly string[] => {
    const judging = createExchangeJudge(documents);
    judging.judge({ ...READ, ...exchange });
    return judging.takeViolations();
  };

  test.each<[given: string, exchange: Partial<Exchange>]>([
    ["a read", {}],
    ["a failure", { answer: answered(404, STATUS) }],
    ["a health check", { path: "/readyz", answer: answered(200, "ok", "text/plain") }],
    [
      "a list of metadata that is empty",
      {
        path: "/api/v1/nodes",
        answer: answered(200, {
          kind: "PartialObjectMetadataList",
          apiVersion: "meta.k8s.io/v1",
          metadata: { resourceVersion: "1" },
          items: null,
        }),
      },
    ],
    [
      "a JSON patch",
      patch([
        { op: "test", path: "/metadata/labels", value: null },
        { op: "add", path: "/metadata/labels", value: { a: "b" } },
        { op: "add", path: "/spec/taints/-", value: { key: "a", effect: "NoSchedule" } },
        { op: "remove", path: "/metadata/annotations/a~1b" },
      ]),
    ],
    ["a merge patch", patch({ metadata: { labels: { a: null } } }, MERGE_PATCH)],
    ["an event of a watch", { path: WATCH, answer: watched("ADDED", NODE) }],
    ["an error of a watch", { path: WATCH, answer: watched("ERROR", STATUS) }],
    ["a wrong request of another user", { ...patch([{ op: "set" }]), user: "admin" }],
    [
      "a deletion's body",
      { method: "DELETE", body: '{"preconditions":{"uid":"u"}}', answer: answered(200, NODE) },
    ],
  ])("allows %s", (_, exchange) => {
    expect(judge(exchange)).toEqual([]);
  });

  test.each<[given: string, exchange: Partial<Exchange>, violation: string]>([
    [
      "a field of no type",
      { answer: answered(200, { ...NODE, extra: 1 }) },
      "GET /api/v1/nodes/a: answer 200 /extra: unknown field",
    ],
    ["another kind", { answer: answered(200, { ...NODE, kind: "Pod" }) }, "/kind: v1 Node, found v1 Pod"],
    [
      "an answer without a kind",
      { answer: answered(200, { metadata: {} }) },
      "/kind: v1 Node, found undefined",
    ],
    ["a status that the path has not", { answer: answered(202, NODE) }, "status: the document has no 202"],
    ["an answer that is not JSON", { answer: answered(200, "{") }, "JSON: "],
    ["an answer as text", { answer: answered(200, "{}", "text/plain") }, "content type: application/json"],
    ["a failure's other code", { answer: answered(409, STATUS) }, "/code: the HTTP status 409, found 404"],
    [
      "a failure that reports success",
      { answer: answered(404, { ...STATUS, status: "Success" }) },
      "/status: Failure",
    ],
    ["a failure's unknown field", { answer: answered(404, { ...STATUS, why: "" }) }, "/why: unknown field"],
    ["an answered path of no document", { path: "/api/v1/gadgets" }, "answered, but no document has it"],
    [
      "an item of a list",
      {
        path: "/api/v1/nodes",
        answer: answered(200, {
          kind: "NodeList",
          apiVersion: "v1",
          metadata: {},
          items: [{ metadata: { labels: { a: 1 } } }],
        }),
      },
      "/items/0/metadata/labels/a: type: string, found number",
    ],
    ["an event's unknown type", { path: WATCH, answer: watched("CHANGED", NODE) }, "watch event /type: enum"],
    [
      "an event's object",
      { path: WATCH, answer: watched("ADDED", { ...NODE, spec: { taint: [] } }) },
      "watch event /object/spec/taint: unknown field",
    ],
    [
      "what a write left behind",
      { written: JSON.stringify({ ...NODE, spec: { podCIDR: 1 } }) },
      "written object /spec/podCIDR: type: string",
    ],
    [
      "a request to an unknown path",
      { path: "/api/v1/gadgets", body: "", answer: answered(404, STATUS) },
      "request : path: no document has it",
    ],
    [
      "a method that the path has not",
      { method: "POST", body: "{}", answer: answered(405, { ...STATUS, code: 405 }) },
      "request : method: the path does not have it",
    ],
    ["an undeclared query", { path: "/api/v1/nodes/a?limits=1", body: "" }, "query: limits is not declared"],
    [
      "a query's wrong type",
      { path: "/api/v1/nodes?limit=x", body: "", answer: answered(404, STATUS) },
      "query: limit is no integer: x",
    ],
    [
      "an undeclared patch type",
      patch({}, "application/json"),
      "content type: application/json is not declared",
    ],
    [
      "a patch of an unknown field",
      patch([{ op: "add", path: "/spec/taint", value: [] }]),
      "request /0/path: unknown field: /spec/taint",
    ],
    [
      "a patch's wrong value",
      patch([{ op: "add", path: "/spec/taints/0", value: { key: "a" } }]),
      "request /0/value/effect: required",
    ],
    [
      "a patch without a value",
      patch([{ op: "add", path: "/spec/providerID" }]),
      "request /0/value: required",
    ],
    [
      "a patch's unknown operation",
      patch([{ op: "set", path: "/spec" }]),
      'request /0/op: no operation: "set"',
    ],
    [
      "a patch's unknown member",
      patch([{ op: "remove", path: "/spec", values: 1 }]),
      "request /0/values: unknown member",
    ],
    ["a patch's wrong pointer", patch([{ op: "remove", path: "spec" }]), "request /0/path: a JSON pointer"],
    ["a patch that is not a list", patch({ spec: {} }), "request : a list of operations"],
    [
      "a merge patch's unknown field",
      patch({ spec: { taint: null } }, MERGE_PATCH),
      "request /spec/taint: unknown field",
    ],
    [
      "a created object's unknown field",
      {
        method: "POST",
        path: "/api/v1/nodes",
        body: '{"metadata":{"nam":"a"}}',
        answer: answered(201, NODE),
      },
      "request /metadata/nam: unknown field",
    ],
    [
      "a deletion's unknown option",
      { method: "DELETE", body: '{"precondition":{}}', answer: answered(404, STATUS) },
      "request /precondition: unknown field",
    ],
  ])("finds %s", (_, exchange, violation) => {
    expect(judge(exchange)).toEqual([expect.stringContaining(violation)]);
  });
});
