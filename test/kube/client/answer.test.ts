import { describe, expect, it } from "vitest";
import { classifyAnswer, classifyFailure, getAnswerCode, parseRetryAfter } from "#kube/client/answer.ts";
import { ApiUnreachable } from "#kube/client/errors.ts";

/** What real API servers answer is in write-contract.ts; here is what they answer too seldom to be waited for. */
describe("an answer", () => {
  it.each<{ given: string; status: number; body?: unknown; retryAfter?: string; meaning: object }>([
    {
      given: "200 with an object",
      status: 200,
      body: { metadata: { uid: "u", resourceVersion: "7" } },
      meaning: { kind: "applied", metadata: { uid: "u", resourceVersion: "7" } },
    },
    {
      given: "200 with metadata alone, as kube-apiserver writes it",
      status: 200,
      body: `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"n","uid":"u","resourceVersion":"7","labels":{}}}`,
      meaning: { kind: "applied", metadata: { uid: "u", resourceVersion: "7" } },
    },
    {
      given: "200 with metadata alone, in another order",
      status: 200,
      body: { metadata: { resourceVersion: "7", uid: "u" }, kind: "PartialObjectMetadata" },
      meaning: { kind: "applied", metadata: { uid: "u", resourceVersion: "7" } },
    },
    {
      given: "200 with metadata that only looks like it",
      status: 200,
      body: `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"n","uid":"","resourceVersion":"7"}}`,
      meaning: { kind: "applied", metadata: undefined },
    },
    {
      given: "201 with rubbish",
      status: 201,
      body: "<html>",
      meaning: { kind: "applied", metadata: undefined },
    },
    {
      given: "400",
      status: 400,
      body: { message: "bad" },
      meaning: { kind: "rejected", status: 400, message: "400: bad" },
    },
    { given: "401", status: 401, meaning: { kind: "unauthenticated" } },
    { given: "404 of the API server", status: 404, body: { reason: "NotFound" }, meaning: { kind: "gone" } },
    { given: "404 of something else", status: 404, body: "not here", meaning: { kind: "unavailable" } },
    { given: "409 without a reason", status: 409, meaning: { kind: "conflict" } },
    {
      given: "409 AlreadyExists",
      status: 409,
      body: { reason: "AlreadyExists" },
      meaning: { kind: "exists" },
    },
    { given: "413", status: 413, meaning: { kind: "rejected", status: 413 } },
    {
      given: "422 of a policy",
      status: 422,
      body: { reason: "Invalid", message: "denied", details: { causes: [{ message: "denied" }] } },
      meaning: { kind: "rejected" },
    },
    {
      given: "422 with details of the wrong types",
      status: 422,
      body: { message: "odd", details: { causes: 7 } },
      meaning: { kind: "rejected", message: "422: odd" },
    },
    {
      given: "429 with a time",
      status: 429,
      retryAfter: "3",
      meaning: { kind: "throttled", retryAfterSeconds: 3 },
    },
    { given: "429 without one", status: 429, meaning: { kind: "throttled", retryAfterSeconds: 1 } },
    {
      given: "429 with a date",
      status: 429,
      retryAfter: "Wed, 21 Oct 2026 07:28:00 GMT",
      meaning: { kind: "throttled", retryAfterSeconds: 1 },
    },
    {
      given: "429 with an hour",
      status: 429,
      retryAfter: "3600",
      meaning: { kind: "throttled", retryAfterSeconds: 30 },
    },
    {
      given: "500",
      status: 500,
      body: { message: "etcd" },
      meaning: { kind: "unavailable", message: "500: etcd" },
    },
    { given: "302", status: 302, meaning: { kind: "unavailable" } },
    {
      given: "words without end",
      status: 403,
      body: { message: "x".repeat(5_000) },
      meaning: { kind: "rejected", message: `403: ${"x".repeat(255)}…` },
    },
  ])("$given", ({ status, body, retryAfter, meaning }) => {
    const text = typeof body === "string" ? body : JSON.stringify(body ?? "");
    expect(classifyAnswer({ status, headers: { "retry-after": retryAfter }, body: text })).toMatchObject(
      meaning,
    );
  });

  it.each<[status: number, reason: string, code: string]>([
    [400, "BadRequest", "Rejected"],
    [401, "Unauthorized", "Unauthenticated"],
    [403, "Forbidden", "Forbidden"],
    [404, "NotFound", "Gone"],
    [404, "", "Unavailable"],
    [409, "Conflict", "Conflict"],
    [409, "AlreadyExists", "AlreadyExists"],
    [410, "Expired", "Expired"],
    [422, "Invalid", "Rejected"],
    [429, "TooManyRequests", "Throttled"],
    [500, "InternalError", "Unavailable"],
    [503, "ServiceUnavailable", "Unavailable"],
  ])("%i %s has the code %s", (status, reason, code) => {
    const answer = classifyAnswer({ status, headers: {}, body: JSON.stringify({ reason }) });
    expect(answer.kind === "applied" ? "applied" : getAnswerCode(answer)).toBe(code);
  });

  it.each([
    [undefined, undefined],
    ["0", 0],
    ["7", 7],
    ["3600", 30],
    ["-1", undefined],
    ["soon", undefined],
  ])("that asks to wait %s says %s seconds", (header, seconds) => {
    expect(parseRetryAfter({ headers: { "retry-after": header } })).toBe(seconds);
  });

  it("that never came has the connection's code", () => {
    const error = new ApiUnreachable({ code: "NotTrusted", server: "https://a", attempt: "GET /b" });
    expect(getAnswerCode(classifyFailure(error))).toBe("NotTrusted");
  });

  it("that never came is unavailable, with the reason", () => {
    const error = new ApiUnreachable({ code: "TimedOut", server: "https://a", attempt: "GET /b" });
    expect(classifyFailure(error)).toEqual({
      kind: "unavailable",
      code: "TimedOut",
      message: "GET /b at https://a: no complete answer in time",
    });
  });

  it("is not made up for a fault of our own", () => {
    expect(() => classifyFailure(new TypeError("ours"))).toThrow("ours");
  });
});
