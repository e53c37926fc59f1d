import type { RunningContender } from "#bench/contenders/contender.ts";
import type { ManagedProcess } from "#emulators/harness/managed-process.ts";

/** Creates a contender of these processes; they are stopped in this order. */
export function createRunningContender(processes: readonly ManagedProcess[]): RunningContender {
  return {
    pids: processes.map(({ pid }) => pid),
    failure: () => {
      const ended = processes.find((each) => each.hasExited());
      return ended === undefined ? undefined : `it ended: ${ended.output()}`;
    },
    stop: async () => {
      for (const each of processes) await each.stop("SIGKILL");
    },
  };
}

/** Builds the environment of a program that uses the endpoint in place of AWS. */
export function buildAwsEnvironment(
  ec2Url: string,
  region: string,
): Readonly<Record<string, string | undefined>> {
  return {
    PATH: process.env["PATH"],
    HOME: process.env["HOME"],
    AWS_REGION: region,
    AWS_ACCESS_KEY_ID: "bench",
    AWS_SECRET_ACCESS_KEY: "bench",
    AWS_EC2_METADATA_DISABLED: "true",
    AWS_ENDPOINT_URL_EC2: ec2Url,
    AWS_ENDPOINT_URL_STS: ec2Url,
  };
}
