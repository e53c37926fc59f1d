import { EC2Client } from "@aws-sdk/client-ec2";
import { STSClient } from "@aws-sdk/client-sts";

/**
 * A capability of EC2 that an endpoint may lack. Without it the rows that need it must fail, so that a row
 * that begins to pass is noticed.
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

/** How launched instances differ from the default. */
export interface Launch {
  readonly count: number;
  readonly network: "one" | "other";
  readonly tags: Readonly<Record<string, string>>;
}

/** An endpoint with two networks, and controls that launch, stop and terminate instances in them. */
export interface Ec2UnderTest {
  readonly url: string;
  /** The account of its static credentials. */
  readonly account: string;
  readonly vpcs: Readonly<Record<Launch["network"], string>>;
  /** Returns the ids in the order of their launch. */
  launch(launch: Launch): Promise<readonly string[]>;
  stop(id: string): Promise<void>;
  terminate(id: string): Promise<void>;
  close(): Promise<void>;
}

export const REGION = "eu-central-1";

/** The credentials of a client. */
export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

export const STATIC_CREDENTIALS: Credentials = { accessKeyId: "AKIATEST", secretAccessKey: "secret" };

/** Creates a client without retries. */
export function createEc2Client(url: string, credentials: Credentials = STATIC_CREDENTIALS): EC2Client {
  return new EC2Client({ endpoint: url, region: REGION, credentials, maxAttempts: 1 });
}

/** Creates a client without retries. */
export function createStsClient(url: string, credentials: Credentials = STATIC_CREDENTIALS): STSClient {
  return new STSClient({ endpoint: url, region: REGION, credentials, maxAttempts: 1 });
}
