import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { getPrograms } from "#bench/programs.ts";
import { STOCK_USER } from "#bench/stage.ts";
import type { Ec2Instance } from "#emulators/ec2/instance.ts";
import { CONTROL_PLANE_USERS } from "#emulators/harness/control-plane.ts";
import type { NodeRecord } from "#emulators/harness/node-history.ts";
import {
  CLUSTER,
  type HandoverStage,
  setReady,
  startHandoverStage,
  waitUntil,
} from "#test/handover/stage.ts";

// Both controllers run at the same time, by mistake. The stock controller's loops of minutes take seconds
// here.
const STOCK_CYCLE_SECONDS = 4;
const CYCLES = 10;
const EACH = 20;

let stage: HandoverStage;
let nodes: readonly Ec2Instance[];
/** Nodes that the stock controller had initialized before ours started. */
let takenOver: readonly Ec2Instance[];

beforeAll(async () => {
  const programs = await getPrograms((line) => process.stderr.write(`${line}\n`));
  stage = await startHandoverStage(programs.controlPlane, programs.stock);
  await stage.command("handover", CLUSTER, "--clusters-file", stage.clustersFile, "--for", "1s");
  await stage.startStock(`--node-status-update-frequency=${STOCK_CYCLE_SECONDS}s`);
  const dualStack = { ipv6Addresses: ["2001:db8::2"] };
  takenOver = (await Promise.all([stage.join(3), stage.join(3, dualStack)])).flat();
  await stage.untilUp(takenOver);
  await stage.startOurs("--node-status-update-frequency", `${STOCK_CYCLE_SECONDS}s`);
  const dual = { ipv6Addresses: ["2001:db8::1"] };
  nodes = (
    await Promise.all([
      stage.join(EACH),
      stage.join(EACH, {}, { isUnnamed: true }),
      stage.join(EACH, dual),
      stage.join(EACH, dual, { nodeIP: "$ipv4,$ipv6" }),
    ])
  ).flat();
  await stage.untilUp(nodes);
});
afterAll(async () => {
  await stage?.close();
});

test("they write a node a few times, and then stop", async () => {
  // Covers changes that one has not seen of the other yet, and our second look.
  await sleep(STOCK_CYCLE_SECONDS * 2_000);
  const before = versions();
  const [ours, theirs] = await Promise.all([requestsOf(OURS), requestsOf(STOCK_USER)]);
  await sleep(STOCK_CYCLE_SECONDS * CYCLES * 1_000);
  // The stock controller patches a dual-stack node at each check, without a change.
  expect((await requestsOf(STOCK_USER)).length).toBeGreaterThan(theirs.length + 2 * EACH);
  expect(changedSince(before)).toEqual([]);
  expect(await requestsOf(OURS)).toHaveLength(ours.length);
});

test("we write a node of the stock controller once, for its instance, and never for its addresses", async () => {
  const names = new Set(takenOver.map(({ privateDnsName }) => privateDnsName));
  const written = async (): Promise<readonly Request[]> =>
    (await requestsOf(OURS)).filter(({ name, code }) => names.has(name) && code === 200);
  await waitUntil("a write to each", async () => (await written()).length >= names.size, 60_000);
  const requests = await written();
  expect(requests.map(({ subresource }) => subresource)).toEqual([...names].map(() => undefined));
});

test("neither disturbs the other: no node needs more than two of our writes and one for its instance", async () => {
  const counts = Map.groupBy(await requestsOf(OURS), ({ name }) => name);
  const most = Math.max(...[...counts.values()].map((requests) => requests.length));
  // After a conflict a write is read and decided again, at most twice for each of the two.
  expect(most).toBeLessThanOrEqual(6);
  const refused = (await stage.plane.auditLog()).filter(({ user, code }) => user === OURS && code >= 500);
  expect(refused).toEqual([]);
});

test("a node of a terminated instance is deleted once", async () => {
  const ending = nodes.slice(0, 10);
  for (const { id, privateDnsName } of ending) {
    stage.ec2.terminate(id);
    await setReady(stage.admin, privateDnsName, "False");
  }
  const names = ending.map(({ privateDnsName }) => privateDnsName);
  const isGone = (name: string): boolean =>
    [...stage.history.records.values()].some((record) => record.name === name && record.deleted);
  await waitUntil("the nodes to be deleted", async () => names.every(isGone), 120_000);
  await sleep(STOCK_CYCLE_SECONDS * 2_000);
  const deletions = (await stage.plane.auditLog()).filter(
    ({ verb, resource, name = "" }) => verb === "delete" && resource === "nodes" && names.includes(name),
  );
  const carriedOut = deletions.filter(({ code }) => code === 200).map(({ name }) => name);
  expect(carriedOut.toSorted()).toEqual(names.toSorted());
  // The second controller gets "not found", and does nothing more.
  for (const name of names) {
    const ours = deletions.filter((each) => each.name === name && each.user !== STOCK_USER);
    expect(ours.length, name).toBeLessThanOrEqual(2);
  }
  const others = nodes.slice(10).map(({ privateDnsName }) => privateDnsName);
  expect(others.filter(isGone)).toEqual([]);
});

const OURS = CONTROL_PLANE_USERS.node.name;
const WRITES: ReadonlySet<string> = new Set(["update", "patch"]);

interface Request {
  readonly name: string;
  readonly subresource: string | undefined;
  readonly code: number;
}

async function requestsOf(user: string): Promise<readonly Request[]> {
  const records = await stage.plane.auditLog();
  return records
    .filter((each) => each.user === user && each.resource === "nodes" && WRITES.has(each.verb))
    .map(({ name = "", subresource, code }) => ({ name, subresource, code }));
}

function living(): readonly NodeRecord[] {
  return [...stage.history.records.values()].filter(({ deleted }) => !deleted);
}

function versions(): ReadonlyMap<string, number> {
  return new Map(living().map((record) => [record.uid, record.versions]));
}

function changedSince(before: ReadonlyMap<string, number>): readonly string[] {
  return living()
    .filter((record) => record.versions !== before.get(record.uid))
    .map(({ name, uid, versions: now }) => `${name}: ${now - (before.get(uid) ?? 0)} more`);
}
