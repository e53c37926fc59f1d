import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Cloud } from "#clouds/cloud.ts";
import { Cluster } from "#config/cluster.ts";
import type { Controller } from "#core/controller.ts";
import type { EventReason } from "#core/event.ts";
import type { ObjectReport, Report } from "#core/report.ts";
import { createServiceController } from "#core/service/controller.ts";
import type { Service } from "#core/service/service.ts";
import { startEmbeddedControlPlane } from "#emulators/api-server/start.ts";
import type { ControlPlane } from "#emulators/harness/control-plane.ts";
import { type ControlPlaneBinaries, startKubeApiserver } from "#emulators/harness/kube-apiserver.ts";
import { createControllerFunction } from "#functions/parts/controller-function.ts";
import type { LogLine } from "#functions/parts/log-report.ts";
import { connect } from "#kube/client/connect.ts";
import { getConnectOptions } from "#test/access.ts";
import type {
  BuildWorld,
  LoadBalancerWorld,
  NamedService,
  WorldPoint,
} from "#test/clouds/load-balancer-world.ts";
import { tidyShared } from "#test/clouds/tidy-shared.ts";
import { listManifests } from "#test/clouds/worlds.ts";
import { type ClusterObjects, createClusterObjects, type Related, SERVICE_NAME } from "./cluster.ts";
import { createLifeline, type Lifeline } from "./lifeline.ts";

/** An API server and the world of a cloud, on which functions start and are killed. */
export interface Stage<World extends LoadBalancerWorld = LoadBalancerWorld> {
  readonly world: World;
  readonly objects: ClusterObjects;
  /** Invokes the function as a new process, with these settings of its cloud. */
  invoke(options?: InvokeOptions): Promise<Invoked>;
  /** Advances the function's clock for all later invocations. */
  wait(seconds: number): void;
  /** Returns the resources in the cloud, with the names of all Services since the last `clear`. */
  state(): Promise<readonly string[]>;
  /** Returns the resources that must be equal before a Service exists and after its deletion. */
  pieces(): Promise<readonly string[]>;
  /** Connects to the cluster's cloud as a new process, with these settings. */
  connect(cloud?: Readonly<Record<string, unknown>>): { readonly cluster: Cluster; readonly cloud: Cloud };
  /**
   * Saves the cloud and the API server, to restore them later; undefined if the API server cannot be
   * restored.
   */
  readonly point: (() => Promise<WorldPoint>) | undefined;
  /**
   * Runs audits over an hour, which remove unused shared resources; does nothing if the cloud's model shares
   * nothing.
   */
  tidy(cloud?: Readonly<Record<string, unknown>>): Promise<void>;
  /** Removes all Services, and everything in the cloud that is not foreign. */
  clear(): Promise<void>;
  close(): Promise<void>;
}

/** A control plane, and whether it can be restored without delay. */
export interface StagePlane {
  readonly plane: ControlPlane;
  readonly hasPoints: boolean;
  /** Applies a file or a folder of infra/, if the control plane supports it. */
  readonly apply?: (path: string) => Promise<void>;
}

export interface InvokeOptions {
  readonly lifeline?: Lifeline;
  readonly reason?: EventReason;
  /** Keys in the `cloud:` section of the cluster. */
  readonly cloud?: Readonly<Record<string, unknown>>;
  /** The Services of the event; by default the Service under test. */
  readonly names?: readonly string[];
  /** Replaces the related objects of the event. */
  readonly related?: Related;
  /** Builds the Service that the event claims. */
  readonly forge?: (service: Service) => object;
  /** The name of another cluster whose API server has the same objects. */
  readonly clusterName?: string;
}

/** The result of an invocation; without a report if the process was killed or no Service is left. */
export interface Invoked {
  /** The report about the first Service. */
  readonly report: ObjectReport | undefined;
  readonly whole: Report | undefined;
  /** Whether the process reached its kill point. */
  readonly isKilled: boolean;
  readonly lines: readonly LogLine[];
}

export const CLUSTER_NAME = "tenant-a";

const REMAINING_MS = 60_000;

const NOTHING = { report: undefined, whole: undefined, isKilled: false };

/** Starts a control plane in this process that can be restored without delay. */
export async function startEmbedded(folder: string): Promise<StagePlane> {
  return { plane: await startEmbeddedControlPlane({ folder }), hasPoints: true };
}

/** Starts a real kube-apiserver with the rights and the admission policies of infra/. */
export function createKubeApiserverStage(
  binaries: ControlPlaneBinaries,
): (folder: string) => Promise<StagePlane> {
  return async (folder) => {
    const plane = await startKubeApiserver({ folder, binaries });
    const apply = (path: string): Promise<void> =>
      plane.apply(fileURLToPath(new URL(`../../infra/${path}`, import.meta.url)));
    for (const path of ["rbac/service-lb-controller", "admission"]) await apply(path);
    return { plane, hasPoints: false, apply };
  };
}

/** Starts the control plane and the cloud's world. */
export async function startStage<World extends LoadBalancerWorld>(
  build: BuildWorld<World>,
  startPlane = startEmbedded,
): Promise<Stage<World>> {
  const folder = await mkdtemp(join(tmpdir(), "killing-"));
  const { plane, hasPoints, apply }: StagePlane = await startPlane(folder);
  const world = await build(plane);
  for (const path of listManifests(String(world.cloud["provider"]), world.manifests)) await apply?.(path);
  const admin = connect(await getConnectOptions(plane, "admin"));
  const functions = connect(await getConnectOptions(plane, world.signedInAs ?? "service"));
  const owned = createClusterObjects(admin);
  // Keeps the names of deleted Services, because resources may still be named after them.
  const services = new Map<string, NamedService>();
  let events = 0;
  let waitedMs = 0;

  const noted = (name: string): ReturnType<ClusterObjects["named"]> => {
    const object = owned.named(name);
    return {
      ...object,
      create: async (service) => {
        const made = await object.create(service);
        services.set(made.metadata.uid, made.metadata);
        return made;
      },
    };
  };
  const objects: ClusterObjects = { ...owned, ...noted(SERVICE_NAME.name), named: noted };

  const controller = createServiceController({
    [String(world.cloud["provider"])]: async () => world.model,
  }) as unknown as Controller;

  const connected = (cloud: Readonly<Record<string, unknown>> = {}, name = CLUSTER_NAME) => {
    const cluster = Cluster.parse({
      name,
      server: plane.server,
      cloud: { ...world.cloud, ...cloud },
      controllers: [controller.name],
    });
    return { cluster, cloud: world.connect(cluster) };
  };

  async function invoke({
    lifeline = createLifeline(),
    reason = "watch",
    cloud = {},
    names = [SERVICE_NAME.name],
    related,
    forge = (service) => service,
    clusterName,
  }: InvokeOptions = {}): Promise<Invoked> {
    const read = await Promise.all(names.map((name) => owned.named(name).read()));
    const there = read.filter((service) => service !== undefined);
    if (there.length === 0) return { ...NOTHING, lines: [] };
    const lines: LogLine[] = [];
    const made = connected(cloud, clusterName);
    world.setGate(lifeline.gate);
    try {
      const run = createControllerFunction(controller, {
        clusters: async () => made.cluster,
        cloud: async () => made.cloud,
        api: async () => lifeline.transport(functions),
        now: () => new Date(Date.now() + waitedMs),
        log: (line) => lines.push(line),
      });
      events += 1;
      const event = {
        version: 1,
        id: `event-${events}`,
        cluster: made.cluster.name,
        clusterHash: made.cluster.hash,
        controller: controller.name,
        reason,
        objects: there.map(forge),
        budget: { share: 1 },
        related: related ?? (await owned.related()),
      };
      const whole = await run(JSON.parse(JSON.stringify(event)), {
        awsRequestId: event.id,
        getRemainingTimeInMillis: () => REMAINING_MS,
      });
      const said = JSON.stringify([lines, whole]);
      const told = world.secrets?.filter((secret) => said.includes(secret)) ?? [];
      if (told.length > 0) throw new Error(`the function has told ${told.length} of the world's secrets`);
      if (lifeline.isKilled()) return { ...NOTHING, isKilled: true, lines };
      return { report: whole.objects[0], whole, isKilled: false, lines };
    } catch (error) {
      if (lifeline.isKilled()) return { ...NOTHING, isKilled: true, lines };
      throw error;
    } finally {
      await made.cloud.close();
    }
  }

  async function tidy(keys: Readonly<Record<string, unknown>> = {}): Promise<void> {
    const { cluster, cloud } = connected(keys);
    await tidyShared(world.model, cluster, cloud, Date.now() + waitedMs);
    await cloud.close();
  }

  const undisturbed = <Value>(read: () => Promise<Value>): Promise<Value> => {
    world.setGate(undefined);
    world.hideNew?.(0);
    return read();
  };
  const state = () => undisturbed(() => world.outline([...services.values()]));
  const built = await world.point();
  return {
    world,
    objects,
    invoke,
    wait: (seconds) => {
      waitedMs += seconds * 1_000;
    },
    state,
    pieces: () => (world.pieces === undefined ? state() : undisturbed(world.pieces)),
    connect: (cloud) => connected(cloud),
    tidy: (cloud) => undisturbed(() => tidy(cloud)),
    point: hasPoints
      ? async () => {
          const account = await world.point();
          const backup = await plane.backup();
          const then = waitedMs;
          return {
            back: async () => {
              waitedMs = then;
              world.setGate(undefined);
              // A cloud may store state in the cluster.
              await plane.restore(backup);
              await account.back();
            },
          };
        }
      : undefined,
    clear: async () => {
      world.setGate(undefined);
      await owned.clear();
      await built.back();
      services.clear();
      waitedMs = 0;
    },
    close: async () => {
      await Promise.all([admin.close(), functions.close()]);
      await world.close();
      await plane.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
