import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { createAwsCloud } from "#clouds/aws/cloud.ts";
import type { Cloud } from "#clouds/cloud.ts";
import { buildConfig } from "#test/clouds/aws/ec2-world.ts";
import {
  buildEc2Answer,
  buildErrorAnswer,
  type Gate,
  type GateAnswer,
  openGate,
} from "#test/clouds/aws/gate.ts";
import { buildCall, buildNode } from "#test/clouds/builders.ts";
import { formatAnswer } from "#test/clouds/conformance.ts";

// The tests go through the SDK and a socket, because the code classifies what the SDK makes of these answers.
let gate: Gate;
beforeAll(async () => {
  gate = await openGate();
  vi.stubEnv("AWS_ENDPOINT_URL_EC2", gate.url);
  vi.stubEnv("AWS_ACCESS_KEY_ID", "test");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "test");
});
afterAll(async () => {
  await gate.close();
  vi.unstubAllEnvs();
});

const page = (content: string): GateAnswer => buildEc2Answer({ DescribeInstances: content });

async function ask(): Promise<{ answer: string; requests: number; throttled: number }> {
  const cloud: Cloud = createAwsCloud(buildConfig());
  const before = gate.counts.get("DescribeInstances") ?? 0;
  // With the label, the cloud reads only the instance.
  const node = buildNode({ providerID: "i-01234567", labels: { "topology.k8s.aws/zone-id": "euc1-az2" } });
  const { answers, usage } = await cloud.instances([node], buildCall());
  await cloud.close();
  const requests = (gate.counts.get("DescribeInstances") ?? 0) - before;
  return { answer: formatAnswer(answers[0]), requests, throttled: usage.throttled };
}

test.each<[string, GateAnswer, string, number]>([
  ["an empty list", page("<reservationSet/>"), "not-found", 1],
  ["too many requests", buildErrorAnswer(503, "RequestLimitExceeded"), "Throttled", 1],
  ["too many requests with another code", buildErrorAnswer(400, "Throttling"), "Throttled", 1],
  ["429 without a body", { status: 429, body: "" }, "Throttled", 1],
  ["no permission", buildErrorAnswer(403, "UnauthorizedOperation"), "Denied", 1],
  ["wrong credentials", buildErrorAnswer(401, "AuthFailure"), "Denied", 2],
  ["expired credentials", buildErrorAnswer(400, "RequestExpired"), "Denied", 2],
  ["403 from a proxy", { status: 403, body: "<html>no</html>" }, "Denied", 1],
  ["a malformed instance ID", buildErrorAnswer(400, "InvalidInstanceID.Malformed"), "Unavailable", 1],
  [
    "an instance ID that EC2 does not find",
    buildErrorAnswer(400, "InvalidInstanceID.NotFound"),
    "Unavailable",
    1,
  ],
  ["an internal error, retried once", buildErrorAnswer(500, "InternalError"), "Unavailable", 2],
  ["a gateway error, retried once", { status: 502, body: "<html>bad gateway</html>" }, "Unavailable", 2],
  ["a broken connection, retried once", "destroy", "Unavailable", 2],
  ["a web page", { status: 200, body: "<html><body>sign in</body></html>" }, "Unavailable", 1],
  ["a body that is not XML", { status: 200, body: "rubbish" }, "Unavailable", 1],
  [
    "truncated XML",
    { status: 200, body: "<DescribeInstancesResponse><reservationSet><item>" },
    "Unavailable",
    1,
  ],
  ["an empty body", { status: 200, body: "" }, "Unavailable", 1],
  ["an answer without a list", page(""), "Unavailable", 1],
])("%s is %s", async (_, how, expected, requests) => {
  gate.answer(how);
  expect(await ask()).toEqual({ answer: expected, requests, throttled: expected === "Throttled" ? 1 : 0 });
});

test("a refused connection is Unavailable", async () => {
  const closed = await openGate();
  await closed.close();
  vi.stubEnv("AWS_ENDPOINT_URL_EC2", closed.url);
  expect(await ask()).toMatchObject({ answer: "Unavailable" });
  vi.stubEnv("AWS_ENDPOINT_URL_EC2", gate.url);
});

test("missing credentials are Denied, without a request", async () => {
  for (const name of ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]) vi.stubEnv(name, "");
  vi.stubEnv("HOME", "/nonexistent");
  vi.stubEnv("AWS_EC2_METADATA_DISABLED", "true");
  expect(await ask()).toMatchObject({ answer: "Denied", requests: 0 });
});
