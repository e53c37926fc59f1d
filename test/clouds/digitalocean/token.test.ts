import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Cloud } from "#clouds/cloud.ts";
import { loadDigitalOceanCloud } from "#clouds/digitalocean/cloud.ts";
import { TOKEN } from "#emulators/digitalocean/names.ts";
import { type FakeDigitalOcean, startFakeDigitalOcean } from "#emulators/digitalocean/server.ts";
import { aCall } from "#test/clouds/builders.ts";
import { summary } from "#test/clouds/conformance.ts";
import { aConfig, identified } from "#test/clouds/digitalocean/world.ts";

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
  const config = aConfig({
    apiURL: fake.url,
    ...("DO_ACCESS_TOKEN" in environment ? {} : { tokenFile: file }),
  });
  cloud = await loadDigitalOceanCloud(config, { clusterName: "tenant-a" }, environment);
  return cloud;
};
const ask = async (of: Cloud): Promise<string[]> =>
  (await of.instances([identified(fake.droplets.values().next().value ?? fake.add())], aCall())).answers.map(
    summary,
  );
const tokensSent = (): (string | undefined)[] => fake.requests.map(({ headers }) => headers.authorization);

test("the environment's token is sent, and who asks", async () => {
  const { id } = fake.add();
  expect(await ask(await load({ DO_ACCESS_TOKEN: TOKEN }))).toEqual([id]);
  expect(tokensSent()).toEqual([`Bearer ${TOKEN}`]);
  expect(fake.requests[0]?.headers["user-agent"]).toBe("serverless-ccm (tenant-a)");
});

test("a file that changes is read again, without a refusal in between", async () => {
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

test("a token that is refused is read again, and sent anew only if it is another", async () => {
  fake.add();
  await writeFile(file, TOKEN);
  const of = await load();
  fake.tokens.clear();
  expect(await ask(of)).toEqual(["Denied"]);
  expect(tokensSent()).toEqual([`Bearer ${TOKEN}`]);
});

test("a token that changes while it is refused is tried, once", async () => {
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
  ["half a mess", () => writeFile(file, "two tokens")],
])(
  "while a file is %s the last token is sent, and where that is refused the file is the fault",
  async (_, spoil) => {
    const { id } = fake.add();
    await writeFile(file, TOKEN);
    const of = await load();
    await spoil();
    expect(await ask(of)).toEqual([id]);
    fake.tokens.clear();
    const { answers } = await of.instances([identified(fake.add())], aCall());
    expect(answers).toMatchObject([{ code: "Denied", message: expect.stringContaining(file) }]);
  },
);

test.each([
  ["too large", "x".repeat(70_000), "larger than"],
  ["empty", "\n", "is empty; put the API token into it"],
  ["of several lines", "one\ntwo", "is not one API token"],
])(
  "a file that is %s is a fault when the cloud is loaded, and is not quoted",
  async (_, content, message) => {
    await writeFile(file, content);
    const error = await load().catch((cause: Error) => cause.message);
    expect(error).toContain(message);
    expect(error).not.toContain("two");
  },
);
