import type { Capability, Cloud } from "#clouds/cloud.ts";
import type { Cluster } from "#config/cluster.ts";
import { selectSettings } from "#config/cluster.ts";
import type { Controller } from "#core/controller.ts";
import type { Service } from "#core/service/service.ts";
import { serviceWatch } from "#core/service/watch.ts";
import { createControllerFunction } from "#functions/parts/controller-function.ts";
import type { Transport } from "#kube/client/transport.ts";
import type { ClusterObjects } from "#test/crash-consistency/cluster.ts";
import type { Draw } from "./draw.ts";
import type { Network } from "./network.ts";

/** One cluster and one cloud, shared by the actors. */
export interface Scene {
  readonly network: Network;
  readonly draw: Draw;
  readonly controller: Controller;
  readonly cluster: Cluster;
  readonly objects: ClusterObjects;
  readonly functions: Transport;
  connect(): Cloud;
  /** Completes the cloud's pending work. */
  advance(): Promise<void>;
  /** Reports a change of the cluster. */
  changed(): void;
  readonly startMs: number;
  log(line: string): void;
}

/** A relay with its functions, which watches the Service and invokes the function. */
export interface Actor {
  /** Reports a change from the watch. */
  poke(): void;
  /** Whether it waits only for the watch. */
  isIdle(): boolean;
}

/** The behaviour of an actor. */
export interface Habits {
  /**
   * The process dies after this many changes of the cloud, while the last one is in transit; undefined means
   * never.
   */
  readonly diesAfter?: number | undefined;
}

/** The longest delay of a change of the cloud. Most arrive at once, some late. */
const LATEST_MS = 30_000;
const LATE = 0.25;

export function createActor(name: string, scene: Scene, { diesAfter }: Habits): Actor {
  const { network, draw, controller, cluster, objects } = scene;
  let changes = 0;
  let lives = 1;
  let invocations = 0;
  let isPoked = false;
  let isBusy = false;

  /** Wraps the requests of a process that may die: they still arrive, but no answer returns. */
  function createLife(): {
    send<Value>(delayMs: number, carryOut: () => Promise<Value>): Promise<Value>;
    die(): void;
  } {
    let isDead = false;
    return {
      async send(delayMs, carryOut) {
        if (isDead) return new Promise(() => {});
        const value = await network.send(delayMs, carryOut);
        return isDead ? new Promise(() => {}) : value;
      },
      die: () => {
        isDead = true;
      },
    };
  }

  async function invoke(
    service: Service,
    related: Awaited<ReturnType<ClusterObjects["related"]>>,
  ): Promise<number | undefined> {
    const life = createLife();
    let die: () => void = () => {};
    const death = new Promise<number>((resolve) => {
      die = () => {
        life.die();
        lives += 1;
        scene.log(`${name} dies`);
        resolve(draw.between(3, 20));
      };
    });
    const transport: Transport = {
      ...scene.functions,
      send: (request) =>
        life.send(draw.chance(0.05) ? draw.between(500, 3_000) : draw.between(5, 300), async () => {
          const answer = await scene.functions.send(request);
          scene.log(`${name} ${request.method} ${request.path} ${answer.status}`);
          if (request.method !== "GET" && answer.status < 300) scene.changed();
          return answer;
        }),
    };
    const cloud = delayed(scene.connect(), {
      observe: (carryOut) => life.send(draw.between(50, 1_500), carryOut),
      act: (what, carryOut) => {
        changes += 1;
        const late = draw.chance(LATE) ? draw.between(2_000, LATEST_MS) : draw.between(50, 1_000);
        const sending = life.send(late, async () => {
          scene.log(`${name} ${what}`);
          return carryOut();
        });
        if (changes === diesAfter) die();
        return sending;
      },
    });
    const run = createControllerFunction(controller, {
      clusters: async () => cluster,
      cloud: async () => cloud,
      api: async () => transport,
      now: () => new Date(scene.startMs + network.nowMs()),
      monotonicMs: () => network.nowMs(),
    });
    invocations += 1;
    const event = {
      version: 1,
      id: `${cluster.name}.${name}-${lives}.${invocations}`,
      cluster: cluster.name,
      clusterHash: cluster.hash,
      controller: controller.name,
      reason: "watch",
      objects: [service],
      budget: { share: 1 },
      related,
    };
    const reported = run(JSON.parse(JSON.stringify(event)), {
      awsRequestId: event.id,
      getRemainingTimeInMillis: () => 600_000,
    }).then(({ objects: [report] }) => {
      scene.log(
        `${name} reports ${report?.outcome} ${report?.because.code} ${report?.afterSeconds ?? ""} ${report?.because.message}`,
      );
      return report?.outcome === "retry"
        ? (report.afterSeconds ?? 0) * draw.between(1, 1.2) + 0.25
        : undefined;
    });
    try {
      return await Promise.race([reported, death]);
    } finally {
      await cloud.close();
    }
  }

  async function work(): Promise<void> {
    while (isPoked) {
      isPoked = false;
      await network.sleep(draw.between(20, 1_500));
      for (let again: number | undefined = 0; again !== undefined; ) {
        const { service, related } = await network.send(again * 1_000, async () => {
          await scene.advance();
          return { service: await objects.read(), related: await objects.related() };
        });
        if (service === undefined || !serviceWatch.needsWork(service, contextOf(cluster))) break;
        // The event takes a while to arrive.
        await network.sleep(draw.chance(0.2) ? draw.between(500, 4_000) : draw.between(5, 200));
        again = await invoke(serviceWatch.snapshot(service, contextOf(cluster)), related);
      }
    }
  }

  return {
    isIdle: () => !isBusy,
    poke() {
      isPoked = true;
      if (isBusy) return;
      isBusy = true;
      void work().finally(() => {
        isBusy = false;
      });
    },
  };
}

function contextOf(cluster: Cluster) {
  return { labelPrefixes: [], settings: selectSettings(cluster) };
}

interface Delays {
  observe<Value>(carryOut: () => Promise<Value>): Promise<Value>;
  act<Value>(what: string, carryOut: () => Promise<Value>): Promise<Value>;
}

/** Returns a cloud whose calls take the given delays. */
function delayed(cloud: Cloud, delays: Delays): Cloud {
  const inner = cloud.capabilities?.["loadBalancers"];
  if (inner === undefined) throw new Error(`the cloud "${cloud.provider}" has no load balancers`);
  const loadBalancers: Capability = {
    observe: (questions, call) => delays.observe(() => inner.observe(questions, call)),
    act: (action, call) => delays.act(`${action.action} ${action.target}`, () => inner.act(action, call)),
  };
  return { ...cloud, capabilities: { loadBalancers } };
}
