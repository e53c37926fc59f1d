import type { ContenderName } from "#bench/measurement.ts";
import type { Programs } from "#bench/programs.ts";
import type { BenchStage } from "#bench/stage.ts";
import type { Ec2Instance } from "#emulators/ec2/instance.ts";

/** Something that initializes nodes, on a stage. */
export interface Contender {
  readonly name: ContenderName;
  /** What it is and how it is set, in one line for the results. */
  readonly title: string;
  /** The API server's users that it signs in as; their requests are counted as its own. */
  readonly users: readonly string[];
  /** Starts it; all nodes that will come are known to the cloud by then. It is on its feet once its watch of nodes is open. */
  start(situation: Situation): Promise<RunningContender>;
}

/** Where a contender starts. */
export interface Situation {
  readonly stage: BenchStage;
  readonly programs: Programs;
  readonly instances: readonly Ec2Instance[];
}

/** A started contender. */
export interface RunningContender {
  /** All its processes; the first one is there as long as the contender is, others come and go with the work. */
  readonly pids: readonly number[];
  /** Why it is not running any more; undefined while it is. */
  failure(): string | undefined;
  stop(): Promise<void>;
}
