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
import { controllerFunction } from "#functions/parts/controller-function.ts";
import type { LogLine } from "#functions/parts/log-report.ts";
import { connect } from "#kube/client/connect.ts";
import { access } from "#test/access.ts";
import type {
  BuildWorld,
  LoadBalancerWorld,
  NamedService,
  WorldPoint,
} from "#test/clouds/load-balancer-world.ts";
import { tidyShared } from "#test/clouds/tidy-shared.ts";
import { type ClusterObjects, clusterObjects, type Related, SERVICE_NAME } from "./cluster.ts";
import { createLifeline, type Lifeline } from "./lifeline.ts";

/** An API server and the world of a cloud on which functions live and die. */
export interface Stage<World extends LoadBalancerWorld = LoadBalancerWorld> {
  readonly world: World;
  readonly objects: ClusterObjects;
  /** Invokes the function as a new process, in the cluster with these settings of its cloud. */
  invoke(options?: InvokeOptions): Promise<Invoked>;
  /** So much later the function is invoked from now on, by its own clock. */
  wait(seconds: number): void;
  /** All there is in the cloud, named after the Services that there were since the stage was cleared. */
  state(): Promise<readonly string[]>;
  /** What is to be the same before a Service comes and after it is gone. */
  pieces(): Promise<readonly string[]>;
  /** The cluster's cloud as a new process has it, with these settings. */
  connect(cloud?: Readonly<Record<string, unknown>>): { readonly cluster: Cluster; readonly cloud: Cloud };
  /** What there is now in the cloud and on the API server, to go back to; undefined where the API server does not take that. */
  readonly point: (() => Promise<WorldPoint>) | undefined;
  /** Audits of an hour, which remove what load balancers have shared and none uses; nothing where the cloud's model has none. */
  tidy(cloud?: Readonly<Record<string, unknown>>): Promise<void>;
  /** Back to the cloud with what is foreign alone, and no Service. */
  clear(): Promise<void>;
  close(): Promise<void>;
}

/** A control plane, and whether it can be set back to what it was in no time. */
export interface StagePlane {
  readonly plane: ControlPlane;
  readonly hasPoints: boolean;
  /** Applies a file or a folder of infra/, where that means something. */
  readonly apply?: (path: string) => Promise<void>;
}

export interface InvokeOptions {
  readonly lifeline?: Lifeline;
  readonly reason?: EventReason;
  /** Keys of the cluster's `cloud:`. */
  readonly cloud?: Readonly<Record<string, unknown>>;
  /** The Services that the event is about; the one that all this is about without it. */
  readonly names?: readonly string[];
  /** In place of what the event would come with. */
  readonly related?: Related;
  /** Makes of a Service what the event says of it. */
  readonly forge?: (service: Service) => object;
  /** The name of another cluster, whose API server shows the same objects. */
  readonly clusterName?: string;
}

/** What an invocation came to; without a report where the process was killed, or all Services are gone. */
export interface Invoked {
  /** Of the first Service. */
  readonly report: ObjectReport | undefined;
  readonly whole: Report | undefined;
  /** Whether its process came to where it is killed. */
  readonly isKilled: boolean;
  readonly lines: readonly LogLine[];
}

/** The cluster's name. */
export const CLUSTER_NAME = "tenant-a";

const REMAINING_MS = 60_000;

const NOTHING = { report: undefined, whole: undefined, isKilled: false };

/** In this process, and set back in no time. */
export async function startEmbedded(folder: string): Promise<StagePlane> {
  return { plane: await startEmbeddedControlPlane({ folder }), hasPoints: true };
}

/** A real kube-apiserver with the rights and the admission policies of infra/. */
export function onKubeApiserver(binaries: ControlPlaneBinaries): (folder: string) => Promise<StagePlane> {
  return async (folder) => {
    const plane = await startKubeApiserver({ folder, binaries });
    const apply = (path: string): Promise<void> =>
      plane.apply(fileURLToPath(new URL(`../../infra/${path}`, import.meta.url)));
    for (const path of ["rbac/service-lb-controller", "admission"]) await apply(path);
    return { plane, hasPoints: false, apply };
  };
}

/** Starts both. */
export async function startStage<World extends LoadBalancerWorld>(
  build: BuildWorld<World>,
  startPlane = startEmbedded,
): Promise<Stage<World>> {
  const folder = await mkdtemp(join(tmpdir(), "killing-"));
  const { plane, hasPoints, apply }: StagePlane = await startPlane(folder);
  const world = await build(plane);
  for (const path of world.manifests ?? []) await apply?.(path);
  const admin = connect(await access(plane, "admin"));
  const functions = connect(await access(plane, world.signedInAs ?? "service"));
  const owned = clusterObjects(admin);
  // Whatever is still named after a Service is told by its name once the Service is gone.
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
      const run = controllerFunction(controller, {
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
              // A cloud may keep what it has in the cluster.
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
