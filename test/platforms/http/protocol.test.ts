import { describe, expect, test } from "vitest";
import {
  buildCloudEventHeaders,
  checkUrlTemplate,
  formatFunctionUrl,
  isLoopback,
  readFailure,
} from "#platforms/http/protocol.ts";

describe("the URL of a function", () => {
  test.each([
    ["https://{function}.fns.example.com", "https://node-lifecycle.fns.example.com"],
    ["https://fns.example.com/ccm/{function}", "https://fns.example.com/ccm/node-lifecycle"],
    ["https://{function}.example.com/{function}", "https://node-lifecycle.example.com/node-lifecycle"],
    ["http://127.0.0.1:8080/{function}", "http://127.0.0.1:8080/node-lifecycle"],
    ["http://localhost:8080/{function}", "http://localhost:8080/node-lifecycle"],
    ["http://[::1]:8080/{function}", "http://[::1]:8080/node-lifecycle"],
  ])("%s is %s", (template, url) => {
    expect(checkUrlTemplate(template)).toBeUndefined();
    expect(formatFunctionUrl(template, "node-lifecycle")).toBe(url);
  });

  test.each([
    ["https://fns.example.com/", /has no \{function\}/],
    ["{function}", /is not a URL/],
    ["https://user:secret@fns.example.com/{function}", /holds credentials/],
    ["https://fns.example.com/{function}?key=secret", /has a query/],
    ["https://fns.example.com/#{function}", /has a query or a fragment/],
    ["http://fns.example.com/{function}", /plain http/],
    ["http://localhost.example.com/{function}", /plain http/],
    ["http://127.0.0.1.example.com/{function}", /plain http/],
    ["http://10.0.0.1/{function}", /plain http/],
    ["ftp://fns.example.com/{function}", /the scheme ftp:/],
  ])("is not %s", (template, words) => {
    const fault = checkUrlTemplate(template);
    expect(fault).toMatch(words);
    expect(fault).not.toContain("secret");
  });
});

test.each([
  ["127.0.0.1", true],
  ["127.8.9.1", true],
  ["::1", true],
  ["[::1]", true],
  ["LOCALHOST", true],
  ["0.0.0.0", false],
  ["::", false],
  ["10.0.0.1", false],
  ["localhost.example.com", false],
  ["", false],
])("%s is this machine: %s", (host, is) => {
  expect(isLoopback(host)).toBe(is);
});

test("headers carry an id of any characters, encoded as CloudEvents' HTTP binding demands", () => {
  const headers = buildCloudEventHeaders('a"b%\r\nx: y €\u{1F600}', "/clusters/blue", "serverless-ccm.event");
  expect(headers).toEqual({
    "ce-specversion": "1.0",
    "ce-id": "a%22b%25%0D%0Ax:%20y%20%E2%82%AC%F0%9F%98%80",
    "ce-source": "/clusters/blue",
    "ce-type": "serverless-ccm.event",
  });
  expect(decodeURIComponent(headers["ce-id"] ?? "")).toBe('a"b%\r\nx: y €\u{1F600}');
});

describe("a status other than 200", () => {
  test.each<[number, string | undefined, string, boolean]>([
    [202, undefined, "BadReport", true],
    [204, undefined, "BadReport", true],
    [301, undefined, "Denied", false],
    [307, undefined, "Denied", false],
    [400, "EventRejected", "Rejected", false],
    [401, "Unauthenticated", "Denied", false],
    [403, "Forbidden", "Denied", false],
    [404, "FunctionMissing", "Denied", false],
    [405, "MethodNotAllowed", "Denied", false],
    [408, "RequestTimeout", "Unreachable", true],
    [413, "TooLarge", "Rejected", false],
    [415, "UnsupportedMediaType", "Rejected", false],
    [418, undefined, "Denied", false],
    [421, "WrongHost", "Denied", false],
    [429, "TooManyInvocations", "Throttled", false],
    [500, "FunctionError", "FunctionError", false],
    [500, undefined, "Unreachable", true],
    [500, "Other", "Unreachable", true],
    [502, undefined, "Unreachable", true],
    [503, "Draining", "Unreachable", false],
    [503, undefined, "Unreachable", false],
    [504, "TimedOut", "Unreachable", true],
    [520, undefined, "Unreachable", true],
  ])("%i with the code %s is %s, and the function may run: %s", (status, ownCode, code, mayRun) => {
    expect(readFailure(status, ownCode)).toMatchObject({ code, mayRun });
  });
});
