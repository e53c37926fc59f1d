import { INSTANCE_ANNOTATION, SHUTDOWN_TAINT, UNINITIALIZED_TAINT } from "#core/contracts.ts";
import type { StoredObject } from "#emulators/api-server/object.ts";
import type { Ec2Instance } from "#emulators/ec2/instance.ts";
import { isNaked, isReady, seen } from "#test/fuzz/our-writes.ts";
import { setReady } from "#test/fuzz/perform-step.ts";
import type { World } from "#test/fuzz/world.ts";

/** Longer than any back-off and any pace of looking: after so long without a fault everything has to be as it should. */
const QUIET_MS = 25 * 60_000;
const PIECE_MS = 60_000;

/** Longer than a function may take, its time to settle included. */
const LANDING_MS = 5 * 60_000;
const LANDING_PIECE_MS = 250;

/** What may wait for its time in a world at rest, however many steps there were: a few timers a relay, and a few a node. */
const MAX_TIMERS = 120;

/** Ends all faults, lets time pass, and answers with what is not as it has to be then. */
export async function faultsAtRest(world: World): Promise<readonly string[]> {
  const { api, cloud, clock, invocations, others, places } = world;
  cloud.set({ failures: [] });
  invocations.forgetFates();
  world.meanwhile.splice(0);
  const { behaviours } = api.context;
  while (behaviours.takeFailure("patch") || behaviours.takeFailure("list") || behaviours.takeLoss("patch"));
  for (const place of places) {
    const { instance } = place;
    if (instance === undefined) continue;
    cloud.inventory.reveal(instance.id);
    if (instance.state === "terminated") continue;
    cloud.inventory.setState(instance.id, "running");
    if (instance.state !== "running") place.runsSinceMs = clock.now();
    place.instance = { ...instance, state: "running" };
  }
  for (const { metadata } of others.nodes()) {
    // The kubelet of a machine that runs says so, and where there is none the controller manager notices.
    const isUp = machines(world).some(({ privateDnsName }) => privateDnsName === metadata.name);
    setReady(world, metadata.name, isUp ? "True" : "Unknown");
  }
  for (let passedMs = 0; passedMs < QUIET_MS; passedMs += PIECE_MS) await clock.advance(PIECE_MS);

  const nodes = others.nodes();
  const faults = nodes.flatMap((node) => [
    ...faultsOfNode(node, instanceOf(world, node)),
    ...(outlivesItsMachine(world, node) ? [`${node.metadata.name} at rest: outlives its machine`] : []),
  ]);
  if (world.timers() > MAX_TIMERS) faults.push(`${world.timers()} timers wait`);
  for (const relay of world.relays()) {
    const [status] = relay.status();
    if (!relay.ready()) faults.push(`a relay is not ready: ${JSON.stringify(status?.failure)}`);
    // What lasts is looked at again and again: in flight at a moment is not in flight for ever.
    if (!(await lands(world, relay))) faults.push(`${status?.inFlight} objects are in flight for ever`);
    for (const { name, objects } of status?.controllers ?? []) {
      if (objects > nodes.length) faults.push(`${name} keeps ${objects} objects of ${nodes.length} nodes`);
    }
  }
  return faults;
}

/** Whether nothing of the relay's is in flight at some moment of the next minutes. */
async function lands({ clock }: World, relay: ReturnType<World["relays"]>[number]): Promise<boolean> {
  for (let passedMs = 0; passedMs < LANDING_MS; passedMs += LANDING_PIECE_MS) {
    if ((relay.status()[0]?.inFlight ?? 0) === 0) return true;
    await clock.advance(LANDING_PIECE_MS);
  }
  return false;
}

/** The instances that have not ended. */
function machines({ places }: World): readonly Ec2Instance[] {
  return places.flatMap(({ instance }) =>
    instance === undefined || instance.state === "terminated" ? [] : [instance],
  );
}

/** The instance that a node is on, in truth. */
function instanceOf(world: World, node: StoredObject): Ec2Instance | undefined {
  const { providerID } = seen(node);
  return machines(world).find(({ id, privateDnsName }) =>
    providerID === undefined ? privateDnsName === node.metadata.name : providerID.endsWith(`/${id}`),
  );
}

/** Whether the cloud shows the end of the instance that it was initialized from, and it is not Ready, and nobody holds it. */
function outlivesItsMachine({ places, deletes }: World, object: StoredObject): boolean {
  const node = seen(object);
  const id = node.annotations[INSTANCE_ANNOTATION]?.split("/").at(-1);
  const ended = places.some(({ instance }) => instance?.id === id && instance?.state === "terminated");
  return deletes && ended && !isReady(node) && object.metadata.deletionTimestamp === undefined;
}

function faultsOfNode(object: StoredObject, instance: Ec2Instance | undefined): string[] {
  const { name, deletionTimestamp } = object.metadata;
  // One that only waits for its finalizer is nobody's to bring up, and one without a machine cannot be.
  if (deletionTimestamp !== undefined || instance === undefined) return [];
  const node = seen(object);
  const addresses = node.addresses.map(({ type, address }) => `${type} ${address}`).join();
  const { privateIpAddress: ip, privateDnsName: dns } = instance;
  const wanted: readonly (readonly [what: string, is: unknown, shouldBe: unknown])[] = [
    ["naked", isNaked(node), false],
    ["tainted", node.taints.some(({ key }) => key === UNINITIALIZED_TAINT), false],
    ["marked as stopped", node.taints.some(({ key }) => key === SHUTDOWN_TAINT.key), false],
    ["addresses", addresses, `InternalIP ${ip},InternalDNS ${dns},Hostname ${dns}`],
    ["provider ID", node.providerID, `aws:///${instance.availabilityZone}/${instance.id}`],
    ["instance type", node.labels["node.kubernetes.io/instance-type"], instance.instanceType],
  ];
  return wanted
    .filter(([, is, shouldBe]) => is !== shouldBe)
    .map(([what, is, shouldBe]) => `${name} at rest: ${what} is ${is}, not ${shouldBe}`);
}
