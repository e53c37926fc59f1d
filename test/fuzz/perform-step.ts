import { UNINITIALIZED_TAINT } from "#core/contracts.ts";
import type { StoredObject } from "#emulators/api-server/object.ts";
import type { Behaviour } from "#emulators/ec2/behaviour.ts";
import type { InstanceStateName } from "#emulators/ec2/instance.ts";
import { parseNode } from "#test/fuzz/our-writes.ts";
import type { Slot, Step } from "#test/fuzz/steps.ts";
import { createPlace, type Place, type World } from "#test/fuzz/world.ts";

/** Performs a step; a step about a missing object does nothing. */
export async function performStep(world: World, step: Step): Promise<void> {
  switch (step.do) {
    case "join":
      return join(world, step);
    case "taints":
      return withNode(world, step.slot, (node) => rewriteTaints(world, node, step.keys, step.oursFirst));
    case "retaint":
      return withNode(world, step.slot, (node) => retaint(world, node));
    case "label":
      return withNode(world, step.slot, ({ metadata: { name } }) =>
        world.others.merge(name, { metadata: { labels: { [step.key]: step.value ?? null } } }),
      );
    case "annotate":
      return withNode(world, step.slot, ({ metadata: { name } }) =>
        world.others.merge(name, {
          metadata: { annotations: { "team.example.com/note": step.value ?? null } },
        }),
      );
    case "ready":
      return withNode(world, step.slot, ({ metadata: { name } }) => setReady(world, name, step.status));
    case "staleAddresses":
      return withNode(world, step.slot, ({ metadata: { name } }) => overwriteAddresses(world, name));
    case "between":
      return void world.meanwhile.push({
        writes: step.writes,
        act: (name) => actBetween(world, name, step.act),
      });
    case "remove":
      return withNode(world, step.slot, ({ metadata: { name } }) => world.others.remove(name));
    case "recreate":
      return recreate(world, step.slot);
    case "finalizer":
      return withNode(world, step.slot, ({ metadata: { name } }) =>
        world.others.merge(name, { metadata: { finalizers: step.on ? ["team.example.com/keep"] : [] } }),
      );
    case "instance":
      return setState(world, step.slot, step.becomes);
    case "vanish":
      return vanish(world, step.slot);
    case "hide":
      return hide(world, step.slot, step.forMs);
    case "takeOver":
      return takeOver(world, step.slot);
    case "cloudFails":
      return world.cloud.set(failuresOf(step.how, step.times));
    case "apiFails":
      return world.api.context.behaviours.failNext({ times: step.times, code: step.code });
    case "listsFail":
      return world.api.context.behaviours.failNext({
        times: step.times,
        code: step.code,
        verbs: ["list", "watch"],
        ...(step.code === 429 ? { retryAfterSeconds: 1 } : {}),
      });
    case "answersLost":
      return world.api.context.behaviours.loseAnswers(step.times);
    case "watchesEnd":
      return endWatches(world, step.compacted, step.as);
    case "fate":
      return world.invocations.next(step.is, step.after);
    case "restart":
      return world.restart(step.second ? "second" : "first", !step.second || world.relays().length > 1);
    case "second":
      return world.restart("second", step.on);
    case "wait":
    case "waitLong":
      return world.clock.advance(step.ms);
  }
}

function overwriteAddresses({ others }: World, name: string): void {
  others.merge(name, { status: { addresses: [{ type: "Hostname", address: name }] } }, "status");
}

function actBetween(world: World, name: string, act: Extract<Step, { do: "between" }>["act"]): void {
  const node = world.others.node(name);
  if (node === undefined) return;
  switch (act) {
    case "addresses":
      overwriteAddresses(world, name);
      break;
    case "taints":
      rewriteTaints(world, node, ["cni.example.com/agent", "team.example.com/only"], false);
      break;
    case "note":
      world.others.merge(name, { metadata: { annotations: { "team.example.com/note": "3" } } });
      break;
    case "remove":
      world.others.remove(name);
      break;
    case "recreate": {
      const { providerID } = parseNode(node);
      world.others.remove(name);
      if (world.others.node(name) === undefined)
        world.others.register({ name, ...(providerID === undefined ? {} : { providerID }) });
    }
  }
}

function withNode(world: World, slot: Slot, act: (node: StoredObject) => void): void {
  const nodes = world.others.nodes();
  const node = nodes[slot % Math.max(1, nodes.length)];
  if (node !== undefined) act(node);
}

/** Uses the given place if it has an instance, or else the next one that has. */
function withPlace(world: World, slot: Slot, act: (place: Place) => void): void {
  const { places } = world;
  const taken = [...places.slice(slot), ...places.slice(0, slot)].find(
    ({ instance }) => instance !== undefined,
  );
  if (taken !== undefined) act(taken);
}

function join(world: World, step: Extract<Step, { do: "join" }>): void {
  const { places, cloud, clock, others } = world;
  const free = [...places.slice(step.slot), ...places.slice(0, step.slot)].find(
    ({ instance, nodeName }) => instance === undefined && (nodeName === undefined || !others.node(nodeName)),
  );
  if (free === undefined) return;
  const instance = cloud.inventory.add({}, step.visibleAfterMs, clock.wallTime().getTime());
  const name = instance.privateDnsName;
  Object.assign(free, { ...createPlace(), instance, nodeName: name });
  if (step.visibleAfterMs > 0) {
    free.isNewborn = true;
    free.hiddenFromMs = clock.now();
    free.hiddenUntilMs = clock.now() + step.visibleAfterMs;
  }
  others.register({
    name,
    ...(step.providerID ? { providerID: providerIDOf(free) } : {}),
    ...(step.pinned && instance.privateIpAddress !== undefined ? { nodeIP: instance.privateIpAddress } : {}),
    taints: step.taints.map((key) => ({ key, effect: "NoSchedule" })),
  });
}

/** In the form of the kubelet's flag. */
function providerIDOf({ instance }: Place): string {
  return `aws:///${instance?.availabilityZone}/${instance?.id}`;
}

function rewriteTaints(
  { others }: World,
  node: StoredObject,
  keys: readonly string[],
  oursFirst: boolean,
): void {
  const kept = parseNode(node).taints.filter(({ key }) => key.startsWith("node.cloudprovider"));
  const theirs = keys.map((key) => ({ key, effect: "NoSchedule" }));
  const taints = oursFirst ? [...kept, ...theirs] : [...theirs, ...kept];
  others.merge(node.metadata.name, { spec: { taints } });
}

function retaint({ others }: World, node: StoredObject): void {
  const { taints } = parseNode(node);
  if (taints.some(({ key }) => key === UNINITIALIZED_TAINT)) return;
  const ours = { key: UNINITIALIZED_TAINT, value: "true", effect: "NoSchedule" };
  others.merge(node.metadata.name, { spec: { taints: [...taints, ours] } });
}

/** Sets the node's Ready status, as the kubelet or (for "Unknown") the controller manager does. */
export function setReady({ others, clock }: World, name: string, status: string): void {
  const node = others.node(name);
  if (node === undefined) return;
  const now = clock.wallTime().toISOString();
  const { conditions: all } = parseNode(node);
  const conditions = all.filter(({ type }) => type !== "Ready");
  const before = all.find(({ type }) => type === "Ready");
  // An equal status is not a transition.
  const lastTransitionTime = before?.status === status ? (before.lastTransitionTime ?? now) : now;
  const ready = { type: "Ready", status, reason: "Kubelet", lastTransitionTime, lastHeartbeatTime: now };
  others.merge(name, { status: { conditions: [...conditions, ready] } }, "status");
}

function recreate(world: World, slot: Slot): void {
  withPlace(world, slot, (place) => {
    const { nodeName } = place;
    if (nodeName === undefined || place.instance?.state === "terminated") return;
    world.others.remove(nodeName);
    // A node with a finalizer stays and keeps its name.
    if (world.others.node(nodeName) === undefined)
      world.others.register({ name: nodeName, providerID: providerIDOf(place) });
  });
}

function setState(world: World, slot: Slot, becomes: InstanceStateName): void {
  withPlace(world, slot, (place) => {
    const { instance } = place;
    if (instance === undefined || instance.state === "terminated") return;
    world.cloud.inventory.setState(instance.id, becomes);
    if (becomes === "running" && instance.state !== becomes) place.runsSinceMs = world.clock.now();
    place.instance = { ...instance, state: becomes };
  });
}

/** The kubelet of a missing machine is silent, and the controller manager notices. */
function vanish(world: World, slot: Slot): void {
  withPlace(world, slot, (place) => {
    const { instance } = place;
    if (instance === undefined) return;
    world.cloud.inventory.remove(instance.id);
    if (instance.state === "terminated") world.forgottenMs.set(instance.id, world.clock.now());
    if (place.nodeName !== undefined) setReady(world, place.nodeName, "Unknown");
    place.instance = undefined;
  });
}

function hide(world: World, slot: Slot, forMs: number): void {
  withPlace(world, slot, (place) => {
    const { instance } = place;
    if (instance === undefined) return;
    world.cloud.inventory.hide(instance.id);
    const nowMs = world.clock.now();
    if (nowMs >= place.hiddenUntilMs) Object.assign(place, { hiddenFromMs: nowMs, isNewborn: false });
    const untilMs = Math.max(place.hiddenUntilMs, nowMs + forMs);
    place.hiddenUntilMs = untilMs;
    world.clock.after(untilMs - nowMs, () => {
      // The place may be hidden for longer by then, or empty.
      if (place.instance?.id === instance.id && place.hiddenUntilMs <= untilMs)
        world.cloud.inventory.reveal(instance.id);
    });
  });
}

function takeOver(world: World, slot: Slot): void {
  withPlace(world, slot, (place) => {
    const { instance } = place;
    if (instance === undefined || instance.state === "terminated") return;
    const { privateIpAddress, privateDnsName } = instance;
    world.cloud.inventory.setState(instance.id, "terminated");
    if (place.nodeName !== undefined) setReady(world, place.nodeName, "Unknown");
    const free = world.places.find((each) => each.instance === undefined);
    place.instance = { ...instance, state: "terminated" };
    if (free === undefined || privateIpAddress === undefined) return;
    const successor = world.cloud.inventory.add(
      { privateIpAddress, privateDnsName },
      0,
      world.clock.wallTime().getTime(),
    );
    // Its kubelet finds the node of its name and reports in it.
    Object.assign(free, { ...createPlace(), instance: successor, nodeName: place.nodeName });
  });
}

function failuresOf(how: string, count: number): Behaviour {
  switch (how) {
    case "error":
      return { failures: [{ kind: "error", count }] };
    case "RequestLimitExceeded":
      return { failures: [{ kind: "error", count, code: how, status: 503 }] };
    case "denied":
      return { failures: [{ kind: "error", count, code: "UnauthorizedOperation", status: 403 }] };
    case "hang-up":
    case "rubbish":
    case "truncated":
      return { failures: [{ kind: how, count }] };
    default:
      throw new Error(`nothing is known of the failure ${how}`);
  }
}

function endWatches(world: World, compacted: boolean, expiredAs: "event" | "status"): void {
  const { context } = world.api;
  context.behaviours.expiredAs = expiredAs;
  if (compacted) {
    context.store.compact();
    context.store.forgetChanges();
  }
  for (const watch of context.watches) watch.end();
}
