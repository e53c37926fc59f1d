import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createFleetBrake } from "#config/fleet-brake/fleet-brake.ts";
import { createS3Record, parseS3Reference } from "#config/fleet-brake/open-record.ts";
import { buildClaim } from "#test/config/fleet-brake/record-contract.ts";

const { signal } = new AbortController();
const LOCATION = { bucket: "records", key: "a b/fleet.json", region: undefined };

let server: Server;
let asked: IncomingMessage[] = [];
let answer: { readonly status: number; readonly body?: string; readonly headers?: Record<string, string> };

beforeAll(async () => {
  server = createServer((request, response) => {
    asked.push(request);
    request.resume();
    response.writeHead(answer.status, answer.headers);
    response.end(answer.body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  Object.assign(process.env, {
    AWS_ACCESS_KEY_ID: "AKIDEXAMPLE",
    AWS_SECRET_ACCESS_KEY: "secret-of-the-test",
    AWS_SESSION_TOKEN: "session-of-the-test",
    AWS_REGION: "eu-central-1",
    AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  });
});
afterAll(() => new Promise((resolve) => server.close(resolve)));
beforeEach(() => {
  asked = [];
});

const code = (name: string): string => `<?xml version="1.0"?><Error><Code>${name}</Code></Error>`;

describe("a record in S3", () => {
  test("is requested with a signature of its region that covers the condition", async () => {
    answer = { status: 200 };
    await createS3Record("s3://records", LOCATION).swap("{}", '"etag-1"', signal);
    const [request] = asked;
    expect(request?.url).toBe("/records/a%20b/fleet.json");
    expect(request?.headers["if-match"]).toBe('"etag-1"');
    expect(request?.headers["x-amz-security-token"]).toBe("session-of-the-test");
    expect(request?.headers.authorization).toMatch(
      /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/eu-central-1\/s3\/aws4_request, SignedHeaders=[a-z0-9;-]*if-match[a-z0-9;-]*, Signature=[0-9a-f]{64}$/,
    );
  });

  test.each([
    [403, code("AccessDenied"), "cannot be read (403 AccessDenied; it may be missing"],
    [301, code("PermanentRedirect"), "as ?region=REGION"],
    [503, code("SlowDown"), "cannot be read (503 SlowDown)"],
    [404, "<html>a proxy's</html>", "cannot be read (404)"],
    [200, "{}", "cannot be read (200)"],
  ])("%s is no record, and nothing is let by it", async (status, body, message) => {
    answer = { status, body, headers: status === 301 ? { location: "http://169.254.169.254/" } : {} };
    const store = createS3Record("s3://records/x", LOCATION);
    await expect(store.read(signal)).rejects.toThrow(message);
    const { granted, held } = await createFleetBrake({ store }).claim(buildClaim("tenant-a", 1), signal);
    expect([granted, held?.code]).toEqual([[], "FleetBrakeUnusable"]);
  });

  test.each([
    [412, code("PreconditionFailed")],
    [409, code("ConditionalRequestConflict")],
    [404, code("NoSuchKey")],
  ])("a write that is answered by %s has lost", async (status, body) => {
    answer = { status, body };
    expect(await createS3Record("s3://records/x", LOCATION).swap("{}", '"e"', signal)).toBe(false);
  });

  test.each([403, 500, 501])("a write that is answered by %s is not known to be written", async (status) => {
    answer = { status };
    await expect(createS3Record("s3://records/x", LOCATION).swap("{}", '"e"', signal)).rejects.toThrow(
      `cannot be written (${status}`,
    );
  });

  test("an answer that is larger than any record is not read", async () => {
    answer = { status: 200, body: "x".repeat(300_000), headers: { etag: '"e"' } };
    await expect(createS3Record("s3://records/x", LOCATION).read(signal)).rejects.toThrow(
      "more than 262144 bytes",
    );
  });
});

describe("a reference", () => {
  test.each([
    ["s3://my-bucket/fleet.json", { bucket: "my-bucket", key: "fleet.json", region: undefined }],
    [
      "s3://my-bucket/cells/a/fleet.json?region=us-gov-west-1",
      { bucket: "my-bucket", key: "cells/a/fleet.json", region: "us-gov-west-1" },
    ],
    ["s3://my-bucket", undefined],
    ["s3://my-bucket/", undefined],
    ["s3://My-Bucket/x", undefined],
    ["s3://my.bucket/x", undefined],
    ["s3://my-bucket/x?region=evil.example/", undefined],
    ["s3://my-bucket/x y", undefined],
  ])("%s", (reference, location) => {
    expect(parseS3Reference(reference)).toEqual(location);
  });
});
