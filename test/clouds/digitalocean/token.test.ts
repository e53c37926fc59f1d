import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Cloud } from "#clouds/cloud.ts";
import { loadDigitalOceanCloud } from "#clouds/digitalocean/cloud.ts";
import { TOKEN } from "#emulators/digitalocean/names.ts";
import { type FakeDigitalOcean, startFakeDigitalOcean } from "#emulators/digitalocean/server.ts";
import { buildCall } from "#test/clouds/builders.ts";
import { formatAnswer } from "#test/clouds/conformance.ts";
import { buildConfig, buildIdentifiedNode } from "#test/clouds/digitalocean/world.ts";

let folder: string;
let file: string;
let fake: FakeDigitalOcean;
let cloud: Cloud | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "token-"));
  file = join(folder, "token");
  fake = await startFakeDigitalOcean();
});
afterEach(async () => {
  await cloud?.close();
  await fake.close();
  await rm(folder, { recursive: true });
});

const load = async (environment = {}): Promise<Cloud> => {
  const config = buildConfig({
    apiURL: fake.url,
    ...("DO_ACCESS_TOKEN" in environment ? {} : { tokenFile: file }),
  });
  cloud = await loadDigitalOceanCloud(config, { clusterName: "tenant-a" }, environment);
  return cloud;
};
const ask = async (of: Cloud): Promise<string[]> =>
  (
    await of.instances([buildIdentifiedNode(fake.droplets.values().next().value ?? fake.add())], buildCall())
  ).answers.map(formatAnswer);
const tokensSent = (): (string | undefined)[] => fake.requests.map(({ headers }) => headers.authorization);

test("the environment's token is sent, and the user agent", async () => {
  const { id } = fake.add();
  expect(await ask(await load({ DO_ACCESS_TOKEN: TOKEN }))).toEqual([id]);
  expect(tokensSent()).toEqual([`Bearer ${TOKEN}`]);
  expect(fake.requests[0]?.headers["user-agent"]).toBe("serverless-ccm (tenant-a)");
});

test("a changed file is read again, before any rejection", async () => {
  const { id } = fake.add();
  await writeFile(file, `${TOKEN}\n`);
  const of = await load();
  expect(await ask(of)).toEqual([id]);
  fake.tokens.clear();
  fake.tokens.add("dop_v1_next");
  await writeFile(`${file}.new`, "dop_v1_next");
  await rename(`${file}.new`, file);
  expect(await ask(of)).toEqual([id]);
  expect(tokensSent()).toEqual([`Bearer ${TOKEN}`, "Bearer dop_v1_next"]);
});

test("a rejected token is read again, and sent again only if it differs", async () => {
  fake.add();
  await writeFile(file, TOKEN);
  const of = await load();
  fake.tokens.clear();
  expect(await ask(of)).toEqual(["Denied"]);
  expect(tokensSent()).toEqual([`Bearer ${TOKEN}`]);
});

test("a token that changes while it is rejected is tried once", async () => {
  const { id } = fake.add();
  await writeFile(file, TOKEN);
  const of = await load();
  fake.tokens.clear();
  fake.tokens.add("dop_v1_next");
  fake.before = () => writeFile(file, "dop_v1_next");
  expect(await ask(of)).toEqual([id]);
  expect(tokensSent()).toEqual([`Bearer ${TOKEN}`, "Bearer dop_v1_next"]);
});

test.each<[string, () => Promise<void>]>([
  ["gone", () => rm(file)],
  ["empty", () => writeFile(file, "")],
  ["written with two values", () => writeFile(file, "two tokens")],
])(
  "while a file is %s the last token is sent, and after a rejection the file is the error",
  async (_, spoil) => {
    const { id } = fake.add();
    await writeFile(file, TOKEN);
    const of = await load();
    await spoil();
    expect(await ask(of)).toEqual([id]);
    fake.tokens.clear();
    const { answers } = await of.instances([buildIdentifiedNode(fake.add())], buildCall());
    expect(answers).toMatchObject([{ code: "Denied", message: expect.stringContaining(file) }]);
  },
);

test.each([
  ["too large", "x".repeat(70_000), "larger than"],
  ["empty", "\n", "is empty; put the API token into it"],
  ["of several lines", "one\ntwo", "is not one API token"],
])(
  "a file that is %s is an error when the cloud is loaded, and is not quoted",
  async (_, content, message) => {
    await writeFile(file, content);
    const error = await load().catch((cause: Error) => cause.message);
    expect(error).toContain(message);
    expect(error).not.toContain("two");
  },
);
