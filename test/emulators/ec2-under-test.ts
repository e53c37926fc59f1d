import { EC2Client } from "@aws-sdk/client-ec2";
import { STSClient } from "@aws-sdk/client-sts";

/**
 * What EC2 does and an endpoint may not: whoever lacks one is expected to fail the rows that need it, so that a row
 * that begins to hold is noticed.
 */
export type Capability =
  | "action DescribeInstanceTopology"
  | "an answer to actions that are not known"
  | "authentication"
  | "code InvalidInstanceID.Malformed"
  | "code InvalidNextToken"
  | "filter attachment.status"
  | "filter by an interface's address"
  | "filters that are not known"
  | "limits of filters"
  | "limits of pages"
  | "no network after the end"
  | "no public address once stopped"
  | "pages of interfaces"
  | "wildcards in names and ids";

/** How instances that are launched differ from the usual one. */
export interface Launch {
  readonly count: number;
  readonly network: "one" | "other";
  readonly tags: Readonly<Record<string, string>>;
}

/** An endpoint with two networks and an outside that launches, stops and terminates instances in them. */
export interface Ec2UnderTest {
  readonly url: string;
  /** The account of its static credentials. */
  readonly account: string;
  readonly vpcs: Readonly<Record<Launch["network"], string>>;
  /** Ids in the order of their launch. */
  launch(launch: Launch): Promise<readonly string[]>;
  stop(id: string): Promise<void>;
  terminate(id: string): Promise<void>;
  close(): Promise<void>;
}

export const REGION = "eu-central-1";

/** What a client says of itself. */
export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

export const STATIC_CREDENTIALS: Credentials = { accessKeyId: "AKIATEST", secretAccessKey: "secret" };

/** A client that asks once. */
export function ec2Client(url: string, credentials: Credentials = STATIC_CREDENTIALS): EC2Client {
  return new EC2Client({ endpoint: url, region: REGION, credentials, maxAttempts: 1 });
}

/** A client that asks once. */
export function stsClient(url: string, credentials: Credentials = STATIC_CREDENTIALS): STSClient {
  return new STSClient({ endpoint: url, region: REGION, credentials, maxAttempts: 1 });
}
