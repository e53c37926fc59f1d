import {
  DescribeInstancesCommand,
  type DescribeInstancesCommandInput,
  type EC2Client,
  type Instance,
} from "@aws-sdk/client-ec2";
import { onTestFinished } from "vitest";
import type { Clock } from "#emulators/ec2/clock.ts";
import { type Ec2Options, type Ec2Server, startEc2 } from "#emulators/ec2/server.ts";
import { createEc2Client } from "./ec2-under-test.ts";

/** A clock that a test advances; sleeping advances it too. */
export interface TestClock extends Clock {
  advance(delayMs: number): void;
  /** All sleeps so far, in milliseconds. */
  readonly slept: readonly number[];
}

/** Creates a clock that only tests and sleeps advance. */
export function createTestClock(): TestClock {
  let now = Date.UTC(2026, 0, 1);
  const slept: number[] = [];
  return {
    now: () => now,
    sleep: async (delayMs) => {
      slept.push(delayMs);
      now += delayMs;
    },
    advance: (delayMs) => {
      now += delayMs;
    },
    slept,
  };
}

/** Starts an endpoint and creates its client; both end with the test. */
export async function startEmbeddedEc2(
  options: Ec2Options = {},
): Promise<{ readonly server: Ec2Server; readonly ec2: EC2Client }> {
  const server = await startEc2(options);
  const ec2 = createEc2Client(server.url);
  onTestFinished(async () => {
    ec2.destroy();
    await server.close();
  });
  return { server, ec2 };
}

/** Returns all instances in the answer of one call. */
export async function describeInstances(
  ec2: EC2Client,
  input: DescribeInstancesCommandInput = {},
): Promise<readonly Instance[]> {
  const { Reservations } = await ec2.send(new DescribeInstancesCommand(input));
  return (Reservations ?? []).flatMap(({ Instances }) => Instances ?? []);
}

/** Returns the ids of all instances in the answer of one call. */
export async function describeIds(
  ec2: EC2Client,
  input?: DescribeInstancesCommandInput,
): Promise<readonly (string | undefined)[]> {
  return (await describeInstances(ec2, input)).map(({ InstanceId }) => InstanceId);
}

/** Returns the name of a call's error, or `none`. */
export async function getErrorName(call: Promise<unknown>): Promise<string> {
  try {
    await call;
    return "none";
  } catch (error) {
    return error instanceof Error ? error.name : String(error);
  }
}
