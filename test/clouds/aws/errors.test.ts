import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { createAwsCloud } from "#clouds/aws/cloud.ts";
import type { Cloud } from "#clouds/cloud.ts";
import { buildConfig } from "#test/clouds/aws/ec2-world.ts";
import { buildErrorAnswer, type Gate, type GateAnswer, openGate } from "#test/clouds/aws/gate.ts";
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

const page = (content: string): GateAnswer => ({
  status: 200,
  body: `<DescribeInstancesResponse><requestId>1</requestId>${content}</DescribeInstancesResponse>`,
});

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
  ["another word for it", buildErrorAnswer(400, "Throttling"), "Throttled", 1],
  ["429 without a word", { status: 429, body: "" }, "Throttled", 1],
  ["no permission", buildErrorAnswer(403, "UnauthorizedOperation"), "Denied", 1],
  ["wrong credentials", buildErrorAnswer(401, "AuthFailure"), "Denied", 2],
  ["expired credentials", buildErrorAnswer(400, "RequestExpired"), "Denied", 2],
  ["403 from a proxy", { status: 403, body: "<html>no</html>" }, "Denied", 1],
  ["an id that EC2 cannot read", buildErrorAnswer(400, "InvalidInstanceID.Malformed"), "Unavailable", 1],
  [
    "even an id that EC2 does not find, in so many words",
    buildErrorAnswer(400, "InvalidInstanceID.NotFound"),
    "Unavailable",
    1,
  ],
  ["a failure on EC2's side, retried once", buildErrorAnswer(500, "InternalError"), "Unavailable", 2],
  ["a gateway's failure, retried once", { status: 502, body: "<html>bad gateway</html>" }, "Unavailable", 2],
  ["a broken connection, retried once", "destroy", "Unavailable", 2],
  ["a web page", { status: 200, body: "<html><body>sign in</body></html>" }, "Unavailable", 1],
  ["no XML", { status: 200, body: "rubbish" }, "Unavailable", 1],
  [
    "XML cut off",
    { status: 200, body: "<DescribeInstancesResponse><reservationSet><item>" },
    "Unavailable",
    1,
  ],
  ["nothing", { status: 200, body: "" }, "Unavailable", 1],
  ["no list in the answer", page(""), "Unavailable", 1],
])("%s", async (_, how, expected, requests) => {
  gate.answer(how);
  expect(await ask()).toEqual({ answer: expected, requests, throttled: expected === "Throttled" ? 1 : 0 });
});

test("no connection", async () => {
  const closed = await openGate();
  await closed.close();
  vi.stubEnv("AWS_ENDPOINT_URL_EC2", closed.url);
  expect(await ask()).toMatchObject({ answer: "Unavailable" });
  vi.stubEnv("AWS_ENDPOINT_URL_EC2", gate.url);
});

test("no credentials", async () => {
  for (const name of ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"]) vi.stubEnv(name, "");
  vi.stubEnv("HOME", "/nonexistent");
  vi.stubEnv("AWS_EC2_METADATA_DISABLED", "true");
  expect(await ask()).toMatchObject({ answer: "Denied", requests: 0 });
});
