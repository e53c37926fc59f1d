import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CreateTagsCommand } from "@aws-sdk/client-ec2";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { type Ended, runProgram } from "#test/cli/program.ts";
import { type MotoWorld, motoWorld } from "#test/clouds/aws/load-balancers/moto-world.ts";
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

test("a cluster that leaves nothing is taken out, and all others stay as they are written", async () => {
  const green = BLUE.replaceAll("blue", "green");
  await writeFileWith(BLUE, green);
  const kept = (await content()).slice((await content()).indexOf(green.split("\n")[0] ?? ""));
  expect(await clusters({}, "blue")).toMatchObject({
    code: 0,
    stdout: "blue is taken out of clusters.yaml\n",
  });
  expect((await content()).endsWith(kept)).toBe(true);
  expect(await content()).not.toContain("name: blue");
  expect(await clusters({}, "green")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("is the only usable entry"),
  });
  expect(await clusters({}, "blue")).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("has no usable entry of the name blue"),
  });
});

test("one that others are written by is left to a person", async () => {
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
    world = await motoWorld(moto.url);
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

  test("that leaves something stays, unless it is forced out, and what it leaves is listed", async () => {
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

  test("of which nobody can tell stays", async () => {
    await writeFileWith(entry(), BLUE.replaceAll("blue", "green"));
    const services = ["EC2", "ELASTIC_LOAD_BALANCING", "ELASTIC_LOAD_BALANCING_V2"];
    const nowhere = services.map((service) => [`AWS_ENDPOINT_URL_${service}`, "http://127.0.0.1:1"]);
    const dead = { ...environment, ...Object.fromEntries(nowhere) };
    const { code, stderr } = await clusters(dead, "blue");
    expect([code, stderr]).toEqual([1, expect.stringContaining("nobody can tell what would be left behind")]);
    expect(await content()).toContain("name: blue");
  });
});
