import { describe, expect, test } from "vitest";
import { readError as readDigitalOceanError } from "#clouds/digitalocean/read-list.ts";
import { readError as readHetznerError } from "#clouds/hcloud/read-error.ts";
import { type ApiErrorReader, classify } from "#clouds/http/classify.ts";
import type { ErrorMeaning } from "#clouds/http/outcome.ts";
import { readErrorAt } from "#clouds/oci/read-error.ts";
import { readError as readOpenStackError } from "#clouds/openstack/apis.ts";
import { readError as readRancherError } from "#clouds/rancher/read-error.ts";

type Row = readonly [status: number, id: string, meaning: ErrorMeaning, code: string];

interface Vendor {
  readonly title: string;
  readonly read: ApiErrorReader;
  readonly body: (id: string) => unknown;
  readonly rows: readonly Row[];
}

const [T, D, U] = ["Throttled", "Denied", "Unavailable"];

const VENDORS: readonly Vendor[] = [
  {
    title: "DigitalOcean",
    read: readDigitalOceanError,
    body: (id) => ({ id, message: "m" }),
    rows: [
      [429, "too_many_requests", "Throttled", T],
      [503, "too_many_requests", "Throttled", T],
      [401, "unauthorized", "Denied", D],
      [403, "forbidden", "Denied", D],
      [400, "bad_request", "Invalid", D],
      [422, "unprocessable_entity", "Invalid", D],
      [404, "not_found", "NotFound", U],
      [409, "conflict", "Conflict", U],
      [500, "server_error", "Unavailable", U],
      [500, "internal_server_error", "Unavailable", U],
      [503, "service_unavailable", "Unavailable", U],
    ],
  },
  {
    title: "Hetzner",
    read: readHetznerError,
    body: (code) => ({ error: { code, message: "m" } }),
    rows: [
      [429, "rate_limit_exceeded", "Throttled", T],
      [403, "rate_limit_exceeded", "Throttled", T],
      [403, "limit_reached", "Throttled", T],
      [403, "resource_limit_exceeded", "Quota", D],
      [401, "unauthorized", "Denied", D],
      [403, "forbidden", "Denied", D],
      [403, "token_readonly", "Denied", D],
      [403, "protected", "Denied", D],
      [423, "resource_locked", "Denied", D],
      [400, "json_error", "Invalid", D],
      [422, "invalid_input", "Invalid", D],
      [422, "unsupported_error", "Invalid", D],
      [410, "deprecated_api_endpoint", "Invalid", D],
      [404, "not_found", "NotFound", U],
      [409, "conflict", "Conflict", U],
      [409, "uniqueness_error", "Conflict", U],
      [423, "locked", "Conflict", U],
      [422, "resource_unavailable", "Unavailable", U],
      [503, "maintenance", "Unavailable", U],
      [503, "robot_unavailable", "Unavailable", U],
      [500, "server_error", "Unavailable", U],
      [500, "service_error", "Unavailable", U],
      [500, "unknown_error", "Unavailable", U],
      [502, "bad_gateway", "Unavailable", U],
      [504, "timeout", "Unavailable", U],
    ],
  },
  {
    title: "OCI",
    read: readErrorAt(() => 0),
    body: (code) => ({ code, message: "m" }),
    rows: [
      [429, "TooManyRequests", "Throttled", T],
      [503, "TooManyRequests", "Throttled", T],
      [400, "LimitExceeded", "Quota", D],
      [400, "QuotaExceeded", "Quota", D],
      [401, "NotAuthenticated", "Denied", D],
      [402, "SignUpRequired", "Denied", D],
      [403, "NotAllowed", "Denied", D],
      [403, "NotAuthorized", "Denied", D],
      [400, "RelatedResourceNotAuthorizedOrNotFound", "Denied", D],
      [400, "CannotParseRequest", "Invalid", D],
      [400, "InvalidParameter", "Invalid", D],
      [404, "InvalidParameter", "Invalid", D],
      [400, "MissingParameter", "Invalid", D],
      [405, "MethodNotAllowed", "Invalid", D],
      [413, "PayloadTooLarge", "Invalid", D],
      [422, "UnprocessableEntity", "Invalid", D],
      [431, "RequestHeaderFieldsTooLarge", "Invalid", D],
      [501, "MethodNotImplemented", "Invalid", D],
      [404, "NotAuthorizedOrNotFound", "NotFound", U],
      [404, "NotFound", "NotFound", U],
      [404, "NamespaceNotFound", "NotFound", U],
      [409, "Conflict", "Conflict", U],
      [409, "IncorrectState", "Conflict", U],
      [409, "ExternalServerIncorrectState", "Conflict", U],
      [409, "InvalidatedRetryToken", "Conflict", U],
      [409, "NotAuthorizedOrResourceAlreadyExists", "Conflict", U],
      [409, "ResourceLocked", "Conflict", U],
      [412, "NoEtagMatch", "Conflict", U],
      [500, "InternalServerError", "Unavailable", U],
      [500, "OutOfHostCapacity", "Unavailable", U],
      [503, "ServiceUnavailable", "Unavailable", U],
      [503, "ExternalServerUnreachable", "Unavailable", U],
      [503, "ExternalServerTimeout", "Unavailable", U],
      [503, "ExternalServerInvalidResponse", "Unavailable", U],
    ],
  },
  {
    title: "Nova",
    read: readOpenStackError,
    body: (key) => ({ [key]: { code: 1, message: "m" } }),
    rows: [
      [413, "overLimit", "Throttled", T],
      [429, "overLimit", "Throttled", T],
      [401, "unauthorized", "Denied", D],
      [403, "forbidden", "Denied", D],
      [400, "badRequest", "Invalid", D],
      [405, "badMethod", "Invalid", D],
      [415, "badMediaType", "Invalid", D],
      [501, "notImplemented", "Invalid", D],
      [404, "itemNotFound", "NotFound", U],
      [409, "conflictingRequest", "Conflict", U],
      [500, "computeFault", "Unavailable", U],
      [503, "serviceUnavailable", "Unavailable", U],
    ],
  },
  {
    title: "Neutron",
    read: readOpenStackError,
    body: (type) => ({ NeutronError: { type, message: "m", detail: "" } }),
    rows: [
      [409, "OverQuota", "Quota", D],
      [403, "PolicyNotAuthorized", "Denied", D],
      [403, "NotAuthorized", "Denied", D],
      [400, "InvalidInput", "Invalid", D],
      [400, "HTTPBadRequest", "Invalid", D],
      [404, "NetworkNotFound", "NotFound", U],
      [404, "PortNotFound", "NotFound", U],
      [503, "ServiceUnavailable", "Unavailable", U],
    ],
  },
  {
    title: "Keystone",
    read: readOpenStackError,
    body: (title) => ({ error: { code: 1, title, message: "m" } }),
    rows: [
      [413, "Request Entity Too Large", "Throttled", T],
      [429, "Too Many Requests", "Throttled", T],
      [401, "Unauthorized", "Denied", D],
      [403, "Forbidden", "Denied", D],
      [400, "Bad Request", "Invalid", D],
      [404, "Not Found", "NotFound", U],
      [409, "Conflict", "Conflict", U],
      [500, "Internal Server Error", "Unavailable", U],
      [503, "Service Unavailable", "Unavailable", U],
    ],
  },
  {
    title: "Rancher's Kubernetes API",
    read: readRancherError,
    body: (reason) => ({ kind: "Status", reason, message: "m" }),
    rows: [
      [429, "TooManyRequests", "Throttled", T],
      [401, "Unauthorized", "Denied", D],
      [403, "Forbidden", "Denied", D],
      [400, "BadRequest", "Invalid", D],
      [405, "MethodNotAllowed", "Invalid", D],
      [406, "NotAcceptable", "Invalid", D],
      [413, "RequestEntityTooLarge", "Invalid", D],
      [415, "UnsupportedMediaType", "Invalid", D],
      [422, "Invalid", "Invalid", D],
      [404, "NotFound", "NotFound", U],
      [409, "AlreadyExists", "Conflict", U],
      [409, "Conflict", "Conflict", U],
      [410, "Expired", "Unavailable", U],
      [410, "Gone", "Unavailable", U],
      [500, "InternalError", "Unavailable", U],
      [500, "StoreReadError", "Unavailable", U],
      [503, "ServiceUnavailable", "Unavailable", U],
      [504, "ServerTimeout", "Unavailable", U],
      [504, "Timeout", "Unavailable", U],
    ],
  },
  {
    title: "Rancher 1.x",
    read: readRancherError,
    body: (code) => ({ type: "error", code, message: "m" }),
    rows: [
      [401, "Unauthorized", "Denied", D],
      [403, "PermissionDenied", "Denied", D],
      [403, "Forbidden", "Denied", D],
      [422, "InvalidBodyContent", "Invalid", D],
      [422, "InvalidCharacters", "Invalid", D],
      [422, "InvalidFormat", "Invalid", D],
      [422, "InvalidOption", "Invalid", D],
      [422, "InvalidType", "Invalid", D],
      [422, "MaxLengthExceeded", "Invalid", D],
      [422, "MaxLimitExceeded", "Invalid", D],
      [422, "MinLengthExceeded", "Invalid", D],
      [422, "MinLimitExceeded", "Invalid", D],
      [422, "MissingRequired", "Invalid", D],
      [422, "NotNullable", "Invalid", D],
      [405, "MethodNotAllowed", "Invalid", D],
      [404, "NotFound", "NotFound", U],
      [422, "NotUnique", "Conflict", U],
      [422, "InvalidReference", "Conflict", U],
      [422, "InvalidState", "Conflict", U],
      [404, "ActionNotAvailable", "Conflict", U],
      [500, "ServerError", "Unavailable", U],
      [503, "ClusterUnavailable", "Unavailable", U],
    ],
  },
];

describe.each(VENDORS)("$title answers", ({ read, body, rows }) => {
  test.each(rows)("%i %s, which means %s and is the code %s", (status, id, meaning, code) => {
    const answer = { status, headers: {}, body: JSON.stringify(body(id)) };
    expect(classify(answer, "GET /", read)).toMatchObject({ fault: { code, meaning, errorId: id } });
  });

  test("classifies an unlisted code by its status", () => {
    for (const [status, code] of [
      [400, D],
      [403, D],
      [409, U],
      [429, T],
      [500, U],
    ] as const) {
      const answer = { status, headers: {}, body: JSON.stringify(body("codeOfTomorrow")) };
      expect(classify(answer, "GET /", read)).toMatchObject({ fault: { code, status } });
    }
  });
});

test("DigitalOcean's 403 for a load balancer that is being changed is temporary", () => {
  const message = "Load Balancer can't be updated while it processes previous actions";
  const answer = { status: 403, headers: {}, body: JSON.stringify({ id: "forbidden", message }) };
  expect(classify(answer, "PUT /", readDigitalOceanError)).toMatchObject({ fault: { code: "Unavailable" } });
});

test("a throttle is not retried at once, with any status", () => {
  const answer = {
    status: 503,
    headers: {},
    body: JSON.stringify({ id: "too_many_requests", message: "m" }),
  };
  const outcome = classify(answer, "GET /", readDigitalOceanError);
  expect(outcome).toMatchObject({ fault: { code: "Throttled" } });
  expect(outcome).not.toMatchObject({ fault: { transient: true } });
});
