import type { AwsCluster } from "#clouds/aws/belonging.ts";
import type { Budget } from "#clouds/aws/budget.ts";
import type { CredentialSource } from "#clouds/aws/credentials.ts";
import type { Sleep } from "#clouds/sleep.ts";

/** What a capability of AWS shares with the rest of its cloud. */
export interface AwsWorld {
  readonly cluster: AwsCluster;
  readonly budget: Budget;
  readonly sleep: Sleep;
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
  /** Milliseconds since the epoch. */
  readonly wallClock: () => number;
  readonly credentials: () => CredentialSource | undefined;
}

/** How long an action or a question waits for its token at most; whoever would wait longer comes back later. */
export const MAX_WAIT_MS = 2_000;
