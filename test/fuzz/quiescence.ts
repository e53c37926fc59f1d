import { INSTANCE_ANNOTATION, SHUTDOWN_TAINT, UNINITIALIZED_TAINT } from "#core/contracts.ts";
import type { StoredObject } from "#emulators/api-server/object.ts";
import type { Ec2Instance } from "#emulators/ec2/instance.ts";
import { isNaked, isReady, parseNode } from "#test/fuzz/our-writes.ts";
import { setReady } from "#test/fuzz/perform-step.ts";
import type { World } from "#test/fuzz/world.ts";

/**
 * Longer than any back-off and any resync interval. After this time without a fault the world must be in its
 * desired state.
 */
const QUIET_MS = 25 * 60_000;
const PIECE_MS = 60_000;

/** Longer than a function may take, including its time to settle. */
const LANDING_MS = 5 * 60_000;
const LANDING_PIECE_MS = 250;

/**
 * The most pending timers in a world at rest, for any number of steps: a few for each relay and each node.
 */
const MAX_TIMERS = 120;

/** Ends all faults, lets time pass, and returns what is not in its desired state. */
export async function checkAtRest(world: World): Promise<readonly string[]> {
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
    // The kubelet of a running machine reports Ready; without a machine the controller manager notices.
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
    // Lasting work is resynced repeatedly: in flight at one moment does not mean in flight for ever.
    if (!(await lands(world, relay))) faults.push(`${status?.inFlight} objects are in flight for ever`);
    for (const { name, objects } of status?.controllers ?? []) {
      if (objects > nodes.length) faults.push(`${name} keeps ${objects} objects of ${nodes.length} nodes`);
    }
  }
  return faults;
}

/** Whether nothing of the relay is in flight at some moment of the next minutes. */
async function lands({ clock }: World, relay: ReturnType<World["relays"]>[number]): Promise<boolean> {
  for (let passedMs = 0; passedMs < LANDING_MS; passedMs += LANDING_PIECE_MS) {
    if ((relay.status()[0]?.inFlight ?? 0) === 0) return true;
    await clock.advance(LANDING_PIECE_MS);
  }
  return false;
}

function machines({ places }: World): readonly Ec2Instance[] {
  return places.flatMap(({ instance }) =>
    instance === undefined || instance.state === "terminated" ? [] : [instance],
  );
}

/** Returns the instance that a node really runs on. */
function instanceOf(world: World, node: StoredObject): Ec2Instance | undefined {
  const { providerID } = parseNode(node);
  return machines(world).find(({ id, privateDnsName }) =>
    providerID === undefined ? privateDnsName === node.metadata.name : providerID.endsWith(`/${id}`),
  );
}

/**
 * Whether the node outlives its machine: the cloud shows the end of its initial instance, it is not Ready,
 * and no finalizer holds it.
 */
function outlivesItsMachine({ places, deletes }: World, object: StoredObject): boolean {
  const node = parseNode(object);
  const id = node.annotations[INSTANCE_ANNOTATION]?.split("/").at(-1);
  const ended = places.some(({ instance }) => instance?.id === id && instance?.state === "terminated");
  return deletes && ended && !isReady(node) && object.metadata.deletionTimestamp === undefined;
}

function faultsOfNode(object: StoredObject, instance: Ec2Instance | undefined): string[] {
  const { name, deletionTimestamp } = object.metadata;
  // A node that waits for its finalizer or has no machine cannot be brought up.
  if (deletionTimestamp !== undefined || instance === undefined) return [];
  const node = parseNode(object);
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
