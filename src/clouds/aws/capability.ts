import type { Budget } from "#clouds/aws/budget.ts";
import type { AwsCluster } from "#clouds/aws/ownership.ts";
import type { Sleep } from "#clouds/sleep.ts";
import type { CredentialSource } from "#platforms/aws/role-credentials.ts";

/** Dependencies that an AWS capability shares with the rest of its cloud. */
export interface AwsDependencies {
  readonly cluster: AwsCluster;
  readonly budget: Budget;
  readonly sleep: Sleep;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
  /** Milliseconds since the epoch. */
  readonly wallClock: () => number;
  readonly credentials: () => CredentialSource | undefined;
}

/**
 * Maximum time that an action or a question waits for its token. If the wait would be longer, it fails and is
 * retried later.
 */
export const MAX_WAIT_MS = 2_000;
