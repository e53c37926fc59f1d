import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { createAwsCloud } from "#clouds/aws/cloud.ts";
import type { Cloud } from "#clouds/cloud.ts";
import { aConfig } from "#test/clouds/aws/ec2-world.ts";
import { errorAnswer, type Gate, type GateAnswer, openGate } from "#test/clouds/aws/gate.ts";
import { aCall, aNode } from "#test/clouds/builders.ts";
import { summary } from "#test/clouds/conformance.ts";

// Through the SDK and a socket, because what is classified is what the SDK makes of these answers.
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
  const cloud: Cloud = createAwsCloud(aConfig());
  const before = gate.counts.get("DescribeInstances") ?? 0;
  // With the label there is nothing else to be asked than the instance.
  const node = aNode({ providerID: "i-01234567", labels: { "topology.k8s.aws/zone-id": "euc1-az2" } });
  const { answers, usage } = await cloud.instances([node], aCall());
  await cloud.close();
  const requests = (gate.counts.get("DescribeInstances") ?? 0) - before;
  return { answer: summary(answers[0]), requests, throttled: usage.throttled };
}

test.each<[string, GateAnswer, string, number]>([
  ["an empty list", page("<reservationSet/>"), "not-found", 1],
  ["too many requests", errorAnswer(503, "RequestLimitExceeded"), "Throttled", 1],
  ["another word for it", errorAnswer(400, "Throttling"), "Throttled", 1],
  ["429 without a word", { status: 429, body: "" }, "Throttled", 1],
  ["no permission", errorAnswer(403, "UnauthorizedOperation"), "Denied", 1],
  ["wrong credentials", errorAnswer(401, "AuthFailure"), "Denied", 2],
  ["expired credentials", errorAnswer(400, "RequestExpired"), "Denied", 2],
  ["403 from a proxy", { status: 403, body: "<html>no</html>" }, "Denied", 1],
  ["an id that EC2 cannot read", errorAnswer(400, "InvalidInstanceID.Malformed"), "Unavailable", 1],
  [
    "even an id that EC2 does not find, in so many words",
    errorAnswer(400, "InvalidInstanceID.NotFound"),
    "Unavailable",
    1,
  ],
  ["a failure on EC2's side, asked once more", errorAnswer(500, "InternalError"), "Unavailable", 2],
  [
    "a gateway's failure, asked once more",
    { status: 502, body: "<html>bad gateway</html>" },
    "Unavailable",
    2,
  ],
  ["a broken connection, asked once more", "destroy", "Unavailable", 2],
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

test("nobody there", async () => {
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
