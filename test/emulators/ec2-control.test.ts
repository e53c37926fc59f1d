import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { describeIds, getErrorName, startEmbeddedEc2 } from "./ec2-embedded.ts";
import { createEc2Client } from "./ec2-under-test.ts";

test("every control of the server is available over HTTP", async () => {
  const { server, ec2 } = await startEmbeddedEc2();
  const added = await post(server.url, "instances", { instances: [{}, { index: 9 }] });
  expect(added).toMatchObject({
    status: 200,
    body: { instances: [{ id: "i-00000000000000001" }, { id: "i-00000000000000009" }] },
  });
  await post(server.url, "state", { id: "i-00000000000000001", state: "stopped" });
  await post(server.url, "hide", { id: "i-00000000000000009" });
  expect(await describeIds(ec2)).toEqual(["i-00000000000000001"]);
  await post(server.url, "reveal", { id: "i-00000000000000009" });
  await post(server.url, "remove", { id: "i-00000000000000001" });
  expect(await describeIds(ec2)).toEqual(["i-00000000000000009"]);
  await post(server.url, "behaviour", { denied: ["DescribeInstances"] });
  expect(await getErrorName(describeIds(ec2))).toBe("UnauthorizedOperation");
  expect(await get(server.url, "counts")).toEqual({ DescribeInstances: 3 });
  expect(await get(server.url, "record")).toMatchObject([
    { action: "DescribeInstances", results: 1, code: "OK" },
    { action: "DescribeInstances", results: 1, code: "OK" },
    { action: "DescribeInstances", results: 0, code: "UnauthorizedOperation" },
  ]);
  expect(await get(server.url, "assumed-roles")).toEqual([]);
});

test.each([
  {
    name: "a path that there is not",
    path: "weather",
    body: "{}",
    status: 404,
    message: /POST \/_\/instances/,
  },
  {
    name: "a key that there is not",
    path: "instances",
    body: '{"instances":[{"colour":1}]}',
    status: 400,
    message: /colour/,
  },
  { name: "no JSON", path: "instances", body: "{", status: 400, message: /JSON/ },
  {
    name: "an instance that there is not",
    path: "remove",
    body: '{"id":"i-1"}',
    status: 400,
    message: /no instance i-1/,
  },
])("the controls reject $name", async ({ path, body, status, message }) => {
  const { server } = await startEmbeddedEc2();
  const response = await fetch(`${server.url}/_/${path}`, { method: "POST", headers: JSON_TYPE, body });
  expect(response.status).toBe(status);
  expect(await response.json()).toEqual({ message: expect.stringMatching(message) });
});

test("the controls reject everything that a web form could send", async () => {
  const { server, ec2 } = await startEmbeddedEc2();
  const headers = { "content-type": "text/plain" };
  const response = await fetch(`${server.url}/_/instances`, {
    method: "POST",
    headers,
    body: '{"instances":[{}]}',
  });
  expect(response.status).toBe(415);
  expect(await describeIds(ec2)).toEqual([]);
});

test("a separate process prints its address, serves, and ends with SIGTERM", async () => {
  const child = startMain("--port", "0", "--latency-ms", "1", "--instances", "3");
  const { url, region } = JSON.parse(await firstLine(child)) as { url: string; region: string };
  const ec2 = createEc2Client(url);
  onTestFinished(() => ec2.destroy());
  expect(region).toBe("eu-central-1");
  expect(await describeIds(ec2)).toHaveLength(3);
  expect(await get(url, "counts")).toEqual({ DescribeInstances: 1 });
  const exited = once(child, "exit");
  child.kill("SIGTERM");
  expect(await exited).toEqual([0, null]);
});

test("a process with a wrong flag exits with 2 and names the flag", async () => {
  const child = startMain("--instances", "many");
  const said = firstLine(child, "stderr");
  expect(await once(child, "exit")).toEqual([2, null]);
  expect(await said).toMatch(/expected number/);
});

const JSON_TYPE = { "content-type": "application/json" };

async function post(url: string, path: string, body: object) {
  const request = { method: "POST", headers: JSON_TYPE, body: JSON.stringify(body) };
  const response = await fetch(`${url}/_/${path}`, request);
  return { status: response.status, body: await response.json() };
}

async function get(url: string, path: string): Promise<unknown> {
  return (await fetch(`${url}/_/${path}`)).json();
}

function startMain(...flags: readonly string[]): ChildProcess {
  const main = fileURLToPath(new URL("../../src/emulators/ec2/main.ts", import.meta.url));
  const child = spawn(process.execPath, [main, ...flags], { stdio: ["ignore", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

async function firstLine(child: ChildProcess, from: "stdout" | "stderr" = "stdout"): Promise<string> {
  const stream = child[from];
  if (stream === null) throw new Error("the process was started without pipes");
  const [line] = (await once(createInterface(stream), "line")) as [string];
  return line;
}
