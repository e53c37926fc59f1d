import type { BuildWorld, LoadBalancerWorld } from "#test/clouds/load-balancer-world.ts";
import { type EnumerateOptions, enumerate, type OperationResult } from "./enumerate.ts";
import type { Operation } from "./operation.ts";
import { type StagePlane, startStage } from "./stage.ts";

/** What is played on one cloud. */
export interface Table {
  readonly names: readonly string[];
  /** Those that are played on a real kube-apiserver, on which each run makes its Service anew. */
  readonly namesOnKubeApiserver: readonly string[];
  start(startPlane?: (folder: string) => Promise<StagePlane>): Promise<RunningTable>;
}

/** A table with its stage. */
export interface RunningTable {
  /** Plays the operation of this name. */
  enumerate(name: string, options?: EnumerateOptions): Promise<OperationResult>;
  close(): Promise<void>;
}

/** The table of a cloud; what builds its world rejects where the machine lacks what it takes. */
export function tableOf<World extends LoadBalancerWorld>(
  builder: () => Promise<BuildWorld<World>>,
  operations: readonly Operation<World>[],
  isOnKubeApiserver: (name: string) => boolean = () => true,
): Table {
  const names = operations.map(({ name }) => name);
  return {
    names,
    namesOnKubeApiserver: names.filter(isOnKubeApiserver),
    async start(startPlane) {
      const stage = await startStage(await builder(), startPlane);
      return {
        async enumerate(name, options) {
          const operation = operations.find((each) => each.name === name);
          if (operation === undefined) throw new Error(`there is no operation "${name}"`);
          return enumerate(stage, operation, options);
        },
        close: () => stage.close(),
      };
    },
  };
}
