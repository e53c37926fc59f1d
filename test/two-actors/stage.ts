import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Cluster } from "#config/cluster.ts";
import { LOAD_BALANCER_ANNOTATION } from "#core/contracts.ts";
import type { Controller } from "#core/controller.ts";
import { createServiceController } from "#core/service/controller.ts";
import { connect } from "#kube/client/connect.ts";
import { getConnectOptions } from "#test/access.ts";
import type {
  BuildWorld,
  LoadBalancerWorld,
  ServiceTraits,
  WorldPoint,
} from "#test/clouds/load-balancer-world.ts";
import { buildPort, buildService, PORTS } from "#test/clouds/service-builders.ts";
import { tidyShared } from "#test/clouds/tidy-shared.ts";
import { listManifests } from "#test/clouds/worlds.ts";
import { createClusterObjects, SERVICE_NAME } from "#test/crash-consistency/cluster.ts";
import { CLUSTER_NAME, type StagePlane, startEmbedded } from "#test/crash-consistency/stage.ts";
import { type Actor, createActor, type Scene } from "./actor.ts";
import { createDraw } from "./draw.ts";
import { createNetwork } from "./network.ts";

/** The result of one run. */
export interface Run {
  readonly seed: number;
  /** The problems of the end state, or an empty list. */
  readonly issues: readonly string[];
  /** The actions, one line each. */
  readonly history: readonly string[];
}

/** One API server and one cloud, on which several actors work on one Service. */
export interface TwoActors {
  play(seed: number): Promise<Run>;
  close(): Promise<void>;
}

/** The Service's spec after an edit by its owner. */
type Variant = "ports" | "more ports" | "settings" | "plain" | "ClusterIP" | "deleted";

/** Virtual time after the last edit in which all comes to rest, well before the next audit. */
const REST_MS = 400_000;
const START_MS = Date.parse("2026-03-01T12:00:00Z");

export async function startTwoActors<World extends LoadBalancerWorld>(
  build: BuildWorld<World>,
  startPlane: (folder: string) => Promise<StagePlane> = startEmbedded,
): Promise<TwoActors> {
  const folder = await mkdtemp(join(tmpdir(), "two-actors-"));
  const { plane, hasPoints, apply } = await startPlane(folder);
  const world = await build(plane);
  for (const path of listManifests(String(world.cloud["provider"]), world.manifests)) await apply?.(path);
  const admin = connect(await getConnectOptions(plane, "admin"));
  const functions = connect(await getConnectOptions(plane, world.signedInAs ?? "service"));
  const objects = createClusterObjects(admin);
  const controller = createServiceController({
    [String(world.cloud["provider"])]: async () => world.model,
  }) as unknown as Controller;
  const cluster = Cluster.parse({
    name: CLUSTER_NAME,
    server: plane.server,
    cloud: world.cloud,
    controllers: [controller.name],
  });
  const empty = await world.point();
  const openBefore = countOpen(await world.outline([{ ...SERVICE_NAME, uid: NO_UID }]));
  let base: WorldPoint | undefined;
  const expected = new Map<Variant, readonly (readonly string[])[]>();

  /** Runs one fresh actor alone and without delays, until no work is left. */
  async function settleAlone(): Promise<void> {
    const network = createNetwork();
    const scene = sceneOf(network, 0, () => {});
    const actor = createActor("alone", { ...scene, draw: UNHURRIED }, {});
    actor.poke();
    await network.run(REST_MS);
  }

  const sceneOf = (
    network: Scene["network"],
    seed: number,
    log: Scene["log"],
    changed = () => {},
  ): Scene => ({
    network,
    draw: createDraw(seed),
    controller,
    cluster,
    objects,
    functions,
    connect: () => world.connect(cluster),
    advance: () => world.advance(),
    changed,
    startMs: START_MS,
    log,
  });

  async function begin(): Promise<void> {
    world.setGate(undefined);
    if (base !== undefined) return base.back();
    await objects.clear();
    await empty.back();
    await objects.setNodes(world.nodes.slice(0, 2));
    await objects.create(buildService(world));
    await settleAlone();
    if (!hasPoints) return;
    const account = await world.point();
    const backup = await plane.backup();
    base = {
      back: async () => {
        await plane.restore(backup);
        await account.back();
      },
    };
  }

  async function edit(variant: Variant): Promise<void> {
    const settings: ServiceTraits = world.otherSettings ?? {};
    const none = Object.fromEntries(Object.keys(settings.annotations ?? {}).map((key) => [key, null]));
    const noneOfSpec = Object.fromEntries(Object.keys(settings.spec ?? {}).map((key) => [key, null]));
    const typed = { type: "LoadBalancer", ...noneOfSpec };
    switch (variant) {
      case "plain":
        return objects.merge({ metadata: { annotations: none }, spec: { ...typed, ports: PORTS } });
      case "ports":
        return objects.merge({ metadata: { annotations: none }, spec: { ...typed, ports: OTHER_PORTS } });
      case "more ports":
        return objects.merge({ metadata: { annotations: none }, spec: { ...typed, ports: MORE_PORTS } });
      case "settings":
        return objects.merge({
          metadata: { annotations: settings.annotations ?? {} },
          spec: { type: "LoadBalancer", ports: PORTS, ...settings.spec },
        });
      case "ClusterIP":
        // A real API server rejects load balancer settings with this type.
        return objects.merge({ spec: { type: "ClusterIP", ...noneOfSpec } });
      case "deleted":
        return objects.delete();
    }
  }

  /** Returns the problems of the Service itself, after all has come to rest. */
  async function serviceProblems(last: Variant): Promise<readonly string[]> {
    const service = await objects.read();
    if (last === "deleted") return service === undefined ? [] : ["the Service is not gone"];
    if (last === "ClusterIP")
      return (service?.metadata.finalizers ?? []).length > 0 ? ["the finalizer is left"] : [];
    const mark = service?.metadata.annotations?.[LOAD_BALANCER_ANNOTATION];
    const isApplied = mark !== undefined && JSON.parse(mark).state === "applied";
    return isApplied ? [] : [`the annotation says ${mark}`];
  }

  async function outline(uid: string): Promise<readonly string[]> {
    world.setGate(undefined);
    const cloud = world.connect(cluster);
    await tidyShared(world.model, cluster, cloud, START_MS + REST_MS);
    await cloud.close();
    return world.outline([{ ...SERVICE_NAME, uid }]);
  }

  /**
   * Returns what a single fresh actor makes of the last edit, from three starts. These are the earlier state,
   * an empty cloud (an API may show it in other words); and other settings (an unused policy of theirs may
   * remain).
   */
  async function expectedOf(variant: Variant): Promise<readonly (readonly string[])[]> {
    const known = expected.get(variant);
    if (known !== undefined) return known;
    const made: (readonly string[])[] = [];
    for (const before of [[], ["ClusterIP"], ["settings"]] as const) {
      await begin();
      const uid = (await objects.read())?.metadata.uid ?? "";
      for (const each of [...before, variant]) {
        await edit(each);
        await settleAlone();
        // A state that one actor alone cannot finish is no reference.
        const issues = await serviceProblems(each);
        if (issues.length > 0) throw new Error(`one actor alone, ${each}: ${issues.join("; ")}`);
      }
      const found = await outline(uid);
      // Both might leave the same ports open, and a comparison would not show it.
      const isLimited = variant === "settings" && world.otherSettings?.spec?.["loadBalancerSourceRanges"];
      if (isLimited && countOpen(found) > openBefore)
        throw new Error(`one actor alone leaves a load balancer open to all: ${found.join("; ")}`);
      made.push(found);
    }
    expected.set(variant, made);
    return made;
  }

  return {
    async play(seed) {
      const draw = createDraw(seed);
      const variants: Variant[] = [];
      const last = draw.one<Variant>([
        "ports",
        "more ports",
        "settings",
        "plain",
        "ports",
        "more ports",
        "ClusterIP",
        "deleted",
      ]);
      for (let edits = draw.one([1, 2]); edits > 0; edits -= 1)
        variants.push(draw.one<Variant>(["ports", "more ports", "settings", "plain", "ClusterIP"]));
      variants.push(last);
      const wanted = await expectedOf(last);
      await begin();
      const uid = (await objects.read())?.metadata.uid ?? "";
      const history: string[] = [];
      const network = createNetwork();
      const log = (line: string): void => {
        history.push(`${(network.nowMs() / 1_000).toFixed(1)} s ${line}`);
      };
      const actors: Actor[] = [];
      const scene = sceneOf(network, seed + 1, log, () => {
        for (const actor of actors) actor.poke();
      });
      const count = draw.one([2, 2, 3]);
      const dying = draw.chance(0.4) ? Math.floor(draw.between(0, count)) : -1;
      for (let index = 0; index < count; index += 1) {
        const diesAfter = index === dying ? Math.ceil(draw.between(0, 6)) : undefined;
        actors.push(createActor(`actor-${"ABC"[index]}`, scene, { diesAfter }));
      }
      for (const variant of variants) {
        log(`owner: ${variant}`);
        await edit(variant);
        for (const actor of actors) actor.poke();
        await network.run(network.nowMs() + draw.between(0, 12_000));
      }
      const isOver = await network.run(network.nowMs() + REST_MS);
      const issues: string[] = [];
      if (!isOver) issues.push("it has not come to rest");
      issues.push(...leastDifference(await outline(uid), wanted), ...(await serviceProblems(last)));
      return {
        seed,
        issues,
        history: [`${count} actors: ${variants.join(", ")}`, ...history],
      };
    },
    async close() {
      await Promise.all([admin.close(), functions.close()]);
      await world.close();
      await plane.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Returns the difference from the most similar outlines. */
function leastDifference(
  found: readonly string[],
  outlines: readonly (readonly string[])[],
): readonly string[] {
  const [least = []] = outlines
    .map((wanted) => [
      ...wanted.filter((thing) => !found.includes(thing)).map((thing) => `missing: ${thing}`),
      ...found.filter((thing) => !wanted.includes(thing)).map((thing) => `left over: ${thing}`),
    ])
    .toSorted((one, other) => one.length - other.length);
  return least;
}

/** Returns how many rules admit, or lead to, every network. */
function countOpen(things: readonly string[]): number {
  return things.join("\n").split("0.0.0.0/0").length;
}

/** A uid that no Service has. */
const NO_UID = "00000000-0000-4000-8000-000000000000";

const OTHER_PORTS = [buildPort("http", 80, 30_081), buildPort("https", 443, 30_443)];
const MORE_PORTS = [
  buildPort("http", 80, 30_080),
  buildPort("https", 443, 30_444),
  buildPort("more", 8080, 30_808),
];

/** Nothing is late and no process dies. */
const UNHURRIED: Scene["draw"] = { between: (from) => from, chance: () => false, one: ([first]) => first };
