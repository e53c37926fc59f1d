import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text as readText } from "node:stream/consumers";
import { CreateTagsCommand } from "@aws-sdk/client-ec2";
import { GetParameterCommand, PutParameterCommand, SSMClient } from "@aws-sdk/client-ssm";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { parse } from "yaml";
import { createFileRegistry } from "#config/registry/open-registry.ts";
import { findFreePort } from "#emulators/harness/free-port.ts";
import { type Ended, runProgram } from "#test/cli/program.ts";
import { createMotoWorld, type MotoWorld } from "#test/clouds/aws/load-balancers/moto-world.ts";
import { type Moto, startMoto } from "#test/setup/moto.ts";
import { describeWithPart } from "#test/setup/parts.ts";

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "remove-"));
  file = join(folder, "clusters.yaml");
});
afterEach(() => rm(folder, { recursive: true }));

const SERVER = "server: https://127.0.0.1:6443";
const BLUE = `  # of the blue team
  - name: blue
    ${SERVER}
    cloud: { provider: memory, instancesFile: ${"INSTANCES"} } # for a trial
`;

async function clusters(environment: Readonly<Record<string, string>>, ...flags: string[]): Promise<Ended> {
  const ended = await runProgram(["clusters", "remove", ...flags], "", {
    CLUSTERS_FILE: file,
    ...environment,
  });
  const plain = (text: string): string => text.replaceAll(`${folder}/`, "");
  return { ...ended, stdout: plain(ended.stdout), stderr: plain(ended.stderr) };
}

async function writeFileWith(...entries: string[]): Promise<void> {
  const instances = join(folder, "instances.json");
  await writeFile(instances, JSON.stringify({ instances: [] }));
  await writeFile(file, `clusters:\n${entries.join("").replaceAll("INSTANCES", instances)}`);
}

const content = async (): Promise<string> => readFile(file, "utf8");

test("a cluster that leaves nothing is removed, and all others stay as written", async () => {
  const green = BLUE.replaceAll("blue", "green");
  await writeFileWith(BLUE, green);
  const kept = (await content()).slice((await content()).indexOf(green.split("\n")[0] ?? ""));
  expect(await clusters({}, "blue")).toMatchObject({
    code: 0,
    stdout: "blue is removed from clusters.yaml\n",
  });
  expect((await content()).endsWith(kept)).toBe(true);
  expect(await content()).not.toContain("name: blue");
  const last = await clusters({}, "green");
  expect([last.code, last.stderr]).toEqual([0, ""]);
  expect(last.stdout).toMatch(/^green is removed from clusters.yaml\nit was the last one: a running relay/);
  expect((await createFileRegistry(file).read()).clusters).toEqual([]);
  expect(parse(await content())).toEqual({ clusters: [] });
  expect(await clusters({}, "blue")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("has no usable entry of the name blue"),
  });
});

test("a cluster that others depend on is left to a person", async () => {
  const anchored = BLUE.replace("cloud: {", "cloud: &cloud {");
  const other = `  - name: green\n    ${SERVER}\n    cloud: *cloud\n`;
  await writeFileWith(anchored, other);
  const before = await content();
  expect(await clusters({}, "blue", "--force")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("shares what is written with others"),
  });
  expect(await content()).toBe(before);
});

describeWithPart("moto", "a cluster on AWS", (program) => {
  let moto: Moto;
  let world: MotoWorld;
  let environment: Readonly<Record<string, string>>;
  beforeAll(async () => {
    moto = await startMoto(program);
    world = await createMotoWorld(moto.url);
    environment = { AWS_ENDPOINT_URL: moto.url, AWS_ACCESS_KEY_ID: "test", AWS_SECRET_ACCESS_KEY: "test" };
    await world.act("elbv2:CreateLoadBalancer", {
      Name: "a1",
      Type: "network",
      Subnets: [...world.subnets],
      Tags: [
        { Key: "kubernetes.io/cluster/demo", Value: "owned" },
        { Key: "kubernetes.io/service-name", Value: "default/web" },
      ],
    });
    const id = await world.addInstance();
    const Tags = [{ Key: "serverless-ccm.io/tags/demo", Value: "x" }];
    await world.ec2.send(new CreateTagsCommand({ Resources: [id], Tags }));
  });
  afterAll(async () => {
    world?.close();
    await moto?.close();
  });

  const entry = () =>
    `  - name: blue\n    ${SERVER}\n    cloud: { provider: aws, region: eu-central-1, vpc: ${world.vpc}, clusterTag: demo }\n`;

  test("that leaves something stays, unless it is forced, and what it leaves is listed", async () => {
    await writeFileWith(entry(), BLUE.replaceAll("blue", "green"));
    const before = await content();
    const { code, stdout, stderr } = await clusters(environment, "blue");
    expect([code, stdout.split("\n").length - 1]).toEqual([1, 2]);
    expect(stdout).toMatch(/^network load balancer arn:\S+\/a1\/\S+ of Service default\/web$/m);
    expect(stdout).toMatch(/^tags of instance i-\S+, which serverless-ccm\.io\/tags\/demo names$/m);
    expect(stderr).toContain("2 resources would be left behind in the cloud; blue stays in clusters.yaml");
    expect(await content()).toBe(before);
    expect(await clusters(environment, "blue", "--force")).toMatchObject({ code: 0 });
    expect(await content()).not.toContain("name: blue");
  });

  test("whose resources cannot be listed stays", async () => {
    await writeFileWith(entry(), BLUE.replaceAll("blue", "green"));
    const services = ["EC2", "ELASTIC_LOAD_BALANCING", "ELASTIC_LOAD_BALANCING_V2"];
    const nowhere = services.map((service) => [`AWS_ENDPOINT_URL_${service}`, "http://127.0.0.1:1"]);
    const dead = { ...environment, ...Object.fromEntries(nowhere) };
    const { code, stderr } = await clusters(dead, "blue");
    expect([code, stderr]).toEqual([1, expect.stringContaining("what would be left behind is unknown")]);
    expect(await content()).toContain("name: blue");
  });

  test("of nodes alone is removed if load balancers may not be listed, and this is reported", async () => {
    const port = await findFreePort();
    const buildDenial = (code: string) =>
      `<Error><Code>${code}</Code><Message>not authorized</Message></Error>`;
    const denying = createServer(async (request, response) => {
      const isEc2 = new URLSearchParams(await readText(request)).get("Version") === "2016-11-15";
      const denial = isEc2
        ? `<Response><Errors>${buildDenial("UnauthorizedOperation")}</Errors></Response>`
        : `<ErrorResponse>${buildDenial("AccessDenied")}</ErrorResponse>`;
      response.writeHead(403).end(denial);
    }).listen(port, "127.0.0.1");
    try {
      const nowhere = Object.fromEntries(
        ["ELASTIC_LOAD_BALANCING", "ELASTIC_LOAD_BALANCING_V2"].map((service) => [
          `AWS_ENDPOINT_URL_${service}`,
          `http://127.0.0.1:${port}`,
        ]),
      );
      const other = entry().replace("clusterTag: demo", "clusterTag: other");
      await writeFileWith(other, BLUE.replaceAll("blue", "green"));
      const kept = await content();
      const { code, stdout, stderr } = await clusters({ ...environment, ...nowhere }, "blue");
      expect([code, stderr]).toEqual([0, ""]);
      expect(stdout).toContain("note: load balancers were not listed: that is not allowed");
      // With the controller enabled, the resources must be listed.
      await writeFile(
        file,
        kept.replace("name: blue", "name: blue\n    controllers: [service-lb-controller]"),
      );
      const refused = await clusters({ ...environment, ...nowhere }, "blue");
      expect([refused.code, refused.stderr]).toEqual([
        1,
        expect.stringContaining("what would be left behind is unknown"),
      ]);
      const all = { ...environment, ...nowhere, AWS_ENDPOINT_URL_EC2: `http://127.0.0.1:${port}` };
      await writeFile(file, kept);
      const blind = await clusters(all, "blue");
      expect([blind.code, blind.stderr]).toEqual([
        1,
        expect.stringContaining("what would be left behind is unknown"),
      ]);
    } finally {
      denying.close();
    }
  });

  test("in an SSM parameter is deleted there if it leaves nothing behind", async () => {
    const credentials = { accessKeyId: "test", secretAccessKey: "test" };
    const ssm = new SSMClient({ region: "eu-central-1", endpoint: moto.url, credentials });
    const put = (name: string, tag: string): Promise<unknown> => {
      const cloud = { provider: "aws", region: "eu-central-1", vpc: world.vpc, clusterTag: tag };
      const Value = JSON.stringify({ name, server: "https://127.0.0.1:6443", cloud });
      return ssm.send(new PutParameterCommand({ Name: `/gone/clusters/${name}`, Value, Type: "String" }));
    };
    await put("empty", "other");
    await put("full", "demo");
    await ssm.send(new PutParameterCommand({ Name: "/gone/clusters/bad", Value: "name: x", Type: "String" }));
    const remove = (...flags: string[]): Promise<Ended> =>
      clusters(
        { ...environment, AWS_REGION: "eu-central-1", CLUSTERS_FILE: "ssm:/gone/clusters/" },
        ...flags,
      );
    const isThere = (name: string): Promise<boolean> =>
      ssm.send(new GetParameterCommand({ Name: `/gone/clusters/${name}` })).then(
        () => true,
        () => false,
      );
    expect(await remove("empty")).toMatchObject({
      code: 0,
      stdout: "empty is removed from ssm:/gone/clusters/\n",
    });
    expect(await isThere("empty")).toBe(false);
    expect(await remove("full")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("would be left behind"),
    });
    expect(await remove("bad")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("its entry is faulty"),
    });
    expect([await isThere("full"), await isThere("bad")]).toEqual([true, true]);
    expect(await remove("bad", "--force")).toMatchObject({ code: 0 });
    expect(await remove("empty")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("is not a parameter"),
    });
    expect(await remove("../elsewhere")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("not a name of a"),
    });
    ssm.destroy();
  });
});
