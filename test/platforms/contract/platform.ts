import { Event } from "#core/event.ts";
import type { ManagedProcess } from "#emulators/harness/managed-process.ts";
import type { Invocation } from "#platforms/invoker.ts";
import type { RowName } from "#test/platforms/contract.ts";
import type { Build } from "#test/upgrade/builds.ts";

/** The function that the suite runs, as deployments name it. */
export const FUNCTION = "node";

/** A function platform as the contract suite plays it: a value for each, in a file of its own. */
export interface PlatformUnderTest {
  readonly name: string;
  /** What stands for the platform, and what runs the functions, for the table's heading. */
  readonly title: string;
  /** The rows that it cannot play, each with the reason. */
  readonly skipped: Readonly<Partial<Record<RowName, string>>>;
  /** Starts it for one row. */
  start(options: PlatformOptions): Promise<RunningPlatform>;
}

/** Returns the names of an event's objects; of one that a function would reject, none. */
export function listNodes(event: unknown): ReadonlySet<string> {
  const objects = Event.safeParse(event).data?.objects ?? [];
  return new Set(
    objects.map((object) => String((object as { metadata?: { name?: string } } | null)?.metadata?.name)),
  );
}

/** The place and the settings of a platform for one row. */
export interface PlatformOptions {
  /** An existing folder for the platform's files. */
  readonly folder: string;
  /** The cluster's entry, for functions and relays. */
  readonly clustersFile: string;
  /** The variables by which functions reach the cloud; nothing else of this process reaches them. */
  readonly environment: Readonly<Record<string, string>>;
  /** The version of the functions. */
  readonly build: Build;
  /** The maximum number of concurrent invocations; the platform throttles more. */
  readonly concurrency: number;
}

/** Who a relay is for the platform. */
export type Caller = "permitted" | "unauthenticated" | "for another audience" | "unauthorized";

/** A process in which functions run. */
export interface FunctionProcess {
  /** Ends it at once by SIGKILL: nothing that it has not sent yet leaves it. */
  kill(): void;
}

/** A platform between the relay of a row and its functions. */
export interface RunningPlatform {
  /** Returns the program that invokes the functions, and its flags and variables. */
  relay(caller: Caller): {
    readonly flags: readonly string[];
    readonly environment: Readonly<Record<string, string>>;
  };
  /** Makes an invocation as a relay's invoker does. */
  invoke(event: Event): Promise<Invocation>;
  /** Returns the process that runs an invocation with this node at the moment. */
  findProcess(node: string): FunctionProcess | undefined;
  /** Makes the next invocations fail in this way. */
  disturb(how: Disturbance, count: number): void;
  /** Returns how many disturbances are left. */
  left(): number;
  /** Refuses connections and cuts open ones; running functions continue unheard. */
  turnOff(): Promise<void>;
  turnOn(): Promise<void>;
  /** Returns how many processes have been started for functions, and how many invocations got to one. */
  counts(): Counts;
  /** Ends all processes, so that the next invocation finds none; started again by an invocation. */
  scaleToZero(): Promise<void>;
  /** Runs another version from now on; running invocations end in the version that began them. */
  rollOver(build: Build): Promise<void>;
  /** Called with each relay, and how to start it again, if the functions run in the relay's process. */
  superviseRelay?(relay: ManagedProcess, startAgain: (build?: Build) => Promise<unknown>): void;
  close(): Promise<void>;
}

export interface Counts {
  readonly processes: number;
  /** Undefined if nothing outside the functions' process sees them. */
  readonly invocations: number | undefined;
}

/**
 * What befalls an invocation: the platform answers that it cannot start it; the function runs, and its answer
 * is lost; the function is started twice at the same time.
 */
export type Disturbance = "refuse" | "lose the answer" | "deliver twice";
