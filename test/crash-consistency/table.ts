import type { BuildWorld, LoadBalancerWorld } from "#test/clouds/load-balancer-world.ts";
import { type EnumerateOptions, type OperationResult, playDisturbances } from "./enumerate.ts";
import type { Operation } from "./operation.ts";
import { type StagePlane, startStage } from "./stage.ts";

/** The operations on one cloud. */
export interface Table {
  readonly names: readonly string[];
  /** The operations for a real kube-apiserver, where each run creates its Service again. */
  readonly namesOnKubeApiserver: readonly string[];
  start(startPlane?: (folder: string) => Promise<StagePlane>): Promise<RunningTable>;
}

/** A table with its running stage. */
export interface RunningTable {
  /** Plays the operation with this name. */
  enumerate(name: string, options?: EnumerateOptions): Promise<OperationResult>;
  close(): Promise<void>;
}

/**
 * Creates the table of a cloud. The function that builds its world rejects if the machine lacks a
 * requirement.
 */
export function createTable<World extends LoadBalancerWorld>(
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
          return playDisturbances(stage, operation, options);
        },
        close: () => stage.close(),
      };
    },
  };
}
