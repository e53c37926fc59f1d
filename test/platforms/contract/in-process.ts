import type { ManagedProcess } from "#emulators/harness/managed-process.ts";
import type {
  FunctionProcess,
  PlatformOptions,
  PlatformUnderTest,
  RunningPlatform,
} from "#test/platforms/contract/platform.ts";
import type { Build } from "#test/upgrade/builds.ts";

const NO_CALL = "no call leaves the process";
const NO_FILE = "the version before reads no clusters file in run";

/** No function platform: `serverless-ccm run` calls the functions in its own process. */
export const inProcess: PlatformUnderTest = {
  name: "run",
  title: "No function platform: relay and functions are one process, which is started again when it ends",
  skipped: {
    refused: NO_CALL,
    "turned off": NO_CALL,
    throttled: NO_CALL,
    "answer lost": NO_CALL,
    "delivered twice at the same time": NO_CALL,
    "scaled from zero": "the relay keeps the process running",
    "rolled over from N−1 to N, relay N−1": NO_FILE,
    "rolled over from N−1 to N, relay N": "relay and functions are one process of one version",
    "rolled back from N to N−1, relay N": NO_FILE,
    "rolled back from N to N−1, relay N−1": NO_FILE,
    "an event of 6 MB": NO_CALL,
    unauthenticated: NO_CALL,
    "for another audience": NO_CALL,
    unauthorized: NO_CALL,
  },
  start: async (options) => createRunningProcess(options),
};

function createRunningProcess({ clustersFile, environment }: PlatformOptions): RunningPlatform {
  let current: (FunctionProcess & { readonly relay: ManagedProcess }) | undefined;
  let startAgain: (build?: Build) => Promise<unknown> = async () => undefined;
  let starting: Promise<unknown> = Promise.resolve();
  let processes = 0;
  return {
    relay: () => ({ flags: ["run", "--clusters-file", clustersFile], environment }),
    superviseRelay(relay, again) {
      processes += 1;
      startAgain = again;
      const started = {
        relay,
        kill: () => {
          current = undefined;
          // One that is killed before it has listed does not get ready; the next one does.
          starting = relay.stop("SIGKILL").then(() => again().catch(() => undefined));
        },
      };
      current = started;
    },
    findProcess: () => current,
    counts: () => ({ processes, invocations: undefined }),
    async rollOver(build) {
      await current?.relay.stop("SIGTERM");
      await startAgain(build);
    },
    close: async () => void (await starting),
    left: () => 0,
    invoke: () => reject(NO_CALL),
    disturb: () => undefined,
    turnOff: () => reject(NO_CALL),
    turnOn: () => reject(NO_CALL),
    scaleToZero: () => reject(NO_CALL),
  };
}

function reject(reason: string): Promise<never> {
  return Promise.reject(new Error(reason));
}
