import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ClustersFile } from "#config/clusters-file.ts";
import { createFileRegistry } from "#config/registry/open-registry.ts";
import { createSsmRegistry } from "#config/registry/ssm/ssm-registry.ts";
import { createManualClock, type ManualClock } from "#test/kube/follow/manual-clock.ts";
import { waitUntilTrue } from "#test/wait-until-true.ts";

type Cloud = Readonly<Record<string, unknown>>;

const AWS = { provider: "aws", region: "eu-central-1" };
const ROLE = "arn:aws:iam::111111111111:role/ccm";
const OTHER_ACCOUNT = "arn:aws:iam::222222222222:role/ccm";
const HCLOUD = { provider: "hcloud" };
const DIGITALOCEAN = { provider: "digitalocean", region: "fra1" };
const [VPC_A, VPC_B] = ["11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"];
const OPENSTACK = {
  provider: "openstack",
  "auth-url": "https://keystone.example/v3",
  region: "RegionOne",
  username: "ccm",
  "user-domain-name": "Default",
  "tenant-id": "t",
};
const RANCHER = { provider: "rancher", distribution: "k3s", existence: "rancher" };
const MACHINES = { url: "https://rancher.example", cluster: "prod" };

const entry = (name: string, cloud: Cloud) => ({ name, server: `https://${name}.example`, cloud });
/** Usable entries, then held ones with a `!`. */
const shown = ({ clusters, faulty }: ClustersFile): string =>
  [...clusters.map(({ name }) => name), ...faulty.map(({ name }) => `${name}!`)].join(" ");
const faultsIn = ({ faulty }: ClustersFile): string =>
  faulty.flatMap(({ faults }) => faults.map(({ subject, message }) => `${subject}: ${message}`)).join("\n");

let folder: string;
let file: string;
let ending: AbortController;
let following: Promise<void> | undefined;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "ownership-"));
  file = join(folder, "clusters.yaml");
  ending = new AbortController();
  following = undefined;
});
afterEach(async () => {
  ending.abort();
  await following;
  await rm(folder, { recursive: true });
});

const write = (...entries: readonly object[]): Promise<void> =>
  writeFile(file, JSON.stringify({ clusters: entries }));

describe("of two entries whose cloud resources cannot be told apart", () => {
  test.each<[string, Cloud, Cloud]>([
    [
      "one tag in one VPC",
      { ...AWS, vpc: "vpc-1", clusterTag: "x" },
      { ...AWS, vpc: "vpc-1", clusterTag: "x" },
    ],
    ["one tag, one with a VPC", { ...AWS, vpc: "vpc-1", clusterTag: "x" }, { ...AWS, clusterTag: "x" }],
    [
      "one tag, two VPCs of which one is written",
      { ...AWS, clusterTag: "x" },
      { ...AWS, vpc: "vpc-2", clusterTag: "x" },
    ],
    [
      "a tag that is the other's name",
      { ...AWS, vpc: "vpc-1" },
      { ...AWS, vpc: "vpc-1", clusterTag: "older" },
    ],
    [
      "two roles of one account",
      { ...AWS, clusterTag: "x", roleArn: ROLE },
      { ...AWS, clusterTag: "x", roleArn: ROLE.replace("ccm", "other") },
    ],
    [
      "one VPC, where one says no account",
      { ...AWS, vpc: "vpc-1", clusterTag: "x", roleArn: ROLE },
      { ...AWS, vpc: "vpc-1", clusterTag: "x" },
    ],
    ["one label selector", { ...HCLOUD, labelSelector: "a=b,c" }, { ...HCLOUD, labelSelector: "c, a==b" }],
    [
      "one label selector, a network by id and one by name",
      { ...HCLOUD, network: 1, labelSelector: "a=b" },
      { ...HCLOUD, network: "net", labelSelector: "a=b" },
    ],
    ["one tag of droplets", { ...DIGITALOCEAN, dropletTag: "x" }, { ...DIGITALOCEAN, dropletTag: "x" }],
    [
      "one tag of load balancers",
      { ...DIGITALOCEAN, vpc: VPC_A, clusterID: "x" },
      { ...DIGITALOCEAN, vpc: VPC_A, dropletTag: "y", clusterID: "x" },
    ],
    ["one tag of servers", { ...OPENSTACK, "server-tag": "x" }, { ...OPENSTACK, "server-tag": "x" }],
    [
      "the same metadata",
      { ...OPENSTACK, "server-metadata": { a: "1", b: "2" } },
      { ...OPENSTACK, "server-metadata": { b: "2", a: "1" } },
    ],
    [
      "the Machines of one cluster",
      { ...RANCHER, rancher: MACHINES },
      { ...RANCHER, rancher: { ...MACHINES, namespace: "fleet-default" } },
    ],
  ])("(%s) the one that comes first in the file is served, the other is held", async (_, older, younger) => {
    await write(entry("older", older), entry("younger", younger), entry("third", { provider: "no-cloud" }));
    const content = await createFileRegistry(file).read();
    expect(faultsIn(content)).toMatch(/^cluster younger: cloud: .*cluster older/);
    expect(shown(content)).toBe("older third younger!");
  });

  test.each<[string, Cloud, Cloud]>([
    ["two tags", { ...AWS, vpc: "vpc-1", clusterTag: "x" }, { ...AWS, vpc: "vpc-1", clusterTag: "y" }],
    ["two VPCs", { ...AWS, vpc: "vpc-1", clusterTag: "x" }, { ...AWS, vpc: "vpc-2", clusterTag: "x" }],
    ["two regions", { ...AWS, clusterTag: "x" }, { ...AWS, region: "eu-west-1", clusterTag: "x" }],
    [
      "two accounts",
      { ...AWS, clusterTag: "x", roleArn: ROLE },
      { ...AWS, clusterTag: "x", roleArn: OTHER_ACCOUNT },
    ],
    ["two names in one VPC", { ...AWS, vpc: "vpc-1" }, { ...AWS, vpc: "vpc-1" }],
    ["two selectors", { ...HCLOUD, labelSelector: "a=b" }, { ...HCLOUD, labelSelector: "a=c" }],
    [
      "two networks",
      { ...HCLOUD, network: 1, labelSelector: "a=b" },
      { ...HCLOUD, network: 2, labelSelector: "a=b" },
    ],
    [
      "two tokens",
      { ...HCLOUD, tokenFile: "a", labelSelector: "a=b" },
      { ...HCLOUD, tokenFile: "b", labelSelector: "a=b" },
    ],
    [
      "two VPCs of droplets",
      { ...DIGITALOCEAN, vpc: VPC_A, dropletTag: "x" },
      { ...DIGITALOCEAN, vpc: VPC_B, dropletTag: "x" },
    ],
    ["one network and no tag", { ...HCLOUD, network: 1 }, { ...HCLOUD, network: 1 }],
    ["two clouds", { ...HCLOUD, labelSelector: "x" }, { ...DIGITALOCEAN, dropletTag: "x" }],
    ["no cloud", { provider: "no-cloud" }, { provider: "no-cloud" }],
  ])("both are served where they differ (%s)", async (_, older, younger) => {
    await write(entry("older", older), entry("younger", younger));
    expect(shown(await createFileRegistry(file).read())).toBe("older younger");
  });

  test("a third is held because of the one that is served, and not because of a held one", async () => {
    await write(
      entry("a", { ...AWS, vpc: "vpc-1", clusterTag: "x" }),
      entry("b", { ...AWS, clusterTag: "x" }),
      entry("c", { ...AWS, vpc: "vpc-2", clusterTag: "x" }),
    );
    expect(shown(await createFileRegistry(file).read())).toBe("a c b!");
  });

  test("a list of clusters has no held one, and a lookup by name finds it", async () => {
    await write(entry("older", { ...AWS, clusterTag: "x" }), entry("younger", { ...AWS, clusterTag: "x" }));
    const clusters = createFileRegistry(file).byName();
    const [all, ahead] = [await clusters.all(), await clusters.ahead()];
    expect([all, ahead].map((each) => each.map(({ name }) => name))).toEqual([["older"], ["older"]]);
    expect((await clusters("younger"))?.name).toBe("younger");
  });
});

describe("an entry that is served", () => {
  let heard: string[];
  async function follow(): Promise<void> {
    heard = [];
    const home = createFileRegistry(file);
    heard.push(shown(await home.read()));
    following = home.follow({
      signal: ending.signal,
      onContent: (content) => heard.push(shown(content)),
      onError: ({ code }) => heard.push(code),
      intervalMs: 5,
    });
  }
  const untilHeard = (last: string): Promise<void> =>
    waitUntilTrue(`"${last}" after ${heard}`, () => heard.at(-1) === last);

  test("is not displaced by an older one that is edited to match it", async () => {
    await write(entry("a", { ...AWS, clusterTag: "x" }), entry("b", { ...AWS, clusterTag: "y" }));
    await follow();
    await write(entry("a", { ...AWS, clusterTag: "y" }), entry("b", { ...AWS, clusterTag: "y" }));
    await untilHeard("b a!");
  });

  test("keeps its resources when its edit is held, even if another entry takes them with the same edit", async () => {
    const tagged = (name: string, clusterTag: string) => entry(name, { ...AWS, clusterTag });
    await write(tagged("a", "x"), tagged("b", "y"), tagged("c", "z"));
    await follow();
    await write(tagged("a", "y"), tagged("b", "z"), tagged("c", "z"), tagged("d", "x"));
    await untilHeard("c a! b! d!");
    await write(tagged("a", "y"), tagged("b", "x"), tagged("c", "z"), tagged("d", "w"));
    await untilHeard("a b c d");
  });

  test("keeps what is its own while its entry is faulty, and gives it up when it is gone", async () => {
    const younger = entry("b", { ...AWS, clusterTag: "x" });
    await write(entry("a", { ...AWS, clusterTag: "x" }), younger);
    await follow();
    await untilHeard("a b!");
    await write({ ...entry("a", { ...AWS, clusterTag: "x" }), server: "rubbish" }, younger);
    await untilHeard("a! b!");
    await write({ rubbish: 1 }, younger);
    await untilHeard("undefined! b!");
    await write(younger);
    await untilHeard("b");
  });
});

describe("parameters of SSM", () => {
  const PATH = "/ccm/clusters/";
  let written: Map<string, { readonly modifiedAt: number | undefined; readonly entry: object }>;
  let clock: ManualClock;
  const parameters = () =>
    [...written].map(([name, { entry, modifiedAt }]) => ({
      ...{ name: PATH + name, type: "String", value: JSON.stringify(entry) },
      ...(modifiedAt === undefined ? {} : { modifiedAt }),
    }));
  const open = () =>
    createSsmRegistry(PATH, {
      store: async () => ({
        list: async () => ({ parameters: parameters(), next: undefined }),
        get: async (name) => parameters().find((each) => each.name === name),
        getMany: async (names) => parameters().filter(({ name }) => names.includes(name)),
      }),
      random: () => 0.5,
    });
  const put = (name: string, modifiedAt: number | undefined, clusterTag: string): void =>
    void written.set(name, { modifiedAt, entry: entry(name, { ...AWS, clusterTag }) });
  beforeEach(() => {
    written = new Map();
    clock = createManualClock();
  });

  test("the one that was written first is served, in any order of the list", async () => {
    put("a", 2_000, "x");
    put("b", 1_000, "x");
    put("c", undefined, "x");
    expect(shown(await open().read())).toBe("b a! c!");
    expect((await open().byName().all()).map(({ name }) => name)).toEqual(["b"]);
  });

  test("the served one stays served when it is edited, and while one list lacks it", async () => {
    put("a", 1_000, "x");
    put("b", 2_000, "x");
    const heard: string[] = [];
    following = open().follow({
      signal: ending.signal,
      onContent: (content) => heard.push(shown(content)),
      onError: ({ code }) => heard.push(code),
      clock,
      random: () => 0.5,
    });
    const untilHeard = (last: string): Promise<void> =>
      waitUntilTrue(`"${last}" after ${heard}`, async () => {
        await clock.advance(1_000);
        return heard.at(-1) === last;
      });
    await untilHeard("a b!");
    written.set("a", {
      modifiedAt: 3_000,
      entry: { ...entry("a", { ...AWS, clusterTag: "x" }), policies: {} },
    });
    put("c", 4_000, "z");
    await untilHeard("a c b!");
    const last = written.get("a");
    written.delete("a");
    await clock.advance(31_000);
    written.set("a", last ?? { modifiedAt: 0, entry: {} });
    put("d", 5_000, "w");
    await untilHeard("a c d b!");
    expect(heard.filter((each) => each.split(" ").includes("b"))).toEqual([]);
    written.delete("a");
    await untilHeard("b c d");
  });
});
