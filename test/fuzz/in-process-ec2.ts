import {
  DescribeAvailabilityZonesCommand,
  DescribeInstancesCommand,
  DescribeInstanceTopologyCommand,
  DescribeNetworkInterfacesCommand,
  EC2Client,
} from "@aws-sdk/client-ec2";
import type { Ec2 } from "#clouds/aws/ec2.ts";
import { type ApiState, answerRequest, createRequestIds } from "#emulators/ec2/api.ts";
import { applyBehaviour, Behaviour, USUAL_SETTINGS } from "#emulators/ec2/behaviour.ts";
import { type CallRecord, createCallLog } from "#emulators/ec2/call-record.ts";
import { createInventory, type Inventory } from "#emulators/ec2/inventory.ts";
import { createQuotaMeter } from "#emulators/ec2/quotas.ts";
import { createSecurityTokens } from "#emulators/ec2/security-tokens.ts";
import { listZones } from "#emulators/ec2/zone.ts";
import { type Clock, pause } from "#kube/follow/clock.ts";

/**
 * The embedded EC2 endpoint without a socket. The SDK's requests go to it, and the given clock is the time.
 */
export interface InProcessEc2 {
  readonly inventory: Inventory;
  readonly ec2: Ec2;
  set(behaviour: Behaviour): void;
  /** Returns the calls so far, oldest first. */
  calls(): readonly CallRecord[];
}

export const REGION = "eu-central-1";
export const ACCOUNT = "123456789012";
const SIGNED = `AWS4-HMAC-SHA256 Credential=test/20260101/${REGION}/ec2/aws4_request, SignedHeaders=host, Signature=0`;
const NEVER = new AbortController().signal;

/** Returns the times and the sleep of a cloud whose time is the given clock. */
export function toCloudClocks(clock: Clock) {
  return {
    sleep: (delayMs: number, signal: AbortSignal) => pause(clock, delayMs, signal),
    now: () => clock.now(),
    wallClock: () => clock.wallTime().getTime(),
  };
}

/** Creates an account without instances; each call takes `latencyMs()`. */
export function createInProcessEc2(clock: Clock, latencyMs: () => number): InProcessEc2 {
  const zones = listZones(REGION);
  const state: ApiState = {
    region: REGION,
    zones,
    inventory: createInventory({ region: REGION, zones, account: ACCOUNT }),
    tokens: createSecurityTokens(ACCOUNT, {}),
    quotas: createQuotaMeter(),
    log: createCallLog(),
    settings: USUAL_SETTINGS,
  };
  const nextRequestId = createRequestIds();
  const handle = async (request: SdkRequest): Promise<{ response: SdkResponse }> => {
    await pause(clock, latencyMs(), NEVER);
    const headers = { ...request.headers, authorization: SIGNED };
    const { body } = request;
    const reply = answerRequest(state, {
      headers,
      body,
      at: clock.wallTime().getTime(),
      requestId: nextRequestId(),
    });
    switch (reply.kind) {
      case "document":
        if (reply.delayMs !== undefined) await pause(clock, reply.delayMs, NEVER);
        return answered(reply.status, reply.contentType, reply.body);
      case "truncated":
        return answered(200, "text/xml", reply.body.slice(0, reply.body.length / 2));
      case "reset":
      case "hang-up":
      case "hang":
        throw Object.assign(new Error("socket hang up"), { code: "ECONNRESET" });
    }
  };
  const client = new EC2Client({
    region: REGION,
    maxAttempts: 1,
    endpoint: "http://ec2.invalid",
    credentials: { accessKeyId: "test", secretAccessKey: "test" },
    // Signing takes a tenth of the total time, and the endpoint does not check signatures.
    signer: { sign: async (request: unknown) => request } as never,
    requestHandler: { handle } as never,
  });
  return {
    inventory: state.inventory,
    set: (behaviour) => {
      state.settings = applyBehaviour(state.settings, Behaviour.parse(behaviour));
    },
    calls: () => state.log.all(),
    ec2: {
      describeInstances: (request, abortSignal) =>
        client.send(new DescribeInstancesCommand(request), { abortSignal }),
      describeNetworkInterfaces: (request, abortSignal) =>
        client.send(new DescribeNetworkInterfacesCommand(request), { abortSignal }),
      describeAvailabilityZones: (request, abortSignal) =>
        client.send(new DescribeAvailabilityZonesCommand(request), { abortSignal }),
      describeInstanceTopology: (request, abortSignal) =>
        client.send(new DescribeInstanceTopologyCommand(request), { abortSignal }),
      close: () => client.destroy(),
    },
  };
}

/** The fields of the SDK's signed request that the endpoint reads. */
interface SdkRequest {
  readonly headers: Record<string, string>;
  readonly body: string;
}

interface SdkResponse {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

function answered(statusCode: number, contentType: string, body: string): { response: SdkResponse } {
  return { response: { statusCode, headers: { "content-type": contentType }, body: Buffer.from(body) } };
}
