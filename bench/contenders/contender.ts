import type { ContenderName } from "#bench/measurement.ts";
import type { Programs } from "#bench/programs.ts";
import type { BenchStage } from "#bench/stage.ts";
import type { Ec2Instance } from "#emulators/ec2/instance.ts";

/** A program under measurement that initializes nodes. */
export interface Contender {
  readonly name: ContenderName;
  /** Its name and settings in one line, for the results. */
  readonly title: string;
  /** Its users at the API server; their requests count as its own. */
  readonly users: readonly string[];
  /** Starts it; the cloud knows all future nodes already. It is ready once its watch of nodes is open. */
  start(situation: Situation): Promise<RunningContender>;
}

/** The situation in which a contender starts. */
export interface Situation {
  readonly stage: BenchStage;
  readonly programs: Programs;
  readonly instances: readonly Ec2Instance[];
  /** Whether NodeClaims announce the nodes. */
  readonly isAnnounced: boolean;
}

/** A started contender. */
export interface RunningContender {
  /** All its processes; the first one lives as long as the contender, others come and go with the work. */
  readonly pids: readonly number[];
  /** Returns why it no longer runs; undefined while it runs. */
  failure(): string | undefined;
  stop(): Promise<void>;
}
