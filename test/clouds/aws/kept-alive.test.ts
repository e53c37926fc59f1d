import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test, vi } from "vitest";
import { createEc2 } from "#clouds/aws/ec2.ts";

const ANSWER =
  '<DescribeInstancesResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><reservationSet/></DescribeInstancesResponse>';

afterEach(() => vi.unstubAllEnvs());

test("successive calls use the same connection", async () => {
  let connections = 0;
  const server = createServer((request, response) => request.resume().on("end", () => response.end(ANSWER)));
  server.on("connection", () => {
    connections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  vi.stubEnv("AWS_ENDPOINT_URL_EC2", `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  vi.stubEnv("AWS_ACCESS_KEY_ID", "test");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "test");
  const ec2 = createEc2("eu-central-1", undefined);
  for (let call = 0; call < 3; call += 1) await ec2.describeInstances({}, AbortSignal.timeout(120_000));
  ec2.close();
  server.close();
  expect(connections).toBe(1);
});
