import { afterAll, beforeAll, expect, test } from "vitest";
import { getPrograms } from "#bench/programs.ts";

import { FIELD_MANAGER } from "#core/contracts.ts";
import { listNodeWriters } from "#core/node-writers.ts";
import type { Ec2Instance } from "#emulators/ec2/instance.ts";
import { CONTROL_PLANE_USERS } from "#emulators/harness/control-plane.ts";
import type { Ended } from "#test/cli/program.ts";
import {
  CLUSTER,
  type HandoverStage,
  readText,
  startHandoverStage,
  WITHOUT_NODES,
  waitUntil,
} from "#test/handover/stage.ts";

const STOCK = "aws-cloud-controller-manager";
const JOINING = 100;

// One cluster, from the stock controller to ours and back; each test continues from the state that the
// previous one leaves.
let stage: HandoverStage;

beforeAll(async () => {
  const programs = await getPrograms((line) => process.stderr.write(`${line}\n`));
  stage = await startHandoverStage(programs.controlPlane, programs.stock);
});
afterAll(async () => {
  await stage?.close();
});

test("a check next to the stock controller finds no difference, in existing and in joining nodes", async () => {
  await stage.startStock();
  const before = await joinMixed();
  await stage.untilUp(before);
  const check = stage.command("handover", "--check", ...(await stage.flags()), "--for", "25s");
  const during = await joinMixed();
  await stage.untilUp(during);
  const { code, stdout, stderr } = await check;
  expect(`${stdout}${stderr}`).toContain(`compared ${before.length + during.length} nodes: no difference`);
  expect(stdout).toContain(`other: ${STOCK}, at work`);
  expect(code).toBe(0);
});

test("a check names the stock controller's differences, and exits with 1", async () => {
  const [node] = await joinMixed();
  const name = node?.privateDnsName ?? "";
  await stage.untilUp(node ? [node] : []);
  const label = "topology.k8s.aws/zone-id";
  const path = `/metadata/labels/${label.replace("/", "~1")}`;
  await stage.cluster.patch(name, [{ op: "add", path, value: "elsewhere" }]);
  const ended = await stage.command("handover", "--check", ...(await stage.flags()), "--once");
  expect(ended.stdout).toContain(`LabelDiffers  ${name} ${label}`);
  expect(ended.stdout).toContain('theirs: "elsewhere"');
  expect(ended.code).toBe(1);
  const ignored = await stage.command(
    ...["handover", "--check"],
    ...(await stage.flags()),
    ...["--once", "--ignore", `LabelDiffers:${label}`],
  );
  expect(ignored.code).toBe(0);
});

test("ours with policies.dryRun next to it writes nothing", async () => {
  relay = await stage.startOurs();
  const nodes = await joinMixed();
  await stage.untilUp(nodes);
  expect(relay.child.exitCode).toBeNull();
  expect(await writesOf(CONTROL_PLANE_USERS.node.name)).toEqual([]);
});

test("a hand-over prints its plan and changes nothing in a dry run", async () => {
  const text = await readText(stage.clustersFile);
  const ended = await hand("over", "--dry-run");
  expect(ended.stdout).toContain(WITHOUT_NODES);
  expect(ended.stdout).toContain("true → false");
  expect(ended.code).toBe(0);
  expect(await readText(stage.clustersFile)).toBe(text);
});

test("a hand-over leaves no node without a controller, and a hundred joining nodes are ours", async () => {
  const text = await readText(stage.clustersFile);
  const command = hand("over", "--for", "50s");
  await waitUntil("our side to change", async () => (await readText(stage.clustersFile)) !== text, 30_000);
  expect(await readText(stage.clustersFile)).toBe(text.replace("dryRun: true", "dryRun: false"));
  await stage.startStock(WITHOUT_NODES);
  const joined = await stage.join(JOINING);
  await stage.untilUp(joined);
  const { code, stdout } = await command;
  expect(stdout).toContain(`no gap; ${JOINING} nodes came up, by who should`);
  expect(code).toBe(0);
  expect(await initializersOf(joined)).toEqual(new Set([FIELD_MANAGER]));
  const records = [...stage.history.records.values()];
  const ours = records.filter(({ name }) => joined.some(({ privateDnsName }) => privateDnsName === name));
  expect(ours.filter(({ naked }) => naked)).toEqual([]);
});

test("a second hand-over finds everything done", async () => {
  const { code, stdout } = await hand("over", "--for", "5s");
  expect(stdout).toContain("is false already");
  expect(code).toBe(0);
});

test("a hand-back gives joining nodes back to the stock controller", async () => {
  await stage.startStock();
  const text = await readText(stage.clustersFile);
  const command = hand("back", "--for", "40s");
  await waitUntil("our side to change", async () => (await readText(stage.clustersFile)) !== text, 30_000);
  // Changes that reached the relay before the change of the file may still be ours.
  await waitUntil("the relay to have read it", async () => (await changesSeen()) > 1, 30_000);
  const joined = await stage.join(20);
  await stage.untilUp(joined);
  const { code, stdout } = await command;
  expect(stdout).toContain("no gap; 20 nodes came up, by who should");
  expect(code).toBe(0);
  expect(await initializersOf(joined)).toEqual(new Set([STOCK]));
});

/**
 * Joins nodes of each form: with and without a provider ID, single-stack and dual-stack, with the kubelet's
 * --node-ip.
 */
async function joinMixed(): Promise<readonly Ec2Instance[]> {
  const dual = { ipv6Addresses: [`2001:db8::${Math.floor(Math.random() * 0xffff).toString(16)}`] };
  return (
    await Promise.all([
      stage.join(3),
      stage.join(2, {}, { isUnnamed: true }),
      stage.join(2, dual),
      stage.join(2, dual, { nodeIP: "$ipv4,$ipv6" }),
      stage.join(1, dual, { nodeIP: "$ipv6" }),
      stage.join(1, { publicIpAddress: "203.0.113.7", publicDnsName: "ec2-203-0-113-7.example" }),
    ])
  ).flat();
}

function hand(direction: "over" | "back", ...flags: readonly string[]): Promise<Ended> {
  return stage.command(`hand${direction}`, CLUSTER, "--clusters-file", stage.clustersFile, ...flags);
}

let relay: Awaited<ReturnType<HandoverStage["startOurs"]>> | undefined;

/** Returns how often the relay has applied a change of the cluster's entry. */
async function changesSeen(): Promise<number> {
  return relay?.lines.filter(({ event }) => event === "ClusterChanged").length ?? 0;
}

async function writesOf(user: string): Promise<readonly string[]> {
  const records = await stage.plane.auditLog();
  return records
    .filter((each) => each.user === user && WRITES.has(each.verb) && each.code < 300)
    .map(({ verb, resource, name }) => `${verb} ${resource} ${name}`);
}

const WRITES: ReadonlySet<string> = new Set(["create", "update", "patch", "delete"]);

/** Returns the writers of the cloud's labels on these nodes, without kubelets. */
async function initializersOf(instances: readonly Ec2Instance[]): Promise<ReadonlySet<string>> {
  const answer = await stage.admin.send({ method: "GET", path: "/api/v1/nodes" });
  const nodes: readonly { readonly metadata: { readonly name: string } }[] = JSON.parse(answer.body).items;
  const names = new Set(instances.map(({ privateDnsName }) => privateDnsName));
  const managers = nodes
    .filter(({ metadata }) => names.has(metadata.name))
    .flatMap((node) => listNodeWriters(node).map(({ manager }) => manager));
  return new Set(managers.filter((manager) => manager !== "kubelet"));
}
